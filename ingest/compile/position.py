"""The position of an event in the order of its source.

Events of one key come in source order within a partition, at least once: the source position decides, and
the Kafka offset decides between events of one position.  A fold compares *places*, structs of values; a table
keeps the *position*, the same as text of fixed width that compares bytewise: `epoch.rank.term.….term.offset`.
"""

from collections.abc import Sequence

from ingest.compile.event import EventForm
from ingest.dialects import Dialect, Term

_OFFSET_DIGITS = 19
_EPOCH_DIGITS = 4


def terms_of(dialect: Dialect, form: EventForm) -> tuple[Term, ...]:
    """Return the position's terms: none where deletes have no position, so that Kafka's order decides."""
    return () if form.tombstone_deletes else dialect.terms


def place_sql(dialect: Dialect, form: EventForm, lowest: str = "false") -> str:
    """Return SQL for the place of an event at `offset`; no part is null.

    `lowest` is SQL that is true for messages below all events.
    """
    terms = [form.resolve(term.sort) for term in terms_of(dialect, form)]
    rank = form.resolve(dialect.rank) if terms or not dialect.terms else "'1'"
    rank = rank if lowest == "false" else f"if({lowest}, '', {rank})"
    fields = [f"'p{index}', {part}" for index, part in enumerate([rank, *terms, "offset"])]
    return f"named_struct({', '.join(fields)})"


def position_sql(terms: Sequence[Term], epoch: int, place: str) -> str:
    """Return SQL for the position of a place."""
    texts = [term.text.replace("{c}", f"{place}.p{index}") for index, term in enumerate(terms, start=1)]
    offset = f"lpad(cast({place}.p{len(texts) + 1} as string), {_OFFSET_DIGITS}, '0')"
    return f"concat_ws('.', '{epoch:0{_EPOCH_DIGITS}d}', {place}.p0, {', '.join([*texts, offset])})"


def without_partition_terms(terms: Sequence[Term], position: str) -> str:
    """Return SQL for a position without the terms that compare only within one partition.

    A truncate says of the rows of every partition whether they are older.
    """
    for index, term in enumerate(terms):
        if term.within_partition:
            position = f"regexp_replace({position}, '^((?:[^.]*[.]){{{index + 2}}})[^.]*', '$1')"
    return position


def moved_sql(terms: Sequence[Term], position: str, offset: str) -> str:
    """Return SQL for a position at another offset of its partition."""
    digits = f"lpad(cast({offset} as string), {_OFFSET_DIGITS}, '0')"
    for index, term in enumerate(terms):
        if term.within_partition:  # zeros stand for a position that does not use the term
            part = f"'^((?:[^.]*[.]){{{index + 2}}})[0-9]*[1-9][0-9]*'"
            position = f"regexp_replace({position}, {part}, concat('$1', {digits}))"
    return f"concat(left({position}, length({position}) - {_OFFSET_DIGITS}), {digits})"
