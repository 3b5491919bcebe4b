"""A deployment for one test in a folder, with servers and a Spark session that tests share."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from ingest.api.session import Session
from ingest.local.servers import Addresses
from ingest.report.outcome import RunReport
from ingest.testing.columns import Columns
from ingest.testing.connectors import Connector
from ingest.testing.servers import LocalServers
from ingest.testing.topic import Topic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from ingest.operations.table_plan import TablePlan


@attrs.frozen
class Deployment:
    """Settings, table files and a lake in the folder `root`."""

    root: Path
    servers: Addresses
    spark: "SparkSession"
    topics: dict[str, Topic] = attrs.field(factory=dict, kw_only=True)
    """The topics made here, by name."""

    def __attrs_post_init__(self) -> None:
        (self.root / "ingest.toml").write_text(
            f'[registry]\nurl = "{self.servers.registry_url}"\n'
            f'[kafka]\nbootstrap_servers = "{self.servers.bootstrap_servers}"\n'
        )

    @property
    def session(self) -> Session:
        """The Python API over this deployment."""
        return Session.open(self.root / "ingest.toml", spark=self.spark)

    @property
    def tables(self) -> Path:
        """The folder of table files: add your own, or let `onboard` write them."""
        return self.root / "tables"

    def topic(
        self,
        name: str,
        columns: Columns | None = None,
        *,
        key: Columns | Iterable[str] = ("id",),
        connector: str | Connector = "sqlserver",
        partitions: int = 1,
    ) -> Topic:
        """Make a change topic, empty, and register its key and a first version of its value.

        Removes a topic of that name from an earlier test, with its subjects.
        """
        servers = LocalServers(self.servers)
        servers.make_topic(name, partitions)
        topic = Topic.begin(name, columns or {}, servers, key=key, connector=connector)
        self.topics[name] = topic
        return topic

    def onboard(self, patterns: Sequence[str] = (), **options: Any) -> None:
        """Write table files, of this deployment's topics by default.  `options` are `Session.onboard`'s."""
        with self.session as session:
            session.onboard(patterns or list(self.topics), **options)

    def run(self, names: Sequence[str] = (), *, max_offsets: int | None = None) -> RunReport:
        """Run tables once, all or the named ones."""
        with self.session as session:
            return session.run(names, max_offsets=max_offsets)

    def plan(self, names: Sequence[str] = (), *, max_offsets: int | None = None) -> "tuple[TablePlan, ...]":
        """Plan a run of tables, all or the named ones, without writing."""
        with self.session as session:
            return session.plan(names, max_offsets=max_offsets)

    def run_until_idle(self, *, max_offsets: int | None = None) -> list[RunReport]:
        """Run until no table commits, all in one `Session`, and return all reports."""
        with self.session as session:
            reports = [session.run(max_offsets=max_offsets)]
            while any(table.outcome == "committed" for table in reports[-1].tables):
                reports.append(session.run(max_offsets=max_offsets))
        return reports

    def frame(self, table: str) -> "DataFrame":
        """Read a table with plain Spark, as its users do.

        Uses a new session with Spark's default, because Hudi's readers switch vectorized reading off in their
        session.
        """
        own = self.spark.newSession()
        own.conf.set("spark.sql.parquet.enableNestedColumnVectorizedReader", "true")
        return own.read.format("hudi").load(str(self.root / "lake" / table))
