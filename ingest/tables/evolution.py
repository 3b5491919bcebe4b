"""The kinds of schema change, and the policies that a table file can choose for each."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal

import attrs

Policy = Literal["evolve", "ignore", "reject", "fail"]
"""`evolve`: follow the change · `ignore`: treat it as absent · `reject`: reject the records of the schema
that brings it · `fail`: stop the run before anything is written."""

Kind = Literal[
    "column-added",
    "column-dropped",
    "column-renamed",
    "column-widened",
    "column-narrowed",
    "column-changed",
    "decimal-widened",
    "decimal-narrowed",
    "time-precision-changed",
    "enum-changed",
    "meaning-changed",
    "nullability-changed",
    "default-changed",
    "field-added",
    "field-dropped",
    "key-changed",
    "envelope-changed",
]

_SAME: Final = "the table's type holds both"
_STOPS: Final = "the run stops, nothing is written"


@attrs.frozen
class Rule:
    """One kind of change: its default policy, and the effect of each possible policy."""

    default: Policy
    effects: Mapping[Policy, str]


def _rule(default: Policy, *, evolve: str = "", ignore: str = "") -> Rule:
    """Make a rule.  `reject` and `fail` are always possible."""
    effects: dict[Policy, str] = {"evolve": evolve, "ignore": ignore}
    effects["reject"] = "records of this schema are rejected"
    effects["fail"] = _STOPS
    return Rule(default, MappingProxyType({policy: text for policy, text in effects.items() if text}))


def _quiet(effect: str) -> Rule:
    """Make the rule of a change without effect on the table.  `ignore` leaves it out of reports."""
    return _rule("evolve", evolve=effect, ignore="not reported")


RULES: Final[Mapping[Kind, Rule]] = MappingProxyType(
    {
        "column-added": _rule("evolve", evolve="added; null in older rows", ignore="left out of the table"),
        "column-dropped": _quiet("stays in the table; null in new rows"),
        "column-renamed": _rule(
            "evolve", evolve="one column, under its first name", ignore="a column of its own"
        ),
        "column-widened": _rule("evolve", evolve="widened; older rows keep their values"),
        "column-narrowed": attrs.evolve(_quiet(_SAME), default="fail"),
        "column-changed": _rule(
            "fail", evolve="the new type gets a column of its own", ignore="its values are left out: null"
        ),
        "decimal-widened": _rule("evolve", evolve="widened; older rows keep their values"),
        "decimal-narrowed": _quiet(_SAME),
        "time-precision-changed": _quiet(_SAME),
        "enum-changed": _quiet("stays text"),
        "meaning-changed": _quiet(_SAME),
        "nullability-changed": _quiet("all columns but the key may be null"),
        "default-changed": _quiet("changes no value"),
        "field-added": _rule("evolve", evolve="added; null in older rows"),
        "field-dropped": _quiet("stays in the table; null in new rows"),
        "key-changed": Rule(
            "fail", {"ignore": "the table keeps its key, taken from the row", "fail": _STOPS}
        ),
        "envelope-changed": _rule("fail"),
    }
)
"""Every kind of change."""


def policy_of(evolution: Mapping[str, str], kind: Kind) -> Policy:
    """Return the policy of a kind in a table file's `[evolution]`, or its default."""
    chosen = evolution.get(kind)
    return next((policy for policy in RULES[kind].effects if policy == chosen), RULES[kind].default)


def effect_of(kind: Kind, policy: Policy) -> str:
    """Return the effect of a policy on a kind of change, for people."""
    return RULES[kind].effects[policy]
