"""Which events are set aside, and why.

The hot pass asks one boolean of every event; the reason is worked out afterwards, for rejected ones alone.
"""

from collections.abc import Sequence

import attrs


@attrs.frozen
class Check:
    """A condition under which an event is set aside, and the SQL text that says why.

    A check that is `implied` by another one is only looked at for its better reason.
    """

    condition: str
    reason: str
    implied: bool = False


def rejected_sql(checks: Sequence[Check]) -> str:
    """Return SQL that is true where any check holds; never null.

    A sum instead of `or`, which would make every check but the first conditional, so that Spark would convert
    again what a check looks at.
    """
    counted = [f"int(coalesce({check.condition}, false))" for check in checks if not check.implied]
    return f"({' + '.join(counted)}) > 0"


def reason_sql(checks: Sequence[Check]) -> str:
    """Return SQL for the reason of the first check that holds."""
    branches = " ".join(f"when {check.condition} then {check.reason}" for check in checks)
    return f"case {branches} end"
