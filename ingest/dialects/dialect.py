"""What connectors differ in, as values.  A new connector is one `Dialect` and one line in `DIALECTS`."""

import attrs


@attrs.frozen
class Term:
    """One part of the position, made of a source field.

    `sort` makes a value that compares in source order, and is never null, from the field, `{c}`; `text` makes
    text of fixed width that compares bytewise in the same order from that value.  `fault` is true for a field
    that has no place in the order.
    """

    field: str
    avro: str
    sort: str
    text: str
    fault: str


@attrs.frozen
class Guard:
    """What a user should know before trusting this source; only for tables with one of the types, if any."""

    text: str
    semantics: tuple[str, ...] = ()


@attrs.frozen
class Dialect:
    """One connector."""

    name: str
    title: str
    source_record: str
    """Full name of the record that `source` is."""
    terms: tuple[Term, ...]
    """The source position, most significant part first."""
    rank: str
    """SQL over `{event}.op` and `{event}.source.<field>`: one digit, the snapshot rank, before all terms."""
    topic_parts: tuple[tuple[str, ...], ...]
    """What the dotted parts of a topic name are, by their number."""
    tick_ns: int | None = None
    """The smallest unit of the source's timestamps, where every value is a multiple of it."""
    guards: tuple[Guard, ...] = ()
    documentation: str = ""
