"""Keep the versions of customers, and ask for the state of any time."""

from datetime import UTC, datetime

from ingest.testing import Deployment, nullable

COLUMNS = {"id": "int", "city": nullable("string")}
AS_OF = """
select id, city from customers
where _cdc_valid_from <= timestamp'{time}' and (_cdc_valid_to is null or _cdc_valid_to > timestamp'{time}')
order by id
"""


def day(number: int) -> dict[str, int]:
    """Return noon of a day in March, as the source's clock gives it."""
    return {"ts_ms": int(datetime(2026, 3, number, 12, tzinfo=UTC).timestamp() * 1000)}


def test_customers_as_of_any_day(ingest_deployment: Deployment) -> None:
    """A customer moves, another leaves; a repeated event and a replay change nothing."""
    customers = ingest_deployment.topic("server1.testDB.dbo.customers", COLUMNS)
    ingest_deployment.onboard(name="{table}")
    file = ingest_deployment.tables / "customers.toml"
    file.write_text(file.read_text().replace("[target]", '[target]\nmode = "history"'))

    oslo, bergen, malmo = {"id": 1, "city": "Oslo"}, {"id": 1, "city": "Bergen"}, {"id": 2, "city": "Malmö"}
    customers.send(customers.create(oslo, at=day(1)), customers.create(malmo, at=day(2)))
    ingest_deployment.run()
    moved = customers.update(bergen, at=day(5))
    customers.send(moved, moved, customers.delete(malmo, at=day(9)))
    ingest_deployment.run()

    frame = ingest_deployment.frame("customers")
    frame.createOrReplaceTempView("customers")

    def as_of(number: int) -> list[tuple[object, ...]]:
        rows = frame.sparkSession.sql(AS_OF.format(time=f"2026-03-{number:02} 18:00:00Z")).collect()
        return [tuple(row) for row in rows]

    assert as_of(1) == [(1, "Oslo")]
    assert as_of(4) == [(1, "Oslo"), (2, "Malmö")]
    assert as_of(5) == [(1, "Bergen"), (2, "Malmö")]
    assert as_of(9) == [(1, "Bergen")]
    assert frame.where("_cdc_is_current").count() == 1
