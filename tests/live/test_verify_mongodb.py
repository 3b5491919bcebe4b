"""`ingest verify` over MongoDB's protocol: recorded events against the documents behind them."""

import gzip
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from bson import Int64, json_util
from pymongo import MongoClient
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ingest.errors import SettingsError, SourceRefusedError, SourceUnreachableError, UsageError
from ingest.local.ports import choose_port
from tests.e2e.deployment import Deployments
from tests.e2e.recordings import MONGODB
from tests.live.mongodb import serve
from tests.live.tables import LiveTables

if TYPE_CHECKING:
    from pymongo.collection import Collection

pytestmark = [pytest.mark.live, pytest.mark.spark, pytest.mark.servers]

COLUMNS = """
[document.columns]
v = { path = "$.v", type = "int" }
amount = { path = "$.amount", type = "decimal(12,2)" }
name = { path = "$.name" }
"""
TEXT = "a text out of a document has the spelling of the event that wrote it"


@attrs.frozen
class Mongo(LiveTables):
    """A server with the documents, and the tables made of their recorded events."""

    client: "MongoClient[dict[str, Any]]"
    port: int

    def collection(self, table: str) -> "Collection[dict[str, Any]]":
        """Return the collection behind a table."""
        return self.client["inventory"][table]

    def write_settings(self, **values: Any) -> None:
        """Write the settings, with a source that may be wrong."""
        lines = {"url": f"mongodb://127.0.0.1:{self.port}/", "wait_s": 0.2, "statement_timeout_s": 3} | values
        source = "".join(f"{key} = {json.dumps(value)}\n" for key, value in lines.items())
        self.write_source(f"\n[sources.docs]\n{source}")


@pytest.fixture(scope="module")
def mongo(
    mongodb_jars: None,
    deployments: Deployments,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Mongo]:
    """Load the recorded topics once, and insert the documents that the referee expects."""
    del mongodb_jars
    deployment = deployments.recorded(tmp_path_factory.mktemp("mongo"), "mgv", MONGODB)
    with serve() as port, MongoClient[dict[str, Any]]("127.0.0.1", port) as client:
        result = Mongo(deployment, client, port)
        result.write_settings()
        deployment.load()
        deployment.onboard()
        path = deployment.tables / "mixed.toml"
        path.write_text(path.read_text() + COLUMNS)
        deployment.run()
        for table in MONGODB.tables:
            with gzip.open(MONGODB.folder / "expected" / f"{table}.json.gz", "rt", encoding="utf-8") as file:
                documents = [json_util.loads(document) for _, document in json.load(file)["rows"]]
            result.collection(table).insert_many(documents)
        yield result


@pytest.mark.parametrize("table", MONGODB.tables)
@pytest.mark.parametrize("mode", ["counts", "keys", "checksums", "full"])
def test_documents_equal_their_table(table: str, mode: str, mongo: Mongo) -> None:
    """Keys and values of every type that the recording has."""
    answer = mongo.verify(table, mode=mode, shows_values=True)
    assert (answer.error, answer.counts, answer.rows) == (None, {}, ())
    assert answer.source_rows == answer.table_rows > 0
    if table == "mixed" and mode != "counts":
        assert set(answer.compared) == {"doc", "v", "amount"}
        assert dict(answer.uncompared) == {"name": TEXT}


def test_numbers_are_compared_by_value_and_names_in_any_order(mongo: Mongo) -> None:
    """An update description does not say whether a number is an int or a long, nor where a new name goes."""
    orders = mongo.collection("orders")
    chosen = orders.find_one({}) or {}
    respelled = {name: Int64(value) if type(value) is int else value for name, value in chosen.items()}
    orders.replace_one({"_id": chosen["_id"]}, dict(reversed(respelled.items())))
    assert mongo.verify("orders").outcome == "equal"
    orders.replace_one({"_id": chosen["_id"]}, chosen)


def test_each_fault_is_named(mongo: Mongo) -> None:
    """A lost, a doubled and an added row; a digit, a null and a column that was cut out wrongly."""
    with_amount = "doc like '%amount%'"
    ids = [row.id for row in mongo.deployment.frame("mixed").where(with_amount).orderBy("id").collect()][:6]
    lost, doubled, digit, without, cut, extra = ids

    def change(rows: DataFrame) -> DataFrame:
        key = F.col("id")
        rows = rows.withColumn(
            "doc",
            F.when(key == digit, F.regexp_replace("doc", '"v": [0-9]+', '"v": 999'))
            .when(key == without, F.regexp_replace("doc", '"amount": \\{[^}]*\\}', '"amount": null'))
            .otherwise(F.col("doc")),
        ).withColumn("amount", F.when(key == cut, F.lit(None)).otherwise(F.col("amount")))
        return rows.where(key != lost).unionByName(rows.where(key == doubled))

    before = mongo.deployment.frame("mixed").localCheckpoint()
    mongo.plant("mixed", change)
    gone = mongo.collection("mixed").find_one_and_delete({"_id": json_util.loads(extra)})
    assert gone is not None
    answer = mongo.verify("mixed", shows_values=True)
    differing = {row.key["id"]: (row.difference, row.columns) for row in answer.rows}
    assert differing == {
        lost: ("missing", ()), doubled: ("doubled", ()), extra: ("extra", ()), digit: ("different", ("doc",)),
        without: ("different", ("doc",)), cut: ("different", ("amount",)),
    }  # fmt: skip
    values = next(row for row in answer.rows if row.key["id"] == digit)
    assert '"v":999' in str((values.table or {})["doc"])
    assert mongo.verify("mixed", mode="keys").counts == {"missing": 1, "extra": 1, "doubled": 1}
    assert (
        mongo.verify("mixed", columns=("amount",), where="amount is null or v >= 0").counts["different"] == 1
    )
    assert mongo.verify("mixed", where=f"id = '{digit}'").counts in ({}, {"different": 1})
    assert mongo.verify("mixed", sample_percent=20.0).source_rows < len(ids) * 20
    assert mongo.verify("mixed", delete_extra=True).deleted == 1
    mongo.collection("mixed").insert_one(gone)
    mongo.plant("mixed", lambda _: before)
    assert mongo.verify("mixed").outcome == "equal"


def test_a_change_that_is_only_late_is_in_flight(mongo: Mongo) -> None:
    """A document that changes at every look is not accused."""
    documents = mongo.collection("customers")
    chosen = documents.find_one({}) or {}

    def progress(_: str, step: str) -> None:
        if step.startswith("looking"):
            documents.update_one({"_id": chosen["_id"]}, {"$inc": {"seen": 1}})

    documents.update_one({"_id": chosen["_id"]}, {"$set": {"seen": 1}})
    with mongo.deployment.session as session:
        (answer,) = session.verify(["customers"], progress=progress).tables
    assert (answer.counts, answer.in_flight, answer.outcome) == ({}, 1, "in-flight")
    documents.replace_one({"_id": chosen["_id"]}, chosen)


@pytest.mark.parametrize(
    ("settings", "request_", "error", "text"),
    [
        ({"url": f"mongodb://127.0.0.1:{choose_port()}/"}, {}, SourceUnreachableError, "refused"),
        ({"url": "mongodb://127.0.0.1:one/"}, {}, SettingsError, "sources.docs.url"),
        ({}, {"repair": "print"}, UsageError, "--repair does not signal connectors of mongodb"),
        ({}, {"columns": ("ship",)}, UsageError, "--columns: ship is not a column of the table"),
        ({}, {"where": "id >"}, UsageError, "Spark cannot read it"),
    ],
)
def test_a_wrong_source_or_request_is_named(
    settings: dict[str, Any], request_: dict[str, Any], error: type[Exception], text: str, mongo: Mongo
) -> None:
    """Nothing is compared, and the error says why."""
    with mongo.source(**settings):
        answer = mongo.verify("customers", **request_)
    assert isinstance(answer.error, error), answer.error
    assert text in str(answer.error)
    assert answer.counts == {}


def test_a_replica_and_a_missing_collection_are_refused(mongo: Mongo) -> None:
    """A secondary may lag; a collection that is not there must not read as one without documents."""
    with mongo.source(url=f"mongodb://127.0.0.1:{mongo.port}/?readPreference=secondaryPreferred"):
        answer = mongo.verify("customers")
    assert isinstance(answer.error, SourceRefusedError)
    assert "is a replica" in str(answer.error)
    mongo.collection("customers").rename("elsewhere")
    missing = mongo.verify("customers")
    mongo.client["inventory"]["elsewhere"].rename("customers")
    assert "does not have the collection inventory.customers" in str(missing.error)
