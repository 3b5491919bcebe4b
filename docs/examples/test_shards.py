"""Read the orders of two shards into one table; a third shard appears later."""

from ingest.testing import Deployment, assert_table, nullable

COLUMNS = {"id": "int", "status": nullable("string")}


def test_shards_become_one_table(ingest_deployment: Deployment) -> None:
    """Both shards have an order 1: the column _cdc_source keeps them apart."""
    one = ingest_deployment.topic("shard1.inv.orders", COLUMNS)
    two = ingest_deployment.topic("shard2.inv.orders", COLUMNS)
    ingest_deployment.onboard(["shard*.inv.*"], name="{table}", merge=True)
    file = ingest_deployment.tables / "orders.toml"
    assert 'topics = ["shard*.inv.orders"]' in file.read_text()

    one.send(one.create({"id": 1, "status": "new"}))
    two.send(two.create({"id": 1, "status": "paid"}), two.create({"id": 2, "status": "new"}))
    (outcome,) = ingest_deployment.run().tables
    assert [topic.outcome for topic in outcome.topics] == ["committed", "committed"]

    three = ingest_deployment.topic("shard3.inv.orders", COLUMNS)
    three.send(three.create({"id": 7, "status": "new"}))
    one.send(one.delete({"id": 1, "status": "new"}))
    (plan,) = ingest_deployment.plan()
    assert [topic.topic for topic in plan.topics if topic.is_new_topic] == ["shard3.inv.orders"]

    ingest_deployment.run()
    rows = [
        {"_cdc_source": "shard2.inv.orders", "id": 1, "status": "paid"},
        {"_cdc_source": "shard2.inv.orders", "id": 2, "status": "new"},
        {"_cdc_source": "shard3.inv.orders", "id": 7, "status": "new"},
    ]
    assert_table(ingest_deployment.frame("orders"), rows, key=["_cdc_source", "id"])
