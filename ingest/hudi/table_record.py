"""All commits of one table, read by Hudi's classes: accounts, files, and the sizes that storage has.

It answers as `TableFiles` does, for every storage and every layout that Hudi reads.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import attrs
from pyspark.sql import SparkSession

from ingest.hudi.commit_reader import entries
from ingest.hudi.commits import committed_files, read_actions, stored_sizes
from ingest.hudi.damage import CommittedFiles
from ingest.hudi.ledger import LedgerEntry
from ingest.hudi.metaclient import lake_errors, open_client


@attrs.frozen
class HudiRecord:
    """The commits of the table at a path, as they were when it was opened."""

    path: str
    _spark: SparkSession
    _client: Any

    def instants(self) -> frozenset[str]:
        """Return the requested times of the active timeline, pending ones included."""
        with lake_errors(self.path):
            instants = self._client.getActiveTimeline().getInstants()
            return frozenset(instant.requestedTime() for instant in instants)

    def accounts(self) -> tuple[LedgerEntry, ...]:
        """Return all accounts, newest first, archived ones included."""
        with lake_errors(self.path):
            return tuple(entries(self._spark, self.path, self._client))

    def committed(self) -> Iterator[CommittedFiles]:
        """Yield the files of all commits, newest first, archived ones included."""
        with lake_errors(self.path):
            yield from committed_files(self._spark, self.path, self._client, archived=True)

    def sizes(self) -> Mapping[str, int]:
        """Return the bytes of all data files by their paths."""
        with lake_errors(self.path):
            return stored_sizes(self._spark, self.path)

    def check_actions(self) -> None:
        """Read the other actions of the timeline: cleans, rollbacks, savepoints.  Raises LakeError."""
        with lake_errors(self.path):
            read_actions(self._client)


def open_record(spark: SparkSession, path: str) -> HudiRecord | None:
    """Open the table at a path; None where it does not exist.  Raises LakeError for a damaged one."""
    client = open_client(spark, path)
    return None if client is None else HudiRecord(path, spark, client)
