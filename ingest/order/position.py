"""The ordering value: text of fixed width that compares bytewise, and is never null.

`epoch.rank.term.….term.offset`.  Events of one key come in source order within a partition, at least once:
the source position decides, and the Kafka offset decides between events of one position.
"""

from ingest.dialects import Dialect

_OFFSET_DIGITS = 19
_EPOCH_DIGITS = 4


def position_sql(dialect: Dialect, epoch: int) -> str:
    """Return SQL over `op`, `source` (the event's source block) and `offset`."""
    terms = [term.sql.replace("{c}", f"source.{term.field}") for term in dialect.terms]
    offset = f"lpad(cast(offset as string), {_OFFSET_DIGITS}, '0')"
    parts = [f"'{epoch:0{_EPOCH_DIGITS}d}'", dialect.rank, *terms, offset]
    return f"concat_ws('.', {', '.join(parts)})"
