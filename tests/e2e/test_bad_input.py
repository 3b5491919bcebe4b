"""A message that cannot be read stops its own table, by name, and nothing of its range is committed."""

from collections.abc import Callable, Mapping
from typing import Final

import attrs
import pytest
from pyspark.sql import SparkSession

from ingest.local.servers import Addresses
from ingest.run.report import RunReport, TableOutcome
from tests.e2e.deployment import Deployment
from tests.e2e.events import (
    Change,
    Record,
    Topic,
    envelope_schema,
    framed,
    make_topics,
    nullable,
    semantic,
)
from tests.e2e.referee import Rows, read_table

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
    """A way to spoil a message, and what the error must say of it."""

    spoil: Callable[[Topic], Record]
    reason: str
    headers: Mapping[str, bytes] = attrs.Factory(dict)


def with_value(change: Callable[[bytes], bytes]) -> Callable[[Topic], Record]:
    """Spoil the bytes of a value."""
    return lambda topic: (topic.key_bytes(BAD.row), change(topic.value_bytes(BAD)))


def note_as_value(topic: Topic) -> Record:
    """Write a value with a schema that the registry has, but that is no change event."""
    schema_id = topic.register(f"{topic.name}.notes-value", NOTE)
    return topic.key_bytes(BAD.row), framed(schema_id, NOTE, {"text": "x"})


def text_as_key(topic: Topic) -> Record:
    """Write a key with a schema that the registry has, but that is no record."""
    schema_id = topic.register(f"{topic.name}.text-key", "string")
    return framed(schema_id, "string", "3"), topic.value_bytes(BAD)


def unmapped_type(topic: Topic) -> Record:
    """Write with a new version that has a type without a rule."""
    schema_id = topic.add_version({**COLUMNS, "shape": nullable(UNMAPPED)})
    return topic.record(attrs.evolve(BAD, row={**BAD.row, "shape": b"x"}), schema_id)


CASES: Final[Mapping[str, Case]] = {
    "truncated": Case(with_value(lambda b: b[:-3]), "not readable with its own schema"),
    "trailing": Case(with_value(lambda b: b + b"\0\0"), "2 bytes are left over"),
    "magic": Case(with_value(lambda b: b"\7" + b[1:]), "magic byte 0x07 is not 0x00"),
    "guid": Case(with_value(lambda b: b"\1" + bytes(16) + b[5:]), "GUID (magic byte 1) is not supported yet"),
    "unknown": Case(with_value(lambda b: b"\0\0\x98\x96\x7f" + b[5:]), "unknown schema id 9999999"),
    "rubbish": Case(with_value(lambda _: b"\0" + b"\xff" * 20), "unknown schema id 4294967295"),
    "in_header": Case(
        with_value(lambda b: b[5:]),
        "a schema id in the header __value_schema_id is not supported yet",
        {"__value_schema_id": b"\1" + bytes(16)},
    ),
    "null_key": Case(lambda topic: (None, topic.value_bytes(BAD)), "key: null"),
    "cut_key": Case(
        lambda topic: (topic.key_bytes(BAD.row)[:-1], topic.value_bytes(BAD)), "key: not readable"
    ),
    "text_key": Case(text_as_key, "key: "),
    "note": Case(note_as_value, "its schema is no change event"),
    "unmapped": Case(unmapped_type, "io.debezium.data.geometry.Blob"),
}


@attrs.frozen
class Seen:
    """What became of everything: a run over good messages, then one over bad ones too."""

    deployment: Deployment
    first: RunReport
    rows: Mapping[str, Rows]
    """The tables as the first run left them."""
    second: RunReport
    elsewhere_id: int
    """The id that is no version of its topic's subject."""

    def outcome(self, name: str) -> TableOutcome:
        """Find what the second run did to a table."""
        return next(one for one in self.second.tables if one.table == name)


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory, servers: Addresses, outer_spark: SparkSession) -> Seen:
    """Run three tables over good messages, then all: each case's topic holds good, bad, good."""
    deployment = Deployment(tmp_path_factory.mktemp("bad"), servers, outer_spark, "bad")
    topics = make_topics(servers, {f"bad.testDB.dbo.{n}": COLUMNS for n in (*CASES, "fine", "elsewhere")})
    deployment.onboard()
    for topic in topics.values():
        topic.send(*GOOD)
    first = deployment.run(BEFORE)
    rows = {name: read_table(deployment.frame(name), ["id"]) for name in BEFORE}
    for name, case in CASES.items():
        written = topics[name].last_id
        topics[name].produce([case.spoil(topics[name])], headers=case.headers)
        topics[name].send(LAST, schema_id=written)
    elsewhere_id = send_good(topics)
    return Seen(deployment, first, rows, deployment.run(), elsewhere_id)


def send_good(topics: Mapping[str, Topic]) -> int:
    """Send what looks odd and can be read: beside an unused bad version, and by an id of another subject."""
    topics["fine"].add_version({**COLUMNS, "shape": nullable(UNMAPPED)})
    topics["fine"].send(LAST, schema_id=next(iter(topics["fine"].versions)))
    other, wider = topics["elsewhere"], {**COLUMNS, "more": nullable("long")}
    schema_id = other.register("elsewhere.v2-value", envelope_schema(other.name, wider))
    other.versions[schema_id] = wider
    other.send(attrs.evolve(LAST, row={**LAST.row, "more": 1 << 40}))
    return schema_id


@pytest.mark.parametrize("name", CASES)
def test_the_error_names_the_place_and_the_reason(seen: Seen, name: str) -> None:
    """Topic, partition, offset, and what is wrong there."""
    outcome = seen.outcome(name)

    assert outcome.outcome == "failed", outcome.error
    text = str(outcome.error)
    assert f"bad.testDB.dbo.{name}-0-{BAD_OFFSET}: " in text
    assert CASES[name].reason in text


def test_nothing_of_a_bad_range_is_committed(seen: Seen) -> None:
    """Neither the good messages around the bad one nor the offsets: no instant, no new table."""
    assert [one.outcome for one in seen.first.tables] == ["committed"] * len(BEFORE)
    for name in CASES:
        assert seen.outcome(name).instant is None
    lake = seen.deployment.root / "lake"
    assert {path.name for path in lake.iterdir()} == {*BEFORE, "fine", "elsewhere"}
    for name in set(BEFORE) - {"fine"}:
        (status,) = seen.deployment.session.status([name])
        assert status.last is not None
        assert status.last.instant == next(one.instant for one in seen.first.tables if one.table == name)
        assert (status.last.next_offsets, status.lag) == ({0: 2}, 2)
        assert read_table(seen.deployment.frame(name), ["id"]) == seen.rows[name]


def test_the_others_go_on(seen: Seen) -> None:
    """A version that nobody wrote with stops nothing; the exit code tells of the failures."""
    fine = seen.outcome("fine")

    assert (fine.outcome, fine.tally.read) == ("committed", 1)
    assert len(read_table(seen.deployment.frame("fine"), ["id"])) == 3
    assert (seen.first.exit_code, seen.second.exit_code) == (0, 1)


def test_an_id_of_another_subject_is_looked_up(seen: Seen) -> None:
    """The registry knows the schema, so the record is read with it, and the column added."""
    outcome = seen.outcome("elsewhere")
    rows = read_table(seen.deployment.frame("elsewhere"), ["id"])

    assert outcome.outcome == "committed", outcome.error
    assert seen.elsewhere_id in outcome.tally.schema_ids
    assert [rows[(number,)]["more"] for number in (1, 2, 4)] == [None, None, 1 << 40]


def test_every_report_accounts_for_what_it_read(seen: Seen) -> None:
    """Messages read are upserted, deleted, superseded, ignored or rejected, in failed tables too."""
    for report in (seen.first, seen.second):
        for table in report.to_json()["tables"]:
            applied = table["applied"]["upserted"] + table["applied"]["deleted"]
            counted = applied + table["superseded"] + sum(table["ignored"].values()) + table["rejected"]
            assert table["read"] == counted
    rejected = {one["table"]: one["rejected"] for one in seen.second.to_json()["tables"]}
    assert rejected == {**dict.fromkeys(CASES, 1), "fine": 0, "elsewhere": 0}
