"""Optional modes of a table file: append, truncates, columns of documents."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer

from ingest.errors import DecodeError
from ingest.hudi.table import HudiTable
from ingest.local.load import LoadOptions, load
from ingest.names import Subject
from ingest.testing.deployment import Deployment as BuiltDeployment
from tests.e2e.deployment import Deployment
from tests.e2e.forms import make_bare, make_deltas
from tests.e2e.forms.deltas import CaptureMode
from tests.e2e.recordings import (
    MONGODB,
    ORACLE,
    POSTGRES,
    POSTGRES_JSON,
    SQLSERVER,
    SQLSERVER_JSON,
    Recording,
)
from tests.e2e.referee import differences, read_expected, read_table
from tests.e2e.tablefiles import add_text, allow_rejects, copy_table
from tests.long_files import write_out

pytestmark = [pytest.mark.spark, pytest.mark.servers]

Make = Callable[[Recording], Deployment]


def wrong(deployment: Deployment, table: str) -> list[str]:
    """Compare a table with the source's rows."""
    expected = read_expected(deployment.recording, table)
    return differences(expected.rows, read_table(deployment.frame(table), expected.keys, expected.kinds))


@pytest.mark.parametrize(
    "mode", [pytest.param("change_streams", marks=pytest.mark.pairs), "change_streams_with_pre_image"]
)
def test_update_descriptions_produce_the_same_documents(
    mode: CaptureMode, tmp_path: Path, make_deployment: Make
) -> None:
    """From the document in the batch, from the pre-image, or from the table, across runs."""
    tables = ("customers", "mixed")
    deployment = make_deployment(make_deltas(tmp_path / "deltas", MONGODB, mode, tables))
    deployment.load(partitions=3 if mode == "change_streams" else None)
    deployment.onboard(type="mor" if mode == "change_streams" else "cow")

    reports = deployment.run_until_idle(max_offsets=30)

    assert [outcome.error for report in reports for outcome in report.tables if outcome.error] == []
    if mode == "change_streams":
        assert (
            sum(outcome.counts.rows_needing_stored_values for report in reports for outcome in report.tables)
            > 0
        )
    assert [outcome for table in tables for outcome in wrong(deployment, table)] == []


def test_columns_are_extracted_from_documents(make_deployment: Make) -> None:
    """By path, as Spark types, through Extended JSON's wrappers; they follow the document."""
    deployment = make_deployment(MONGODB)
    deployment.load()
    deployment.onboard()
    add_text(
        deployment,
        "orders",
        '[document.columns]\nv = {path = "$.v", type = "int"}\ncity = {path = "$.addr.city"}\n'
        'amount = {path = "$.amount", type = "decimal(20,2)"}\nfirst = {path = "$.tags[0]"}',
    )

    deployment.run_until_idle(max_offsets=40)

    frame = deployment.frame("orders")
    assert dict(frame.dtypes)["amount"] == "decimal(20,2)"
    for row in frame.collect():
        document = json.loads(row.doc)
        extracted = (row.v, row.city, str(row.amount), row["first"])
        amount = document["amount"]["$numberDecimal"]
        assert extracted == (document["v"], document["addr"]["city"], amount, document["tags"][0])


def test_an_append_table_keeps_every_change(make_deployment: Make) -> None:
    """Deletes carry the previous row; reading offsets again adds no rows."""
    deployment = make_deployment(POSTGRES)
    deployment.load()
    topics = [f"{deployment.prefix}.inv.nopk", f"{deployment.prefix}.inv.docs"]
    deployment.session.onboard(topics, name="{table}", append=True)

    first = {outcome.table: outcome.counts for outcome in deployment.run().tables}
    counts = {table: deployment.frame(table).count() for table in first}
    for table in first:
        deployment.session.move_offsets(table, "earliest")
    deployment.run()

    assert counts == {table: counts.upserted for table, counts in first.items()}
    assert {table: deployment.frame(table).count() for table in first} == counts
    deletes = deployment.frame("nopk").where("_cdc_op = 'd'").collect()
    assert len(deletes) == 2
    assert all(row.k1 is not None and row.k2 is not None for row in deletes)
    docs = deployment.frame("docs")
    placeholders = [name for name, kind in docs.dtypes if kind == "string" and not name.startswith("_")]
    assert docs.where(" or ".join(f"{name} like '__debezium_unav%'" for name in placeholders)).count() == 0


@pytest.mark.parametrize("policy", ["ignore", "fail"])
def test_a_truncate_is_applied_only_by_policy(policy: str, make_deployment: Make) -> None:
    """With `ignore` the rows stay; with `fail` nothing is committed, and the error names the event."""
    deployment = make_deployment(ORACLE)
    deployment.load()
    deployment.session.onboard([f"{deployment.prefix}.DEBEZIUM.SCRATCH"], name="{table}")
    write_out(deployment.tables)
    path = deployment.root / "tables" / "SCRATCH.toml"
    path.write_text(path.read_text().replace('truncate = "apply"', f'truncate = "{policy}"'))

    (outcome,) = deployment.run().tables

    if policy == "ignore":
        expected = read_expected(deployment.recording, "SCRATCH")
        assert outcome.counts.ignored["truncate"] == 1
        assert deployment.frame("SCRATCH").count() > len(expected.rows)
    else:
        assert isinstance(outcome.error, DecodeError)
        assert 'op t, and [target] truncate is "fail"' in str(outcome.error)


def test_a_truncate_deletes_older_rows_of_other_partitions_that_come_later(
    ingest_deployment: BuiltDeployment,
) -> None:
    """A bounded run may read it first: later runs know it until one has read every partition to its end."""
    topic = ingest_deployment.topic(
        "cut.inv.rows", {"id": "int", "v": "int"}, connector="postgres", partitions=2
    )
    older = [topic.create({"id": n, "v": 0}, at=10 + n) for n in (1, 2, 3)]
    newer = [topic.create({"id": n, "v": 1}, at=30 + n) for n in (2, 4)]
    topic.send(*older, newer[0])
    topic.send(topic.truncate(at=20), newer[1], partition=1)
    ingest_deployment.onboard(name="cow")
    write_out(ingest_deployment.tables)
    copy_table(ingest_deployment, "cow", "mor", type='"mor"')
    copy_table(ingest_deployment, "cow", "soft", delete='"soft"')

    for _ in range(3):
        plans = {plan.table: plan.counts for plan in ingest_deployment.plan(max_offsets=2)}
        done = ingest_deployment.run(max_offsets=2)
        assert {table.table: table.counts for table in done.tables} == plans

    expected = [(2, 1), (4, 1)]
    for table in ("cow", "mor", "soft"):
        rows = ingest_deployment.frame(table).where("_cdc_deleted = false" if table == "soft" else "true")
        assert sorted(tuple(row) for row in rows.select("id", "v").collect()) == expected, table
    marked = ingest_deployment.frame("soft").where("_cdc_deleted").select("id", "_cdc_op").collect()
    assert sorted(tuple(row) for row in marked) == [(1, "d"), (3, "d")]

    topic.send(topic.create({"id": 5, "v": 1}, at=40))
    ingest_deployment.run()
    for table in ("cow", "soft"):
        last = HudiTable(ingest_deployment.spark, str(ingest_deployment.root / "lake" / table)).checkpoint()
        assert last is not None
        assert (last.kind, last.truncates) == ("run", ())


@pytest.mark.parametrize("declared", ["file", "subject"])
def test_messages_without_a_schema_use_a_declared_one(
    declared: str, tmp_path: Path, make_deployment: Make
) -> None:
    """Bare payloads, as with schemas.enable=false: the schema comes from a file or a subject."""
    bare, schema = make_bare(tmp_path / "bare", SQLSERVER_JSON, "orders")
    deployment = make_deployment(bare)
    deployment.load()
    topic = f"{deployment.prefix}.testDB.dbo.orders"
    (guessed,) = deployment.session.onboard([topic], name="guess", format="debezium-json", dry_run=True)
    assert (guessed.state, guessed.guessed != "") == ("new", True)

    deployment.session.onboard([topic], name="{table}", format="debezium-json", schema=schema)
    if declared == "subject":
        subject = Subject(f"{deployment.prefix}.declared-value")
        avsc = SQLSERVER.folder / f"{SQLSERVER.topic('orders')}-value" / "v1.avsc"
        deployment.session.registry.register(subject, avsc.read_text())
        path = deployment.root / "tables" / "orders.toml"
        lines = [line for line in path.read_text().splitlines() if not line.startswith("schema = ")]
        path.write_text("\n".join([*lines, "[subjects]", f'value = "{subject}"', ""]))
    deployment.run_until_idle(max_offsets=100)

    assert wrong(deployment, "orders") == []
    assert [row[0] for row in deployment.frame("orders").select("_cdc_schema_id").distinct().collect()] == [
        None
    ]


@pytest.mark.parametrize("recording", [SQLSERVER, SQLSERVER_JSON], ids=lambda recording: recording.format)
def test_status_shows_schema_changes_of_the_source(recording: Recording, make_deployment: Make) -> None:
    """From the connector's topic, only those of the table, in order."""
    deployment = make_deployment(recording)
    deployment.load()
    options = LoadOptions((recording.prefix,), rename=(recording.prefix, deployment.prefix))
    servers = deployment.servers
    load(recording.folder, servers.bootstrap_servers, servers.registry_url, options)
    deployment.onboard()
    path = deployment.root / "tables" / "customers.toml"
    path.write_text(f'schema_changes = "{deployment.prefix}"\n{path.read_text()}')

    changes = {table.table: table.changes for table in deployment.session.status()}

    assert [change.kind for change in changes["customers"]] == ["CREATE", "ALTER", "ALTER"]
    created, added, dropped = (set(change.columns) for change in changes["customers"])
    assert {name.split()[0] for name in added - created} == {"loyalty"}
    assert {name.split()[0] for name in added - dropped} == {"email"}
    assert changes["orders"] == ()


def test_a_json_range_of_only_tombstones_is_read(make_deployment: Make) -> None:
    """The schema comes from elsewhere in the topic, and an error names corrupt messages."""
    deployment = make_deployment(POSTGRES_JSON)
    deployment.load()
    topic = f"{deployment.prefix}.inv.nopk"
    deployment.session.onboard([topic], name="{table}", format="debezium-json")
    write_out(deployment.tables)
    allow_rejects(deployment)

    (plan,) = deployment.plan(max_offsets=5)
    assert (plan.verdict, plan.versions, plan.counts.read) == ("commit", (), 5)
    reports = [
        deployment.run(max_offsets=max_offsets) for max_offsets in (5, 1, None)
    ]  # the sixth is a tombstone

    assert [str(outcome.error) for report in reports for outcome in report.tables if outcome.error] == []
    ignored = [outcome.counts.ignored for report in reports for outcome in report.tables]
    assert ignored[1] == {"tombstone": 1}
    assert wrong(deployment, "nopk") == []

    producer = Producer({"bootstrap.servers": deployment.servers.bootstrap_servers})
    producer.produce(topic, b"no JSON", b"no JSON")
    assert producer.flush(30) == 0
    (done,) = deployment.run().tables
    assert done.counts.rejected == 1
    (reject,) = deployment.session.rejects("nopk").records
    assert "value: not JSON" in reject.error
