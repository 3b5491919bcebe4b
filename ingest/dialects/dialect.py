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

    `sort` makes a value that compares in source order, and is never null, from source fields; `text` makes
    text of fixed width that compares bytewise in the same order from that value, `{c}`.  `fault` is true for
    source fields that have no place in the order.
    """

    name: str
    sort: str
    text: str
    fault: str
    within_partition: bool = False
    """Whether the values compare only within one partition: a truncate is compared without this term."""


def number_term(name: str, sort: str, fault: str, digits: int = 19) -> Term:
    """Make the term of a whole number that is not negative; null counts as 0."""
    return Term(name, f"coalesce({sort}, 0L)", f"lpad(cast({{c}} as string), {digits}, '0')", fault)


@attrs.frozen
class Guard:
    """A caveat of this source; only for tables with one of the types, if it names any."""

    text: str
    semantics: tuple[str, ...] = ()


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
    """The source position, most significant part first; the Kafka offset follows."""
    rank: str
    """SQL: one digit, the snapshot rank, before all terms."""
    topic_parts: tuple[tuple[str, ...], ...]
    """What the dotted parts of a topic name are, by their number."""
    flattened_fields: tuple[str, ...] = ()
    """Source fields that tell a flattened row of this connector from others' (`__lsn`, `__commit_scn`, …)."""
    other_ops: Mapping[str, str] = attrs.field(default=MappingProxyType({}), hash=False)
    """Operations besides c, u, d and r, and the kind of event that each is; others are rejected."""
    time_resolution_ns: int | None = None
    """The smallest unit of the source's timestamps, where every value is a multiple of it."""
    has_placeholders: bool = False
    """Whether values that an update did not touch may come as a placeholder."""
    has_durations: bool = False
    """Whether a time of day is a duration, which may be negative or longer than a day."""
    is_document: bool = False
    """Whether a row is one document, as JSON text, with a key of JSON text."""
    has_infinity: bool = False
    """Whether dates may lie outside the years 1 to 9999, or be infinite."""
    caveats: tuple[Guard, ...] = ()
    documentation: str = ""
