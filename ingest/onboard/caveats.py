"""The caveats of a table: the digits that its types lose, and the limits of its source."""

from collections.abc import Iterator, Sequence

import attrs

from ingest import avro
from ingest.compile.envelope import Envelope
from ingest.compile.table import CompiledTable
from ingest.dialects import Dialect
from ingest.names import Topic, first_few
from ingest.onboard.outcome import Onboarded
from ingest.sql.types import parse_ddl
from ingest.tables import Column
from ingest.typemap.decimals import is_number_text
from ingest.typemap.readers import reader_caveats


def lossless_keys(key: avro.Schema, dialect: Dialect) -> dict[str, Column]:
    """Return rules for key columns that could make two keys one in their usual type.

    An instant of a source without offsets and infinity is exact as a timestamp.  Its text is not: MariaDB's
    snapshots write `01:02:03Z`, and its changes `01:02:03.000Z`.
    """
    as_text = dialect.has_offsets or dialect.has_infinity
    rules: dict[str, Column] = {}
    for field in key.fields if isinstance(key, avro.Record) else ():
        scalar = avro.not_null(field.type)
        semantic = scalar.notes.semantic if isinstance(scalar, avro.Scalar) else ""
        if semantic == "io.debezium.time.NanoTimestamp":
            rules[field.name] = Column(nanos="string")
        elif semantic == "io.debezium.time.ZonedTimestamp" and as_text:
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
    types = {v.mapped.semantic or v.mapped.physical for v in compiled.value.column_versions}
    caveats = [g.text for g in dialect.caveats if not g.types or types.intersection(g.types)]
    return [*texts, *_numbers_as_text(compiled), *caveats, *_of_readers(compiled)]


def _numbers_as_text(compiled: CompiledTable) -> Iterator[str]:
    """Yield the columns whose numbers become text, unless a person decided it."""
    declared = compiled.table.columns
    names = [
        version.column
        for version in compiled.value.column_versions
        if version.mapped.semantic
        and is_number_text(version.mapped.semantic, version.mapped.spark)
        and declared.get(version.field, Column()).type is None
    ]
    if names:
        yield (
            f"{', '.join(dict.fromkeys(names))}: becomes text, as a number without a precision up to 38; "
            f'declare one: [columns.{names[0]}] type = "decimal(20,4)"'
        )


def with_partitions(results: Sequence[Onboarded]) -> list[Onboarded]:
    """Add a caveat to each table whose partitions may have topics: a name that goes on, and equal columns.

    PostgreSQL publishes the changes of a partition under the partition's name by default.
    """
    shapes = {
        result.topic: (result.key_columns, result.columns)
        for result in results
        if result.table and result.table.dialect == "postgres"
    }
    partitions: dict[str, list[Topic]] = {}
    for topic, shape in shapes.items():
        stem = topic.rpartition("_")[0]
        while stem:
            if shapes.get(Topic(stem)) == shape:
                partitions.setdefault(stem, []).append(topic)
            stem = stem.rpartition("_")[0]
    return [
        attrs.evolve(result, caveats=(*result.caveats, _of_partitions(partitions[result.topic])))
        if result.topic in partitions
        else result
        for result in results
    ]


def _of_partitions(topics: Sequence[Topic]) -> str:
    return (
        f"{first_few(topics)} may be its partitions: without publish.via.partition.root = true in the "
        "connector their changes do not reach this table, which keeps its snapshot"
    )


def _of_readers(compiled: CompiledTable) -> list[str]:
    """Return what readers do not show of the table."""
    columns = [
        *compiled.key_columns,
        *((version.column, version.mapped.spark) for version in compiled.value.column_versions),
        *((name, parse_ddl(column.type)) for name, column in compiled.table.document.columns.items()),
    ]
    return reader_caveats(columns, compiled.table.target)
