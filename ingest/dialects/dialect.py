"""The differences between connectors, as values.  A new connector is a `Dialect` and a line in `DIALECTS`.

In the SQL of a dialect `{s.<field>}` is a field of the source block, and `{op}` the operation.
"""

from collections.abc import Mapping
from types import MappingProxyType

import attrs

SourceType = str
"""The Avro type that a source field is read as: `string`, `long` or `int`."""


@attrs.frozen
class Term:
    """One part of the position.

    `sort` makes a value from source fields that compares in source order and is never null.  `text` converts
    that value, `{c}`, to text of fixed width that compares bytewise in the same order.  `fault` is true for
    source fields that have no place in the order.
    """

    name: str
    sort: str
    text: str
    fault: str
    fault_field: str = ""
    """The source field that a fault is reported for, if it has another name than the term."""
    within_partition: bool = False
    """Whether the values compare only within one partition: a truncate is compared without this term."""


def number_term(name: str, sort: str, fault: str, digits: int = 19) -> Term:
    """Make the term of a whole number that is not negative.  Null counts as 0."""
    return Term(name, f"coalesce({sort}, 0L)", f"ingest_padded_number({{c}}, {digits})", fault)


@attrs.frozen
class Guard:
    """A caveat of this source.  If it names types, it applies only to tables with one of them.

    A type is named by its semantic name, or by its physical type if it has none.
    """

    text: str
    types: tuple[str, ...] = ()


@attrs.frozen
class Dialect:
    """One connector."""

    name: str
    title: str
    source_records: tuple[str, ...]
    """Full names of the record that `source` is."""
    source: Mapping[str, SourceType] = attrs.field(hash=False)
    """The fields of the source block that the position is made of, and their types."""
    terms: tuple[Term, ...]
    """The source position, most significant part first.  The Kafka offset follows."""
    rank: str
    """SQL: one digit, the snapshot rank, before all terms."""
    topic_parts: tuple[tuple[str, ...], ...]
    """The meanings of a topic name's dotted parts, by their number."""
    flattened_fields: tuple[str, ...] = ()
    """Source fields that identify a flattened row of this connector (`__lsn`, `__commit_scn`, …)."""
    other_ops: Mapping[str, str] = attrs.field(default=MappingProxyType({}), hash=False)
    """Operations besides c, u, d and r, and each one's kind of event.  All others are rejected."""
    time_resolution_ns: int | None = None
    """The unit of the source's timestamps, if every value is a multiple of it."""
    has_placeholders: bool = False
    """Whether values that an update did not touch may come as a placeholder."""
    has_durations: bool = False
    """Whether a time of day is a duration, which may be negative or longer than a day."""
    has_offsets: bool = True
    """Whether an instant arrives with the offset that it was written with.  Else it arrives in UTC."""
    escapes_enums: bool = False
    r"""Whether the connector may write a comma in the value of an enum as `\,`."""
    is_document: bool = False
    """Whether a row is one document, as JSON text, with a key of JSON text."""
    has_infinity: bool = False
    """Whether dates may lie outside the years 1 to 9999, or be infinite."""
    caveats: tuple[Guard, ...] = ()
    without_key: str = ""
    """The consequence in the source of capturing a table without a key, if there is one."""
    documentation: str = ""
