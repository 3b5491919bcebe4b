"""Answers and unfinished comparisons between runs, in the state folder of the deployment."""

from datetime import UTC, datetime
from pathlib import Path

import attrs

from ingest.errors import UsageError
from ingest.log import logger
from ingest.operations.status.last_verification import LastVerification, read_last, write_last
from ingest.tables import Feed
from ingest.verify.progress import key_of
from ingest.verify.result import TableVerification


def progress_file(folder: Path, feed: Feed) -> Path:
    """Return the file of the chunks that an interrupted comparison of a table or topic has finished."""
    name = f"{feed.name}.{key_of(feed.source)[:16]}" if feed.source else feed.name
    return folder / "verify" / f"{name}.chunks.json"


def _read(folder: Path, table: str) -> LastVerification | None:
    """Return the last verification.  A damaged one is replaced."""
    try:
        return read_last(folder, table)
    except UsageError:
        return None


def _joined(before: LastVerification | None, last: LastVerification) -> LastVerification:
    """Return what to keep of two comparisons."""
    if before is None:
        return last
    if last.outcome in {"failed", "temporary"}:
        return attrs.evolve(before, failed_at=last.finished_at, error=last.error)
    return last if before.is_cleared_by(last) else before


def remember(folder: Path, answer: TableVerification, scope: tuple[str, ...]) -> None:
    """Store an answer's numbers. The last ones stay after an error, or if they have a difference open."""
    counts = {str(kind): count for kind, count in answer.counts.items()}
    last = LastVerification(
        finished_at=datetime.now(UTC).replace(microsecond=0), outcome=answer.outcome, mode=answer.mode,
        source=answer.source, position=answer.position, scope=scope, source_rows=answer.source_rows,
        table_rows=answer.table_rows, counts=counts | {"in_flight": answer.in_flight},
        columns=dict(answer.columns), compared=len(answer.compared), uncompared=dict(answer.uncompared),
        seconds=round(answer.seconds, 3), note=answer.note, error=str(answer.error) if answer.error else "",
    )  # fmt: skip
    try:
        write_last(folder, answer.table, _joined(_read(folder, answer.table), last))
    except OSError as error:
        logger(__name__).warning("the verification was not stored", table=answer.table, error=str(error))
