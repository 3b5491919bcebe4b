"""What onboarding makes of a registry, kept in a folder: what it takes, what it leaves out and why."""

import json
import shutil
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

from ingest import avro
from ingest.dialects import DIALECTS
from ingest.errors import UsageError
from ingest.onboard.caveats import lossless_keys
from ingest.onboard.onboard import onboard
from ingest.onboard.outcome import Onboarded, OnboardOptions
from ingest.registry import FolderRegistry
from ingest.settings import Settings
from ingest.settings.deployment import OnboardSettings, TypesSettings
from ingest.tables import Reader, parse_defaults, read
from ingest.testing import (
    CONNECTORS,
    decimal,
    envelope_schema,
    fields_of,
    key_schema,
    nullable,
    semantic,
    variable_decimal,
)
from tests.compile.sqlserver import envelope, key
from tests.long_files import long_form

ID = {"id": "int"}
ROW = {"id": "int", "name": nullable("string")}


def record(name: str, **fields: Any) -> Any:
    """Make a record of another kind."""
    namespace, _, last = name.rpartition(".")
    return {"type": "record", "namespace": namespace, "name": last, "fields": fields_of(fields)}


def table_of(columns: Mapping[str, Any] = ROW, **more: Any) -> dict[str, Any]:
    """Make the subjects of a table's topic."""
    return {"key": key(ID), "value": envelope(columns, **more)}


class Folder:
    """A registry in a folder, and the deployment next to it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.settings = Settings(tables_dir=root / "tables")
        (root / "registry").mkdir()

    def add(self, topic: str, subjects: Mapping[str, Any], version: int = 1) -> None:
        """Write the schemas of a topic's key and value."""
        self.register({f"{topic}-{part}": schema for part, schema in subjects.items()}, version)

    def register(self, subjects: Mapping[str, Any], version: int = 1) -> None:
        """Write schemas under subjects of any name."""
        for subject, schema in subjects.items():
            folder = self.root / "registry" / subject
            folder.mkdir(exist_ok=True)
            (folder / f"v{version}.avsc").write_text(json.dumps(schema))

    def onboard(self, *patterns: str, **options: Any) -> dict[str, Onboarded]:
        """Onboard, and return the result of each topic."""
        registry = FolderRegistry(self.root / "registry")
        dry_run = options.pop("dry_run", False)
        result = onboard(self.settings, registry, patterns or "*", OnboardOptions(**options), dry_run=dry_run)
        return {str(item.topic): item for item in result}

    @property
    def files(self) -> dict[str, str]:
        """The table files by name."""
        return {path.name: path.read_text() for path in (self.root / "tables").glob("*")}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Make an empty registry."""
    return Folder(tmp_path)


SCHEMA_CHANGE = record("io.debezium.connector.sqlserver.SchemaChangeValue", databaseName="string")
LEFT_OUT = {
    "srv": ({"value": SCHEMA_CHANGE}, "schema changes"),
    "srv.transaction": (
        {"value": record("io.debezium.connector.common.TransactionMetadataValue", id="string")},
        "transaction metadata",
    ),
    "__debezium-heartbeat.srv": (
        {"value": record("io.debezium.connector.common.Heartbeat", ts_ms="long")},
        "heartbeats",
    ),
    "srv.db.dbo.signals": (
        table_of({"id": "string", "type": "string", "data": nullable("string")}),
        "signal table",
    ),
    "srv.db.dbo.keyless": ({"value": envelope(ROW)}, "no subject srv.db.dbo.keyless-key"),
    "db2.t": (
        table_of(source_record="io.debezium.connector.db2.Source"),
        "io.debezium.connector.db2.Source: not supported (only cdl, mongodb, mysql, oracle, postgres",
    ),
    "plain": ({"value": record("shop.Order", id="int")}, "shop.Order has no after, source, op"),
    "flat": ({"value": record("srv.Flat", id="int", __op="string")}, "looks flattened"),
    "text": ({"value": "string"}, "is not a record"),
}


def test_topics_without_a_table_are_skipped_with_the_reason(folder: Folder) -> None:
    """Next to one table, each other kind of topic; none of them fails, none becomes a file."""
    folder.add("srv.db.dbo.t", table_of())
    for topic, (subjects, _) in LEFT_OUT.items():
        folder.add(topic, subjects)

    result = folder.onboard("*")

    assert {topic: item.state for topic, item in result.items()} == {
        "srv.db.dbo.t": "new",
        **dict.fromkeys(LEFT_OUT, "left out"),
    }
    for topic, (_, reason) in LEFT_OUT.items():
        assert reason in result[topic].reason, topic
    assert list(folder.files) == ["srv_db_dbo_t.toml"]


def test_a_table_file_reads_back_as_onboarded(folder: Folder) -> None:
    """Connector from the source block, key from the key subject, buckets with their reason."""
    folder.add(
        "srv.db.dbo.t", {"key": key({"a": "int", "b": "string"}), "value": envelope({**ROW, "a": "int"})}
    )

    item = folder.onboard("srv.*.t")["srv.db.dbo.t"]

    assert item.path is not None
    table = read(item.path)
    assert table == item.table
    assert (table.dialect, table.key.columns, table.target.index) == ("sqlserver", ("a", "b"), "bucket")
    assert table.subjects.key == "srv.db.dbo.t-key"
    assert item.layout in folder.files["srv_db_dbo_t.toml"]
    assert "the broker was not asked" in item.layout


def test_a_topic_is_onboarded_whichever_strategy_named_its_subjects(folder: Folder) -> None:
    """By topic and record, and by record: the pattern is over topics, the table file has the subjects."""
    folder.register({"s-1.a-s_1.a.Key": key(ID), "s-1.a-s_1.a.Envelope": envelope(ROW)})
    folder.register({"s_1.b.Key": key(ID), "s_1.b.Envelope": envelope(ROW)})
    folder.register({"s.c.Envelope": envelope(ROW), "com.shop.Order": record("com.shop.Order")})
    folder.register({"all-s.x.Envelope": envelope(ROW), "all-s.y.Envelope": envelope(ROW)})

    result = folder.onboard("*")

    assert {topic: item.state for topic, item in result.items()} == {
        "s-1.a": "new", "s_1.b": "new", "s.c": "left out", "all": "failed",
    }  # fmt: skip
    table = result["s-1.a"].table
    assert table is not None
    assert (table.subjects.key, table.subjects.value) == ("s-1.a-s_1.a.Key", "s-1.a-s_1.a.Envelope")
    assert not [caveat for caveat in result["s-1.a"].caveats if "topic" in caveat]
    assert "'_' may replace '-'" in " ".join(result["s_1.b"].caveats)
    assert "'_' may replace '-'" in folder.files["s_1_b.toml"]
    assert "no subject s.c.Key" in result["s.c"].reason
    assert "several records: all-s.x.Envelope, all-s.y.Envelope" in result["all"].reason


def test_a_dry_run_shows_the_same_and_writes_nothing(folder: Folder) -> None:
    """Not even the folder."""
    folder.add("srv.db.dbo.t", table_of())

    shown = folder.onboard("*", dry_run=True)

    assert not (folder.root / "tables").exists()
    assert shown == folder.onboard("*")


def test_a_persons_edits_stay(folder: Folder) -> None:
    """A second time changes nothing, with any edits of a person."""
    folder.add("srv.db.dbo.t", table_of())
    path = folder.onboard("*")["srv.db.dbo.t"].path
    assert path is not None
    edited = (
        path.read_text().replace('type = "cow"', 'type = "mor" # ours is written often') + "\n# the end\n"
    )
    path.write_text(edited)

    again = folder.onboard("*")["srv.db.dbo.t"]

    assert again.state == "unchanged"
    assert path.read_text() == edited


def test_a_new_file_holds_only_what_the_defaults_do_not(folder: Folder) -> None:
    """Policies of all tables stay in the settings; what is fixed is written, and stays when they change."""
    folder.add("srv.db.dbo.t", table_of())
    given = {
        "target": {"type": "mor", "retain_commits": 20},
        "types": {"timestamps": "utc", "out_of_range": "null"},
        "evolution": {"column-dropped": "fail"},
        "rejects": {"max_rows": 5},
    }
    folder.settings = attrs.evolve(folder.settings, defaults=parse_defaults(given))
    result = folder.onboard("*")["srv.db.dbo.t"]
    assert result.path is not None
    assert tomllib.loads(result.path.read_text()) == {
        "table": "srv_db_dbo_t",
        "topic": "srv.db.dbo.t",
        "dialect": "sqlserver",
        "subjects": {"key": "srv.db.dbo.t-key", "value": "srv.db.dbo.t-value"},
        "key": {"columns": ["id"]},
        "target": {"type": "mor", "table_version": 9, "buckets": 2},
        "types": {"time": "string", "nanos": "timestamp", "timestamps": "utc"},
    }
    table = read(result.path, defaults=folder.settings.defaults)
    assert (table, table.policy("column-dropped"), table.rejects.max_rows) == (result.table, "fail", 5)
    assert folder.onboard("*")["srv.db.dbo.t"].state == "unchanged"

    changed = parse_defaults({"target": {"type": "cow"}, "types": {"timestamps": "ntz"}})
    later = read(result.path, defaults=changed)
    assert (later.target.type, later.types.timestamps) == ("mor", "utc")
    assert (later.target.retain_commits, later.types.out_of_range) == (3, "fail")


def test_a_file_with_every_key_written_out_stays(folder: Folder) -> None:
    """Files of earlier versions are not rewritten, whatever `[defaults]` says."""
    folder.add("srv.db.dbo.t", table_of())
    result = folder.onboard("*")["srv.db.dbo.t"]
    assert result.path is not None
    assert result.table is not None
    text = long_form(result.table)
    result.path.write_text(text)
    defaults = parse_defaults({"target": {"type": "mor", "delete": "soft"}, "rejects": {"max_rows": 5}})
    folder.settings = attrs.evolve(folder.settings, defaults=defaults)

    assert folder.onboard("*")["srv.db.dbo.t"].state == "unchanged"
    assert result.path.read_text() == text
    assert read(result.path, defaults=defaults) == read(result.path) == result.table


def test_topics_that_would_become_one_table_are_refused_and_no_others(folder: Folder) -> None:
    """Each names the other, and a template with more of the topic's parts helps."""
    for topic in ("srv.db.dbo.t", "srv.db_dbo.t", "srv.db.dbo.u"):
        folder.add(topic, table_of())

    found = folder.onboard("*")

    assert {topic: result.state for topic, result in found.items()} == {
        "srv.db.dbo.t": "failed", "srv.db_dbo.t": "failed", "srv.db.dbo.u": "new",
    }  # fmt: skip
    assert found["srv.db.dbo.t"].reason.startswith("would become table srv_db_dbo_t, as srv.db_dbo.t would")
    assert set(folder.files) == {"srv_db_dbo_u.toml"}
    named = folder.onboard("srv.db.dbo.t", name="{table}")["srv.db.dbo.t"]
    assert named.path == folder.root / "tables/t.toml"


def test_a_topic_is_refused_where_a_file_of_its_name_reads_another(folder: Folder) -> None:
    """It would be read by no table; in one call the topic with the file keeps its table."""
    for topic in ("a.inv.orders", "b.inv.orders"):
        folder.add(topic, table_of())
    assert folder.onboard("a.inv.orders", name="{table}")["a.inv.orders"].state == "new"

    alone = folder.onboard("b.inv.orders", name="{table}")["b.inv.orders"]
    both = folder.onboard("*", name="{table}")

    assert (alone.state, alone.table) == ("failed", None)
    assert "tables/orders.toml reads a.inv.orders: give this table another name" in alone.reason
    assert [both[topic].state for topic in ("a.inv.orders", "b.inv.orders")] == ["unchanged", "failed"]
    joined = folder.onboard("*", name="{table}", merge=True)
    assert {result.state for result in joined.values()} == {"failed"}
    assert set(folder.files) == {"orders.toml"}


def test_names_that_differ_only_by_letter_case_are_refused_for_a_catalog(folder: Folder) -> None:
    """Hive knows one name for both; without a catalog they are two tables."""
    for topic in ("srv.db.dbo.Orders", "srv.db.dbo.orders"):
        folder.add(topic, table_of())
    plain = folder.settings
    folder.settings = attrs.evolve(plain, lake=attrs.evolve(plain.lake, database="bronze"))
    assert {result.state for result in folder.onboard("*").values()} == {"failed"}
    assert folder.onboard("*.Orders")["srv.db.dbo.Orders"].state == "new"
    assert folder.onboard("*.orders")["srv.db.dbo.orders"].state == "failed"
    folder.settings = plain
    assert folder.onboard("*.orders")["srv.db.dbo.orders"].state == "new"


def test_a_topic_keeps_its_table_whatever_the_template_says(folder: Folder) -> None:
    """Also a topic that a person corrected in the file of its subjects, and the template of the settings."""
    folder.add("srv.db.dbo.t", table_of())
    first = folder.onboard("*")["srv.db.dbo.t"]
    again = folder.onboard("*", name="{table}")["srv.db.dbo.t"]
    assert (first.state, again.state, again.path) == ("new", "unchanged", first.path)
    assert again.caveats[-1] == "has its table file already, and --name {table} does not rename it"
    file = folder.root / "tables/srv_db_dbo_t.toml"
    file.write_text(file.read_text().replace('topic = "srv.db.dbo.t"', 'topic = "srv-db.dbo.t"'))
    assert folder.onboard("*", name="{table}")["srv.db.dbo.t"].state == "unchanged"
    assert set(folder.files) == {"srv_db_dbo_t.toml"}
    folder.add("srv.db.dbo.u", table_of())
    folder.settings = attrs.evolve(folder.settings, onboard=OnboardSettings(name="{schema}_{table}"))
    assert folder.onboard("*.u")["srv.db.dbo.u"].path == folder.root / "tables/dbo_u.toml"


def test_topics_that_are_excluded_are_left_alone(folder: Folder) -> None:
    """By globs; all of them is a mistake."""
    for name in ("a", "b", "tmp_c"):
        folder.add(f"srv.db.dbo.{name}", table_of())
    found = folder.onboard("*", exclude=("*.tmp_*", "*.b"))
    assert set(found) == {"srv.db.dbo.a"}
    with pytest.raises(UsageError, match="excludes all 3 topics"):
        folder.onboard("*", exclude=("srv.*",))


def test_a_check_tells_topics_without_a_file_and_files_without_a_topic(folder: Folder) -> None:
    """And writes nothing."""
    for name in ("a", "b", "c"):
        folder.add(f"srv.db.dbo.{name}", table_of())
    folder.onboard("*.a", "*.b")
    before = folder.files
    shutil.rmtree(folder.root / "registry" / "srv.db.dbo.b-value")
    states = {topic: result.state for topic, result in folder.onboard("*", check=True).items()}
    assert states == {"srv.db.dbo.a": "unchanged", "srv.db.dbo.b": "orphaned", "srv.db.dbo.c": "new"}
    assert folder.files == before
    (orphan,) = folder.onboard("*.b", check=True).values()
    assert "has no topic srv.db.dbo.b: delete the file, or restore the topic" in orphan.reason


def test_a_topic_of_keys_alone_says_so(folder: Folder) -> None:
    """The connector registers the key of a tombstone before any value."""
    folder.add("srv.db.dbo.t", {"key": key(ID)})
    folder.add("srv.db.dbo.u", table_of())
    reason = "It has the subject srv.db.dbo.t-key and no srv.db.dbo.t-value"
    with pytest.raises(UsageError, match=reason):
        folder.onboard("srv.db.dbo.t")
    assert reason in folder.onboard("srv.db.dbo.t", "srv.db.dbo.u")["srv.db.dbo.t"].reason


def test_a_subject_in_a_context_says_how_to_reach_it(folder: Folder) -> None:
    """Confluent lists it under a name with the context."""
    folder.add(":.prod:srv.db.dbo.t", table_of())
    with pytest.raises(UsageError, match=r"is in a context: end \[registry\] url with /contexts/\.prod"):
        folder.onboard("srv.db.dbo.t")


def test_without_a_match_the_topics_are_named(folder: Folder) -> None:
    """A pattern without a topic is the user's mistake."""
    with pytest.raises(UsageError, match="It has no topics"):
        folder.onboard("*")
    folder.add("srv.db.dbo.t", table_of())

    with pytest.raises(UsageError, match=r"matches nope\.\* other.*Its topics are: srv\.db\.dbo\.t"):
        folder.onboard("nope.*", "other")


def test_caveats_are_shown_and_written(folder: Folder) -> None:
    """A default that may mean null, digits that a type drops, and what the source itself gets wrong."""
    columns = {
        **ROW,
        "amount": ["string", "null"],
        "at": nullable(semantic("long", "io.debezium.time.NanoTimestamp")),
        "clock": nullable(semantic("long", "io.debezium.time.NanoTime")),
        "price": nullable(decimal(9, 2)),
    }
    folder.add("srv.db.dbo.t", table_of(columns))

    item = folder.onboard("*")["srv.db.dbo.t"]

    text = " | ".join(item.caveats)
    assert "amount: nullable with a default" in text
    assert "name" not in text.partition("nullable with")[0]
    assert "at: loses digits below 1 µs" in text
    assert "time(4) to time(7)" in text
    for caveat in item.caveats:
        assert caveat in folder.files["srv_db_dbo_t.toml"]


@pytest.mark.parametrize(
    ("kind", "rule"),
    [("NanoTimestamp", 'nanos = "string"'), ("ZonedTimestamp", 'type = "string"')],
)
def test_a_key_keeps_all_its_digits(folder: Folder, kind: str, rule: str) -> None:
    """Two keys that differ below a microsecond, or in their zone, must not become one."""
    physical = "string" if kind == "ZonedTimestamp" else "long"
    column = {"at": semantic(physical, f"io.debezium.time.{kind}")}
    folder.add("srv.db.dbo.t", {"key": key(column), "value": envelope(column)})

    assert folder.onboard("*")["srv.db.dbo.t"].state == "new"

    assert f"[columns.at]\n{rule}" in folder.files["srv_db_dbo_t.toml"]


def test_an_instant_of_mysql_is_a_timestamp_in_the_key_too() -> None:
    """Its snapshots and its changes write one instant in two texts, of which only one may be the key."""
    schema = avro.parse(json.dumps(key({"at": semantic("string", "io.debezium.time.ZonedTimestamp")})))
    as_text = {name for name, dialect in DIALECTS.items() if lossless_keys(schema, dialect)}
    assert as_text == {*DIALECTS} - {"mysql"}


def test_a_table_that_cannot_be_read_fails_alone(folder: Folder) -> None:
    """An unknown type is reported with its subject and path; the others are written."""
    folder.add("srv.db.dbo.good", table_of())
    folder.add("srv.db.dbo.odd", table_of({**ROW, "x": semantic("bytes", "io.debezium.data.geometry.Blob")}))

    result = folder.onboard("*")

    assert result["srv.db.dbo.good"].state == "new"
    odd = result["srv.db.dbo.odd"]
    assert odd.state == "failed"
    assert "srv.db.dbo.odd-value v1" in odd.reason
    assert "$.after.x: 'io.debezium.data.geometry.Blob' carried as 'bytes'" in odd.reason


def test_the_file_of_a_failed_table_can_be_fixed(folder: Folder) -> None:
    """A column that a person excludes in the file no longer stops its table, and the edit stays."""
    folder.add("srv.db.dbo.odd", table_of({**ROW, "x": semantic("bytes", "io.debezium.data.geometry.Blob")}))
    assert folder.onboard("*")["srv.db.dbo.odd"].state == "failed"
    path = folder.root / "tables" / "srv_db_dbo_odd.toml"
    mended = path.read_text() + "\n[columns.x]\nexclude = true  # nobody needs it\n"
    path.write_text(mended)

    assert folder.onboard("*")["srv.db.dbo.odd"].state == "unchanged"

    assert path.read_text() == mended


def test_a_topic_whose_schemas_cannot_be_read_fails_alone(folder: Folder) -> None:
    """A subject that its value refers to is missing: that topic has the error, the others their tables."""
    folder.add("srv.db.dbo.good", table_of())
    folder.add("srv.db.dbo.refers", table_of())
    subjects = [f"srv.db.dbo.{topic}-{part}" for topic in ("good", "refers") for part in ("key", "value")]
    entries: list[dict[str, Any]] = [
        {"subject": name, "version": 1, "id": number} for number, name in enumerate(subjects)
    ]
    entries[-1]["references"] = [{"name": "shop.Money", "subject": "shop.money", "version": 3}]
    (folder.root / "registry" / "fixture.json").write_text(json.dumps({"schemas": entries}))

    results = folder.onboard("*")

    assert {topic: result.state for topic, result in results.items()} == {
        "srv.db.dbo.good": "new", "srv.db.dbo.refers": "failed",
    }  # fmt: skip
    assert "subject shop.money does not exist" in results["srv.db.dbo.refers"].reason


def test_a_topic_that_is_named_and_missing_fails_with_the_nearest_name(folder: Folder) -> None:
    """Next to topics that exist it is an error of its own; a glob may match nothing."""
    folder.add("srv.db.dbo.customers", table_of())

    results = folder.onboard("srv.db.dbo.customer", "srv.db.dbo.customers", "nothing.*")

    assert results["srv.db.dbo.customers"].state == "new"
    missing = results["srv.db.dbo.customer"]
    assert missing.state == "failed"
    assert "has no such topic. Did you mean 'srv.db.dbo.customers'?" in missing.reason
    assert set(results) == {"srv.db.dbo.customer", "srv.db.dbo.customers"}


def test_a_pattern_that_matches_nothing_suggests_topics_and_lists_few(folder: Folder) -> None:
    """Of many topics five are listed, and the nearest one is named."""
    for number in range(7):
        folder.add(f"srv.db.dbo.t{number}", table_of())

    with pytest.raises(UsageError) as caught:
        folder.onboard("srv.db.dbo.t", "other.*")

    assert "Did you mean 'srv.db.dbo.t" in str(caught.value)
    assert "Its topics are: srv.db.dbo.t0, srv.db.dbo.t1" in str(caught.value)
    assert "srv.db.dbo.t4 and 2 more" in str(caught.value)


def test_a_topic_without_keys_gets_the_columns_that_a_person_names(folder: Folder) -> None:
    """The key is taken from the rows; a file that says another key keeps it, and the flag is refused."""
    folder.add("srv.db.dbo.keyless", {"value": envelope({"id": "int", "region": "string"})})
    assert folder.onboard("*")["srv.db.dbo.keyless"].state == "left out"

    result = folder.onboard("*", key=("id", "region"))["srv.db.dbo.keyless"]

    assert (result.state, result.key_columns) == ("new", ("id", "region"))
    assert 'columns = ["id", "region"]' in folder.files["srv_db_dbo_keyless.toml"]
    assert folder.onboard("*")["srv.db.dbo.keyless"].state == "unchanged"
    other = folder.onboard("*", key=("id",))["srv.db.dbo.keyless"]
    assert other.state == "failed"
    assert "srv_db_dbo_keyless.toml has [key] columns id, region" in other.reason
    (folder.root / "tables/srv_db_dbo_keyless.toml").unlink()
    unknown = folder.onboard("*", key=("nope",))["srv.db.dbo.keyless"]
    assert unknown.state == "failed"
    assert "$.nope" in unknown.reason


def test_a_deployment_chooses_the_type_of_wall_clocks_in_new_table_files(folder: Folder) -> None:
    """A file that exists keeps its own; the choice decides the readers that the table excludes."""
    columns = {**ROW, "at": nullable(semantic("long", "io.debezium.time.Timestamp"))}
    folder.add("srv.db.dbo.old", table_of(columns))
    before = folder.onboard("*")["srv.db.dbo.old"]
    folder.settings = attrs.evolve(folder.settings, types=TypesSettings(timestamps="utc"))
    folder.add("srv.db.dbo.new", table_of(columns))

    result = folder.onboard("*")

    after, old = result["srv.db.dbo.new"], result["srv.db.dbo.old"]
    assert [item.table.types.timestamps for item in (before, after, old) if item.table] == [
        "ntz",
        "utc",
        "ntz",
    ]
    assert 'timestamps = "utc"' in folder.files["srv_db_dbo_new.toml"]
    assert [any("timestamp_ntz" in caveat for caveat in item.caveats) for item in (before, after, old)] == [
        True, False, True,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("readers", "version", "timestamps"),
    [
        ((), 9, "ntz"),
        (("spark", "trino"), 6, "ntz"),
        (("duckdb",), 9, "utc"),
        (("spark-0.15",), 6, "utc"),
        (("daft",), 6, "ntz"),
        (("any",), 6, "utc"),
    ],
)
def test_the_readers_of_new_tables_decide_their_format(
    folder: Folder, readers: tuple[Reader, ...], version: int, timestamps: str
) -> None:
    """The table file holds the values, with their reason; a later choice leaves it as it is."""
    folder.settings = attrs.evolve(folder.settings, onboard=OnboardSettings(readers=readers))
    folder.add("srv.db.dbo.t", table_of(ROW))
    folder.onboard("*")
    text = folder.files["srv_db_dbo_t.toml"]
    folder.settings = attrs.evolve(folder.settings, onboard=OnboardSettings(readers=("hudi-rs", "daft")))

    assert folder.onboard("*")["srv.db.dbo.t"].state == "unchanged"
    table = read(folder.root / "tables" / "srv_db_dbo_t.toml")
    assert (table.target.table_version, table.types.timestamps) == (version, timestamps)
    assert table.target.readers == readers
    assert tomllib.loads(text)["target"].get("readers", []) == list(readers)
    assert text.count(f"# for the readers: {', '.join(readers)}\n") == (2 if readers else 0)


def test_the_readers_of_the_defaults_decide_the_format_of_new_tables(folder: Folder) -> None:
    """The table file has the format, which is fixed, and the settings keep the names."""
    folder.settings = attrs.evolve(folder.settings, defaults=parse_defaults({"target": {"readers": ["any"]}}))
    folder.add("srv.db.dbo.t", table_of(ROW))
    result = folder.onboard("*")["srv.db.dbo.t"]
    assert result.path is not None
    written = tomllib.loads(result.path.read_text())
    assert (written["target"]["table_version"], written["types"]["timestamps"]) == (6, "utc")
    assert "readers" not in written["target"]


ZONED = semantic("string", "io.debezium.time.ZonedTimestamp")
NUMERIC = variable_decimal()


def of_connector(name: str, topic: str, columns: Mapping[str, Any]) -> dict[str, Any]:
    """Make the subjects of a connector's topic."""
    return {"key": key_schema(topic, ID), "value": envelope_schema(topic, columns, CONNECTORS[name])}


@pytest.mark.parametrize(
    ("connector", "loses_offset"),
    [("postgres", False), ("mysql", False), ("sqlserver", True), ("oracle", True)],
)
def test_the_offset_of_an_instant_is_lost_only_if_the_source_has_one(
    folder: Folder, connector: str, *, loses_offset: bool
) -> None:
    """PostgreSQL and MySQL keep none, and send UTC."""
    folder.add("s.d.t", of_connector(connector, "s.d.t", {**ID, "at": nullable(ZONED)}))
    (result,) = folder.onboard("*").values()
    assert ("at: loses the offset" in " ".join(result.caveats)) == loses_offset


@pytest.mark.parametrize(
    ("connector", "words", "kind"),
    [
        ("postgres", "NaN", decimal(9, 2)),
        ("mysql", "zero dates", semantic("int", "io.debezium.time.Date")),
        ("mysql", "years below 100", semantic("int", "io.debezium.time.Year")),
        ("oracle", "'' as null", "string"),
        ("oracle", "RAW", "bytes"),
        ("sqlserver", "nvarchar", "string"),
    ],
)
def test_a_caveat_of_a_type_is_for_tables_with_that_type(
    folder: Folder, connector: str, words: str, kind: Any
) -> None:
    """A table of whole numbers has none of them."""
    folder.add("s.d.has", of_connector(connector, "s.d.has", {**ID, "c": nullable(kind)}))
    folder.add("s.d.none", of_connector(connector, "s.d.none", ID))
    result = folder.onboard("*")
    assert [words in " ".join(result[topic].caveats) for topic in ("s.d.has", "s.d.none")] == [True, False]


def test_a_number_that_becomes_text_is_a_caveat_until_its_type_is_declared(folder: Folder) -> None:
    """PostgreSQL's `numeric` has any precision; the caveat says what to write."""
    columns = {**ID, "total": nullable(NUMERIC), "price": nullable(decimal(9, 2))}
    folder.add("s.d.t", of_connector("postgres", "s.d.t", columns))
    result = folder.onboard("*")["s.d.t"]
    (caveat,) = [text for text in result.caveats if "becomes text" in text]
    assert caveat.startswith("total: becomes text")
    declared = caveat.partition("declare one: ")[2].replace("] type", "]\ntype")
    assert result.path is not None
    result.path.write_text(f"{result.path.read_text()}\n{declared}\n")
    assert "becomes text" not in " ".join(folder.onboard("*")["s.d.t"].caveats)


def test_topics_that_may_be_partitions_are_a_caveat_of_their_table(folder: Folder) -> None:
    """In PostgreSQL, with equal columns: their changes do not reach the table's topic by default."""
    for name in ("orders", "orders_2026_01", "orders_2026_02", "ordersold"):
        folder.add(f"s.d.{name}", of_connector("postgres", f"s.d.{name}", ROW))
    folder.add("s.d.orders_notes", of_connector("postgres", "s.d.orders_notes", ID))
    found = {
        topic: text
        for topic, result in folder.onboard("*").items()
        for text in result.caveats
        if "partition" in text
    }
    assert list(found) == ["s.d.orders"]
    assert found["s.d.orders"].startswith("s.d.orders_2026_01, s.d.orders_2026_02 may be its partitions")
    assert "publish.via.partition.root = true" in found["s.d.orders"]


def test_a_table_without_a_key_is_left_out_with_its_consequence_in_postgresql(folder: Folder) -> None:
    """A publication with it stops the updates of production."""
    for connector in ("postgres", "mysql"):
        topic = f"s.{connector}.t"
        folder.add(topic, {"value": of_connector(connector, topic, ROW)["value"]})
    reasons = {topic: result.reason for topic, result in folder.onboard("*").items()}
    assert "PostgreSQL refuses updates and deletes" in reasons["s.postgres.t"]
    assert "refuses" not in reasons["s.mysql.t"]
