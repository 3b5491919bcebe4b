"""Hudi's own incremental and CDC queries work on the tables, with the options that a table file may set."""

from collections.abc import Callable
from typing import Any

import pytest

from ingest.testing import nullable
from tests.e2e.deployment import Deployment
from tests.e2e.events import Change, make_topics

pytestmark = [pytest.mark.spark, pytest.mark.servers]

CDC = '"hoodie.table.cdc.enabled" = "true"\n"hoodie.table.cdc.supplemental.logging.mode" = "{mode}"\n'


def query(deployment: Deployment, start: str, **options: str) -> list[Any]:
    """Read the changes after an instant."""
    reader = deployment.spark.read.format("hudi")
    reader = reader.option("hoodie.datasource.query.type", "incremental")
    reader = reader.option("hoodie.datasource.read.begin.instanttime", start)
    for name, value in options.items():
        reader = reader.option(name.replace("_", "."), value)
    return list(reader.load(str(deployment.root / "lake" / "orders")).collect())


@pytest.mark.parametrize(
    ("kind", "mode"), [("cow", "DATA_BEFORE_AFTER"), ("mor", "DATA_BEFORE_AFTER"), ("cow", "OP_KEY_ONLY")]
)
def test_a_tables_changes_are_read_by_hudis_cdc_and_incremental_queries(
    kind: str, mode: str, make_deployment: Callable[[], Deployment]
) -> None:
    """An insert, an update and a delete between two commits, each with its images."""
    deployment = make_deployment()
    name = f"{deployment.prefix}.testDB.dbo.orders"
    (topic,) = make_topics(deployment.servers, {name: {"id": "int", "v": nullable("string")}}).values()
    deployment.onboard([name], type=kind)
    path = deployment.tables / "orders.toml"
    path.write_text(path.read_text().replace("[hudi]\n", f"[hudi]\n{CDC.format(mode=mode)}"))
    topic.send(*(Change("c", {"id": number, "v": "old"}, at=number) for number in (1, 2)))
    (first,) = deployment.run().tables
    topic.send(
        Change("u", {"id": 1, "v": "new"}, at=11),
        Change("d", {"id": 2, "v": "old"}, at=12),
        Change("c", {"id": 3, "v": "added"}, at=13),
    )
    (second,) = deployment.run().tables
    assert (first.error, second.error) == (None, None)

    rows = query(deployment, str(first.instant))
    changes = query(deployment, str(first.instant), hoodie_datasource_query_incremental_format="cdc")

    assert {row["id"]: row["v"] for row in rows} == {1: "new", 3: "added"}
    assert sorted(row["op"] for row in changes) == ["d", "i", "u"]
    after = {row["op"]: row["after"] for row in changes}
    assert '"v":"new"' in after["u"].replace(" ", "")
    assert '"v":"added"' in after["i"].replace(" ", "")
    assert after["d"] in (None, "null")
