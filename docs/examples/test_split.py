"""Read two tables out of one topic: a router has merged theirs."""

from ingest.testing import Deployment, assert_table, nullable

ORDERS = {"id": "int", "status": nullable("string")}
PEOPLE = {"id": "int", "born": nullable("int")}


def test_one_topic_becomes_two_tables(ingest_deployment: Deployment) -> None:
    """Both tables have a row 1, and neither sees the columns of the other."""
    orders = ingest_deployment.topic("server1.inv.orders", ORDERS, connector="postgres")
    people = ingest_deployment.topic("server1.inv.people", PEOPLE, connector="postgres")
    shop = ingest_deployment.topic("shop", ORDERS)
    order, person = {"id": 1, "status": "new"}, {"id": 1, "born": 1970}
    shop.produce([*orders.create(order), *people.create(person), *orders.create({"id": 2, "status": "new"})])

    ingest_deployment.onboard(["shop"], name="{table}", split=True)
    outcomes = ingest_deployment.run().tables
    assert [outcome.counts.ignored for outcome in outcomes] == [{"other-table": 1}, {"other-table": 2}]

    shop.produce(orders.delete(order))
    ingest_deployment.run()
    assert_table(ingest_deployment.frame("orders"), [{"id": 2, "status": "new"}], key=["id"])
    assert_table(ingest_deployment.frame("people"), [person], key=["id"])
