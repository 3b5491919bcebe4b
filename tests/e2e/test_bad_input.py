"""A message that cannot be read becomes a reject with its details; too many rejects fail their table.

A replay later applies fixed messages at their position; the others stay rejects.
"""

import re
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Final

import attrs
import pytest
from pyspark.sql import Row
from pyspark.sql import functions as F

from ingest.report.outcome import RunReport, TableOutcome
from ingest.testing import Message, framed, nullable, semantic
from tests.e2e.deployment import Deployment, Deployments
from tests.e2e.events import Change, Topic, envelope_schema, make_topics
from tests.e2e.referee import Rows, read_table
from tests.e2e.tablefiles import allow_rejects

pytestmark = [pytest.mark.spark, pytest.mark.servers]

COLUMNS: Final = {"id": "int", "name": nullable("string")}
GOOD: Final = (Change("c", {"id": 1, "name": "a"}, at=1), Change("c", {"id": 2, "name": "b"}, at=2))
BAD: Final = Change("c", {"id": 3, "name": "c"}, at=3)
LAST: Final = Change("c", {"id": 4, "name": "d"}, at=4)
BAD_OFFSET: Final = len(GOOD)
BEFORE: Final = ("magic", "null_key", "fine")
"""Tables that are there before anything bad comes."""
UNMAPPED: Final = semantic("bytes", "io.debezium.data.geometry.Blob")
NOTE: Final = {"type": "record", "name": "Note", "fields": [{"name": "text", "type": "string"}]}


@attrs.frozen
class Case:
    """A way to corrupt a message, its reason, and the text of its error."""

    spoil: Callable[[Topic], Message]
    reason: str
    error: str
    headers: Mapping[str, bytes] = attrs.Factory(dict)


def with_value(change: Callable[[bytes], bytes]) -> Callable[[Topic], Message]:
    """Corrupt the bytes of a value."""
    return lambda topic: (topic.key_bytes(BAD.row), change(topic.value_bytes(BAD)))


def note_as_value(topic: Topic) -> Message:
    """Write a value with a registered schema that is not a change event."""
    schema_id = topic.register(f"{topic.name}.notes-value", NOTE)
    return topic.key_bytes(BAD.row), framed(schema_id, NOTE, {"text": "x"})


def text_as_key(topic: Topic) -> Message:
    """Write a key with a registered schema that is not a record."""
    schema_id = topic.register(f"{topic.name}.text-key", "string")
    return framed(schema_id, "string", "3"), topic.value_bytes(BAD)


def unmapped_type(topic: Topic) -> Message:
    """Write with a new version that has a type without a rule."""
    schema_id = topic.add_version({**COLUMNS, "shape": nullable(UNMAPPED)})
    return topic.record(attrs.evolve(BAD, row={**BAD.row, "shape": b"x"}), schema_id)


def key_of_another_topic(topic: Topic) -> Message:
    """Write a key with another topic's schema: its column of the same name has another type."""
    key = {"type": "record", "name": "Key", "fields": [{"name": "id", "type": "string"}]}
    schema_id = topic.register(f"{topic.name}.other-key", key)
    return framed(schema_id, key, {"id": "3"}), topic.value_bytes(BAD)


CASES: Final[Mapping[str, Case]] = {
    "truncated": Case(with_value(lambda b: b[:-3]), "unreadable", "not readable with its own schema"),
    "trailing": Case(with_value(lambda b: b + b"\0\0"), "unreadable", "2 bytes are left over"),
    "magic": Case(with_value(lambda b: b"\7" + b[1:]), "unreadable", "magic byte 0x07 is not 0x00"),
    "guid": Case(
        with_value(lambda b: b"\1" + bytes(16) + b[5:]), "unreadable", "a schema GUID (magic byte 1)"
    ),
    "unknown": Case(with_value(lambda b: b"\0\0\x98\x96\x7f" + b[5:]), "unknown-schema", "id 9999999"),
    "rubbish": Case(with_value(lambda _: b"\0" + b"\xff" * 20), "unknown-schema", "id 4294967295"),
    "in_header": Case(
        with_value(lambda b: b[5:]),
        "unreadable",
        "a schema id in the header __value_schema_id: name the producers' framings",
        {"__value_schema_id": b"\1" + bytes(16)},
    ),
    "null_key": Case(lambda topic: (None, topic.value_bytes(BAD)), "null-key", "key: null"),
    "cut_key": Case(
        lambda topic: (topic.key_bytes(BAD.row)[:-1], topic.value_bytes(BAD)),
        "unreadable",
        "key: not readable",
    ),
    "text_key": Case(text_as_key, "unknown-schema", "key: "),
    "note": Case(note_as_value, "unreadable", "its schema is not that of a change event"),
    "unmapped": Case(unmapped_type, "unmapped-schema", "io.debezium.data.geometry.Blob"),
    "other_key": Case(key_of_another_topic, "unmapped-schema", "was written as string and as int"),
}
STRICT: Final = {"strict": "max_rows = 0", "many": "max_share = 0.5"}
"""Tables that fail by the limits of their files: one bad message, or 11 of 15."""


@attrs.frozen
class Seen:
    """The result: a run over good messages, then one over bad messages too."""

    deployment: Deployment
    topics: Mapping[str, Topic]
    first: RunReport
    rows: Mapping[str, Rows]
    """The tables as the first run left them."""
    second: RunReport
    elsewhere_id: int
    """The id that is no version of its topic's subject."""

    def outcome(self, name: str) -> TableOutcome:
        """Return the second run's outcome of a table."""
        return next(outcome for outcome in self.second.tables if outcome.table == name)

    def names(self, name: str) -> dict[int, str]:
        """Read a table's rows: names by id."""
        return {key[0]: row["name"] for key, row in read_table(self.deployment.frame(name), ["id"]).items()}


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory, deployments: Deployments) -> Seen:
    """Run three tables over good messages, then all: each case's topic holds good, bad, good."""
    deployment = deployments.recorded(tmp_path_factory.mktemp("bad"), "bad")
    names = (*CASES, *STRICT, "fine", "elsewhere")
    topics = make_topics(deployments.servers, {f"bad.testDB.dbo.{name}": COLUMNS for name in names})
    deployment.onboard()
    allow_rejects(deployment)
    for topic in topics.values():
        topic.send(*GOOD)
    first = deployment.run(BEFORE)
    rows = {name: read_table(deployment.frame(name), ["id"]) for name in BEFORE}
    for name, case in CASES.items():
        written = topics[name].last_id
        topics[name].produce([case.spoil(topics[name])], headers=case.headers)
        topics[name].send(LAST, schema_id=written)
    for name, bound in STRICT.items():
        edit(deployment, name, bound.partition(" = ")[0], bound)
        bad = [(None, b"\7")] * (1 if name == "strict" else 11)
        topics[name].produce([*bad, topics[name].record(LAST)])
    elsewhere_id = send_good(topics)
    return Seen(deployment, topics, first, rows, deployment.run(), elsewhere_id)


def edit(deployment: Deployment, table: str, key: str, line: str) -> None:
    """Replace the line of a table file that starts with a key."""
    path = deployment.root / "tables" / f"{table}.toml"
    path.write_text(re.sub(rf"(?m)^{re.escape(key)} .*$|^{re.escape(key)}$", line, path.read_text()))


def send_good(topics: Mapping[str, Topic]) -> int:
    """Send unusual but valid messages: next to an unused bad version, and by an id of another subject."""
    topics["fine"].add_version({**COLUMNS, "shape": nullable(UNMAPPED)})
    topics["fine"].send(LAST, schema_id=next(iter(topics["fine"].versions)))
    other, wider = topics["elsewhere"], {**COLUMNS, "more": nullable("long")}
    schema_id = other.register("elsewhere.v2-value", envelope_schema(other.name, wider))
    other.versions[schema_id] = wider
    other.send(attrs.evolve(LAST, row={**LAST.row, "more": 1 << 40}), schema_id=schema_id)
    return schema_id


@pytest.mark.parametrize("name", CASES)
def test_a_bad_message_is_rejected_and_its_range_continues(seen: Seen, name: str) -> None:
    """The reject has coordinates, reason and error; the good messages around it are rows."""
    outcome = seen.outcome(name)

    assert outcome.outcome == "committed", outcome.error
    assert outcome.counts.rejected == 1
    assert seen.names(name) == {1: "a", 2: "b", 4: "d"}


@pytest.fixture(scope="module")
def rejects(seen: Seen) -> dict[str, Row]:
    """Read every case's rejects table with plain Spark."""
    lake = seen.deployment.root / "lake" / "_rejects"
    frames = [seen.deployment.spark.read.format("hudi").load(str(lake / name)) for name in CASES]
    labelled = [
        frame.select(F.lit(name).alias("table"), "*") for name, frame in zip(CASES, frames, strict=True)
    ]
    rows = reduce(lambda left, right: left.unionByName(right), labelled).collect()
    assert len(rows) == len(CASES)
    return {row.table: row for row in rows}


@pytest.mark.parametrize("name", CASES)
def test_a_reject_has_coordinates_and_a_reason(seen: Seen, rejects: dict[str, Row], name: str) -> None:
    """Coordinates, time, schema id, a reason to count by, an error to read, and its run."""
    row, case = rejects[name], CASES[name]

    assert (row.topic, row.partition, row.offset) == (f"bad.testDB.dbo.{name}", 0, BAD_OFFSET)
    assert (row.reason, row.resolved) == (case.reason, None)
    assert case.error in row.error
    assert (row.run_id, row.rejected_at >= row.timestamp) == (seen.second.run_id, True)
    avro = row.value[:1] == b"\0" and row.value[1] < 0x80
    assert row.schema_id == (int.from_bytes(row.value[1:5], "big") if avro and name != "in_header" else None)


def test_a_reject_keeps_its_bytes_and_headers(seen: Seen, rejects: dict[str, Row]) -> None:
    """Exactly those that were produced."""
    for name in ("magic", "null_key", "cut_key", "in_header"):
        key, value = CASES[name].spoil(seen.topics[name])
        row = rejects[name]
        assert (row.key and bytes(row.key), bytes(row.value)) == (key, value)
        headers = {header.key: bytes(header.value) for header in row.headers or ()}
        assert headers == CASES[name].headers


@pytest.mark.parametrize("name", STRICT)
def test_too_many_rejects_stop_the_table_and_nothing_is_committed(seen: Seen, name: str) -> None:
    """The error has the first reject's coordinates and reason; neither rows nor rejects are written."""
    outcome = seen.outcome(name)

    assert (outcome.outcome, outcome.instant) == ("failed", None)
    text = str(outcome.error)
    assert f"bad.testDB.dbo.{name}-0-{BAD_OFFSET}: value: magic byte 0x07" in text
    if name == "many":
        assert "11 of 14 messages are rejected, and [rejects] allows 10" in text
        assert "max_rows = 10000, max_share = 0.5, min_rows = 10" in text
    lake = seen.deployment.root / "lake"
    assert not (lake / name).exists()
    assert not (lake / "_rejects" / name).exists()


def test_tables_without_rejects_have_no_rejects_table(seen: Seen) -> None:
    """Only a reject creates the rejects table."""
    assert {path.name for path in (seen.deployment.root / "lake" / "_rejects").iterdir()} == {*CASES}
    assert seen.deployment.session.rejects("fine").open == 0


def test_other_tables_continue(seen: Seen) -> None:
    """An unused version stops nothing; the exit code reports the failures."""
    fine = seen.outcome("fine")

    assert (fine.outcome, fine.counts.read) == ("committed", 1)
    assert len(read_table(seen.deployment.frame("fine"), ["id"])) == 3
    assert (seen.first.exit_code, seen.second.exit_code) == (0, 1)


def test_an_id_of_another_subject_is_looked_up(seen: Seen) -> None:
    """The registry has the schema, so the record is decoded with it, and the column added."""
    outcome = seen.outcome("elsewhere")
    rows = read_table(seen.deployment.frame("elsewhere"), ["id"])

    assert outcome.outcome == "committed", outcome.error
    assert seen.elsewhere_id in outcome.counts.schema_ids
    assert [rows[(number,)]["more"] for number in (1, 2, 4)] == [None, None, 1 << 40]


def test_every_report_accounts_for_all_messages_read(seen: Seen) -> None:
    """Messages read are upserted, deleted, superseded, ignored or rejected, in failed tables too."""
    for report in (seen.first, seen.second):
        for table in report.to_json()["tables"]:
            applied = table["applied"]["upserted"] + table["applied"]["deleted"]
            counted = applied + table["superseded"] + sum(table["ignored"].values()) + table["rejected"]
            assert table["read"] == counted
    rejected = {table["table"]: table["rejected"] for table in seen.second.to_json()["tables"]}
    assert rejected == {**dict.fromkeys(CASES, 1), "strict": 1, "many": 11, "fine": 0, "elsewhere": 0}


def test_a_replay_applies_fixed_records_and_keeps_the_others(seen: Seen) -> None:
    """The new version's odd column is now excluded; a null key stays null."""
    session = seen.deployment.session
    path = seen.deployment.root / "tables" / "unmapped.toml"
    path.write_text(path.read_text().replace("[hudi]", "[columns.shape]\nexclude = true\n\n[hudi]"))

    done, failed = session.replay("unmapped"), session.replay("null_key", partition=0, offset=BAD_OFFSET)

    assert (done.resolved, done.counts.rejected) == (1, 0)
    assert (failed.resolved, failed.counts.rejected) == (0, 1)
    assert seen.names("unmapped") == {1: "a", 2: "b", 3: "c", 4: "d"}
    (status,) = session.status(["unmapped"])
    assert status.last is not None
    assert (status.last.kind, status.lag, status.rejects) == ("replay", 0, 0)
    assert (session.rejects("unmapped").resolved, session.rejects("unmapped").records) == (1, ())
    assert session.rejects("null_key").reasons == {"null-key": 1}
    assert session.replay("unmapped").counts.read == 0
