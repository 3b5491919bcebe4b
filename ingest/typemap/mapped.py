"""A compiled type as a value, and the compilation of one row of the type table."""

from collections.abc import Mapping
from typing import Any, Literal

import attrs

from ingest.masking import Mask
from ingest.sql.template import Sql, join, sql
from ingest.sql.types import SparkType, parse_ddl
from ingest.typemap.rows import VALUE, TypeRow

_OUTSIDE = "infinity, and dates outside the years 1 to 9999 (null)"


@attrs.frozen
class Mapped:
    """A compiled type.

    `reader` is the Avro JSON (without the null branch) to decode with.  `sql` converts the decoded value,
    `{c}`, to the Spark value, `{out}`.  `fault` is true for a value that cannot be converted, and None if
    every value can.  `unavailable` is true for a value that the source did not send, and None if it sends
    all.  `merges` is the part of `loses` by which two values may become one.  A value that becomes null is
    not part of it.
    """

    semantic: str
    physical: str
    spark: SparkType
    reader: Any = attrs.field(hash=False)
    sql: Sql = VALUE
    fault: Sql | None = None
    unit: str = ""
    loses: str = ""
    unavailable: Sql | None = None
    merges: str = ""
    units: Mapping[str, str] = attrs.field(factory=lambda: {"": ""}, hash=False)
    """The unit or spelling of the stored values, if their Spark type does not say it, by path (`[]`,
    `.a`)."""
    mask: Mask | None = None
    """The mask of the values.  `sql` applies it."""

    @property
    def described(self) -> str:
        """The Spark type, with the unit of its values if it has one."""
        unit = self.units.get("", "")
        return f"{self.spark} ({unit})" if unit else str(self.spark)

    def clash(self, units: Mapping[str, str]) -> list[str]:
        """Return the paths at which values of other units would lie in one column."""
        return [path for path, unit in self.units.items() if units.get(path, unit) != unit]

    @property
    def is_plain(self) -> bool:
        """Tell whether the decoded value is the Spark value."""
        return self.sql == VALUE

    def convert(self, value: Sql) -> Sql:
        """Return `value` converted."""
        return self.sql.of(c=value)

    def fails(self, value: Sql) -> Sql | None:
        """Return a condition that is true if `value` cannot be converted, or None if every value can."""
        return self.fault.of(c=value, out=self.convert(value)) if self.fault else None

    def is_unavailable(self, value: Sql) -> Sql | None:
        """Return a condition that is true if the source did not send `value`, or None if it sends all."""
        return self.unavailable.of(c=value) if self.unavailable else None


def of_row(row: TypeRow, reader: Any, beyond: Literal["fail", "null"]) -> Mapped:
    """Compile a row.  `beyond` decides about values that Spark's dates do not hold."""
    mapped = Mapped(
        row.semantic,
        row.physical,
        parse_ddl(row.spark),
        reader,
        row.sql,
        row.fault,
        row.unit,
        row.loses,
        merges=row.loses,
        units={"": row.stored},
    )
    if row.beyond is None:
        return mapped
    if beyond == "fail":
        return attrs.evolve(mapped, fault=join(" or ", filter(None, (row.beyond, row.fault))))
    inside = sql("not coalesce({beyond}, false)", beyond=row.beyond)
    return attrs.evolve(
        mapped,
        sql=sql("if({inside}, {value}, null)", inside=inside, value=row.sql),
        fault=row.fault and sql("{inside} and ({fault})", inside=inside, fault=row.fault),
        loses=" and ".join(filter(None, (row.loses, _OUTSIDE))),
    )
