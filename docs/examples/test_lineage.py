"""Read the lineage of a table from its events."""

import json

from ingest.testing import Deployment, nullable, timestamp

COLUMNS = {"id": "int", "customer": nullable("string"), "placed": nullable(timestamp("ms"))}


def test_events_name_topic_table_and_columns(ingest_deployment: Deployment) -> None:
    """START and COMPLETE of one run; each column names its field in the topic."""
    settings = ingest_deployment.root / "ingest.toml"
    settings.write_text(f'{settings.read_text()}[lineage]\nfile = "events.jsonl"\nnamespace = "shop"\n')
    orders = ingest_deployment.topic("server1.testDB.dbo.orders", COLUMNS)
    ingest_deployment.onboard(name="{table}")
    orders.send(orders.create({"id": 1, "customer": "Ada", "placed": 1_700_000_000_000}))
    assert ingest_deployment.run().outcome == "done"

    lines = (ingest_deployment.root / "events.jsonl").read_text().splitlines()
    start, complete = map(json.loads, lines)
    assert (start["eventType"], complete["eventType"]) == ("START", "COMPLETE")
    assert complete["job"]["namespace"] == "shop"
    assert complete["inputs"][0]["name"] == "server1.testDB.dbo.orders"
    (table,) = complete["outputs"]
    assert table["name"] == str(ingest_deployment.root / "lake" / "orders")
    assert table["outputFacets"]["outputStatistics"]["rowCount"] == 1
    (placed,) = table["facets"]["columnLineage"]["fields"]["placed"]["inputFields"]
    assert (placed["field"], placed["transformations"][0]["subtype"]) == ("placed", "TRANSFORMATION")
    types = {field["name"]: field["type"] for field in table["facets"]["schema"]["fields"]}
    assert types["placed"] == "timestamp_ntz"

    ingest_deployment.run()  # nothing to do: no events
    assert (ingest_deployment.root / "events.jsonl").read_text().splitlines() == lines
