"""A look ahead: the newest registered version of a table's schema, against the policies of its table file."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from ingest.compile.diff import SchemaChange, differences
from ingest.compile.policy import PolicyDecision, failures, key_drift
from ingest.compile.table import CompiledTable
from ingest.errors import IngestError, SchemaError, UnmappedTypeError
from ingest.hudi.timeline.ledger import LedgerEntry, known_ids
from ingest.names import SchemaId, Subject
from ingest.registry import Newest, Registry
from ingest.run.batch.schemas import PayloadSchemas, compile_written, fetch_versions
from ingest.run.work.context import Context
from ingest.tables import Feed, id_kinds

NewestVersions = Mapping[Subject, Newest]
"""The newest versions of subjects, as far as they are listed."""

FEW: Final = 20
"""Subjects up to which each is asked for: a list has all schemas of the registry."""


def fetch_newest(run: Context, feeds: Iterable[Feed]) -> NewestVersions:
    """List the newest versions of many tables by few requests, none if the registry has no such list."""
    subjects = {
        subject
        for feed in feeds
        if feed.table.format == "avro" and not feed.table.source_table
        for subject in (feed.subjects.key, feed.subjects.value)
        if subject is not None
    }
    try:
        return run.registry.newest(subjects) if len(subjects) > FEW else {}
    except IngestError:  # each table asks for its own subjects, and has the error if there is one
        return {}


def has_new_versions(
    registry: Registry, feed: Feed, met_ids: tuple[SchemaId, ...], newest: NewestVersions
) -> bool:
    """Whether an idle table may have versions to show: up to three requests instead of every schema.

    A key with one version cannot have changed its type.
    """
    subjects = feed.subjects
    if subjects.value is None or not met_ids:
        return True
    if subjects.key is not None and not _is_only(registry, subjects.key, newest):
        return True
    if subjects.value in newest:
        return newest[subjects.value].id not in met_ids
    numbers = registry.versions(subjects.value, deleted=True)
    return not numbers or registry.version(subjects.value, max(numbers)).id not in met_ids


def _is_only(registry: Registry, subject: Subject, newest: NewestVersions) -> bool:
    if subject in newest:
        return newest[subject].is_only
    return len(registry.versions(subject, deleted=True)) <= 1


def look_ahead(
    registry: Registry, feed: Feed, last: LedgerEntry | None, newest: NewestVersions
) -> IngestError | None:
    """Return the error at which a run stops once a message has the newest registered version, or None.

    A table without commits has nothing to compare with.
    """
    met_ids, subjects = known_ids(last), feed.subjects
    is_comparable = feed.table.format == "avro" and not feed.table.source_table
    if not met_ids or subjects.value is None or not is_comparable:
        return None
    if not has_new_versions(registry, feed, met_ids, newest):
        return None
    kinds = id_kinds(feed.table.framings)
    keys = fetch_versions(registry, subjects.key, kinds) if subjects.key else ()
    return stopping_change(feed, (keys, fetch_versions(registry, subjects.value, kinds)), met_ids)


def stopping_change(feed: Feed, schemas: PayloadSchemas, met_ids: tuple[SchemaId, ...]) -> IngestError | None:
    """Return the first change of the newest version that `[evolution]` refuses, as an error."""
    try:
        compiled = compile_written(feed, *schemas)
    except (SchemaError, UnmappedTypeError) as error:
        return error
    return next(iter(failures(compiled, list(_decisions(compiled, met_ids)))), None)


def _decisions(compiled: CompiledTable, met_ids: tuple[SchemaId, ...]) -> Iterator[PolicyDecision]:
    """Yield the changes of the newest version from the newest one that the table has met."""
    for change, writers in _changes(compiled, met_ids):
        yield PolicyDecision(change, compiled.table.policy(change.kind), writers)


def _changes(
    compiled: CompiledTable, met_ids: tuple[SchemaId, ...]
) -> Iterator[tuple[SchemaChange, tuple[SchemaId, ...]]]:
    if drift := key_drift(compiled):
        yield drift, ()
    versions = sorted((w.version, w.schema_id) for w in compiled.value.writers if w.version)
    newest_id = versions[-1][1] if versions else None
    met = [schema_id for _, schema_id in versions if schema_id in met_ids]
    if newest_id is None or newest_id in met_ids or not met:
        return
    if misfit := compiled.misfits.get(newest_id):
        yield SchemaChange("envelope-changed", "", misfit), (newest_id,)
    elif met[-1] not in compiled.misfits:
        for change in differences(compiled.value, met[-1], newest_id):
            yield change, (newest_id,)
