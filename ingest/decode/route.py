"""What a message is: a change of a row, or something beside changes that is counted and ignored."""

from ingest.compile.event import CHANGE, EMPTY, TOMBSTONE, TRUNCATE
from ingest.compile.table import CompiledTable
from ingest.decode.rejects import Check

OPS = ("c", "u", "d", "r")
"""The operations that change a row (every connector's documentation, field `op`)."""


_IS_WHOLE = " and coalesce(event.whole, false)"
"""A message of another kind has to be one: else it may be a change whose schema id is corrupt."""


def kind_sql(compiled: CompiledTable) -> str:
    """Return SQL for the kind of a message, over its `writer` (null without a value) and decoded `event`.

    A tombstone is a change only where the form has no other deletes; `ingest.order.tombstones` finds the
    others that delete a row.  A message of a foreign schema counts as a change that cannot be read, and is
    rejected.
    """
    form = compiled.form
    nothing = CHANGE if form.tombstone_deletes else TOMBSTONE
    empty = [f"when writer is null and is_keyless then '{EMPTY}'"] if compiled.keyed_tombstones else []
    others = [
        f"when writer = {index}{_IS_WHOLE if writer.wire else ''} then '{writer.kind}'"
        for index, writer in enumerate(compiled.value.writers)
        if writer.kind not in ("data", "foreign")
    ]
    beside = [f"when {form.op} = '{op}' then '{kind}'" for op, kind in _other_ops(compiled).items()]
    heartbeat = [f"when {form.heartbeat} then 'heartbeat'"] if form.heartbeat else []
    branches = [*empty, f"when writer is null then '{nothing}'", *others, *heartbeat, *beside]
    return f"case {' '.join(branches)} else '{CHANGE}' end"


def op_sql(compiled: CompiledTable) -> str:
    """Return SQL for the operation of a change."""
    form = compiled.form
    return f"if(writer is null, 'd', {form.op})" if form.tombstone_deletes else form.op


def _other_ops(compiled: CompiledTable) -> dict[str, str]:
    """Return the operations that are no change of a row; a truncate that must stop the run is not here."""
    ops = {"m": "message", **compiled.dialect.other_ops}
    return {op: kind for op, kind in ops.items() if op not in _fatal_ops(compiled)}


def _fatal_ops(compiled: CompiledTable) -> list[str]:
    """Return the operations that must stop the run: they count as rejects that none are allowed of."""
    fails = compiled.table.target.truncate == "fail"
    return [op for op, kind in compiled.dialect.other_ops.items() if fails and kind == TRUNCATE]


def event_checks(compiled: CompiledTable) -> list[Check]:
    """Return the checks of events that are read, but are no change of a row."""
    op = op_sql(compiled)
    ops = ", ".join(f"'{one}'" for one in OPS)
    fatal = [
        Check(f"{op} = '{one}'", "truncate", f"'value: op {one}, and [target] truncate is \"fail\"'")
        for one in _fatal_ops(compiled)
    ]
    checks = [
        *fatal,
        Check(
            f"not coalesce({op} in ({ops}), false)",
            "unsupported-op",
            f"concat('value: op ', coalesce({op}, 'null'), ' is not supported')",
        ),
    ]
    if compiled.form.row_field:
        image = compiled.form.at(compiled.form.row_field)
        told = "('c', 'r')" if compiled.dialect.is_document else "('c', 'u', 'r')"
        reason = f"concat('value: op ', {op}, ' without an after image')"
        checks.append(Check(f"{op} in {told} and {image} is null", "no-row", reason))
    return checks
