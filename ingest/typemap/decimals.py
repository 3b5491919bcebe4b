"""Decimals that Spark's decoder cannot read as they are: of many digits, of negative scale, declared."""

import attrs

from ingest import avro
from ingest.avro.connect import UNKNOWN_PRECISION
from ingest.errors import SchemaError
from ingest.sql import types as spark_types
from ingest.sql.template import Sql, sql
from ingest.sql.types import Decimal, Simple, type_sql

MIN_SCALE, MAX_SCALE, MAX_DIGITS = -1_000, 16_383, 147_455
"""The scales and digits that are read.  PostgreSQL's numeric has up to 131,072 digits before the point and
16,383 behind it, and Oracle's scales begin at -84 (postgresql.org/docs/current/datatype-numeric.html).  Plain
notation writes every digit, so that a larger scale of a hostile schema or message would fill the memory.
`PlainDecimal.java` has the same bounds."""


@attrs.frozen
class Shape:
    """Precision and scale of the source.  The scale may be negative, or larger than the precision."""

    precision: int
    scale: int

    @property
    def digits(self) -> int:
        """Digits that a decimal needs to hold every value."""
        return max(self.precision, self.scale, self.precision - self.scale if self.scale < 0 else 0)

    @property
    def fits(self) -> bool:
        """Whether Spark's decimal holds them."""
        return self.digits <= spark_types.MAX_PRECISION

    @property
    def target(self) -> Decimal:
        """The decimal that holds every value."""
        return Decimal(self.digits, max(self.scale, 0))


def shape_of(notes: avro.Notes, where: str, path: str) -> Shape:
    """Return a decimal's shape.  The scale is the parameter's, or else the annotation's.

    A decimal of unknown precision gets all 38 digits, and a value with more cannot be decoded.  Raises
    `SchemaError`, with the path, for a shape that no source has.
    """
    text = notes.parameter("scale")
    scale = notes.scale or 0 if text is None else _number(text, "scale", where, path)
    declared = notes.parameter("connect.decimal.precision")
    precision = _number(declared, "precision", where, path) if declared else notes.precision
    if precision is None or (not declared and precision == UNKNOWN_PRECISION):
        precision = spark_types.MAX_PRECISION
    if not MIN_SCALE <= scale <= MAX_SCALE:
        raise SchemaError(where, path, f"has scale {scale:,}, allowed are {MIN_SCALE:,} to {MAX_SCALE:,}")
    if not 1 <= precision <= MAX_DIGITS:
        raise SchemaError(where, path, f"has precision {precision:,}, allowed are 1 to {MAX_DIGITS:,}")
    return Shape(precision, scale)


def _number(text: str, name: str, where: str, path: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise SchemaError(where, path, f"has a {name} that is not a number: {text[:40]}") from error


def plain_sql(scale: int) -> Sql:
    """Return the plain notation of a decimal's bytes, `{c}`."""
    return sql("ingest_plain_decimal({scale}, {c})", scale=scale)


def declared_sql(text: Sql, target: Decimal) -> tuple[Sql, Sql]:
    """Return a number's text as a decimal, and a condition that is true if the decimal loses a digit."""
    value = sql("try_cast({text} as {type})", text=text, type=type_sql(target))
    # The cast rounds: so count the digits behind the point, and refuse exponents, which hide some.
    fault = sql(
        "{c} is not null and ({out} is null or length("
        "if(contains({text}, '.'), rtrim('0', substring_index({text}, '.', -1)), '')) > {scale} "
        "or contains(upper({text}), 'E'))",
        text=text,
        scale=target.scale,
    )
    return value, fault


def is_number_text(semantic: str, spark: spark_types.SparkType) -> bool:
    """Tell whether a column's text is a number, so that a decimal may be declared for it."""
    numbers = (
        "",
        "io.debezium.data.VariableScaleDecimal",
        "org.apache.kafka.connect.data.Decimal",
        "decimal",
    )
    return spark == Simple("string") and (semantic in numbers or semantic.endswith("cdc.data.Decimal"))
