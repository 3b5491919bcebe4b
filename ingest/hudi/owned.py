"""The Hudi options that a table file must not set, with the reason."""

from collections.abc import Mapping
from typing import Final

_MEANING: Final = (
    "ingest decides this option itself, from [key], [target] and the order of events",
    "Remove it",
)
_LOCK: Final = (
    "ingest is a table's only writer, by a lock of its own, and Hudi's other modes fail without their lock",
    "Remove it; [lake] lock and [run] lock_wait_s set the lock",
)
_FORMAT: Final = ("ingest reads and writes tables in Hudi's own format and layout only", "Remove it")
_SCHEMA: Final = (
    "the columns follow the schema registry",
    "Remove it; see [types], [columns] and [evolution]",
)
_CLUSTERING: Final = (
    "a planned clustering refuses all later changes of its rows",
    "Remove it; [target] buckets or partition_by shape the files",
)
_HIVE_STYLE: Final = ("it is fixed when the table is created", "Set [target] hive_style_partitions")
_LOG_FORMAT: Final = ("in log files of another format an older change overwrites a newer one", "Remove it")

PREFIXES: Final[Mapping[str, tuple[str, str]]] = {
    **dict.fromkeys(
        (
            "hoodie.table.",
            "hoodie.index.",
            "hoodie.bucket.index.",
            "hoodie.combine.before.",
            "hoodie.payload.",
            "hoodie.record.merge.",
            "hoodie.write.record.merge.",
            "hoodie.write.partial.update.",
            "hoodie.write.merge.handle.",
            "hoodie.write.concat.handle.",
            "hoodie.write.rolling.metadata.",
            "hoodie.compact.merge.handle.",
            "hoodie.compaction.payload.",
            "hoodie.compaction.record.merger.",
            "hoodie.datasource.write.keygenerator.",
            "hoodie.datasource.write.operation",
            "hoodie.datasource.write.partitionpath.",
            "hoodie.datasource.write.payload.",
            "hoodie.datasource.write.precombine.",
            "hoodie.datasource.write.record.merger.",
            "hoodie.datasource.write.recordkey.",
            "hoodie.datasource.write.reconcile.",
            "hoodie.datasource.write.table.",
            "hoodie.datasource.write.drop.partition.columns",
            "hoodie.datasource.write.insert.drop.duplicates",
            "hoodie.populate.meta.fields",
            "hoodie.allow.operation.metadata.field",
            "hoodie.schema.on.read.",
            "hoodie.base.path",
        ),
        _MEANING,
    ),
    **dict.fromkeys(
        (
            "hoodie.write.concurrency.",
            "hoodie.metadata.write.concurrency.",
            "hoodie.write.lock.",
            "hoodie.auto.adjust.lock.",
            "hoodie.write.num.retries.on.conflict.",
            # Failed writes are rolled back by the next one, which is the only writer.
            "hoodie.clean.failed.writes.",
            "hoodie.cleaner.policy.failed.writes",
        ),
        _LOCK,
    ),
    **dict.fromkeys(
        (
            "hoodie.base.file.format",
            "hoodie.write.table.version",
            "hoodie.write.auto.upgrade",
            "hoodie.timeline.layout.",
            "hoodie.timeline.path",
            "hoodie.timeline.history.path",
            "hoodie.archivelog.folder",
            "hoodie.metaserver.",
            "hoodie.storage.class",
            "hoodie.storage.layout.",
            "hoodie.io.factory.class",
            "hoodie.writestatus.class",
        ),
        _FORMAT,
    ),
    **dict.fromkeys(("hoodie.write.schema", "hoodie.avro.schema", "hoodie.internal.schema"), _SCHEMA),
    # HoodieClusteringUpdateException of Hudi 1.2.0, from the next change of the file group on.
    **dict.fromkeys(
        (
            "hoodie.clustering.inline",
            "hoodie.clustering.schedule.",
            "hoodie.clustering.async.",
            "hoodie.datasource.clustering.",
        ),
        _CLUSTERING,
    ),
    "hoodie.datasource.write.hive_style_partitioning": _HIVE_STYLE,
    # Hudi 1.2.0, measured: with `parquet` a merge-on-read table keeps the change that was written last.
    "hoodie.logfile.data.block.format": _LOG_FORMAT,
}
"""Beginnings of options that change the meaning of a row, a key, a delete or a commit, or break the table."""
ALLOWED: Final = frozenset(
    (
        "hoodie.table.cdc.enabled",
        "hoodie.table.cdc.supplemental.logging.mode",
        "hoodie.table.services.enabled",
        "hoodie.table.services.incremental.enabled",
    )
)
"""Options that begin like owned ones, and only add to a table: files for Hudi's CDC queries, services."""


def refusal(option: str, owned: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the reason for which a table file must not set an option, and the way out, or None if it may.

    `owned` are the options that ingest sets itself.
    """
    if option in ALLOWED:
        return None
    reasons = (reason for prefix, reason in PREFIXES.items() if option.startswith(prefix))
    return next(reasons, _MEANING if option in owned else None)
