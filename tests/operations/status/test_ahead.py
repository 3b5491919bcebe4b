"""The look ahead: the newest registered version against the policies, before a message has it."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

from ingest.errors import EvolutionError, IngestError
from ingest.hudi.timeline.ledger import LedgerEntry
from ingest.masking import Masking
from ingest.names import SchemaId, Subject, Topic
from ingest.operations.status.ahead import FEW, fetch_newest, look_ahead
from ingest.registry import FolderRegistry, Newest
from ingest.tables import Subjects, TableConfig, feed_of
from ingest.tables.evolution import Policy

REGISTRY = FolderRegistry(Path(__file__).parents[3] / "registry_fixtures" / "sqlserver")
TOPIC = "sqs.testDB.dbo.widen"
"""Its second and third version widen columns."""
KEY, VALUE = Subject(f"{TOPIC}-key"), Subject(f"{TOPIC}-value")
IDS = [REGISTRY.version(VALUE, number).id for number in REGISTRY.versions(VALUE)]


def ahead(policy: Policy, *met_ids: SchemaId, **fields: Any) -> IngestError | None:
    """Look ahead of a table that has met these schemas."""
    table = TableConfig("widen", Topic(TOPIC), "sqlserver", Subjects(key=KEY, value=VALUE))
    table = attrs.evolve(table, evolution={"column-widened": policy, "decimal-widened": policy}, **fields)
    last = LedgerEntry("r", table.topic, {}, {}, schema_ids=met_ids)
    feed = feed_of(table, table.topic, Masking())
    alone = look_ahead(REGISTRY, feed, last, {})
    listed = look_ahead(REGISTRY, feed, last, REGISTRY.newest(REGISTRY.subjects()))
    assert (str(alone), type(alone)) == (str(listed), type(listed))
    return listed


def test_a_change_that_the_policy_refuses_is_an_error_that_names_the_newest_version() -> None:
    """And what else the policy could be."""
    error = ahead("fail", IDS[0])
    assert isinstance(error, EvolutionError)
    assert (error.kind, error.by) == ("column-widened", f"{VALUE} v3 (id {IDS[-1]})")
    assert "[evolution] column-widened can be evolve" in str(error)


@pytest.mark.parametrize(
    ("policy", "met_ids", "fields"),
    [
        ("evolve", IDS[:1], {}),
        ("reject", IDS[:1], {}),
        ("fail", IDS, {}),
        ("fail", (), {}),
        ("fail", IDS[:1], {"format": "debezium-json"}),
    ],
    ids=["follows", "rejects", "met", "no commits", "no registry"],
)
def test_nothing_is_ahead_of_a_table_that_a_run_would_bring_on(
    policy: Policy, met_ids: tuple[SchemaId, ...], fields: dict[str, Any]
) -> None:
    """Rejects are counted when they come."""
    assert ahead(policy, *met_ids, **fields) is None


@attrs.define
class _Asked:
    """A run with a registry that counts its lists, and answers nothing else."""

    lists: int = 0

    @property
    def registry(self) -> "_Asked":
        return self

    def newest(self, subjects: Collection[Subject]) -> Mapping[Subject, Newest]:
        self.lists += 1
        return REGISTRY.newest(subjects)


@pytest.mark.parametrize(("count", "lists"), [(1, 0), (FEW // 2, 0), (FEW // 2 + 1, 1), (1_000, 1)])
def test_the_versions_of_many_tables_are_listed_at_once(count: int, lists: int) -> None:
    """A table whose newest version is known from the list asks the registry nothing."""
    run: Any = _Asked()
    names = [f"t{number}" for number in range(count - 1)]
    tables = [
        TableConfig(
            name,
            Topic(name),
            "sqlserver",
            Subjects(key=Subject(f"{name}-key"), value=Subject(f"{name}-value")),
        )
        for name in names
    ]
    tables.append(TableConfig("widen", Topic(TOPIC), "sqlserver", Subjects(key=KEY, value=VALUE)))
    feeds = [feed_of(table, table.topic, Masking()) for table in tables]
    newest = fetch_newest(run, feeds)
    assert run.lists == lists
    assert set(newest) == ({KEY, VALUE} if lists else set())
    if lists:
        last = LedgerEntry("r", Topic(TOPIC), {}, {}, schema_ids=tuple(IDS))
        assert look_ahead(run, feeds[-1], last, newest) is None


def test_a_version_that_fits_no_key_is_an_error() -> None:
    """Such as a table file without a key, whose key subject is left out."""
    error = ahead("evolve", IDS[0], subjects=Subjects(value=VALUE))
    assert "[key] columns" in str(error)
