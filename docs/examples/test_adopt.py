"""Take over the table of another job, and load a second one from an export; both go on from the topic."""

from ingest import AdoptRequest, LoadRequest
from ingest.testing import Deployment, Row, assert_table, nullable

COLUMNS = {"id": "int", "status": nullable("string")}


def order(number: int, status: str = "new") -> Row:
    """Return an order as the source has it."""
    return {"id": number, "status": status}


def test_adopt_and_load(ingest_deployment: Deployment) -> None:
    """The rows of both stay, and the changes after them are applied."""
    spark, lake = ingest_deployment.spark, ingest_deployment.root / "lake"
    orders = ingest_deployment.topic("server1.testDB.dbo.orders", COLUMNS)
    returns = ingest_deployment.topic("server1.testDB.dbo.returns", COLUMNS)
    ingest_deployment.onboard(name="{table}")
    for topic in (orders, returns):
        topic.send(topic.create(order(1)), topic.create(order(2)), topic.update(order(2, "paid")))

    rows = spark.createDataFrame([(1, "new"), (2, "paid")], "id int, status string")
    hudi = {
        "hoodie.table.name": "orders",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "",
        "hoodie.table.timeline.timezone": "UTC",  # a session that also writes tables of ingest
        "hoodie.datasource.write.commitmeta.key.prefix": "deltastreamer.checkpoint",
        "deltastreamer.checkpoint.key": "server1.testDB.dbo.orders,0:3",  # HoodieStreamer writes this itself
    }
    rows.write.format("hudi").options(**hudi).mode("append").save(str(lake / "orders"))
    with ingest_deployment.session as session:
        plan = session.adopt("orders", AdoptRequest(dry_run=True)).plan
        assert str(plan) == f"2 rows of {lake / 'orders'}, about 1.0 min"
        assert session.adopt("orders").outcome == "adopted"

    export = str(ingest_deployment.root / "export")
    rows.write.parquet(export)
    with ingest_deployment.session as session:
        request = LoadRequest("parquet", export, position="0000002b:00000003:0003")
        assert session.load("returns", request).outcome == "loaded"

    for topic in (orders, returns):
        topic.send(topic.update(order(1, "paid")), topic.create(order(3)))
    ingest_deployment.run()
    expected = [order(1, "paid"), order(2, "paid"), order(3)]
    assert_table(ingest_deployment.frame("orders"), expected, key=["id"])
    assert_table(ingest_deployment.frame("returns"), expected, key=["id"])
