"""Each key once: a table read by Spark, and its rows counted by key."""

from collections.abc import Sequence
from typing import Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ingest.errors import LakeUnreachableError
from ingest.hudi.storage.folder import RESTORE
from ingest.hudi.table import HudiTable
from ingest.hudi.timeline.findings import Finding
from ingest.spark.java_errors import is_unreachable, root_cause
from ingest.sql.template import ident

EXAMPLES: Final = 5
_COUNT: Final = "_ingest_rows"
_LOAD_AGAIN: Final = (
    "Move the table's folder away, and load the table again: its topic or a snapshot has the rows"
)


def check_keys(table: HudiTable) -> tuple[int | None, tuple[Finding, ...]]:
    """Count the rows, soft-deleted ones included, and find keys of several rows.

    The number of rows is None if they cannot be read.
    """
    try:
        return _check_keys(table)
    except (Py4JJavaError, PySparkException) as error:
        if is_unreachable(error):
            raise LakeUnreachableError(table.path, root_cause(error)) from error
        problem = f"the rows cannot be read: {root_cause(error)}"
        return None, (Finding("files", problem, RESTORE),)


def _check_keys(table: HudiTable) -> tuple[int, tuple[Finding, ...]]:
    keys = table.key_columns()
    counts = table.rows().groupBy(*(str(ident(key)) for key in keys)).agg(F.count("*").alias(_COUNT))
    several = F.col(_COUNT) > 1
    totals = counts.agg(F.sum(_COUNT), F.count_if(several), F.sum(F.when(several, F.col(_COUNT)))).first()
    if totals is None or not totals[1]:
        return (totals and totals[0]) or 0, ()
    problem = f"{totals[1]:,} keys have {totals[2]:,} rows: {_examples(counts.where(several), keys)}"
    return totals[0], (Finding("keys", problem, _LOAD_AGAIN),)


def _examples(doubled: DataFrame, keys: Sequence[str]) -> str:
    """Return a few keys as JSON."""
    columns = (F.col(str(ident(key))) for key in keys)
    rows = doubled.select(F.to_json(F.struct(*columns)), _COUNT).limit(EXAMPLES + 1).collect()
    texts = [f"{key} ({count} rows)" for key, count in rows[:EXAMPLES]]
    return ", ".join(texts) + (", …" if len(rows) > EXAMPLES else "")
