"""Decimals that Spark's decoder cannot read as they are: of many digits, of negative scale, declared."""

import attrs

from ingest import avro
from ingest.typemap import sparktype
from ingest.typemap.sparktype import Decimal, Simple

UNKNOWN_PRECISION = 64
"""What Confluent's and Apicurio's converters write for a decimal without a precision."""


@attrs.frozen
class Shape:
    """Precision and scale as the source has them; the scale may be negative, or larger than the precision."""

    precision: int
    scale: int

    @property
    def digits(self) -> int:
        """Digits that a decimal needs to hold every value."""
        return max(self.precision, self.scale, self.precision - self.scale if self.scale < 0 else 0)

    @property
    def fits(self) -> bool:
        """Whether Spark's decimal holds them."""
        return self.digits <= sparktype.MAX_PRECISION

    @property
    def target(self) -> Decimal:
        """The decimal that holds every value."""
        return Decimal(self.digits, max(self.scale, 0))


def shape_of(notes: avro.Notes) -> Shape:
    """Return a decimal's shape: the scale is the parameter's, not the annotation's.

    A decimal of unknown precision gets all 38 digits; a value with more cannot be decoded.
    """
    text = notes.parameter("scale")
    scale = notes.scale or 0 if text is None else int(text)
    declared = notes.parameter("connect.decimal.precision")
    precision = int(declared) if declared else notes.precision
    if precision is None or (not declared and precision == UNKNOWN_PRECISION):
        precision = sparktype.MAX_PRECISION
    return Shape(precision, scale)


def plain_sql(scale: int) -> str:
    """Return SQL for the plain notation of a decimal's bytes, `{c}`."""
    return f"ingest_plain_decimal({scale}, {{c}})"


def declared_sql(text: str, target: Decimal) -> tuple[str, str]:
    """Return SQL that makes a decimal of a number's text, and SQL that is true where that loses a digit."""
    fraction = f"if(contains({text}, '.'), rtrim('0', substring_index({text}, '.', -1)), '')"
    lossy = f"length({fraction}) > {target.scale} or contains(upper({text}), 'E')"
    return f"try_cast({text} as {target})", f"{{c}} is not null and ({{out}} is null or {lossy})"


def is_number_text(semantic: str, spark: sparktype.SparkType) -> bool:
    """Tell whether a column's text is a number, so that a decimal may be declared for it."""
    numbers = (
        "",
        "io.debezium.data.VariableScaleDecimal",
        "org.apache.kafka.connect.data.Decimal",
        "decimal",
    )
    return spark == Simple("string") and (semantic in numbers or semantic.endswith("cdc.data.Decimal"))
