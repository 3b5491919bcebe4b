"""The conditions under which an event is rejected, and the reasons.

The hot pass computes one boolean for every event.  The reason is worked out afterwards, only for rejects.
"""

from collections.abc import Sequence
from typing import Literal

import attrs

from ingest.sql.template import Sql, any_true, ident, join, literal, sql

Reason = Literal[
    "too-large",
    "unknown-schema",
    "unmapped-schema",
    "unreadable",
    "refused-by-policy",
    "unsupported-op",
    "truncate",
    "no-row",
    "null-key",
    "key-mismatch",
    "moved-key",
    "unsafe-key",
    "conversion",
    "no-position",
]
"""Why a record is rejected, in one word that never changes. The rejects table holds it."""


@attrs.frozen
class Check:
    """A condition under which an event is rejected: the reason, and the expression that explains it in full.

    A check that another one implies is only evaluated for its better reason.
    """

    condition: Sql
    reason: Reason
    error: Sql
    implied: bool = False


Cause = tuple[Reason, Sql, Sql]
"""A reason, its condition, and the text behind the name of the bytes' column, which is `{c}`."""


def implied_checks(column: str, causes: Sequence[Cause], **parts: Sql) -> list[Check]:
    """Return the checks of a binary column that the check of its decoded record implies."""
    parts["c"] = ident(column)
    error = sql("concat({name}, {text})", name=literal(column))
    return [
        Check(condition.of(**parts), reason, error.of(text=text.of(**parts)), implied=True)
        for reason, condition, text in causes
    ]


def rejected_sql(checks: Sequence[Check]) -> Sql:
    """Return a condition that is true if any check holds. It is never null."""
    return any_true(check.condition for check in checks if not check.implied)


def reason_sql(checks: Sequence[Check]) -> Sql:
    """Return the struct `reason`, `error` of the first check that holds, or null if all pass."""
    branches = (
        sql(
            "when {condition} then struct({reason} as reason, {error} as error)",
            condition=check.condition,
            reason=literal(check.reason),
            error=check.error,
        )
        for check in checks
    )
    return sql("case {branches} end", branches=join(" ", branches))
