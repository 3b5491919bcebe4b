"""Upkeep of a table: compact its log files, remove old versions of its files, archive its timeline.

No row changes.  Hudi would do all of it inside the write.  Apart from the write it is timed and reported, and
may have a separate schedule.  Work that was killed is finished by the next upkeep: Hudi keeps its plans in
the timeline, and rolls back the files of a compaction that did not complete.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final

import attrs
from pyspark.sql import SparkSession

from ingest.hudi.options import ARCHIVE, CLEAN, COMPACT, SERVICES_OFF
from ingest.hudi.timeline.hudi_timeline import active_instants
from ingest.hudi.timeline.timeline_files import COMMIT_ACTIONS
from ingest.hudi.upkeep.retention import (
    CLEAN_TRIGGER,
    COMPACT_NOW,
    COMPACTION_TRIGGER,
    KEEP_MAX,
    trigger,
    versions_retained,
)
from ingest.spark.java import hadoop_of, java_session, jvm_of

FORCED: Final[Mapping[str, str]] = {
    CLEAN_TRIGGER: "1",
    "hoodie.clean.trigger.strategy": "NUM_COMMITS",
    **COMPACT_NOW,
}
"""The options with which Hudi does everything that there is to do."""
INSTANT: Final = "%Y%m%d%H%M%S%f"
INSTANT_DIGITS: Final = 17
_STRATEGY: Final = ".trigger.strategy"
_MOR: Final = "MERGE_ON_READ"


@attrs.frozen
class Upkeep:
    """The result of one upkeep, or of its dry run."""

    compacted_log_files: int = 0
    compacted_bytes: int = 0
    removed_files: int = 0
    freed_bytes: int = 0
    archived_commits: int = 0


def is_due(spark: SparkSession, client: Any, options: Mapping[str, str]) -> bool:
    """Tell from the names in the timeline of an open table whether Hudi would find anything to do."""
    instants = active_instants(spark, client)
    if any(key.endswith(_STRATEGY) for key in options) or any(
        instant.action in ("compaction", "clean") and not instant.is_completed for instant in instants
    ):
        return True
    commits = [
        instant.requested for instant in instants if instant.action in COMMIT_ACTIONS and instant.is_completed
    ]
    if len(commits) > trigger(options, KEEP_MAX):
        return True
    if client.getTableType().name() == _MOR:  # old versions come from compactions, which a clean follows
        return _delta_commits(spark, client.getActiveTimeline()) >= trigger(options, COMPACTION_TRIGGER)
    last_clean = max((instant.requested for instant in instants if instant.action == "clean"), default="")
    uncleaned = sum(requested > last_clean for requested in commits)
    is_removable = len(commits) > versions_retained(options)
    return is_removable and uncleaned >= trigger(options, CLEAN_TRIGGER)


def _delta_commits(spark: SparkSession, timeline: Any) -> int:
    """Count the delta commits since the last compaction."""
    utils = jvm_of(spark).org.apache.hudi.common.util.CompactionUtils
    since = utils.getDeltaCommitsSinceLatestCompaction(timeline)
    return int(since.get().getLeft().countInstants()) if since.isPresent() else 0


@contextmanager
def open_services(spark: SparkSession, path: str, options: Mapping[str, str]) -> Iterator["Services"]:
    """Open a table for its upkeep, by options of a write.  Java's exceptions pass through."""
    jvm = jvm_of(spark)
    times = jvm.org.apache.hudi.common.table.timeline.HoodieInstantTimeGenerator
    # Otherwise only a write through Spark's data source sets the zone of new instants, for the whole JVM.
    times.setCommitTimeZone(jvm.org.apache.hudi.common.model.HoodieTimelineTimeZone.UTC)
    stored = jvm.io.hudicdc.ingest.hudi.StoredTable
    client = stored.writer(java_session(spark), path, json.dumps(dict(options)))
    try:
        yield Services(spark, path, client)
    finally:
        client.close()


@attrs.frozen
class Services:
    """Hudi's table services for one table, whose only writer is the caller."""

    spark: SparkSession
    path: str
    client: Any
    counts_bytes: bool = False
    """Whether to measure the space that cleaning frees: it lists the whole table twice."""

    def run(self, options: Mapping[str, str]) -> Upkeep:
        """Do what Hudi finds to do, but for the parts that the options of a table file turn off."""
        is_on = {key: options.get(key, "").lower() != "false" for key in SERVICES_OFF}
        result = self._compact() if is_on[COMPACT] else Upkeep()
        if is_on[CLEAN]:
            result = self._clean(result)
        if is_on[ARCHIVE]:
            before = self._count_commits()
            self.client.archive()
            result = attrs.evolve(result, archived_commits=before - self._count_commits())
        return result

    def convert(self, version: int) -> None:
        """Upgrade or downgrade the table to another version of Hudi's table format."""
        hudi = jvm_of(self.spark).org.apache.hudi
        client, config = self._open_table().getMetaClient(), self.client.getConfig()
        helper = hudi.table.upgrade.SparkUpgradeDowngradeHelper.getInstance()
        conversion = hudi.table.upgrade.UpgradeDowngrade(client, config, self._context, helper)
        conversion.run(hudi.common.table.HoodieTableVersion.fromVersionCode(version), None)

    def plan(self) -> Upkeep:
        """Return what `run` would compact and remove now, without writing."""
        table = self._open_table()
        logs = list(self._planned_logs(table))
        removals = list(self._planned_removals(table))
        return Upkeep(len(logs), sum(logs), len(removals), sum(removals))

    def _data_bytes(self) -> int:
        """Return the size of the table's files, without its timeline."""
        folders = [self._path_of(path) for path in (self.path, f"{self.path}/.hoodie")]
        files = folders[0].getFileSystem(hadoop_of(self.spark))
        whole, timeline = (files.getContentSummary(folder).getLength() for folder in folders)
        return int(whole - timeline)

    @property
    def _context(self) -> Any:
        return self.client.getEngineContext()

    def _open_table(self) -> Any:
        tables = jvm_of(self.spark).org.apache.hudi.table.HoodieSparkTable
        return tables.create(self.client.getConfig(), self._context)

    def _count_commits(self) -> int:
        timeline = self._open_table().getActiveTimeline()
        return int(timeline.getCommitsTimeline().filterCompletedInstants().countInstants())

    def _compact(self) -> Upkeep:
        """Complete the compactions that were killed, then plan one and run it."""
        table = self._open_table()
        if not _has_logs(table):
            return Upkeep()
        pending = table.getActiveTimeline().filterPendingCompactionTimeline().getInstants()
        instants = [instant.requestedTime() for instant in pending]
        stats = [stat for instant in instants for stat in self._run_compaction(instant)]
        planned = self.client.scheduleCompaction(
            jvm_of(self.spark).org.apache.hudi.common.util.Option.empty()
        )
        if planned.isPresent():
            stats += self._run_compaction(planned.get())
        return Upkeep(
            sum(stat.getTotalLogFilesCompacted() for stat in stats),
            sum(stat.getTotalLogSizeCompacted() for stat in stats),
        )

    def _clean(self, result: Upkeep) -> Upkeep:
        """Finish the cleans that were killed, then plan one and run it.  Add it to the result."""
        before = self._data_bytes() if self.counts_bytes else 0
        cleaned = self.client.clean()
        removed = int(cleaned.getTotalFilesDeleted()) if cleaned is not None else 0
        freed = before - self._data_bytes() if removed and self.counts_bytes else 0
        return attrs.evolve(result, removed_files=removed, freed_bytes=freed)

    def _run_compaction(self, instant: str) -> list[Any]:
        """Run a planned compaction and commit it.  Return Hudi's statistics of the files."""
        compaction = self.client.compact(instant, True)  # noqa: FBT003  Java's: commit it
        return list(compaction.getCommitMetadata().get().getWriteStats())

    def _planned_logs(self, table: Any) -> Iterator[int]:
        """Yield the size of each log file that a compaction would take."""
        for operation in self._compaction_operations(table) if _has_logs(table) else ():
            folder = "/".join(filter(None, (self.path, operation.getPartitionPath())))
            for name in operation.getDeltaFilePaths():
                yield self._size_of(f"{folder}/{name}")

    def _compaction_operations(self, table: Any) -> Iterator[Any]:
        """Yield the file groups of compactions that were killed, then those that Hudi would plan now."""
        hudi, meta = jvm_of(self.spark).org.apache.hudi, table.getMetaClient()
        for instant in table.getActiveTimeline().filterPendingCompactionTimeline().getInstants():
            plan = hudi.common.util.CompactionUtils.getCompactionPlan(meta, instant.requestedTime())
            yield from plan.getOperations() or ()
        # An instant that no file gets: Hudi's generator would keep it in mind for later writes.
        instant = datetime.now(UTC).strftime(INSTANT)[:INSTANT_DIGITS]
        context, config = self._context, self.client.getConfig()
        compact = hudi.common.model.WriteOperationType.COMPACT
        planner = hudi.table.action.compact.ScheduleCompactionActionExecutor(
            context, config, table, instant, hudi.common.util.Option.empty(), compact
        )
        generators = hudi.table.action.compact.plan.generators
        generator = generators.HoodieCompactionPlanGenerator(table, context, config, planner)
        plan = generator.generateCompactionPlan(instant)
        yield from (plan.getOperations() if plan is not None else None) or ()

    def _planned_removals(self, table: Any) -> Iterator[int]:
        """Yield the size of each file that a clean would remove."""
        planners = jvm_of(self.spark).org.apache.hudi.table.action.clean
        planner = planners.CleanPlanner(self._context, table, self.client.getConfig())
        earliest = planner.getEarliestCommitToRetain()
        for partition in planner.getPartitionPathsToClean(earliest):
            for file in planner.getDeletePaths(partition, earliest).getRight():
                yield self._size_of(file.getFilePath())

    def _size_of(self, path: str) -> int:
        file = self._path_of(path)
        return int(file.getFileSystem(hadoop_of(self.spark)).getFileStatus(file).getLen())

    def _path_of(self, path: str) -> Any:
        return jvm_of(self.spark).org.apache.hadoop.fs.Path(path)


def _has_logs(table: Any) -> bool:
    return bool(table.getMetaClient().getTableType().name() == _MOR)
