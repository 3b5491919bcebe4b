"""The timeline of a table by its files: no JVM."""

from collections.abc import Iterator

import attrs

from ingest.hudi.storage.folder import TableFolder, UnclearFilesError
from ingest.hudi.timeline.archive_files import archived_commits, has_archive
from ingest.hudi.timeline.properties import TableProperties, read_properties
from ingest.hudi.timeline.stored_commit import StoredCommit
from ingest.hudi.timeline.timeline_files import ActiveTimeline, read_timeline


@attrs.frozen
class FileTimeline:
    """The commits of the table at a path (a `Timeline`).

    Raises UnclearFilesError if the files are not conclusive: then Hudi's classes have to be asked.
    """

    path: str
    folder: TableFolder
    properties: TableProperties
    active: ActiveTimeline

    @property
    def instants(self) -> frozenset[str]:
        """The requested times of the active timeline, pending ones included."""
        return self.active.instants

    @property
    def completed(self) -> tuple[tuple[str, str], ...]:
        """When each completed commit of the active timeline was requested and completed, newest first."""
        return tuple((file.requested, file.completed) for file in self.active.commits)

    def commits(self, *, archived: bool = False) -> Iterator[StoredCommit]:
        """Yield the completed commits, newest first, then those that Hudi has archived, if asked."""
        active = self.active.commits
        yield from (file.commit(self.path) for file in active)
        if archived:
            requested = {file.requested for file in active}  # a killed archival leaves an instant in both
            older = (file for file in archived_commits(self.folder) if file.requested not in requested)
            yield from (file.commit(self.path) for file in older)

    def has_archive(self) -> bool:
        """Tell whether Hudi has moved older commits out of the active timeline."""
        return has_archive(self.folder)

    def column_names(self) -> tuple[str, ...]:
        """Leave the columns to Hudi."""
        raise UnclearFilesError(f"{self.path}: a policy of the table file differs")

    def check_actions(self) -> None:
        """Read the other completed actions: cleans, rollbacks, savepoints."""
        for action in self.active.services:
            _ = action.metadata


def open_timeline(path: str, folder: TableFolder) -> FileTimeline:
    """Open the timeline of the table in a folder.  Raises UnclearFilesError for one without a commit."""
    properties = read_properties(folder)
    active = read_timeline(folder, properties)
    if not active.commits:
        raise UnclearFilesError(f"{path}: the active timeline has no commit")
    return FileTimeline(path, folder, properties, active)
