"""A process that runs the tables slice by slice and reports progress, until it is killed.

Started with the number of a pipe to tell on: a JSON line each for `ready`, every step, every run and, at the
end, what the tables hold.  An order is a line on standard input.  Standard output is Hudi's.
"""

import json
import os
import sys
from typing import Any, Final

from pyspark.sql import SparkSession

from ingest.api.session import Session
from ingest.hudi.table import HudiTable
from ingest.jars.artifacts import spark_jars
from ingest.spark.session import start_session

_QUICK: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
CONF: Final = {"spark.driver.memory": "1g", "spark.driver.extraJavaOptions": _QUICK}
"""A quick start: no process lives long enough for more."""
MOST_RUNS: Final = 100
MOST_REJECTS: Final = 100_000


def main(pipe: int) -> None:
    """Start Spark, wait for the order, run until nothing is new."""

    def tell(**told: Any) -> None:
        os.write(pipe, json.dumps(told).encode() + b"\n")

    spark = start_session("torture", "local[2]", CONF, spark_jars())
    tell(ready=True)
    for line in sys.stdin:
        order = json.loads(line)
        settings = f"{order['root']}/ingest.toml"
        with Session.open(settings, spark=spark) as session:
            for number in range(MOST_RUNS):
                report = session.run(
                    order["tables"], max_offsets=order["slice"], progress=lambda t, s: tell(table=t, step=s)
                )
                tell(run=[item.to_json() for item in report.tables], exit_code=report.exit_code)
                idle = all(item.outcome == "idle" for item in report.tables)
                failed = report.exit_code != 0
                if order["looks"] == "always" or number == 0 or idle:
                    tell(
                        holds={
                            table.name: look(session, table.name) for table in session.tables(order["tables"])
                        }
                    )
                if idle or failed:
                    break
        tell(done=True)


def look(session: Session, table: str) -> dict[str, Any]:
    """Return a table's rows, read as users read it."""
    lake = session.settings.lake
    last = HudiTable(session.spark, lake.table_path(table)).checkpoint()
    if last is None:
        return {"offsets": {}, "rows": [], "rejects": []}
    rows = _frame(session.spark, lake.table_path(table)).select("id", "*")
    names = [name for name in rows.columns if not name.startswith(("_hoodie_", "_cdc_"))][1:]
    texts = rows.selectExpr(*(f"cast(`{name}` as string) `{name}`" for name in names)).collect()
    return {
        "offsets": dict(last.next_offsets),
        "rows": [row.asDict() for row in texts],
        "rejects": [
            (record.partition, record.offset) for record in session.rejects(table, limit=MOST_REJECTS).records
        ],
    }


def _frame(spark: SparkSession, path: str) -> Any:
    return spark.read.format("hudi").load(path)


if __name__ == "__main__":
    main(int(sys.argv[1]))
