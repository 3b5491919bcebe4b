"""A compiled type as a value, and one made of a row of the type table."""

from collections.abc import Mapping
from typing import Any, Literal

import attrs

from ingest.typemap.rows import TypeRow
from ingest.typemap.sparktype import SparkType, parse_ddl

_OUTSIDE = "infinity, and dates outside the years 1 to 9999 (null)"


@attrs.frozen
class Mapped:
    """A compiled type.

    `reader` is the Avro JSON (without the null branch) to decode with; `sql` makes the Spark value of the
    decoded one, `{c}`; `fault` is SQL that is true where it cannot, or empty where it always can;
    `unavailable` is SQL that is true for a value that the source did not send, or empty where it always does;
    `merges` is the part of `loses` by which two values may become one: what becomes null is no part of it.
    """

    semantic: str
    physical: str
    spark: SparkType
    reader: Any = attrs.field(hash=False)
    sql: str = "{c}"
    fault: str = ""
    unit: str = ""
    loses: str = ""
    unavailable: str = ""
    merges: str = ""
    units: Mapping[str, str] = attrs.field(factory=lambda: {"": ""}, hash=False)
    """What the stored values count or spell, where their Spark type does not say it, by path (`[]`, `.a`)."""

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
        return self.sql == "{c}"

    def convert(self, value: str) -> str:
        """Return SQL that converts `value`."""
        return self.sql.replace("{c}", value)

    def fails(self, value: str, converted: str | None = None) -> str:
        """Return SQL that is true where `value` cannot be converted; empty where it always can.

        `converted` is where the result of `convert` already stands, so that it is not made twice.
        """
        out = self.convert(value) if converted is None else converted
        return self.fault.replace("{c}", value).replace("{out}", out)


def of_row(row: TypeRow, reader: Any, beyond: Literal["fail", "null"]) -> Mapped:
    """Make what a row says; `beyond` is what becomes of a value that Spark's dates do not hold."""
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
    if not row.beyond:
        return mapped
    if beyond == "fail":
        return attrs.evolve(mapped, fault=" or ".join(filter(None, (row.beyond, row.fault))))
    inside = f"not coalesce({row.beyond}, false)"
    return attrs.evolve(
        mapped,
        sql=f"if({inside}, {row.sql}, null)",
        fault=row.fault and f"{inside} and ({row.fault})",
        loses=" and ".join(filter(None, (row.loses, _OUTSIDE))),
    )
