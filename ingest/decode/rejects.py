"""Which events are set aside, and why.

The hot pass asks one boolean of every event; the reason is worked out afterwards, for rejected ones alone.
"""

from collections.abc import Sequence
from typing import Literal

import attrs

Reason = Literal[
    "unknown-schema",
    "unmapped-schema",
    "unreadable",
    "refused-by-policy",
    "unsupported-op",
    "truncate",
    "no-row",
    "null-key",
    "moved-key",
    "unsafe-key",
    "conversion",
    "no-position",
]
"""Why a record is set aside, in one word that stays the same; the table of rejects holds it."""


@attrs.frozen
class Check:
    """A condition under which an event is set aside: the reason, and the SQL text that says it in full.

    A check that is `implied` by another one is only looked at for its better reason.
    """

    condition: str
    reason: Reason
    error: str
    implied: bool = False


def rejected_sql(checks: Sequence[Check]) -> str:
    """Return SQL that is true where any check holds; never null.

    A sum instead of `or`, which would make every check but the first conditional, so that Spark would convert
    again what a check looks at.
    """
    counted = [f"int(coalesce({check.condition}, false))" for check in checks if not check.implied]
    return f"({' + '.join(counted)}) > 0"


def reason_sql(checks: Sequence[Check]) -> str:
    """Return SQL for the struct `reason`, `error` of the first check that holds; null where none does."""
    branches = " ".join(
        f"when {check.condition} then struct('{check.reason}' as reason, {check.error} as error)"
        for check in checks
    )
    return f"case {branches} end"
