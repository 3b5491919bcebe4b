"""What onboarding says of a table beside its columns: what it loses, and what is known of its source."""

from ingest import avro
from ingest.compile.envelope import Envelope
from ingest.compile.table import CompiledTable
from ingest.dialects import Dialect
from ingest.tables import Column


def lossless_keys(key: avro.Schema) -> dict[str, Column]:
    """Return rules for key columns whose usual type would make two keys one."""
    rules: dict[str, Column] = {}
    for field in key.fields if isinstance(key, avro.Record) else ():
        kind = avro.not_null(field.type)
        semantic = kind.notes.semantic if isinstance(kind, avro.Scalar) else ""
        if semantic == "io.debezium.time.NanoTimestamp":
            rules[field.name] = Column(nanos="string")
        elif semantic == "io.debezium.time.ZonedTimestamp":
            rules[field.name] = Column(type="string")
    return rules


def caveats(compiled: CompiledTable, dialect: Dialect, envelope: Envelope) -> list[str]:
    """Return what a user should know before trusting the table."""
    filled = [
        field.name
        for field in envelope.row.fields
        if isinstance(field.type, avro.Nullable) and not field.type.null_first
    ]
    told = []
    if filled:
        told.append(
            f"{', '.join(filled)}: nullable with a default; the producer's converter may have written the "
            "default where the source holds null"
        )
    lossy: dict[str, list[str]] = {}
    for column_version in compiled.value.column_versions:
        if column_version.mapped.loses:
            lossy.setdefault(column_version.mapped.loses, []).append(column_version.column)
    told += [f"{', '.join(dict.fromkeys(names))}: loses {what}" for what, names in lossy.items()]
    semantics = {v.mapped.semantic for v in compiled.value.column_versions}
    caveats = [g.text for g in dialect.caveats if not g.semantics or semantics.intersection(g.semantics)]
    return [*told, *caveats]
