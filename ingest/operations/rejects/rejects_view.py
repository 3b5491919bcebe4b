"""The rejects of a table for a page: by their number without a JVM, by reason and example with Spark."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import attrs

from ingest.hudi.lake_files import LakeFiles
from ingest.operations.rejects import rejects as dead_letters
from ingest.run.work.context import Context
from ingest.tables import Feed, TableConfig

if TYPE_CHECKING:
    from ingest.operations.rejects.rejects import Reject

_LOOKED_AT: Final = 200
"""Open rejects to read for examples."""
_EXAMPLES: Final = 3
"""Examples of a reason."""


@attrs.frozen
class StoredRejects:
    """The rejects of a table.  `open` is None if the files do not tell open ones from resolved ones."""

    stored: int = 0
    """All that the rejects table holds, open or resolved."""
    open: int | None = None
    reasons: Mapping[str, int] = attrs.Factory(dict)
    """Open rejects by reason, if Spark read them."""
    examples: "Mapping[str, tuple[Reject, ...]]" = attrs.Factory(dict)
    """The first open rejects of each reason, without their bytes."""


def rejects_by_files(files: LakeFiles, table: TableConfig) -> StoredRejects:
    """Count the rejects without a JVM.  Raises UnclearFilesError if the files are not conclusive."""
    rejects = files.rejects(table)
    stored = 0 if rejects.checkpoint() is None else rejects.count_rows()
    return StoredRejects(stored, None if stored else 0)


def read_rejects(run: Context, feed: Feed) -> StoredRejects:
    """Read the open rejects by reason, with examples."""
    rejects = dead_letters.list_rejects(run.settings, run.spark, feed.table, _LOOKED_AT, topic=feed.source)
    examples: dict[str, tuple[Reject, ...]] = {}
    for record in rejects.records:
        examples[record.reason] = (*examples.get(record.reason, ()), record)[:_EXAMPLES]
    return StoredRejects(rejects.open + rejects.resolved, rejects.open, rejects.reasons, examples)
