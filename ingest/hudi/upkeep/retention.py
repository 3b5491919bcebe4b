"""When a table's upkeep is due, and how many old versions of its files stay for running readers.

Hudi counts commits.  A reader pays for bytes: of a base file with a log file Hudi 1.2.0 reads each row by
itself, and every log file completely.

A reader lists the files of the newest commit and reads them for as long as its query lasts: it fails if a
file is removed before it gets there.  Each commit to a copy-on-write file is a whole new version of it.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, Final

from ingest.hudi.options import COMPACT
from ingest.hudi.stored_table import StoredTable
from ingest.tables import TableConfig

COMPACTION_STRATEGY: Final = "hoodie.compact.inline.trigger.strategy"
COMPACTION_TRIGGER: Final = "hoodie.compact.inline.max.delta.commits"
POLICY: Final = "hoodie.clean.policy"
BY_COMMITS: Final = "KEEP_LATEST_COMMITS"
CLEAN_TRIGGER: Final = "hoodie.clean.trigger.max.commits"
RETAINED: Final = "hoodie.clean.commits.retained"
KEEP_MIN: Final = "hoodie.keep.min.commits"
KEEP_MAX: Final = "hoodie.keep.max.commits"
FORMER_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {
        POLICY: "hoodie.cleaner.policy",
        CLEAN_TRIGGER: "hoodie.clean.max.commits",
        RETAINED: "hoodie.cleaner.commits.retained",
    }
)
"""Names that Hudi also reads, if the present one is not set."""
DELTA_COMMITS: Final = 10
"""Commits of a merge-on-read table between two compactions."""
SMALLEST_LOGS: Final = 1_000_000
"""Bytes of log files up to which a table is compacted by the number of commits only."""
COMPACT_NOW: Final[Mapping[str, str]] = {COMPACTION_TRIGGER: "1", COMPACTION_STRATEGY: "NUM_COMMITS"}
"""The options with which Hudi compacts all that there is to compact."""
ARCHIVE_AT: Final = (20, 30)
"""Commits that archiving leaves in the timeline, and those at which it begins: Hudi's defaults."""
_MARGIN: Final = 10
"""Archiving leaves more commits than cleaning retains: Hudi warns otherwise, and cleans by the timeline."""
_INSTANT: Final = "%Y%m%d%H%M%S"


def upkeep_options(table: TableConfig, recent_commits: int) -> dict[str, str]:
    """Return the options of a table's upkeep.  The table file's win, by either name.

    `recent_commits` is the number of commits within `retain_hours`.
    """
    retained = max(table.target.retain_commits, recent_commits)
    least, most = (max(default, retained + _MARGIN * n) for n, default in enumerate(ARCHIVE_AT, start=1))
    options = {
        POLICY: BY_COMMITS,
        # As many versions again as are retained before they are removed: one clean for several commits.
        CLEAN_TRIGGER: str(table.target.retain_commits),
        RETAINED: str(retained),
        KEEP_MIN: str(least),
        KEEP_MAX: str(most),
        COMPACTION_TRIGGER: str(DELTA_COMMITS),
    }
    free = {key: value for key, value in options.items() if FORMER_NAMES.get(key) not in table.hudi}
    return {**free, **table.hudi}


def is_costly_to_read(stored: StoredTable, table: TableConfig) -> bool:
    """Tell whether a table's log files have reached the share at which its table file has it compacted."""
    share, is_off = table.target.compact_at, table.hudi.get(COMPACT, "").lower() == "false"
    if table.target.type != "mor" or not share or is_off:
        return False
    cost = stored.read_cost()
    return cost.log_bytes >= max(SMALLEST_LOGS, share * cost.base_bytes)


def trigger(options: Mapping[str, str], key: str) -> int:
    """Return the number of commits at which a part of the upkeep is due."""
    return int(options.get(key) or options[FORMER_NAMES[key]])


def versions_retained(options: Mapping[str, str]) -> int:
    """Return how many commits' versions cleaning leaves, or 0 if a table file sets another policy."""
    by_commits = BY_COMMITS in (options.get(POLICY), options.get(FORMER_NAMES[POLICY]))
    return trigger(options, RETAINED) + 1 if by_commits else 0  # and the one before them


def count_recent(client: Any, hours: float) -> int:
    """Count the commits of an open table in the last hours.  Instants are in UTC."""
    if not hours:
        return 0
    begin = (datetime.now(UTC) - timedelta(hours=hours)).strftime(_INSTANT)
    commits = client.getActiveTimeline().getCommitsTimeline().filterCompletedInstants()
    return int(commits.findInstantsAfter(f"{begin}000").countInstants())
