"""The active timeline of a table, read from its files: no JVM, under 1 ms a commit on a local disk.

A completed action is a file `<requested>_<completed>.<action>`, in Avro (Hudi 1.2.0, timeline layout 2).  In
a table of version 6 it is `<requested>.<action>`, commits in JSON, and readers go by requested times.
Whatever such files do not settle is left to Hudi: the archived timeline, damage, instants out of order.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from io import BytesIO
from itertools import pairwise
from typing import Any, Final

import attrs
import fastavro

from ingest.hudi.storage.folder import TableFolder, UnclearFilesError
from ingest.hudi.timeline.ledger import TABLE_SERVICES
from ingest.hudi.timeline.properties import OLDEST, TableProperties
from ingest.hudi.timeline.stored_commit import StoredCommit, WrittenFile
from ingest.names import Instant

COMMIT_ACTIONS: Final = frozenset({"commit", "deltacommit", "replacecommit", "clustering"})
"""The actions of Hudi's commits timeline (`getCommitsTimeline`)."""
_COMPLETED: Final = re.compile(r"(\d{17})_(\d{17})\.([a-z]+)")
_COMPLETED_OF_6: Final = re.compile(r"(\d{17})\.(?!inflight)([a-z]+)")
_PENDING: Final = re.compile(r"(\d{17})\.[a-z]+(\.[a-z]+)?")


@attrs.frozen
class ActionFile:
    """A completed action in the timeline."""

    requested: str
    completed: str
    action: str
    file: str
    content: Callable[[], bytes] = attrs.field(repr=False, eq=False)

    @cached_property
    def metadata(self) -> Mapping[str, Any]:
        """The action's metadata, read once.  Raises UnclearFilesError for a damaged file."""
        return read_action(self.file, self.content())

    def commit(self, path: str) -> StoredCommit:
        """Return the commit, of the table at a path, that the file is of.  Raises UnclearFilesError."""
        metadata, instant = self.metadata, Instant(self.requested)
        operation, values = metadata.get("operationType"), metadata.get("extraMetadata") or {}
        by_partition = metadata.get("partitionToWriteStats") or {}
        if not operation or not (values or by_partition or operation in TABLE_SERVICES):
            raise UnclearFilesError(f"{self.file}: is not a commit, or an empty one")
        files = (
            WrittenFile(instant, stat["fileId"], stat["path"], stat["fileSizeInBytes"])
            for stats in by_partition.values()
            for stat in stats
            if stat["path"] and (stat["fileSizeInBytes"] or 0) > 0
        )
        replaced = (metadata.get("partitionToReplaceFileIds") or {}).values()
        groups = tuple(file_group for file_groups in replaced for file_group in file_groups)
        return StoredCommit(path, instant, self.completed, operation, values, files, groups)


@attrs.frozen
class ActiveTimeline:
    """The completed commits, newest first, and the requested times of all instants."""

    commits: tuple[ActionFile, ...]
    instants: frozenset[str]
    services: tuple[ActionFile, ...] = ()
    """The other completed actions: cleans, rollbacks, savepoints."""

    def until(self, instant: str) -> "ActiveTimeline":
        """Return the timeline as it counts for a reader as of an instant."""
        commits = tuple(commit for commit in self.commits if commit.requested <= instant)
        if not commits:
            raise UnclearFilesError(f"no commit as of {instant} in the active timeline")
        return attrs.evolve(self, commits=commits)

    def oldest_readable(self) -> str:
        """Return the oldest instant with all its files, or empty if nothing was cleaned.

        Hudi refuses time travel to older ones (TimelineUtils.validateTimestampAsOf, Hudi 1.2.0).
        """
        cleans = (action for action in self.services if action.action == "clean")
        newest = max(cleans, key=lambda clean: clean.requested, default=None)
        return "" if newest is None else str(newest.metadata.get("earliestCommitToRetain") or "")


def read_timeline(folder: TableFolder, properties: TableProperties) -> ActiveTimeline:
    """List the active timeline of a table."""
    actions, instants = list[ActionFile](), set[str]()
    pattern = _COMPLETED_OF_6 if properties.version == OLDEST else _COMPLETED
    for file in folder.files(properties.timeline):
        if not file.name[0].isdigit():
            continue
        completed, pending = pattern.fullmatch(file.name), _PENDING.fullmatch(file.name)
        match = completed or pending
        if match is None:
            raise UnclearFilesError(f"{file.path}: is not a name that Hudi 1.2.0 gives")
        instants.add(match[1])
        if completed:
            requested, action = completed[1], completed.groups()[-1]
            ended = requested if properties.version == OLDEST else completed[2]
            content = partial(folder.read, file.path)
            actions.append(ActionFile(requested, ended, action, file.path, content))
    actions.sort(key=lambda action: action.requested, reverse=True)
    commits = tuple(action for action in actions if action.action in COMMIT_ACTIONS)
    _check_order(commits)
    services = tuple(action for action in actions if action.action not in COMMIT_ACTIONS)
    return ActiveTimeline(commits, frozenset(instants), services)


def _check_order(commits: Sequence[ActionFile]) -> None:
    """Refuse commits that overlap in time: several writers were at work."""
    for newer, older in pairwise(commits):
        if newer.requested <= older.requested or newer.completed <= older.completed:
            raise UnclearFilesError(f"{newer.file}: overlaps with the commit of {older.requested}")


def read_action(file: str, content: bytes) -> Mapping[str, Any]:
    """Return the metadata of a completed action, in Avro or JSON.  Raises UnclearFilesError for damage."""
    try:
        if content.startswith(b"{"):
            metadata = json.loads(content)
        else:
            (metadata,) = list[Any](fastavro.reader(BytesIO(content)))
    except Exception as error:
        raise UnclearFilesError(f"{file}: cannot be read: {error}") from error
    if not isinstance(metadata, dict):
        raise UnclearFilesError(f"{file}: is not an action")
    return metadata
