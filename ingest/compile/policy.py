"""The policies for each change that a batch brings, and the changes of versions besides their types."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Final

import attrs

from ingest.compile.diff import SchemaChange, differences
from ingest.compile.table import CompiledTable
from ingest.errors import EvolutionError
from ingest.names import SchemaId
from ingest.tables import Kind, Policy
from ingest.tables.evolution import RULES

Refused = Mapping[SchemaId, str]
"""Schemas with changes that a policy of the table file rejects, and the reasons."""
ALL_ALLOWED: Final[Refused] = MappingProxyType({})

BY_TYPE: Final[frozenset[Kind]] = frozenset(
    ("column-added", "column-widened", "column-changed", "decimal-widened", "field-added")
)
"""Kinds that the types show, against the table.  Two versions show the others."""


@attrs.frozen
class PolicyDecision:
    """A change that a batch brings: the schemas that bring it, and its policy."""

    change: SchemaChange
    policy: Policy
    writers: tuple[SchemaId, ...] = ()


def new_versions(
    compiled: CompiledTable, seen: Sequence[SchemaId], earlier: Collection[SchemaId], *, exists: bool
) -> Iterator[PolicyDecision]:
    """Yield the changes of versions new to a table, besides those that the types show."""
    yield from _misfits(compiled, seen)
    yield from _key_drift(compiled)
    if exists:
        yield from _of_versions(compiled, seen, earlier)


def _of_versions(
    compiled: CompiledTable, seen: Sequence[SchemaId], earlier: Collection[SchemaId]
) -> Iterator[PolicyDecision]:
    """Yield the changes of new versions besides types.  A version older than all others changes nothing."""
    ids = {*seen, *earlier}
    writers = [w for w in compiled.value.writers if w.version and w.record and w.schema_id in ids]
    in_order = [w.schema_id for w in sorted(writers, key=lambda writer: writer.version)]
    for old, new in pairwise(in_order):
        if new in earlier:
            continue
        for change in differences(compiled.value, old, new):
            if change.kind not in BY_TYPE:
                yield PolicyDecision(change, compiled.table.policy(change.kind), (new,))


def _misfits(compiled: CompiledTable, seen: Sequence[SchemaId]) -> Iterator[PolicyDecision]:
    """Yield the versions that are not events of this table."""
    for schema_id, reason in compiled.misfits.items():
        if schema_id in seen:
            change = SchemaChange("envelope-changed", "", reason)
            yield PolicyDecision(change, compiled.table.policy(change.kind), (schema_id,))


def _key_drift(compiled: CompiledTable) -> Iterator[PolicyDecision]:
    """Yield the change of a key that the table file has from an older version of the key subject."""
    change = key_drift(compiled)
    if change:
        yield PolicyDecision(change, compiled.table.policy(change.kind))


def key_drift(compiled: CompiledTable) -> SchemaChange | None:
    """Return how the newest message key differs from an older one, by which the table is keyed."""
    declared = set(compiled.table.key.columns)
    keys = [tuple(f.name for f in writer.record.fields) for writer in compiled.key.writers if writer.record]
    if not declared or not keys or set(keys[-1]) == declared:
        return None
    was = next((names for names in keys if set(names) == declared), None)
    return SchemaChange("key-changed", "key", ", ".join(keys[-1]), ", ".join(was)) if was else None


# --- policies ------------------------------------------------------------------------------------


def refusals(decisions: Sequence[PolicyDecision]) -> dict[SchemaId, str]:
    """Return the schemas that a policy rejects, with the first reason for each."""
    reasons: dict[SchemaId, str] = {}
    for decision in decisions:
        if decision.policy == "reject":
            for writer in decision.writers:
                reasons.setdefault(writer, f"{describe_change(decision.change)}, and [evolution] says reject")
    return reasons


def failures(compiled: CompiledTable, decisions: Sequence[PolicyDecision]) -> tuple[EvolutionError, ...]:
    """Return the changes that must not be written, as errors that name the version and the other policies.

    A change that no single version brings (of a key's type) cannot be rejected: it fails instead.
    """
    return tuple(
        _failure(compiled, decision)
        for decision in decisions
        if decision.policy == "fail" or (decision.policy == "reject" and not decision.writers)
    )


def _failure(compiled: CompiledTable, decision: PolicyDecision) -> EvolutionError:
    change = decision.change
    by = next((w.label for w in compiled.value.writers if w.schema_id in decision.writers), "")
    alternatives = {policy: text for policy, text in RULES[change.kind].effects.items() if policy != "fail"}
    todo = "; ".join(f"{policy}: {text}" for policy, text in alternatives.items())
    return EvolutionError(
        compiled.table.name, change.column, change.kind, change.type, change.was, by,
        f"[evolution] {change.kind} can be {todo}",
    )  # fmt: skip


def describe_change(change: SchemaChange) -> str:
    """Return a change in words."""
    types = " to ".join(filter(None, (change.was, change.type)))
    return " ".join(filter(None, (change.kind, change.column, types)))
