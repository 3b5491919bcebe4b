"""The settings of one column, and of the rows to hold."""

from typing import Literal

import attrs

from ingest.config.rules import WrongValueError, not_empty
from ingest.masking import Mask
from ingest.tables.rules import check_column_type, check_new_name

Nanos = Literal["timestamp", "bigint", "string"]
TimeOfDay = Literal["string", "micros"]
OutOfRange = Literal["fail", "null"]


@attrs.frozen
class Column:
    """The settings of one column.  They win over `[types]`."""

    type: str | None = attrs.field(
        default=None,
        validator=check_column_type,
        metadata={"help": "Spark type, such as `decimal(20,4)`. A value that does not fit is rejected."},
    )
    nanos: Nanos | None = attrs.field(
        default=None, metadata={"help": "As `types.nanos`, for this column. Fixed once the table has it."}
    )
    time: TimeOfDay | None = attrs.field(
        default=None, metadata={"help": "As `types.time`, for this column. Fixed once the table has it."}
    )
    out_of_range: OutOfRange | None = attrs.field(
        default=None, metadata={"help": "As `types.out_of_range`, for this column."}
    )
    rename: str | None = attrs.field(
        default=None,
        validator=check_new_name,
        metadata={"help": "Name of the column in the table. Fixed once the table has it."},
    )
    exclude: bool = attrs.field(
        default=False,
        metadata={"help": "Leave the column out. Not possible for columns of the key or of the partitions."},
    )
    mask: Mask | None = attrs.field(
        default=None,
        metadata={
            "help": "Store in place of each value: `hash`: its keyed hash. `redact`: `***`. `last4`: its "
            "last four characters. `null`: nothing. Fixed once the table has the column: see "
            "[Chosen columns](../chosen.md)."
        },
    )
    sql: str | None = attrs.field(
        default=None,
        validator=not_empty,
        metadata={
            "help": "Compute the column: an expression in Spark SQL over the row's own columns. Fixed at "
            "creation of the table: see [Chosen columns](../chosen.md)."
        },
    )

    def __attrs_post_init__(self) -> None:
        rules = (self.type, self.nanos, self.time, self.out_of_range, self.rename, self.mask)
        if self.sql is not None and (self.exclude or any(rule is not None for rule in rules)):
            raise WrongValueError("sql", "a computed column has no other keys", "Put a cast into the SQL")
        if self.exclude and any(rule is not None for rule in rules):
            raise WrongValueError("exclude", "an excluded column cannot have a type, a mask or another name")


@attrs.frozen
class Rows:
    """The rows of the source that a table holds."""

    where: str | None = attrs.field(
        default=None,
        validator=not_empty,
        metadata={
            "help": "Condition in Spark SQL over the row's own columns. The table has only rows for which it "
            "is true. Fixed at creation: see [Chosen columns](../chosen.md)."
        },
    )
    source_where: str | None = attrs.field(
        default=None,
        validator=not_empty,
        metadata={
            "expert": True,
            "help": "The same condition in the source's SQL, over the source's columns: `ingest verify` "
            "compares the rows of the source for which it is true.",
        },
    )
