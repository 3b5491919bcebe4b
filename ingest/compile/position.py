"""The position of an event in the order of its source.

Events of one key come in source order within a partition, at least once: the source position decides, and
the Kafka offset decides between events of one position.  A fold compares *places*, structs of values; a table
keeps the *position*, the same as text of fixed width that compares bytewise: `epoch.rank.term.….term.offset`.
"""

from ingest.dialects import Dialect

_OFFSET_DIGITS = 19
_EPOCH_DIGITS = 4


def place_sql(dialect: Dialect, event: str) -> str:
    """Return SQL for the place of an event (a struct with `op` and `source`) at `offset`; no part is null."""
    terms = [term.sort.replace("{c}", f"{event}.source.{term.field}") for term in dialect.terms]
    parts = [dialect.rank.replace("{event}", event), *terms, "offset"]
    fields = [f"'p{index}', {part}" for index, part in enumerate(parts)]
    return f"named_struct({', '.join(fields)})"


def position_sql(dialect: Dialect, epoch: int, place: str) -> str:
    """Return SQL for the position of a place."""
    terms = [
        term.text.replace("{c}", f"{place}.p{index}") for index, term in enumerate(dialect.terms, start=1)
    ]
    offset = f"lpad(cast({place}.p{len(terms) + 1} as string), {_OFFSET_DIGITS}, '0')"
    return f"concat_ws('.', '{epoch:0{_EPOCH_DIGITS}d}', {place}.p0, {', '.join([*terms, offset])})"
