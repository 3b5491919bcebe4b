"""A table that begins with an export has its rows, and every later change of the source."""

from collections.abc import Callable, Mapping
from typing import Any

import attrs
import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from ingest.adopt.plan import Takeover
from ingest.adopt.request import LoadRequest
from ingest.testing import Topic, nullable
from ingest.testing import time as time_of_day
from tests.e2e.deployment import Deployment
from tests.e2e.test_rebuild import frozen_states, session_at
from tests.patience import ANSWER_S

pytestmark = [pytest.mark.spark, pytest.mark.servers]

COLUMNS = {"id": "long", "v": nullable("string"), "t": nullable(time_of_day("us"))}
NOON_US = 43_200_000_000
Row = dict[str, Any]


def row_of(key: int | None, value: str) -> Row:
    """Return a row of the source."""
    return {"id": key, "v": value, "t": NOON_US}


def send_all(topic: Topic, start: int = 0) -> None:
    """Send the changes of a source, each a transaction of its own, from one of them on.

    The export is made after the seventh: by then rows 1, 3 and 5 are there, and 2 and 4 were deleted.
    """
    steps = [
        *((topic.create(row_of(key, "a")), key) for key in range(1, 5)),
        (topic.delete(row_of(2, "a"), at=5), 5),
        (topic.delete(row_of(4, "a"), at=6), 6),
        (topic.create(row_of(5, "a"), at=7), 7),
        (topic.update(row_of(1, "b"), at=8), 8),
        (topic.create(row_of(2, "b"), at=9), 9),
        (topic.delete(row_of(3, "a"), at=10), 10),
    ]
    for messages, number in steps:
        if number > start:
            topic.produce(messages)


EXPORTED = [row_of(1, "a"), row_of(3, "a"), row_of(5, "a")]
FINAL = [(1, "b"), (2, "b"), (5, "a")]
POSITIONS: Mapping[str, str] = {
    "sqlserver": "0000002b:00000007:0003",
    "postgres": "0/18CD8F8",  # 300 after the commit of the seventh, before that of the eighth
    "mysql": "mysql-bin.000003:750",
}


def export(deployment: Deployment, rows: list[Row], columns: str = "ID int, v string, t string") -> str:
    """Write an export by Spark: names of other case, a narrower key."""
    path = str(deployment.root / f"export{len(list(deployment.root.glob('export*')))}")
    names = [part.split()[0] for part in columns.split(", ")]
    records = [
        tuple({**row, "ID": row["id"], "t": "12:00:00.000000"}[name] for name in names) for row in rows
    ]
    deployment.spark.createDataFrame(records, columns).coalesce(1).write.parquet(path)
    return path


def load(deployment: Deployment, table: str, path: str, **options: Any) -> Takeover:
    """Load one table from files of parquet."""
    with deployment.session as session:
        return session.load(table, LoadRequest("parquet", path, **options))


def stored(deployment: Deployment, table: str) -> list[tuple[Any, ...]]:
    """Read a table with plain Spark."""
    return sorted(tuple(row) for row in deployment.frame(table).select("id", "v").collect())


def begin(make_deployment: Callable[[], Deployment], connector: str) -> tuple[Deployment, Topic, str]:
    """Make a topic of a connector, and its table file."""
    deployment = make_deployment()
    part = {"sqlserver": "dbo", "postgres": "inv", "mysql": "inv"}[connector]
    topic = deployment.topic(f"{deployment.prefix}.{part}.{connector}", COLUMNS, connector=connector)
    deployment.onboard([topic.name])
    return deployment, topic, connector


@pytest.mark.parametrize("connector", list(POSITIONS))
def test_a_loaded_table_continues_from_the_position_of_its_export(
    connector: str, make_deployment: Callable[[], Deployment]
) -> None:
    """Older changes of the topic lose, the rows that they deleted stay away, and later changes win."""
    deployment, topic, table = begin(make_deployment, connector)
    send_all(topic)
    path, position = export(deployment, EXPORTED), POSITIONS[connector]

    planned = load(deployment, table, path, position=position, dry_run=True)
    assert (planned.error, planned.outcome) == (None, "planned")
    assert not (deployment.root / "lake" / table).exists()
    assert load(deployment, table, path, position=position).error is None
    assert stored(deployment, table) == [(1, "a"), (3, "a"), (5, "a")]
    assert load(deployment, table, path, position=position).outcome == "idle"
    if connector == "sqlserver":
        again = load(deployment, table, export(deployment, EXPORTED), position=position)
        assert "the table has commits, the newest is" in str(again.error)
    (outcome,) = deployment.run(max_offsets=1).tables  # no state before the export is shown
    assert outcome.error is None
    assert stored(deployment, table) == FINAL


def test_an_export_after_which_changes_are_missing_is_refused(
    make_deployment: Callable[[], Deployment],
) -> None:
    """Deleted from the topic, or before the offsets given; with all of them there, it is loaded."""
    deployment, topic, table = begin(make_deployment, "sqlserver")
    send_all(topic)  # offsets: deletes have tombstones, so the update at 8 has offset 9
    path = export(deployment, EXPORTED)
    skipped = load(deployment, table, path, position=POSITIONS[table], offsets="0=10")
    assert "come 1 changes before the offsets --offsets 0=10" in str(skipped.error)
    wrong = load(deployment, table, path, position="7").error
    assert wrong is not None
    assert (wrong.exit_code, "not a position of SQL Server" in str(wrong)) == (2, True)

    admin = AdminClient({"bootstrap.servers": deployment.servers.bootstrap_servers})
    before = TopicPartition(topic.name, 0, 8)
    admin.delete_records([before])[before].result(timeout=ANSWER_S)
    retained = load(deployment, table, path, position=POSITIONS[table], dry_run=True)
    assert retained.outcome == "planned"
    before = TopicPartition(topic.name, 0, 9)
    admin.delete_records([before])[before].result(timeout=ANSWER_S)
    lost = load(deployment, table, path, position=POSITIONS[table])
    assert "messages before offset 9 were deleted, and that of offset 9 is later" in str(lost.error)
    assert not (deployment.root / "lake" / table).exists()


def test_an_export_whose_rows_do_not_fit_is_refused_by_column(
    make_deployment: Callable[[], Deployment],
) -> None:
    """A wider type, a column that is missing, keys that are null or not unique, a value left out."""
    deployment, _, table = begin(make_deployment, "sqlserver")
    position = POSITIONS[table]

    def refusal(rows: list[Row], columns: str = "id int, v string, t string") -> str:
        return str(load(deployment, table, export(deployment, rows, columns), position=position).error)

    doubles = [{**row, "id": float(row["id"])} for row in EXPORTED]
    assert "column id is a double, which does not fit bigint" in refusal(
        doubles, "id double, v string, t string"
    )
    assert "column v (string) is missing" in refusal(EXPORTED, "id int, t string")
    assert "1 rows have null in the key column id" in refusal([*EXPORTED, row_of(None, "a")])
    assert "1 values of the key id have several rows" in refusal([*EXPORTED, row_of(1, "b")])
    placeholder = row_of(9, "__debezium_unavailable_value")
    assert "1 rows have in column v the connector's placeholder" in refusal([*EXPORTED, placeholder])
    assert not (deployment.root / "lake" / table).exists()
    path = export(deployment, EXPORTED, "id int, t string")
    assert load(deployment, table, path, position=position, nulls=("v",)).error is None


def test_columns_are_checked_before_the_topic_is_read(make_deployment: Callable[[], Deployment]) -> None:
    """A position of PostgreSQL is looked up among all messages, which takes long in a large topic."""
    deployment, topic, table = begin(make_deployment, "postgres")
    send_all(topic)
    path, steps = export(deployment, EXPORTED, "id int, t string"), list[str]()
    request = LoadRequest("parquet", path, position=POSITIONS[table])
    with deployment.session as session:
        refused = session.load(table, request, progress=lambda _, step: steps.append(str(step)))
        assert "column v (string) is missing" in str(refused.error)
        assert "reading the positions of the topic" not in steps
        request = attrs.evolve(request, nulls=("v",))
        assert session.load(table, request, progress=lambda _, step: steps.append(str(step))).error is None
    assert "reading the positions of the topic" in steps


@pytest.mark.pairs
def test_a_load_that_is_killed_leaves_the_whole_table_or_none(
    make_deployment: Callable[[], Deployment],
) -> None:
    """At every change of the table's folder: the same command finishes, with each row once."""
    deployment, topic, table = begin(make_deployment, "sqlserver")
    send_all(topic)
    (deployment.root / "lake").mkdir()
    request = LoadRequest("parquet", export(deployment, EXPORTED), position=POSITIONS[table])
    outcomes = []

    def work() -> Takeover:
        return load(deployment, table, request.origin, position=request.position)

    for lake in frozen_states(deployment, table, work):
        with session_at(deployment, lake) as session:
            result = session.load(table, request)
        assert result.error is None
        outcomes.append(result.outcome)
        frame = deployment.spark.read.format("hudi").load(str(lake / table))
        assert sorted((row["id"], row["v"]) for row in frame.collect()) == [(1, "a"), (3, "a"), (5, "a")]
    assert (outcomes[0], outcomes[-1]) == ("loaded", "idle")
    assert stored(deployment, table) == [(1, "a"), (3, "a"), (5, "a")]
