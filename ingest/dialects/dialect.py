"""What connectors differ in, as values.  A new connector is one `Dialect` and one line in `DIALECTS`."""

import attrs


@attrs.frozen
class Term:
    """One part of the position: a source field as text of fixed width that compares bytewise.

    `sql` makes the text from the field, `{c}`, and is never null; `fault` is true for a value that has no
    place in the order.
    """

    field: str
    avro: str
    sql: str
    fault: str


@attrs.frozen
class Guard:
    """What a user should know before trusting this source; only for tables with one of these types, if any."""

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
    """SQL over `op` and `source.<field>`: one digit, the snapshot rank, before all terms."""
    topic_parts: tuple[tuple[str, ...], ...]
    """What the dotted parts of a topic name are, by their number."""
    tick_ns: int | None = None
    """The smallest unit of the source's timestamps, where every value is a multiple of it."""
    guards: tuple[Guard, ...] = ()
    documentation: str = ""
