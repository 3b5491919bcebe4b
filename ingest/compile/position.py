"""The position of an event in the order of its source.

Events of one key arrive in source order within a partition, at least once: the source position decides, and
the Kafka offset decides between events of one position.  A batch compares *sort keys*, structs of values.  A
table keeps the *position*, the same as text of fixed width that compares bytewise:
`epoch.rank.term.….term.offset`.
"""

from collections.abc import Sequence

from ingest.compile.event import EventForm
from ingest.dialects import Dialect, Term
from ingest.sql.template import Sql, join, literal, sql, struct

_OFFSET_DIGITS = 19
_EPOCH_DIGITS = 4


def terms_of(dialect: Dialect, form: EventForm) -> tuple[Term, ...]:
    """Return the position's terms.  If deletes have no position, Kafka's order decides instead."""
    return () if form.tombstone_deletes else dialect.terms


def sort_key_sql(dialect: Dialect, form: EventForm, lowest: Sql | None = None) -> Sql:
    """Return the sort key of an event at `offset`, in which no part is null.

    `lowest` is true for messages below all events.
    """
    terms = [form.resolve(term.sort) for term in terms_of(dialect, form)]
    rank = form.resolve(dialect.rank) if terms or not dialect.terms else literal("1")
    if lowest:
        rank = sql("if({lowest}, '', {rank})", lowest=lowest, rank=rank)
    return struct((f"p{index}", part) for index, part in enumerate([rank, *terms, sql("offset")]))


def position_sql(terms: Sequence[Term], epoch: int, sort_key: Sql) -> Sql:
    """Return the position of a sort key."""
    texts = [sql(term.text, c=sort_key.field(f"p{index}")) for index, term in enumerate(terms, start=1)]
    offset = _offset_text(sort_key.field(f"p{len(texts) + 1}"))
    parts = [literal(f"{epoch:0{_EPOCH_DIGITS}d}"), sort_key.field("p0"), *texts, offset]
    return sql("concat_ws('.', {parts})", parts=join(", ", parts))


def without_partition_terms(terms: Sequence[Term], position: Sql) -> Sql:
    """Return a position without the terms that compare only within one partition.

    A truncate applies to the rows of every partition.
    """
    for index, term in enumerate(terms):
        if term.within_partition:
            pattern = literal(f"^((?:[^.]*[.]){{{index + 2}}})[^.]*")
            position = sql("regexp_replace({c}, {pattern}, '$1')", c=position, pattern=pattern)
    return position


def moved_sql(terms: Sequence[Term], position: Sql, offset: Sql) -> Sql:
    """Return a position at another offset of its partition."""
    digits = _offset_text(offset)
    for index, term in enumerate(terms):
        if term.within_partition:  # a position that does not use the term has zeros there
            pattern = literal(f"^((?:[^.]*[.]){{{index + 2}}})[0-9]*[1-9][0-9]*")
            position = sql(
                "regexp_replace({c}, {pattern}, concat('$1', {digits}))",
                c=position,
                pattern=pattern,
                digits=digits,
            )
    return sql(
        "concat(left({c}, length({c}) - {width}), {digits})", c=position, width=_OFFSET_DIGITS, digits=digits
    )


def _offset_text(offset: Sql) -> Sql:
    return sql("ingest_padded_number({c}, {width})", c=offset, width=_OFFSET_DIGITS)
