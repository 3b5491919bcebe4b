"""The versions of a subject: two compared, all followed through a table's life, a new one checked."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from ingest import avro
from ingest.compile.describe import Description, describe
from ingest.compile.diff import SchemaChange, differences
from ingest.compile.envelope import classify, find_envelope
from ingest.compile.evolve import Present, evolve
from ingest.compile.payload import WriterSchema
from ingest.compile.table import compile_table
from ingest.errors import EvolutionError, SchemaNotFoundError, UsageError
from ingest.names import Instant, SchemaId, Subject, Topic
from ingest.registry import CompatibilityResult, Registered, Registry, deleted_versions, suggesting
from ingest.run.messages import read_schema
from ingest.run.schemas import compile_written, fetch_versions, label
from ingest.tables import Policy, Subjects, TableConfig, Target
from ingest.tables.evolution import effect_of

if TYPE_CHECKING:
    from ingest.hudi.ledger import LedgerEntry


@attrs.frozen
class PlannedChange:
    """One difference that a version makes, the table file's policy for it, and its effect."""

    change: SchemaChange
    policy: Policy
    effect: str

    def to_json(self) -> dict[str, Any]:
        """Return the difference as JSON."""
        return {**self.change.to_json(), "policy": self.policy, "effect": self.effect}


def planned(table: TableConfig, changes: Sequence[SchemaChange]) -> tuple[PlannedChange, ...]:
    """Return the table file's policies for changes, and their effects."""
    policies = [(change, table.policy(change.kind)) for change in changes]
    return tuple(PlannedChange(change, policy, effect_of(change.kind, policy)) for change, policy in policies)


# --- two versions --------------------------------------------------------------------------------


@attrs.frozen
class Comparison:
    """The differences of a subject's newer version from an older one."""

    old: Registered
    new: Registered
    changes: tuple[PlannedChange, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as JSON."""
        return {
            "subject": self.new.subject,
            **{
                side: {"version": version.version, "id": version.id}
                for side, version in (("from", self.old), ("to", self.new))
            },
            "changes": [change.to_json() for change in self.changes],
        }


def describe_version(
    registry: Registry, subject: Subject, version: int | None = None
) -> tuple[Registered, Description]:
    """Describe a subject's version, the latest by default, column by column."""
    with suggesting(registry, subject):
        registered = registry.version(subject, -1 if version is None else version)
    *references, text = registry.with_references(registered)
    where = label(registered)
    return registered, describe(avro.parse(text, references, where=where), where)


def compare(
    registry: Registry, subject: Subject, table: TableConfig | None, old: int | None, new: int | None
) -> Comparison:
    """Compare two versions of a subject: the last two, or an older one with the latest.

    `table` gives policies and types, the defaults without it.  Raises `SchemaNotFoundError`, `UsageError`
    where there is only one version.
    """
    versions = registry.versions(subject)
    last = versions[-1] if new is None else new
    first = old if old is not None else next((n for n in reversed(versions) if n < last), None)
    if first is None:
        raise UsageError(f"{subject} has only version {last}", "There is nothing to compare it with")
    pair = registry.version(subject, first), registry.version(subject, last)
    schemas = {schema.version: schema for schema in fetch_versions(registry, subject)}
    for version in pair:
        if version.version not in schemas:
            raise SchemaNotFoundError(registry.url, f"subject {subject} version {version.version}")
    both = [schemas[version.version] for version in pair]
    policies = table or _table_of(subject, both[-1])
    keyless = attrs.evolve(policies, target=Target(mode="append"))  # no keys are needed to compare
    compiled = compile_table(keyless, (), both)
    changes = [
        SchemaChange("envelope-changed", "", reason) for reason in compiled.misfits.values()
    ] or differences(compiled.value, both[0].schema_id, both[1].schema_id)
    return Comparison(*pair, planned(policies, changes))


def _table_of(subject: Subject, newest: WriterSchema) -> TableConfig:
    """Make the table that a subject's schema would have by default; a key, or any record, is one too."""
    dialect = "record"
    if classify(newest.schema) == "data":
        envelope = find_envelope(newest.schema, newest.label)
        dialect = envelope.dialect.name if envelope.dialect else dialect
    return TableConfig(
        name="any",
        topic=Topic("any"),
        dialect=dialect,  # type: ignore[arg-type]  # DIALECTS holds the names that files allow
        subjects=Subjects(value=subject),
        target=Target(mode="append"),
    )


def value_subject(table: TableConfig) -> Subject:
    """Return the subject of a table's values.  Raises `UsageError` for a table without one."""
    if table.topics:
        problem = f"table {table.name} reads several topics, each with a subject of its own"
        raise UsageError(problem, "Name a subject")
    if table.source_table:
        problem = f"table {table.name} is one of several in topic {table.topic}, with one subject for all"
        raise UsageError(problem, "Name a subject")
    if table.subjects.value is None:
        problem = f"table {table.name} has no value subject"
        raise UsageError(problem, "Only schemas of a registry have versions")
    return table.subjects.value


# --- all versions, in the life of a table ----------------------------------------------------------


@attrs.frozen
class SubjectVersion:
    """A version of a table's value subject, and the commits with its records, if there are any."""

    version: int
    schema_id: SchemaId
    deleted: bool = False
    first: Instant | None = None
    last: Instant | None = None
    commits: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return the version as JSON."""
        values = attrs.asdict(self)
        return {"version": values.pop("version"), "id": values.pop("schema_id"), **values}


def history(
    registry: Registry, subject: Subject, entries: "Sequence[LedgerEntry]"
) -> tuple[SubjectVersion, ...]:
    """Return every version, with the table's commits (`entries`, newest first) that have records of it.

    Ids in commits that are not versions of the subject come last, as version 0.
    """
    deleted = deleted_versions(registry, subject)
    versions = [registry.version(subject, number) for number in registry.versions(subject, deleted=True)]
    instants: dict[SchemaId, list[Instant]] = {}
    for entry in reversed(entries):
        for schema_id in entry.schema_ids if entry.kind == "run" else ():
            if entry.instant:
                instants.setdefault(schema_id, []).append(entry.instant)
    registered = {version.id for version in versions}
    numbered = [(version.version, version.id) for version in versions]
    numbered += [(0, schema_id) for schema_id in instants if schema_id not in registered]
    return tuple(
        _version(number, schema_id, instants.get(schema_id, []), deleted) for number, schema_id in numbered
    )


def _version(
    number: int, schema_id: SchemaId, instants: Sequence[Instant], deleted: frozenset[int]
) -> SubjectVersion:
    first, last = (instants[0], instants[-1]) if instants else (None, None)
    return SubjectVersion(number, schema_id, number in deleted, first, last, len(instants))


# --- a version that is not registered yet ----------------------------------------------------------


@attrs.frozen
class CompatibilityReport:
    """The answers of the registry and of a table to a new version."""

    subject: Subject
    against: Registered
    level: str
    verdict: CompatibilityResult
    changes: tuple[PlannedChange, ...]
    failures: tuple[EvolutionError, ...]
    rewrites: tuple[str, ...] = ()

    @property
    def passes(self) -> bool:
        """Whether both would take it."""
        return self.verdict.compatible and not self.failures

    def to_json(self) -> dict[str, Any]:
        """Return the answer as JSON."""
        return {
            "subject": self.subject,
            "against": {"version": self.against.version, "id": self.against.id},
            "compatibility": self.level,
            "compatible": self.verdict.compatible,
            "messages": list(self.verdict.messages),
            "changes": [change.to_json() for change in self.changes],
            "failures": [str(failure) for failure in self.failures],
            "rewrites": list(self.rewrites),
            "passes": self.passes,
        }


def check(registry: Registry, table: TableConfig, file: Path, present: Present) -> CompatibilityReport:
    """Ask whether a schema could be the next version of a table's value subject.

    `present` are the table's columns, by default those of all versions so far.  The file may use names that
    the latest version takes from other subjects.  Raises `SchemaError` for a file that is not a schema,
    `UnmappedTypeError` for a type without a rule.
    """
    subject = value_subject(table)
    latest = registry.latest(subject)
    *references, _ = registry.with_references(latest)
    schema = read_schema(file, references)
    keys = fetch_versions(registry, table.subjects.key) if table.subjects.key else ()
    values = fetch_versions(registry, subject)
    new = WriterSchema(SchemaId(-1), file.name, schema, version=max(schema.version for schema in values) + 1)
    so_far = compile_written(table, keys, values)
    compile_table(table, keys, (new,))  # a version that cannot be compiled is an error here
    compiled = compile_written(table, keys, (*values, new))
    known_schemas = [writer.schema_id for writer in so_far.value.writers if writer.record]
    if present is None:
        first = evolve(so_far, known_schemas, None)
        present = {column.name: column.spark for column in (*first.keys, *first.columns)}
    evolution = evolve(compiled, [new.schema_id], present, known_schemas)
    changes: Sequence[SchemaChange] = ()
    if not compiled.misfits.get(new.schema_id):
        changes = differences(compiled.value, latest.id, new.schema_id)
    return CompatibilityReport(
        subject,
        latest,
        registry.compatibility(subject),
        registry.compatible(subject, file.read_text(encoding="utf-8"), latest.references),
        planned(table, changes),
        evolution.failing,
        evolution.rewrites,
    )
