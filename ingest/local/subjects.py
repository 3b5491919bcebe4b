"""Registers a recording's schemas, subject by subject, version by version."""

from collections.abc import Callable, Mapping, Sequence
from graphlib import TopologicalSorter
from itertools import groupby
from typing import Any, Final

import httpx2  # the pinned client's transport, which raises its errors when no server answers
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError

from ingest.errors import RegistryRefusedError, RegistryUnreachableError
from ingest.local.fixture import RecordedSchema
from ingest.names import SchemaId

CLIENT: Final[Mapping[str, Any]] = {"timeout": 30, "max.retries": 1}


def register_schemas(
    schemas: Sequence[RecordedSchema], registry_url: str, rename: Callable[[str], str]
) -> dict[SchemaId, SchemaId]:
    """Register schemas under renamed subjects.  Return the registry's id for each recorded id."""
    if not schemas:
        return {}
    with SchemaRegistryClient({"url": registry_url, **CLIENT}) as client:
        return {
            schema.id: _register(client, schema, registry_url, rename) for schema in order_schemas(schemas)
        }


def order_schemas(schemas: Sequence[RecordedSchema]) -> list[RecordedSchema]:
    """Order schemas so that each follows its subject's earlier versions and its references."""
    by_version = {(schema.subject, schema.version): schema for schema in schemas}
    sorter: TopologicalSorter[tuple[str, int]] = TopologicalSorter()
    for _, versions in groupby(sorted(by_version), key=lambda version: version[0]):
        before: list[tuple[str, int]] = []
        for version in versions:
            referred = [(ref.subject, ref.version) for ref in by_version[version].references]
            sorter.add(version, *before, *referred)
            before = [version]
    return [by_version[version] for version in sorter.static_order() if version in by_version]


def _register(
    client: SchemaRegistryClient,
    schema: RecordedSchema,
    registry_url: str,
    rename: Callable[[str], str],
) -> SchemaId:
    subject = rename(schema.subject)
    references = [SchemaReference(ref.name, rename(ref.subject), ref.version) for ref in schema.references]
    try:
        return SchemaId(client.register_schema(subject, Schema(schema.schema, "AVRO", references)))
    except SchemaRegistryError as error:
        request = f"registering {subject} version {schema.version}"
        raise RegistryRefusedError(
            registry_url, request, error.http_status_code, error.error_message
        ) from error
    except httpx2.HTTPError as error:
        raise RegistryUnreachableError(registry_url, str(error)) from error
