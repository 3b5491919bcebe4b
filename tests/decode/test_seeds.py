"""Every JSON sample of the documents that the product is built on is read as its document says."""

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import attrs
import pytest
from pyspark.sql import DataFrame, SparkSession

from ingest.avro import connect
from ingest.compile.envelope import classify
from ingest.compile.payload import WriterSchema
from ingest.compile.table import CompiledTable, compile_table
from ingest.decode.events import decode_events, explain_rejects
from ingest.names import SchemaId, Topic
from ingest.run.batch.messages import written_in
from ingest.tables import Key, TableConfig
from tests.decode.messages import frame
from tests.feeds import feed

SEEDS = Path(__file__).parents[1] / "data" / "seeds"
Json = Any


def sample(name: str) -> Json:
    """Read a sample."""
    return json.loads((SEEDS / f"{name}.json").read_text())


@attrs.frozen
class Document:
    """How a document's samples are read: `schema` is the sample with the schema of its events."""

    dialect: str
    schema: str
    key: str = ""
    """The sample of a message key; empty where the key is in the value."""
    format: str = "debezium-json"


ZH = Document("sqlserver", "sqlserver-zh-create", "sqlserver-zh-key")
JA = Document("sqlserver", "sqlserver-ja-create", "sqlserver-zh-key")  # its page shows no key
ORACLE = Document("oracle", "oracle-create", "oracle-key")
MONGODB = Document("mongodb", "mongodb-create", "mongodb-key")
OWN = Document("cdl", "cdl-own", format="cdl-json")
DEBEZIUM = Document("cdl", "cdl-debezium", format="cdl-json")


@attrs.frozen
class Case:
    """A sample, and its meaning in the document; no `row` for a delete."""

    document: Document
    name: str
    op: str | None
    key: Json
    row: Json = None
    source_ms: int | None = None


JOHN = {"first_name": "john", "last_name": "doe", "email": "john.doe@example.org"}
NO_REPLY = {**JOHN, "email": "noreply@example.org"}
ANNE = {"FIRST_NAME": "Anne", "LAST_NAME": "Kretchmar", "EMAIL": "annek@noanswer.org"}
ANNE_DOC = (
    '{"_id" : {"$numberLong" : "1004"},"first_name" : "Anne","last_name" : "Kretchmar",'
    '"email" : "annek@noanswer.org"}'
)
ANNE_MARIE_DOC = (
    '{"_id": {"$numberLong": "1004"},"first_name": "Anne Marie","last_name": "Kretchmar",'
    '"email": "annek@noanswer.org"}'
)

CASES = (
    *(
        case
        for language, document in (("zh", ZH), ("ja", JA))
        for case in (
            Case(document, f"sqlserver-{language}-create", "c", {"id": 1005}, JOHN, 1559729468470),
            Case(document, f"sqlserver-{language}-update", "u", {"id": 1005}, NO_REPLY, 1559729995937),
            Case(document, f"sqlserver-{language}-delete", "d", {"id": 1005}, None, 1559730445243),
        )
    ),
    Case(ORACLE, "oracle-create", "c", {"ID": 1004}, ANNE, 1520085154000),
    Case(ORACLE, "oracle-update", "u", {"ID": 1004}, {**ANNE, "EMAIL": "anne@example.com"}, 1520085811000),
    Case(ORACLE, "oracle-delete", "d", {"ID": 1004}, None, 1520085153000),
    Case(MONGODB, "mongodb-create", "c", {"id": "1004"}, {"doc": ANNE_DOC}, 1558965508000),
    Case(MONGODB, "mongodb-update", "u", {"id": "1004"}, {"doc": ANNE_MARIE_DOC}, 1558965508000),
    Case(MONGODB, "mongodb-delete", "d", {"id": "1004"}, None, 1558965508000),
    Case(
        OWN, "cdl-own", "c", {"id": 34},
        {"count1": 13, "id": 34, "time1": None, "decimalNum": None}, 1707047996013,
    ),
    Case(
        DEBEZIUM, "cdl-debezium", "c", {"id": 35},
        {"count1": 14, "id": 35, "time1": None, "decimalNum": None}, 1707048891235,
    ),
)  # fmt: skip

WRITERS: dict[str, Callable[[Json], str]] = {
    "as JsonConverter": lambda node: json.dumps(node, separators=(",", ":"), ensure_ascii=False),
    "on one line": json.dumps,
    "pretty": lambda node: json.dumps(node, indent=2, ensure_ascii=False),
    "payload first": lambda node: json.dumps(dict(reversed(node.items()))),
}


def message(name: str, document: Document) -> Json:
    """Complete a sample that shows no schema with its document's own."""
    result = sample(name)
    payload = result.get("payload", result)
    return {"schema": result.get("schema") or sample(document.schema)["schema"], "payload": payload}


def compiled(document: Document, keys: Sequence[bytes], values: Sequence[bytes]) -> CompiledTable:
    """Compile a table from the schemas that messages hold, as a run does."""
    table = TableConfig(
        name="t",
        topic=Topic("server1.dbo.customers"),
        dialect=document.dialect,  # type: ignore[arg-type]  # written above
        format=document.format,  # type: ignore[arg-type]  # same
        key=Key(),
    )
    return compile_table(feed(table), written_in(keys, "keys"), written_in(values, "values"))


def decoded(
    spark: SparkSession, document: Document, records: Sequence[tuple[str | None, str]]
) -> list[dict[str, Json]]:
    """Decode messages, given as texts of key and value, in their order."""
    texts = [(key.encode() if key else None, value.encode()) for key, value in records]
    table = compiled(document, [key for key, _ in texts if key], [value for _, value in texts])
    names = {column_version.field: column_version.column for column_version in table.row_variants}
    events = decode_events(frame(spark, texts), table).orderBy("offset").collect()
    rows = []
    for event in (item.asDict(recursive=True) for item in events):
        row = {names[field]: value for field, value in event["row"].items() if field in names}
        rows.append({**event, "row": row})
    return rows


@pytest.mark.spark
@pytest.mark.parametrize("style", list(WRITERS))
@pytest.mark.parametrize("document", [ZH, JA, ORACLE, MONGODB, OWN, DEBEZIUM], ids=lambda one: one.schema)
def test_a_documents_samples_are_read_as_it_says(spark: SparkSession, document: Document, style: str) -> None:
    """However the message is spaced; no message is rejected for the slips in the documents."""
    cases = [case for case in CASES if case.document is document]
    write = WRITERS[style]
    records = []
    for case in cases:
        key = {**sample(document.key), "payload": case.key} if document.key else None
        records.append((write(key) if key else None, write(message(case.name, document))))

    result = decoded(spark, document, records)

    for case, event in zip(cases, result, strict=True):
        assert (event["kind"], event["rejected"]) == ("change", False), case.name
        explained = {name: event[name] for name in ("op", "k", "source_ms")}
        assert explained == {"op": case.op, "k": case.key, "source_ms": case.source_ms}, case.name
        assert case.row is None or event["row"] == case.row, case.name


@pytest.mark.spark
@pytest.mark.parametrize(("document", "language"), [(ZH, "zh"), (JA, "ja")], ids=["zh", "ja"])
def test_sql_servers_positions_are_read_from_their_slips(
    spark: SparkSession, document: Document, language: str
) -> None:
    """`event_serial_no` is text there: without it an update would have no place behind its delete."""
    names = [f"sqlserver-{language}-{what}" for what in ("create", "update", "delete")]
    key = json.dumps(sample(document.key))
    events = decoded(spark, document, [(key, json.dumps(message(name, document))) for name in names])
    assert [tuple(event["sort_key"].values()) for event in events] == [
        ("1", "00000027:00000758:0005", "00000027:00000758:0003", 1, 100),
        ("1", "00000027:00000ac0:0007", "00000027:00000ac0:0002", 2, 101),
        ("1", "00000027:00000db0:0007", "00000027:00000db0:0005", 1, 102),
    ]


@pytest.mark.spark
@pytest.mark.parametrize(
    ("name", "op", "row", "snapshot"),
    [
        ("sqlserver-zh-incremental-snapshot", "r", {"value": "New data"}, "0"),
        ("sqlserver-zh-in-transaction", "c", {"aa": "1"}, "1"),
    ],
)
def test_sql_servers_shortened_samples_are_read(
    spark: SparkSession, name: str, op: str, row: Json, snapshot: str
) -> None:
    """Of another table, whose schema is not shown: text columns; without a position, and `ts_ms` is text."""
    result = message(name, ZH)
    pk = result["payload"]["after"]["pk"]
    for field in result["schema"]["fields"][:2]:
        field["fields"] = [
            {"type": "string", "optional": False, "field": column} for column in result["payload"]["after"]
        ]
    key = sample(ZH.key)
    key["schema"]["fields"] = [{"type": "string", "optional": False, "field": "pk"}]
    (event,) = decoded(spark, ZH, [(json.dumps({**key, "payload": {"pk": pk}}), json.dumps(result))])
    assert (event["kind"], event["rejected"], event["op"]) == ("change", False, op)
    assert (event["k"], event["row"]) == ({"pk": pk}, row)
    assert event["sort_key"]["p0"] == snapshot


@pytest.mark.spark
def test_oracles_truncate_is_one(spark: SparkSession) -> None:
    """It has no key, no rows, and fields that the schema of the other samples lacks."""
    records = [
        (json.dumps(sample("oracle-key")), json.dumps(message("oracle-create", ORACLE))),
        (None, json.dumps(message("oracle-truncate", ORACLE))),
    ]
    create, truncate = decoded(spark, ORACLE, records)
    assert (create["kind"], truncate["kind"], truncate["rejected"]) == ("change", "truncate", False)
    assert truncate["sort_key"]["p3"] == "13271102".zfill(20)


@pytest.mark.spark
def test_a_corrupt_operation_or_position_is_rejected(spark: SparkSession) -> None:
    """One flipped bit makes d of a delete t, and another makes an SCN text that sorts above all numbers."""
    with_row, misplaced, undated = (
        message(f"oracle-{name}", ORACLE) for name in ("create", "truncate", "create")
    )
    with_row["payload"]["op"] = "t"
    misplaced["payload"]["source"]["scn"] = "p3271102"
    undated["payload"]["source"]["version"] = "2.q.0.Final"
    key = json.dumps(sample("oracle-key")).encode()
    values = [json.dumps(value).encode() for value in (with_row, misplaced, undated)]
    table, sent = compiled(ORACLE, [key], values), frame(spark, [(key, value) for value in values])
    events = decode_events(sent, table).collect()
    assert [(event["kind"], event["rejected"]) for event in events] == [("change", True)] * 3
    assert why(sent, table) == [
        ("unsupported-op", "value: op t with a row"),
        ("no-position", "value: source.scn is not a valid position"),
        ("no-position", "value: source.version is not a valid position"),
    ]


def why(sent: DataFrame, table: CompiledTable) -> list[tuple[str, str]]:
    """Return the reason and the error of each message, in their order."""
    explained = explain_rejects(sent, table).orderBy("offset").collect()
    return [(row["reason"], row["error"]) for row in explained]


@pytest.mark.spark
def test_mongodbs_ids_of_every_kind_are_keys(spark: SparkSession) -> None:
    """Each as relaxed Extended JSON without blanks, and numbers that MongoDB holds for equal as one."""
    expected = {
        "int": "1234",
        "double": "12.34",
        "string": '"1234"',
        "document": '{"hi":"kafka","nums":[10,100,1000]}',
        "object-id": '{"$oid":"596e275826f08b2730779e1f"}',
        "binary": '{"$binary":{"base64":"a2Fma2E=","subType":"00"}}',
    }
    value = sample("mongodb-create")
    ids = [sample(f"mongodb-id-{kind}") for kind in expected]
    records = []
    for document_id in ids:
        value["payload"]["after"] = f'{{"_id": {document_id["id"]}, "a": 1}}'
        records.append((json.dumps({**sample("mongodb-key"), "payload": document_id}), json.dumps(value)))
    events = decoded(spark, MONGODB, records)
    assert [event["k"]["id"] for event in events] == list(expected.values())
    assert [event["rejected"] for event in events] == [False] * len(expected)
    others = [(key, records[index - 1][1]) for index, (key, _) in enumerate(records)]
    assert [event["rejected"] for event in decoded(spark, MONGODB, others)] == [True] * len(expected)


@pytest.mark.spark
@pytest.mark.parametrize("text", ["nope", "", "[1]", '"x"', '{"a":1} x', '{"a":1},{"a":2}', "{'a':1}"])
def test_mongodbs_document_must_be_a_json_object(spark: SparkSession, text: str) -> None:
    """As a whole, and as the changes of one."""
    key = json.dumps(sample("mongodb-key"))
    whole = sample("mongodb-create")
    whole["payload"]["after"] = text
    update = message("mongodb-update", MONGODB)
    del update["payload"]["after"]
    update["payload"]["updateDescription"]["updatedFields"] = text
    events = decoded(spark, MONGODB, [(key, json.dumps(whole)), (key, json.dumps(update))])
    assert [event["rejected"] for event in events] == [True, True]


@pytest.mark.spark
def test_mongodbs_update_without_the_document_holds_its_changes(spark: SparkSession) -> None:
    """The update sample as capture mode change_streams sends it: `after` and `before` are not there."""
    key = json.dumps(sample("mongodb-key"))
    result = message("mongodb-update", MONGODB)
    del result["payload"]["after"]
    with_before = json.dumps(result)
    del result["payload"]["before"]
    events = decoded(spark, MONGODB, [(key, with_before), (key, json.dumps(result))])
    assert [event["partial"] for event in events] == [False, True]
    document = json.loads(events[0]["row"]["doc"])
    assert (document["first_name"], document["last_name"]) == ("Anne Marie", "Kretchmar")
    assert [event["rejected"] for event in events] == [False, False]


def own(**changed: Json) -> str:
    """Write CDL's own sample with other values."""
    result = sample("cdl-own")
    return json.dumps({**result, "payload": {**result["payload"], **changed}})


IMAGE = {
    "count1": 1,
    "id": 34,
    "time1": 1707047996013,
    "decimalNum": "-12345678901234567890123456789012345678.9",
}
NOTHING = {"unique": None, "data": None, "before": None}
CDL_MESSAGES = {
    "update": (own(OPERATION="UPDATE", data=IMAGE), ("change", False, "u", 34)),
    "delete": (own(OPERATION="DELETE", data=None, before=IMAGE), ("change", False, "d", 34)),
    "delete with the key alone": (own(OPERATION="DELETE", data=None), ("change", False, "d", 34)),
    "delete without unique": (
        own(OPERATION="DELETE", unique=None, data=None, before=IMAGE),
        ("change", False, "d", 34),
    ),
    "insert without unique": (own(unique=None), ("change", False, "c", 34)),
    "insert of another row": (own(unique={"id": 35}), ("change", True, "c", 35)),
    "delete of another row": (
        own(OPERATION="DELETE", data=None, before={**IMAGE, "id": 35}),
        ("change", True, "d", 34),
    ),
    "insert without data": (own(data=None), ("change", True, "c", 34)),
    "no LSN": (own(transaction={"properties": [{"name": "txId", "value": 1}]}), ("change", True, "c", 34)),
    "another operation": (own(OPERATION="ALTER"), ("change", True, "ALTER", 34)),
    "heartbeat": (own(**NOTHING, OPERATION="UPDATE"), ("heartbeat", False, "u", None)),
    "heartbeat table": (own(TABLE_NAME="CDC_HEARTBEAT"), ("heartbeat", False, "c", 34)),
    "nothing": (own(**NOTHING, HEARTBEAT_IDENTIFIER=None), ("change", True, "c", None)),
}


@pytest.mark.spark
def test_cdls_other_messages_are_distinguished(spark: SparkSession) -> None:
    """Its sample with other values: the other operations, heartbeats, and what has no place or no row."""
    events = decoded(spark, OWN, [(None, text) for text, _ in CDL_MESSAGES.values()])
    results = [(event["kind"], event["rejected"], event["op"], event["k"]["id"]) for event in events]
    assert dict(zip(CDL_MESSAGES, results, strict=True)) == {
        name: expected for name, (_, expected) in CDL_MESSAGES.items()
    }
    assert events[0]["row"] == {**IMAGE, "time1": datetime.fromisoformat("2024-02-04T11:59:56.013")}
    value = CDL_MESSAGES["insert of another row"][0].encode()
    error = "value: unique.id is 35, and the row has 34"
    assert why(frame(spark, [(None, value)]), compiled(OWN, [], [value])) == [("key-mismatch", error)]


@pytest.mark.spark
@pytest.mark.parametrize("document", [OWN, DEBEZIUM], ids=["own", "debezium"])
def test_a_heartbeats_columns_are_none_of_the_tables(spark: SparkSession, document: Document) -> None:
    """Where a message of the heartbeat table, of its own schema, comes into a table's topic."""
    beat = sample(document.schema)
    beat["schema"]["name"] = "cdc_cdl.cdc_heartbeat"
    text = json.dumps(beat).replace('"count1"', '"cdl_job_id"')
    change, other = decoded(spark, document, [(None, json.dumps(sample(document.schema))), (None, text)])
    assert (change["kind"], other["kind"], other["rejected"]) == ("change", "heartbeat", False)
    assert set(change["row"]) == {"count1", "id", "time1", "decimalNum"}


@pytest.mark.spark
@pytest.mark.parametrize("document", [OWN, DEBEZIUM], ids=["own", "debezium"])
def test_cdl_may_write_message_keys(spark: SparkSession, document: Document) -> None:
    """They count as those of every other source do, and must be the row's."""
    row_id = {OWN: 34, DEBEZIUM: 35}[document]
    value = json.dumps(sample(document.schema))
    key = {"schema": sample("oracle-key")["schema"], "payload": {"ID": row_id}}
    texts = [json.dumps({**key, "payload": {"ID": each}}).replace('"ID"', '"id"') for each in (row_id, 7)]
    event, other = decoded(spark, document, [(text, value) for text in texts])
    assert (event["kind"], event["rejected"], event["k"]) == ("change", False, {"id": row_id})
    assert other["rejected"]


@pytest.mark.spark
@pytest.mark.parametrize("bare", [True, False], ids=["bare", "with schema"])
def test_a_declared_schema_reads_payloads_without_theirs(spark: SparkSession, bare: bool) -> None:  # noqa: FBT001
    """And with theirs, which is not looked at."""
    node = message("sqlserver-zh-update", ZH)
    schema = WriterSchema(SchemaId(-1), "t.json", connect.parse(node["schema"], where="t.json"))
    table = compile_table(feed(declared("id")), (), (schema,))
    text = json.dumps(node["payload"] if bare else node).encode()
    (event,) = decode_events(frame(spark, [(None, text)]), table).collect()
    assert (event["rejected"], event["op"], event["k"]["id"]) == (False, "u", 1005)


@pytest.mark.spark
@pytest.mark.parametrize(
    "row",
    [
        {"schema": "dbo", "id": 1},
        {"id": 1, "schema": "dbo"},
        {"id": 1, "schema": "dbo", "note": 'says "schema" and payload'},
    ],
)
def test_a_row_may_have_a_column_called_schema(spark: SparkSession, row: Json) -> None:
    """A flattened row without its schema, which is declared, begins like a message with one."""
    metadata = {"__op": "c", "__commit_lsn": "00000027:00000758:0005"}
    table = flat_table("schema", "note", *metadata)
    column = {column_version.column: column_version.field for column_version in table.row_variants}["schema"]
    (event,) = decode_events(
        frame(spark, [(None, json.dumps({**row, **metadata}).encode())]), table
    ).collect()
    assert (event["rejected"], event["k"]["id"], event["row"][column]) == (False, 1, "dbo")


@pytest.mark.spark
def test_a_flattened_row_is_a_change_or_rejected(spark: SparkSession) -> None:
    """Never a truncate or a message, and one that is neither deleted nor not deleted is not guessed."""
    lsn = {"__commit_lsn": "00000027:00000758:0005"}
    flags = [
        {"__op": "u", "__deleted": "false"},
        {"__op": "u"},
        {"__op": "d", "__deleted": "true"},
        {"__op": "m", "__deleted": "false"},
        {"__op": "d", "__deleted": "trqe"},
    ]
    table = flat_table("__op", "__deleted", *lsn)
    rows = [(None, json.dumps({"id": 1, **lsn, **each}).encode()) for each in flags]
    sent = frame(spark, rows)
    events = decode_events(sent, table).orderBy("offset").collect()
    assert [(event["kind"], event["rejected"]) for event in events] == [
        *[("change", False)] * 3,
        *[("change", True)] * 2,
    ]
    assert why(sent, table)[3:] == [
        ("unsupported-op", "value: op m with a row"),
        ("unsupported-op", "value: op __deleted trqe is not supported"),
    ]


def flat_table(*names: str) -> CompiledTable:
    """Compile a table of flattened rows: a number as key, and texts."""
    fields = [{"type": "string", "optional": True, "field": name} for name in names]
    struct = {"type": "struct", "fields": [{"type": "int32", "field": "id"}, *fields], "name": "t.Value"}
    schema = WriterSchema(SchemaId(-1), "t.json", connect.parse(struct, where="t.json"))
    return compile_table(feed(declared("id")), (), (schema,))


def declared(*keys: str) -> TableConfig:
    """Make the table file of a topic whose schema is declared."""
    return TableConfig(
        name="t",
        topic=Topic("t"),
        dialect="sqlserver",
        format="debezium-json",
        key=Key(keys),
        schema="t.json",
    )


def test_samples_that_are_not_changes_are_distinguished() -> None:
    """A schema change by its schema; transaction samples show none, so that nothing can be made of them."""
    (key,) = written_in([json.dumps(sample("sqlserver-zh-schema-change-key")).encode()], "keys")
    assert classify(key.schema) == "schema-change"
    for name in ("transaction-begin", "transaction-end", "schema-change"):
        assert written_in([json.dumps(sample(f"sqlserver-zh-{name}")).encode()], "values") == ()


def test_every_sample_is_a_test_case() -> None:
    """A file that no test reads would prove nothing."""
    used = {case.name for case in CASES} | {case.document.key for case in CASES}
    used |= {f"mongodb-id-{kind}" for kind in ("int", "double", "string", "document", "object-id", "binary")}
    used |= {"sqlserver-zh-incremental-snapshot", "sqlserver-zh-in-transaction", "oracle-truncate"}
    used |= {"sqlserver-zh-schema-change", "sqlserver-zh-schema-change-key"}
    used |= {"sqlserver-zh-transaction-begin", "sqlserver-zh-transaction-end"}
    assert {path.stem for path in SEEDS.glob("*.json")} == used - {""}
