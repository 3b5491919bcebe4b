"""Names that a registry gives: whatever they are, tables and their files stay where they belong."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.config.rules import WrongValueError
from ingest.errors import UsageError
from ingest.names import Topic
from ingest.onboard.onboard import onboard
from ingest.onboard.outcome import Onboarded, OnboardOptions
from ingest.registry import FolderRegistry
from ingest.settings import LakeSettings, Settings
from ingest.tables import TableConfig, read, table_name
from ingest.tables.rules import is_table_name
from tests.compile.sqlserver import envelope, key

HOSTILE = (
    "../../x", "a/b", "/etc/passwd", "..", ".", "a\0b", "a\\..\\b", "~root", "C:\\x", "a b", "a\nb",
    "${HOME}", "x" * 5_000, "_rejects", "_locks.x", "\u202ea", "é", "a\x1b[2Jb", "%2e%2e%2fx", "x?y#z", "-rf",
    "hdfs://n/x",
)  # fmt: skip
LAKE = LakeSettings("/data/lake")


def onboarded(root: Path, topics: list[str], name: str | None = None) -> tuple[Onboarded, ...]:
    """Onboard topics of a registry that holds exactly these, in a folder of their own."""
    parts = {"key": key({"id": "int"}), "value": envelope({"id": "int"})}
    named = [(f"{topic}-{part}", schema) for topic in topics for part, schema in parts.items()]
    entries = [
        {"subject": subject, "version": 1, "id": number, "schema": json.dumps(schema)}
        for number, (subject, schema) in enumerate(named, start=1)
    ]
    (root / "registry").mkdir()
    (root / "registry" / "registry.json").write_text(json.dumps(entries))
    deployment = Settings(lake=LAKE, tables_dir=root / "inner" / "tables")
    return onboard(deployment, FolderRegistry(root / "registry"), ["*"], OnboardOptions(name=name))


def check_inside(root: Path, found: tuple[Onboarded, ...]) -> None:
    """See that nothing was written but table files, each of a table inside the lake."""
    files = {path for path in root.rglob("*") if path.is_file()} - {root / "registry" / "registry.json"}
    assert files == {item.path for item in found if item.path}
    for file in files:
        assert file.parent == root / "inner" / "tables"
        table = read(file)
        for position in (LAKE.table_path, LAKE.rejects_path, LAKE.lock_path):
            path = position(table.name)
            assert Path(path).resolve() == Path(path)
            assert path.rpartition("/")[0] in ("/data/lake", "/data/lake/_rejects", "/data/lake/_locks")


def test_hostile_subjects_are_reported_and_stop_no_other(tmp_path: Path) -> None:
    """What is not a topic's name fails, with the reason; the good topic next to them has its file."""
    results = {str(item.topic): item for item in onboarded(tmp_path, [*HOSTILE, "s.d.good"])}

    check_inside(tmp_path, tuple(results.values()))
    assert (results["s.d.good"].state, results["../../x"].state) == ("new", "failed")
    failed = {name for name, item in results.items() if item.state == "failed"}
    # Kafka's own rule of names allows those that are left.
    assert set(HOSTILE) - failed == {"-rf"}
    assert all(results[name].reason for name in failed)


@settings(max_examples=60, deadline=None)
@given(st.text(min_size=1, max_size=300))
def test_no_topic_s_name_leads_out_of_the_lake(name: str) -> None:
    """Any text at all, as a registry may hold it: a table inside, or none."""
    with TemporaryDirectory() as folder:
        try:
            result = onboarded(Path(folder), [name])
        except UnicodeEncodeError:  # a lone surrogate is in no file's text
            return
        check_inside(Path(folder), result)


@given(st.text(max_size=250), st.sampled_from(["{topic}", "{schema}/{table}", "../{topic}", "{topic}.toml"]))
def test_a_template_gives_a_safe_name_or_none(topic: str, template: str) -> None:
    """Templates are a person's, the parts are not."""
    try:
        name = table_name(Topic(topic), template)
    except UsageError:
        return
    assert is_table_name(name)
    assert LAKE.table_path(name) == f"/data/lake/{name}"
    assert "/" not in name


@given(st.text(max_size=60) | st.sampled_from(HOSTILE))
def test_a_table_file_names_one_step_of_a_path(name: str) -> None:
    """By hand, too: what could be a path is refused, and so are the lake's own folders."""
    try:
        table = TableConfig(name=name, topic=Topic("t"), dialect="cdl", format="cdl-json")
    except WrongValueError:
        return
    assert Path(LAKE.table_path(table.name)).resolve().parent == Path("/data/lake")
    assert table.name.isascii()
    assert table.name.isidentifier()
    assert not table.name.lower().startswith(("_rejects", "_locks"))


def test_names_that_differ_by_case_alone_are_two_tables_each_inside(tmp_path: Path) -> None:
    """Kafka tells them apart, and so do HDFS and object stores."""
    result = onboarded(tmp_path, ["s.d.Orders", "s.d.orders"])

    check_inside(tmp_path, result)
    assert sorted(item.table.name for item in result if item.table) == ["s_d_Orders", "s_d_orders"]


def test_a_template_that_gives_no_name_is_a_person_s_mistake(tmp_path: Path) -> None:
    """It stops, since a person can change it."""
    with pytest.raises(UsageError, match="Give another template with --name"):
        onboarded(tmp_path, ["s.d.t"], name="_rejects_{table}")
