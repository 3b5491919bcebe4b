"""What a message is: a change of a row, or something beside changes that is counted and ignored."""

from ingest.compile.table import Side
from ingest.decode.rejects import Check
from ingest.decode.wire import header_literal

CHANGE = "change"
TOMBSTONE = "tombstone"

OPS = ("c", "u", "d", "r")
"""The operations that change a row (every connector's documentation, field `op`)."""


def kind_sql(values: Side) -> str:
    """Return SQL for the kind of a message, over its `header` (null without a value) and decoded `event`.

    A tombstone repeats for Kafka's compaction what the delete before it said: it changes nothing.  What a
    foreign schema wrote counts as a change that cannot be read, so that it is set aside.
    """
    others = [
        f"when header = {header_literal(w.schema_id)} then '{w.kind}'"
        for w in values.writers
        if w.kind not in ("data", "foreign")
    ]
    branches = [
        f"when header is null then '{TOMBSTONE}'",
        *others,
        "when event.value.op = 'm' then 'message'",
    ]
    return f"case {' '.join(branches)} else '{CHANGE}' end"


def event_checks() -> list[Check]:
    """Return the checks of events that are read, but are no change of a row."""
    ops = ", ".join(f"'{op}'" for op in OPS)
    return [
        Check(
            f"not coalesce(event.value.op in ({ops}), false)",
            "concat('value: op ', coalesce(event.value.op, 'null'), ' is not supported')",
        ),
        Check(
            "event.value.op != 'd' and event.value.after is null",
            "concat('value: op ', event.value.op, ' without an after image')",
        ),
    ]
