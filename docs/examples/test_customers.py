"""Test the effect of a new schema version on a table before anyone registers it."""

from decimal import Decimal

from ingest.testing import Deployment, assert_table, decimal, nullable

VERSION_1 = {
    "id": "int",
    "name": nullable("string"),
    "points": nullable("int"),
    "credit": nullable(decimal(9, 2)),
}
VERSION_2 = {
    **VERSION_1,
    "points": nullable("long"),  # widened
    "phone": nullable("string"),  # added
}
ADA = {"id": 1, "name": "Ada", "points": 10, "credit": Decimal("12.50")}
BOB = {"id": 2, "name": "Bob", "points": 20, "credit": None}
CYD = {"id": 3, "name": "Cyd", "points": 30, "credit": Decimal("0.01")}
DAN = {"id": 4, "name": "Dan", "points": 5_000_000_000, "credit": None, "phone": "555"}


def test_new_version_adds_phone_and_widens_points(ingest_deployment: Deployment) -> None:
    """A new version adds and widens columns while a producer still writes the old one."""
    customers = ingest_deployment.topic("server1.testDB.dbo.customers", VERSION_1)
    ingest_deployment.onboard(name="{table}")  # or copy your own table files to ingest_deployment.tables
    customers.send(customers.read(ADA), customers.read(BOB), customers.create(CYD))
    assert ingest_deployment.run().outcome == "done"

    old = customers.current
    customers.version(VERSION_2)
    customers.send(
        customers.update({**ADA, "phone": "123"}),
        customers.update({**BOB, "name": "Bert"}, schema_id=old),
        customers.delete(CYD),
        customers.create(DAN),
    )
    (outcome,) = ingest_deployment.run().tables

    assert [(change.kind, change.column) for change in outcome.schema_changes] == [
        ("column-widened", "points"),
        ("column-added", "phone"),
    ]
    assert_table(
        ingest_deployment.frame("customers"),
        [{**ADA, "phone": "123"}, {**BOB, "name": "Bert", "phone": None}, DAN],
        key=["id"],
    )
