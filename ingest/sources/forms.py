"""Canonical forms: one text for a value, computed alike in a source's SQL and in Spark.

Each row of the type table has a form, or a reason why its values cannot be compared.  `SPARK` holds the SQL
of each form over a stored value, `{c}`.  `ingest.sources.databases` holds the SQL over the source's column.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import attrs

from ingest.sql.template import Sql, sql
from ingest.sql.types import ArrayOf, Decimal, MapOf, Simple, SparkType, Struct
from ingest.typemap.lookup import WALL_CLOCK
from ingest.typemap.mapped import Mapped

TEXTS: Final = frozenset({"text", "json", "document", "document_key"})
"""Forms of free text: written with its length, so that two columns never read as one."""
BYTES: Final = "binary"
"""The form whose text may be empty: marked, so that it never reads as null."""
MAX_SCALE: Final = 30
"""Digits behind the point up to which Spark's own arithmetic writes a small decimal."""

_NOT_RAW: Final = frozenset(
    {"number", "uuid", "instant_text", "clock3", "clock6", "bits", "point", "array", "document",
     "document_key"}
)  # fmt: skip
"""Forms with SQL that a row's checksum needs. The checksum writes values of all other forms itself."""
_BITS64 = sql("ingest_double_bits({c})")
_SMALL = sql("abs({c}) < 0.000001BD")  # Spark writes these with an exponent (BigDecimal.toString)

SPARK: Final[Mapping[str, Sql]] = MappingProxyType(
    {
        "boolean": sql("cast({c} as string)"),
        "integer": sql("cast({c} as string)"),
        "float": sql("ingest_float_bits({c})"),
        "double": _BITS64,
        "decimal": sql("cast({c} as string)"),
        "small_decimal": sql(
            "if({small}, concat(if({c} < 0, '-', ''), '0.', "
            "lpad(cast(cast(abs({c}) * {power}BD as decimal(38,0)) as string), {scale}, '0')), "
            "cast({c} as string))",
            small=_SMALL,
        ),
        "number": sql("if(instr({c}, '.') > 0, trim(trailing '.' from trim(trailing '0' from {c})), {c})"),
        "text": sql("{c}"),
        "json": sql("{c}"),
        "uuid": sql("lower({c})"),
        "binary": sql("lower(hex({c}))"),
        "bits": sql(
            "if(length({c}) = 0, '0', conv(array_join(transform(sequence(length({c}), 1, -1), "
            "_ingest_at -> hex(substring({c}, _ingest_at, 1))), ''), 16, -10))"
        ),
        "date": sql("cast({c} as string)"),
        "timestamp": sql("ingest_timestamp({c})"),
        "timestamp3": sql("ingest_timestamp({c})"),
        "instant": sql("ingest_utc({c})"),
        # A year outside of 1 to 9999 has a sign, and stays as the connector writes it.
        "instant_text": sql(
            "if(left({c}, 1) in ('+', '-') or {c} = 'infinity', {c}, ingest_utc(ingest_instant({c})))"
        ),
        # Rows from before a change of the column's precision have as many digits as it had then.
        "clock3": sql("if({c} like '%.___000', left({c}, length({c}) - 3), {c})"),
        "clock6": sql("if({c} like '%.___', concat({c}, '000'), {c})"),
        "clock_micros": sql("cast({c} as string)"),
        "zoned_clock": sql("{c}"),
        "duration_micros": sql("cast({c} as string)"),
        "point": sql("concat({x}, '/', {y})", x=_BITS64.of(c=sql("{c}.x")), y=_BITS64.of(c=sql("{c}.y"))),
        "document": sql("ingest_document_text({c})"),
        "document_key": sql("ingest_document_key({c})"),
        "array": sql("concat('[', array_join(transform({c}, x -> {item}), ','), ']')"),
    }
)

_BY_SEMANTIC: Final[Mapping[tuple[str, str], str]] = MappingProxyType(
    {
        **{
            (f"{package}.{name}", spark_type): form
            for package, name, clock in (
                ("io.debezium.time", "Time", "clock3"),
                ("org.apache.kafka.connect.data", "Time", "clock3"),
                ("io.debezium.time", "MicroTime", "clock6"),
                ("io.debezium.time", "NanoTime", "clock9"),
            )
            for spark_type, form in (("string", clock), ("bigint", "clock_micros"))
        },
        **{
            (semantic, "timestamp_ntz"): "timestamp3"
            for semantic in (
                "io.debezium.time.Timestamp",
                "org.apache.kafka.connect.data.Timestamp",
                "timestamp-millis",
            )
        },
        ("time-millis", "string"): "clock3",
        ("time-millis", "bigint"): "clock_micros",
        ("io.debezium.time.ZonedTime", "string"): "zoned_clock",
        ("io.debezium.time.ZonedTimestamp", "string"): "instant_text",
        ("io.debezium.time.MicroDuration", "bigint"): "duration_micros",
        ("io.debezium.data.Bits", "binary"): "bits",
        ("io.debezium.data.VariableScaleDecimal", "string"): "number",
        ("io.debezium.data.Json", "string"): "json",
        ("io.debezium.data.Uuid", "string"): "uuid",
        ("uuid", "string"): "uuid",
    }
)
_BY_TYPE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "boolean": "boolean",
        "int": "integer",
        "bigint": "integer",
        "float": "float",
        "double": "double",
        "string": "text",
        "binary": "binary",
        "date": "date",
        "timestamp_ntz": "timestamp",
        "timestamp": "instant",
    }
)
REASONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "io.debezium.time.NanoDuration": "its months are counted as 30.4375 days, in nanoseconds",
        "io.debezium.time.Interval": "the text of an interval is the connector's own",
        "io.debezium.time.NanoTime": "the digits below 1 µs have one form only in the source",
        "io.debezium.time.NanoTimestamp": "the digits below 1 µs have one form only in the source",
        "io.debezium.time.IsoDate": "the connector writes it as text",
        "io.debezium.time.IsoTime": "the connector writes it as text",
        "io.debezium.time.IsoTimestamp": "the connector writes it as text",
        "io.debezium.data.EnumSet": "the connector joins its values",
        "cdc.data.Decimal": "the connector writes it as text",
        "cdc.data.timestamp": "the connector writes it as text",
    }
)
"""Why values of a semantic type are not compared if the table's policies give them no form."""
_NUMBERS: Final = (
    "io.debezium.data.VariableScaleDecimal",
    "org.apache.kafka.connect.data.Decimal",
    "decimal",
)


@attrs.frozen
class Form:
    """The form of a stored type. `item` is the form of an array's elements, and `scale` a decimal's scale.

    `in_utc` is true for a wall clock that is stored as if in UTC.
    """

    name: str
    scale: int = 0
    item: "Form | None" = None
    in_utc: bool = False

    def spark(self, value: Sql) -> Sql:
        """Return the text of a stored value, or null for null."""
        template = SPARK[self.name]
        if self.in_utc:
            template = template.of(c=sql("cast({c} as timestamp_ntz)"))  # the run's session zone is UTC
        if self.item is not None:
            text = template.of(c=value, item=sql("coalesce({text}, 'n')", text=self.item.part(sql("x"))))
        else:
            text = template.of(c=value, scale=self.scale, power=10**self.scale)
        return sql("if({c} is null, null, {text})", c=value, text=text)

    def in_row(self, value: Sql) -> Sql:
        """Return a stored value as the functions of whole rows take it."""
        return self.spark(value) if self.name in _NOT_RAW else value

    def part(self, value: Sql) -> Sql:
        """Return a stored value as an array element: free text after its length, and null as null."""
        text = self.spark(value)
        if self.name in TEXTS:
            return sql("concat(octet_length({text}), ':', {text})", text=text)
        return sql("concat('x', {text})", text=text) if self.name == BYTES else text


def form_of(mapped: Mapped, stored: SparkType) -> Form | str:
    """Return a column's form, or the reason why it has no form. `stored` is its type in the table."""
    match stored:
        case Simple("timestamp") if mapped.units.get("") == WALL_CLOCK:
            form = _simple_form(mapped.semantic, "timestamp_ntz")
            return attrs.evolve(form, in_utc=True) if isinstance(form, Form) else form
        case Simple(name):
            return _simple_form(mapped.semantic, name)
        case Decimal(_, scale) if scale > MAX_SCALE:
            return f"a decimal with {scale} digits behind the point"
        case Decimal(_, scale):
            return Form("small_decimal" if scale > _PLAIN_SCALE else "decimal", scale)
        case ArrayOf(items):
            units = {path.removeprefix("[]"): unit for path, unit in mapped.units.items()}
            item = form_of(attrs.evolve(mapped, semantic="", units=units), items)
            return Form("array", item=item) if isinstance(item, Form) else f"an array: {item}"
        case Struct(fields) if mapped.semantic == "io.debezium.data.geometry.Point" and fields:
            return Form("point")
        case Struct() | MapOf():
            return f"a {stored} has no text that both sides write alike"


_PLAIN_SCALE: Final = 6


def _simple_form(semantic: str, name: str) -> Form | str:
    form = _BY_SEMANTIC.get((semantic, name))
    if form is None and (semantic not in REASONS or name in {"date", "timestamp_ntz"}):
        form = _BY_TYPE.get(name)
    if name == "string" and semantic in _NUMBERS:
        form = "number"
    if form is None or form not in SPARK:
        return REASONS.get(semantic, f"a {name} of type {semantic or 'unknown'} has no canonical form")
    return Form(form)
