"""The versions of a subject: two compared, all followed through a table's life, a new one checked."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from ingest import avro
from ingest.compile.describe import Description, describe
from ingest.compile.diff import SchemaChange, differences
from ingest.compile.envelope import classify, find_envelope
from ingest.compile.evolve import Evolution, Present, evolve
from ingest.compile.keys import compile_keys, message_key
from ingest.compile.payload import WriterSchema
from ingest.compile.row_model import Coordinates
from ingest.compile.table import compile_table
from ingest.dialects import DIALECTS
from ingest.errors import EvolutionError, IngestError, SchemaError, SchemaNotFoundError, UsageError
from ingest.json_values import JsonValue
from ingest.masking import Masking
from ingest.names import Instant, SchemaId, Subject, Topic
from ingest.registry import CompatibilityResult, Registered, Registry, deleted_versions, suggesting
from ingest.run.batch import keys as run_keys
from ingest.run.batch.messages import read_schema
from ingest.run.batch.schemas import compile_written, fetch_versions, label
from ingest.tables import Feed, Policy, Subjects, TableConfig, Target, feed_of
from ingest.tables.evolution import effect_of

if TYPE_CHECKING:
    from ingest.hudi.timeline.ledger import LedgerEntry


@attrs.frozen
class PlannedChange(JsonValue):
    """One difference that a version makes, the table file's policy for it, and its effect."""

    json_keys = "change.kind change.column change.type? change.was? policy effect"

    change: SchemaChange
    policy: Policy
    effect: str


def planned(table: TableConfig, changes: Sequence[SchemaChange]) -> tuple[PlannedChange, ...]:
    """Return the table file's policies for changes, and their effects."""
    policies = [(change, table.policy(change.kind)) for change in changes]
    return tuple(PlannedChange(change, policy, effect_of(change.kind, policy)) for change, policy in policies)


# --- two versions --------------------------------------------------------------------------------


@attrs.frozen
class Comparison(JsonValue):
    """The differences of a subject's newer version from an older one."""

    json_keys = "new.subject from=old to=new changes"

    old: Registered
    new: Registered
    changes: tuple[PlannedChange, ...]


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
    registry: Registry, subject: Subject, feed: Feed | None, old: int | None, new: int | None
) -> Comparison:
    """Compare two versions of a subject: the last two, or an older one with the latest.

    The feed's table gives policies and types, the defaults without it.  Raises `SchemaNotFoundError`, or
    `UsageError` if there is only one version.
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
    feed = feed or _feed_of(subject, both[-1])
    return Comparison(*pair, planned(feed.table, _changes(feed, both[0], both[1])))


def _feed_of(subject: Subject, newest: WriterSchema) -> Feed:
    """Make the feed that a subject's schema would have by default.  A key, or any record, is a table too."""
    dialect = "record"
    if classify(newest.schema) == "data":
        envelope = find_envelope(newest.schema, newest.label)
        dialect = envelope.dialect.name if envelope.dialect else dialect
    table = TableConfig(
        name="any",
        topic=Topic("any"),
        dialect=dialect,  # type: ignore[arg-type]  # DIALECTS holds the names that files allow
        subjects=Subjects(value=subject),
        target=Target(mode="append"),
    )
    return feed_of(table, table.topic, Masking())


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
class SubjectVersion(JsonValue):
    """A version of a table's value subject, and the commits with its records, if there are any."""

    json_keys = "version id=schema_id deleted first last commits"

    version: int
    schema_id: SchemaId
    deleted: bool = False
    first: Instant | None = None
    last: Instant | None = None
    commits: int = 0


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
class SubjectCheck(JsonValue):
    """The registry's answer to a new version of a subject, and the differences from its latest one."""

    json_keys = "subject against compatibility=level verdict.compatible verdict.messages changes"

    subject: Subject
    against: Registered
    level: str
    verdict: CompatibilityResult
    changes: tuple[PlannedChange, ...]


@attrs.frozen
class CompatibilityReport:
    """The answers of the registry and of a table to new versions of its key, of its value, or of both."""

    checks: tuple[SubjectCheck, ...]
    """The value's, then the key's."""
    failures: tuple[IngestError, ...]
    rewrites: tuple[str, ...] = ()

    @property
    def against(self) -> Registered:
        """The latest version of the first subject."""
        return self.checks[0].against

    @property
    def level(self) -> str:
        """The compatibility level of the first subject."""
        return self.checks[0].level

    @property
    def verdict(self) -> CompatibilityResult:
        """The registry's answer about the first subject."""
        return self.checks[0].verdict

    @property
    def changes(self) -> tuple[PlannedChange, ...]:
        """The differences of all subjects."""
        return tuple(change for check in self.checks for change in check.changes)

    @property
    def stops(self) -> bool:
        """Whether a run would stop: a change cannot be written, or its policy says so."""
        return bool(self.failures) or any(change.policy == "fail" for change in self.changes)

    @property
    def passes(self) -> bool:
        """Whether both would take all."""
        return not self.stops and all(check.verdict.compatible for check in self.checks)

    def to_json(self) -> dict[str, Any]:
        """Return the answer as JSON: the first subject's, and under `key` a second subject's."""
        first, *second = (check.to_json() for check in self.checks)
        return {
            **first,
            **({"key": second[0]} if second else {}),
            "failures": [str(failure) for failure in self.failures],
            "rewrites": list(self.rewrites),
            "passes": self.passes,
        }


@attrs.frozen
class _Proposal:
    """A schema that could be the next version of a subject, after its versions so far."""

    subject: Subject
    file: Path
    latest: Registered
    earlier: tuple[WriterSchema, ...]
    new: WriterSchema

    @property
    def all(self) -> tuple[WriterSchema, ...]:
        """All versions, the new one last."""
        return (*self.earlier, self.new)

    @property
    def pair(self) -> tuple[WriterSchema, WriterSchema]:
        """The latest version, and the new one."""
        latest = next(schema for schema in self.earlier if schema.schema_id == self.latest.id)
        return latest, self.new


def check(
    registry: Registry,
    feed: Feed,
    file: Path | None,
    present: Present = None,
    *,
    key_file: Path | None = None,
) -> CompatibilityReport:
    """Ask whether schemas could be the next versions of a table's value and key subjects.

    `present` are the table's columns, by default the columns of all versions so far.  A file may use names
    that the latest version takes from other subjects.  Raises `SchemaError` for a file that is not a schema,
    `UnmappedTypeError` for a type without a rule, `UsageError` without a file or a subject.
    """
    value_name, key_name = value_subject(feed.table), feed.subjects.key
    value = _proposal(registry, value_name, file) if file else None
    key = _proposal(registry, _key_subject(feed), key_file) if key_file else None
    proposals = [proposal for proposal in (value, key) if proposal]
    if not proposals:
        raise UsageError("schema check: no schema to check", "Give FILE, --key FILE, or both")
    keys = key.earlier if key else fetch_versions(registry, key_name) if key_name else ()
    values = value.earlier if value else fetch_versions(registry, value_name)
    if value:
        compile_table(feed, keys, (value.new,))  # a version that cannot be compiled is an error here
    keyed = _with_own_key(feed, keys)
    failures: tuple[IngestError, ...]
    rewrites: tuple[str, ...] = ()
    try:
        evolution = _evolution(keyed, (keys, values), (key, value), present)
        failures, rewrites = evolution.failing, evolution.rewrites
    except (SchemaError, EvolutionError) as error:
        failures = (error,)
    checks = []
    for proposal in proposals:
        changes = _key_changes(keyed, proposal) if proposal is key else _changes(feed, *proposal.pair)
        checks.append(_checked(registry, proposal, planned(keyed.table, changes)))
    return CompatibilityReport(tuple(checks), failures, rewrites)


def _checked(registry: Registry, proposal: _Proposal, changes: tuple[PlannedChange, ...]) -> SubjectCheck:
    """Ask the registry about a proposal."""
    subject, text = proposal.subject, proposal.file.read_text(encoding="utf-8")
    verdict = registry.compatible(subject, text, proposal.latest.references)
    return SubjectCheck(subject, proposal.latest, registry.compatibility(subject), verdict, changes)


def _proposal(registry: Registry, subject: Subject, file: Path) -> _Proposal:
    latest = registry.latest(subject)
    *references, _ = registry.with_references(latest)
    earlier = fetch_versions(registry, subject)
    version = max(schema.version for schema in earlier) + 1
    new = WriterSchema(SchemaId(-1), file.name, read_schema(file, references), version=version)
    return _Proposal(subject, file, latest, earlier, new)


def _key_subject(feed: Feed) -> Subject:
    if feed.subjects.key is None:
        raise UsageError(f"table {feed.name} has no key subject", "Its key is in the rows: check FILE")
    return feed.subjects.key


def _with_own_key(feed: Feed, keys: Sequence[WriterSchema]) -> Feed:
    """Name the key columns that a table has so far, which a file may leave to the key subject."""
    table = feed.table
    if table.key.columns or table.target.mode == "append" or not keys:
        return feed
    key = attrs.evolve(table.key, columns=message_key(keys))
    return attrs.evolve(feed, table=attrs.evolve(table, key=key))


def _evolution(
    feed: Feed,
    so_far: tuple[Sequence[WriterSchema], Sequence[WriterSchema]],
    proposals: tuple[_Proposal | None, _Proposal | None],
    present: Present,
) -> Evolution:
    """Fit the new versions to the table, as a run does.  Raises SchemaError or EvolutionError."""
    (keys, values), (key, value) = so_far, proposals
    before = compile_written(feed, keys, values)
    known_schemas = [writer.schema_id for writer in before.value.writers if writer.record]
    if present is None:
        first = evolve(before, known_schemas, None)
        present = {column.name: column.spark for column in (*first.keys, *first.columns)}
    compiled = compile_written(feed, key.all if key else keys, value.all if value else values)
    seen = [value.new.schema_id] if value else known_schemas[-1:]
    evolution = evolve(compiled, seen, present, known_schemas)
    if compiled.key_source != Coordinates():
        run_keys.check_keys(feed.table, evolution.keys, evolution.columns, present)
    return evolution


def _changes(feed: Feed, old: WriterSchema, new: WriterSchema) -> Sequence[SchemaChange]:
    """Compare two versions of a value."""
    compiled = compile_table(feed.keyless(), (), (old, new))
    misfits = [SchemaChange("envelope-changed", "", reason) for reason in compiled.misfits.values()]
    return misfits or differences(compiled.value, old.schema_id, new.schema_id)


def _key_changes(feed: Feed, proposal: _Proposal) -> Sequence[SchemaChange]:
    """Compare a key's latest version with the new one.  Other columns make another key."""
    old, new = proposal.pair
    payload = compile_keys(feed, DIALECTS[feed.table.dialect], proposal.pair)
    kept = [
        change
        for change in differences(payload, old.schema_id, new.schema_id)
        if change.kind not in ("column-added", "column-dropped")
    ]
    was, now = message_key((old,)), message_key((new,))
    if set(was) == set(now):
        return kept
    return (SchemaChange("key-changed", "key", ", ".join(now) or "no column", ", ".join(was)), *kept)
