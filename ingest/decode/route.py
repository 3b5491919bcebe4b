"""The kind of a message: a change of a row, or something else that is counted and ignored."""

import attrs

from ingest.compile.event import CHANGE, EMPTY, TOMBSTONE, TRUNCATE
from ingest.compile.row_model import Document
from ingest.compile.table import CompiledTable
from ingest.decode.rejects import Check, rejected_sql
from ingest.sql.template import Sql, join, literal, sql

OPS = ("c", "u", "d", "r")
"""The operations that change a row (every connector's documentation, field `op`)."""


def kind_sql(compiled: CompiledTable) -> Sql:
    """Return the kind of a message, over its `writer` (null without a value) and decoded `event`.

    A tombstone is a change only if the form has no other deletes.  `ingest.order.tombstones` finds the other
    tombstones that delete a row.  A message of a foreign schema counts as a change that cannot be read, and
    is rejected.
    """
    form = compiled.form
    tombstone = CHANGE if form.tombstone_deletes else TOMBSTONE
    empty = sql("when writer is null and is_keyless then {kind}", kind=literal(EMPTY))
    branches = [
        *([empty] if compiled.keyed_tombstones else []),
        sql("when writer is null then {kind}", kind=literal(tombstone)),
        *(
            sql(
                "when writer = {n} and {whole} then {kind}",
                n=index,
                # Another message has to be whole: else it may be a change with a corrupt schema id.
                whole=sql("coalesce(event.whole, false)" if writer.wire else "true"),
                kind=literal(writer.kind),
            )
            for index, writer in enumerate(compiled.value.writers)
            if writer.kind not in ("data", "foreign")
        ),
        *([sql("when {heartbeat} then 'heartbeat'", heartbeat=form.heartbeat)] if form.heartbeat else []),
        *(
            sql("when {is_other} then {kind}", is_other=_is_other(compiled, other, kind), kind=literal(kind))
            for other, kind in _other_ops(compiled).items()
            if other not in _fatal_ops(compiled)
        ),
    ]
    return sql("case {branches} else {change} end", branches=join(" ", branches), change=literal(CHANGE))


def op_sql(compiled: CompiledTable) -> Sql:
    """Return the operation of a change."""
    op = compiled.form.op
    return sql("if(writer is null, 'd', {op})", op=op) if compiled.form.tombstone_deletes else op


def _other_ops(compiled: CompiledTable) -> dict[str, str]:
    """Return the operations that do not change a row."""
    return {"m": "message", **compiled.dialect.other_ops}


def _is_other(compiled: CompiledTable, op: str, kind: str) -> Sql:
    """Return whether a message has an operation that changes no row. A truncate needs a position for that."""
    without_row = _without_row(compiled, op)
    if kind != TRUNCATE:
        return without_row
    misplaced = rejected_sql(position_checks(compiled))
    return sql("{without_row} and not {misplaced}", without_row=without_row, misplaced=misplaced)


def _without_row(compiled: CompiledTable, op: str) -> Sql:
    """Return whether a message has an operation that changes no row, and no row.

    A message with such an operation and a row is a change whose operation is corrupt.  A flattened message is
    a row.
    """
    if not compiled.form.row_field:
        return sql("false")
    form, read = compiled.form, {*compiled.value.images, *compiled.form.parts}
    images = [form.at(field) for field in (form.row_field, form.before_field) if field in read]
    conditions = [sql("{image} is null", image=image) for image in images]
    return join(" and ", [sql("{op} = {other}", op=form.op, other=literal(op)), *conditions])


def _fatal_ops(compiled: CompiledTable) -> list[str]:
    """Return the operations that must stop the run: they count as rejects, of which zero are allowed."""
    fails = compiled.table.target.truncate == "fail"
    return [op for op, kind in compiled.dialect.other_ops.items() if fails and kind == TRUNCATE]


def event_checks(compiled: CompiledTable) -> list[Check]:
    """Return the checks of events that can be read and do not change a row."""
    return [
        *_truncate_checks(compiled),
        *_misplaced_truncates(compiled),
        _unsupported_op(compiled),
        *_missing_row(compiled),
    ]


def position_checks(compiled: CompiledTable) -> list[Check]:
    """Return the checks of source fields that give no position."""
    return [
        Check(
            compiled.form.resolve(term.fault),
            "no-position",
            literal(f"value: source.{term.fault_field or term.name} is not a valid position"),
        )
        for term in compiled.terms
        if term.fault != "false"
    ]


def _truncate_checks(compiled: CompiledTable) -> list[Check]:
    return [
        Check(
            _without_row(compiled, fatal),
            "truncate",
            literal(f'value: op {fatal}, and [target] truncate is "fail"'),
        )
        for fatal in _fatal_ops(compiled)
    ]


def _misplaced_truncates(compiled: CompiledTable) -> list[Check]:
    """Return the position's checks of truncates, which the check of the operation implies."""
    truncates = [op for op, kind in compiled.dialect.other_ops.items() if kind == TRUNCATE]
    return [
        attrs.evolve(
            check,
            condition=sql("{t} and {fault}", t=_without_row(compiled, op), fault=check.condition),
            implied=True,
        )
        for op in truncates
        for check in position_checks(compiled)
    ]


def _unsupported_op(compiled: CompiledTable) -> Check:
    op, others = op_sql(compiled), join(", ", map(literal, _other_ops(compiled)))
    why = sql("if({op} in ({others}), ' with a row', ' is not supported')", op=op, others=others)
    return Check(
        sql("not coalesce({op} in ({ops}), false)", op=op, ops=join(", ", map(literal, OPS))),
        "unsupported-op",
        sql("concat('value: op ', coalesce({op}, 'null'), {why})", op=op, why=why),
    )


def _missing_row(compiled: CompiledTable) -> list[Check]:
    """Return the check of changes without the row. Updates of documents may lack it."""
    if not compiled.form.row_field:
        return []
    op = op_sql(compiled)
    needs_row = ("c", "r") if compiled.image == Document() else ("c", "u", "r")
    condition = sql(
        "{op} in ({ops}) and {image} is null",
        op=op,
        ops=join(", ", map(literal, needs_row)),
        image=compiled.form.at(compiled.form.row_field),
    )
    return [Check(condition, "no-row", sql("concat('value: op ', {op}, ' without an after image')", op=op))]
