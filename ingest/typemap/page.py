"""The type table as a page for people: the Spark type of each of a database's and a connector's types."""

from collections.abc import Iterable, Iterator, Sequence

import attrs

from ingest.dialects import Dialect
from ingest.typemap.database_types import DATABASE_TYPES, DatabaseType
from ingest.typemap.lookup import rows_of
from ingest.typemap.rows import TypeRow

_PLAIN = ("", "date", "time-millis", "timestamp-millis", "decimal", "uuid")
_CONNECT = "org.apache.kafka.connect.data."
_TIMES = ("Date", "Time", "MicroTime", "Timestamp", "MicroTimestamp", "ZonedTimestamp",
          "IsoDate", "IsoTime", "IsoTimestamp")  # fmt: skip
_PARTS = ("Date", "Time", "Timestamp", "ZonedTime", "ZonedTimestamp", "Duration")
_STRUCTURED = tuple(f"Structured{name}" for name in _PARTS)
_GEOMETRY = tuple(f"geometry.{n}" for n in ("Point", "Geometry", "Geography", "Circle", "Line"))

# The types of each connector besides plain ones and Connect's own (the connector pages' data type mappings).
_SENDS: dict[str, tuple[str, ...]] = {
    "sqlserver": (*_TIMES, "NanoTime", "NanoTimestamp", "Xml"),
    "oracle": (*_TIMES, "NanoTimestamp", "Interval", "MicroDuration", "VariableScaleDecimal", "Xml"),
    "mongodb": ("Json",),
    "postgres": (*_TIMES, *_STRUCTURED, *_GEOMETRY, "ZonedTime", "Interval", "MicroDuration", "Json", "Xml",
                 "Uuid", "Enum", "Ltree", "Tsvector", "Bits", "VariableScaleDecimal", "FloatVector",
                 "DoubleVector", "SparseDoubleVector"),
    "mysql": (*_TIMES, *_GEOMETRY, "Year", "Json", "Uuid", "Enum", "EnumSet", "Bits", "FloatVector"),
    "cdl": ("cdc.data.Decimal", "cdc.data.timestamp"),
    "record": (),
}  # fmt: skip


_DEFAULTS = (
    "With the connector's defaults (`time.precision.mode = adaptive`, `decimal.handling.mode = precise`); "
    "the sections below have every name that a schema can carry."
)


@attrs.frozen
class TypeLine:
    """One type under one policy of `[types]`, if it has any: its physical type and its Spark type."""

    semantic: str
    physical: str
    policy: str
    spark: str
    unit: str
    loses: str
    source: str


def type_lines(dialect: Dialect) -> tuple[TypeLine, ...]:
    """Return the lines of a connector's types, plain types first."""
    return tuple(_line(row) for row in _rows(dialect))


def _rows(dialect: Dialect) -> Iterator[TypeRow]:
    sent = _SENDS[dialect.name]
    for row in rows_of(dialect).values():
        name = row.semantic.removeprefix("io.debezium.time.").removeprefix("io.debezium.data.")
        if row.semantic in _PLAIN or row.semantic.startswith(_CONNECT) or name in sent:
            yield row


def _line(row: TypeRow) -> TypeLine:
    spark = row.spark.format(precision="p", scale="s") or "the same structure"
    return TypeLine(row.semantic, row.physical, row.policy, spark, row.unit, row.loses, row.source)


def type_page(dialect: Dialect) -> str:
    """Return the page of a connector, as Markdown: one table for each namespace of semantic names."""
    order = ", ".join([*(f"`{term.name}`" for term in dialect.terms), "the Kafka offset"])
    caveats = [f"- {guard.text}" for guard in dialect.caveats]
    by_namespace: dict[str, list[TypeLine]] = {}
    for line in type_lines(dialect):
        by_namespace.setdefault(line.semantic.rpartition(".")[0], []).append(line)
    parts = [
        f"# {dialect.title}",
        "Generated from the type table by `make golden`. `[types]` in the table file selects a policy.",
        f"Order of changes: {order}."
        + (f" Source: <{dialect.documentation}>" if dialect.documentation else ""),
        *(["Caveats:\n\n" + "\n".join(caveats)] if caveats else []),
    ]
    if types := DATABASE_TYPES.get(dialect.name, ()):
        parts += [f"## Types of {dialect.title}", _DEFAULTS, _database_table(types, type_lines(dialect))]
    for namespace, lines in by_namespace.items():
        title = f"`{namespace}`" if namespace else "Plain and logical Avro types"
        parts += [f"## {title}", _table(lines)]
    return "\n\n".join(parts) + "\n"


def _database_table(types: Sequence[DatabaseType], lines: Sequence[TypeLine]) -> str:
    """Return the table by the database's types.  In the type table, the default policy comes first."""
    rows = []
    for item in types:
        matches = [line for line in lines if (line.semantic, line.physical) == (item.semantic, item.physical)]
        if not item.physical:
            rows.append((item.names, "", "", "the connector sends no such columns"))
            continue
        choices = ", ".join(f"`{line.spark}` by policy `{line.policy}`" for line in matches[1:])
        value = "; ".join(filter(None, (_value(matches[0]), f"or {choices}" if choices else "", item.note)))
        rows.append((item.names, _short(matches[0]), f"`{matches[0].spark}`", value))
    return _markdown(("database type", "sent as", "Spark type", "value"), rows)


def _table(lines: Sequence[TypeLine]) -> str:
    """Return the table of one namespace, without the namespace in the names."""
    rows = (
        (
            line.semantic.rpartition(".")[2] or "(plain)",
            line.physical,
            line.policy,
            f"`{line.spark}`",
            _value(line),
        )
        for line in lines
    )
    return _markdown(("type", "carried as", "policy", "Spark type", "value"), rows)


def _markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


def _short(line: TypeLine) -> str:
    return line.semantic.rpartition(".")[2] or line.physical


def _value(line: TypeLine) -> str:
    loses = f"loses {line.loses}" if line.loses else ""
    return "; ".join(filter(None, (line.unit, loses)))
