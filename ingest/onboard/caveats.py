"""The caveats of a table: the digits that its types lose, and the limits of its source."""

from ingest import avro
from ingest.compile.envelope import Envelope
from ingest.compile.table import CompiledTable
from ingest.dialects import Dialect
from ingest.sql.types import parse_ddl
from ingest.tables import Column
from ingest.typemap.readers import excluded_readers


def lossless_keys(key: avro.Schema) -> dict[str, Column]:
    """Return rules for key columns that could make two keys one in their usual type."""
    rules: dict[str, Column] = {}
    for field in key.fields if isinstance(key, avro.Record) else ():
        scalar = avro.not_null(field.type)
        semantic = scalar.notes.semantic if isinstance(scalar, avro.Scalar) else ""
        if semantic == "io.debezium.time.NanoTimestamp":
            rules[field.name] = Column(nanos="string")
        elif semantic == "io.debezium.time.ZonedTimestamp":
            rules[field.name] = Column(type="string")
    return rules


def caveats(compiled: CompiledTable, dialect: Dialect, envelope: Envelope) -> list[str]:
    """Return the caveats that a user should read before relying on the table."""
    filled = [
        field.name
        for field in envelope.row.fields
        if isinstance(field.type, avro.Nullable) and not field.type.null_first
    ]
    texts = []
    if filled:
        texts.append(
            f"{', '.join(filled)}: nullable with a default; the producer's converter may have written the "
            "default where the source holds null"
        )
    lossy: dict[str, list[str]] = {}
    for column_version in compiled.value.column_versions:
        if column_version.mapped.loses:
            lossy.setdefault(column_version.mapped.loses, []).append(column_version.column)
    texts += [f"{', '.join(dict.fromkeys(names))}: loses {loss}" for loss, names in lossy.items()]
    semantics = {v.mapped.semantic for v in compiled.value.column_versions}
    caveats = [g.text for g in dialect.caveats if not g.semantics or semantics.intersection(g.semantics)]
    return [*texts, *caveats, *_excluded(compiled)]


def _excluded(compiled: CompiledTable) -> list[str]:
    """Return the readers that the table excludes, by reason."""
    types = [
        *(spark_type for _, spark_type in compiled.key_columns),
        *(version.mapped.spark for version in compiled.value.column_versions),
        *(parse_ddl(column.type) for column in compiled.table.document.columns.values()),
    ]
    readers_by_reason: dict[str, list[str]] = {}
    for reader, reason in excluded_readers(types, compiled.table.target).items():
        readers_by_reason.setdefault(reason, []).append(reader)
    return [f"not for {', '.join(readers)}: {reason}" for reason, readers in readers_by_reason.items()]
