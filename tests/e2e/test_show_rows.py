"""`ingest show --rows` and `--key`: rows of tables as text, as a person asks for them."""

import pytest

from ingest.errors import UsageError
from ingest.testing import nullable, record
from ingest.testing.deployment import Deployment

pytestmark = [pytest.mark.spark, pytest.mark.servers]

COLUMNS = {
    "region": "string",
    "no": "int",
    "raw": nullable("bytes"),
    "place": nullable(record("Place", {"x": "int"})),
}


def texts(deployment: Deployment, *key: str, rows: int | None = None, table: str = "orders") -> list[str]:
    """Show rows, each as the texts of region, no, raw and place."""
    with deployment.session as session:
        shown = session.show(table, rows=rows, key=key).rows
    return ["|".join(str(row[name]) for name in COLUMNS) for row in shown or ()]


@pytest.fixture
def orders(ingest_deployment: Deployment) -> Deployment:
    """Give a deployment with a table of two key columns, before its first run."""
    topic = ingest_deployment.topic("show.inv.orders", COLUMNS, key=("region", "no"), connector="postgres")
    ingest_deployment.onboard(name="orders")
    file = ingest_deployment.tables / "orders.toml"
    file.write_text(file.read_text().replace("[target]", '[target]\ndelete = "soft"'))
    eu, us = {"region": "EU", "no": 7, "raw": b"\x01\xff"}, {"region": "US=A", "no": 7}
    topic.send(
        topic.create({**eu, "place": None}),
        topic.create({**us, "raw": None, "place": {"x": 1}}),
        topic.update({**eu, "place": {"x": 2}}),
        topic.delete({**us, "raw": None, "place": {"x": 1}}, tombstone=False),
    )
    return ingest_deployment


def test_rows_are_shown_newest_first_and_by_key(orders: Deployment) -> None:
    """Deleted ones too.  Bytes are digits, nested values JSON, and a value may hold the sign of equality."""
    with pytest.raises(UsageError, match="table orders has no commit yet"):
        texts(orders, rows=1)
    orders.run()

    deleted, updated = 'US=A|7|None|{"x":1}', 'EU|7|01FF|{"x":2}'
    assert texts(orders, rows=5) == [deleted, updated]
    assert texts(orders, rows=1) == [deleted]
    assert texts(orders, "no=7", "region=US=A") == [deleted]
    assert texts(orders, "region=EU", "no=007") == [updated]
    assert texts(orders, "region=EU", "no=8") == []


def test_a_key_that_does_not_fit_is_refused(orders: Deployment) -> None:
    """With the columns that the key has."""
    orders.run()
    for key, problem in [
        (["region=EU"], "--key region=EU: the key is region, no"),
        (["region=EU", "no=7", "no=7"], "the key is region, no"),
        (["region=EU", "raw=1"], "the key is region, no"),
        (["region=EU", "no=x"], "--key no=x: not a int, the type of no in table orders"),
    ]:
        with pytest.raises(UsageError, match=problem):
            texts(orders, *key)


def test_a_table_of_changes_has_rows_but_no_key(ingest_deployment: Deployment) -> None:
    """It keeps every change of a row."""
    topic = ingest_deployment.topic("show.inv.log", {"id": "int"}, connector="postgres")
    ingest_deployment.onboard(name="log", append=True)
    topic.send(topic.create({"id": 1}), topic.update({"id": 1}))
    ingest_deployment.run()
    with ingest_deployment.session as session:
        assert [row["_cdc_op"] for row in session.show("log", rows=5).rows or ()] == ["u", "c"]
        with pytest.raises(UsageError, match="the table has no key: it keeps every change"):
            session.show("log", key=["1"])
