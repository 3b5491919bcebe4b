"""Masked columns: the value that a table holds in place of the source's."""

from typing import Final

import attrs

from ingest.masking import Mask
from ingest.sql.template import Sql, literal, sql
from ingest.sql.types import Decimal, Simple, SparkType, null_of
from ingest.typemap.mapped import Mapped
from ingest.typemap.rows import VALUE

REDACTED: Final = "***"
_MISSING: Final = literal("\x00missing")
"""The sign of a value that the source did not send.  No mask makes such a text."""
_STRING: Final = Simple("string")
_FEWEST: Final = 8
"""Characters of a value that shows its last four."""


def masked(mapped: Mapped, mask: Mask, salt_id: str) -> Mapped | None:
    """Return a type with its values masked, or None if the mask does not fit the type.

    A value that cannot be converted is rejected as without a mask.  A value that the source did not send
    keeps a sign of that, so that the stored value, which is masked already, completes the row as it is.
    """
    value = _masked_sql(mapped.spark, mask, salt_id)
    if value is None:
        return None
    spark_type = mapped.spark if mask == "null" else _STRING
    shown = value.of(c=mapped.sql)
    result = attrs.evolve(
        mapped,
        spark=spark_type,
        sql=shown,
        fault=mapped.fault and mapped.fault.of(out=mapped.sql),
        unit="",
        loses=f"the value (mask {mask})",
        merges=mapped.merges if mask == "hash" else "all values",
        units={"": f"mask {mask}"},
        mask=mask,
    )
    if mapped.unavailable is None or mask == "null":
        return attrs.evolve(result, unavailable=None)
    is_missing = mapped.unavailable.of(c=mapped.sql)
    kept = sql(
        "if(coalesce({is_missing}, false), {missing}, {shown})",
        is_missing=is_missing,
        missing=_MISSING,
        shown=shown,
    )
    return attrs.evolve(result, sql=kept, unavailable=sql("{c} = {missing}", missing=_MISSING))


def _masked_sql(spark_type: SparkType, mask: Mask, salt_id: str) -> Sql | None:
    """Return the masked form of a converted value, `{c}`.  Null stays null."""
    match mask:
        case "null":
            return null_of(spark_type)
        case "redact":
            return sql("if({c} is null, null, {redacted})", redacted=literal(REDACTED))
        case "hash":
            text = _exact_text(spark_type)
            return text and sql("ingest_hash({text}, {salt})", text=text, salt=literal(salt_id))
        case "last4":
            return _last_four(spark_type)


def _exact_text(spark_type: SparkType) -> Sql | None:
    """Return the text to hash: equal for equal values, also after a later version widens their type."""
    match spark_type:
        case Simple("string"):
            return VALUE
        case Simple("binary"):
            return sql("hex({c})")
        case Simple("timestamp"):
            return sql("cast(unix_micros({c}) as string)")
        case Simple():
            return sql("cast({c} as string)")
        case Decimal():
            return sql("ingest_number(cast({c} as string))")
        case _:
            return None


def _last_four(spark_type: SparkType) -> Sql | None:
    if spark_type not in (_STRING, Simple("int"), Simple("bigint")):
        return None
    text = VALUE if spark_type == _STRING else sql("cast({c} as string)")
    return sql(
        "if({text} is null, null, concat('****', if(char_length({text}) < {fewest}, '', right({text}, 4))))",
        text=text,
        fewest=_FEWEST,
    )
