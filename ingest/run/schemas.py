"""Every schema that a topic's messages may have been written with, from the registry."""

from collections.abc import Iterable

from ingest import avro
from ingest.compile.table import Written
from ingest.errors import SchemaNotFoundError
from ingest.names import SchemaId, Subject
from ingest.registry import Registered, Registry, Schema
from ingest.tables import Table


def fetch_written(registry: Registry, table: Table) -> tuple[tuple[Written, ...], tuple[Written, ...]]:
    """Fetch all versions of a table's key and value subjects, deleted ones too: their records may remain."""
    key = table.subjects.key
    return fetch_versions(registry, key) if key else (), fetch_versions(registry, table.subjects.value)


def fetch_versions(registry: Registry, subject: Subject) -> tuple[Written, ...]:
    """Fetch the versions of a subject in their order.  Raises `SchemaNotFoundError` where it has none."""
    versions = [registry.version(subject, number) for number in registry.versions(subject, deleted=True)]
    if not versions:
        raise SchemaNotFoundError(registry.url, f"subject {subject}", "Register it, or mend the table file")
    return tuple(_written(registry, one, label(one)) for one in versions)


def fetch_by_id(registry: Registry, schema_ids: Iterable[SchemaId]) -> tuple[Written, ...]:
    """Fetch schemas by id that are no versions of the subject; what the registry lacks is left out."""
    found = []
    for schema_id in schema_ids:
        try:
            schema = registry.by_id(schema_id)
        except SchemaNotFoundError:
            continue
        found.append(_written(registry, schema, f"schema id {schema_id}"))
    return tuple(found)


def label(registered: Registered) -> str:
    """Return how messages name a version."""
    return f"{registered.subject} v{registered.version} (id {registered.id})"


def _written(registry: Registry, schema: Registered | Schema, label: str) -> Written:
    *references, text = registry.with_references(schema)
    return Written(schema.id, label, avro.parse(text, references, where=label))
