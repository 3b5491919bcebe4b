"""Tables of other writers: a run must not mix its rows with theirs."""

from collections.abc import Sequence
from typing import Protocol

from ingest.errors import LakeError
from ingest.hudi.ledger import LedgerEntry
from ingest.hudi.stored_commit import StoredCommit


class CommittedTable(Protocol):
    """A table and its commits."""

    path: str

    def checkpoint(self) -> LedgerEntry | None:
        """Return the newest commit's account of itself; None before the first commit."""

    def commits(self) -> Sequence[StoredCommit]:
        """Return the commits, newest first, those of other writers included."""


def refuse_foreign(name: str, stored: CommittedTable) -> None:
    """Raise LakeError for a table that has commits, but not one with an account."""
    commits = () if stored.checkpoint() else stored.commits()
    if commits:
        problem = f"holds a table of another writer: its {len(commits)} commits have no offsets of ingest"
        todo = f"Take over its rows: `ingest adopt {name} --dry-run`. Or move the folder away"
        raise LakeError(stored.path, problem, todo)
