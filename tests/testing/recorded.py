"""Schemas and decoded events that the connectors themselves wrote."""

import base64
import gzip
import json
from io import BytesIO
from pathlib import Path
from typing import Any

import fastavro

from ingest.testing.wire import without_logical_types

FIXTURES = Path(__file__).parents[2] / "registry_fixtures"
TOPICS = {
    "sqlserver": "sqs.testDB.dbo.customers",
    "oracle": "ors.DEBEZIUM.CUSTOMERS",
    "mongodb": "mgs.inventory.customers",
    "postgres": "pgs.inv.customers",
}
"""One recorded topic of each connector."""


def read_schema(connector: str, part: str) -> Any:
    """Read the first version of a recorded subject."""
    return json.loads((FIXTURES / connector / f"{TOPICS[connector]}-{part}" / "v1.avsc").read_text())


def read_events(connector: str) -> list[Any]:
    """Decode the recorded events, each with its own schema."""
    fixture = json.loads((FIXTURES / connector / "fixture.json").read_text())
    subject = f"{TOPICS[connector]}-value"
    folder = FIXTURES / connector / subject
    schemas = {
        schema["id"]: fastavro.parse_schema(
            without_logical_types(json.loads((folder / f"v{schema['version']}.avsc").read_text()))
        )
        for schema in fixture["schemas"]
        if schema["subject"] == subject
    }
    with gzip.open(FIXTURES / connector / "messages" / f"{TOPICS[connector]}.jsonl.gz", "rt") as file:
        values = [base64.b64decode(schema["v"]) for schema in map(json.loads, file) if schema["v"]]
    return [
        fastavro.schemaless_reader(BytesIO(value[5:]), schemas[int.from_bytes(value[1:5], "big")], None)
        for value in values
    ]
