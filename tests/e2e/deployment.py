"""A deployment over recorded topics, run by the Python API on the suite's servers and Spark session."""

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any, Final

import attrs
from pyspark.sql import SparkSession

from ingest.local.load import LoadOptions, load
from ingest.local.servers import Addresses
from ingest.testing.deployment import Deployment as BuiltDeployment
from tests.e2e.recordings import SQLSERVER, Recording
from tests.long_files import write_out

_NUMBERS: Final = count(1)
LIGHT_JVM = '[spark.conf]\n"spark.driver.extraJavaOptions" = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"\n'
"""Settings for a process that lives shortly: a JVM that compiles lightly is there sooner."""


@attrs.frozen
class Deployment(BuiltDeployment):
    """Topics carry `prefix`, so that deployments never share a topic."""

    prefix: str
    recording: Recording = SQLSERVER

    def load(
        self, *, partitions: int | None = None, limit: int | None = None, versions: int | None = None
    ) -> None:
        """Produce the recorded messages that the data topics lack."""
        recorded = self.recording
        options = LoadOptions(
            (f"{recorded.prefix}.{recorded.pattern}",),
            partitions,
            (recorded.prefix, self.prefix),
            versions=versions,
            limit=limit,
        )
        load(recorded.folder, self.servers.bootstrap_servers, self.servers.registry_url, options)

    def onboard(self, patterns: Sequence[str] = (), **target: Any) -> None:
        """Write the table files of the topics with all keys, and edit `[target]` as a user would."""
        chosen = patterns or [f"{self.prefix}.{self.recording.pattern}"]
        BuiltDeployment.onboard(self, chosen, name="{table}", format=self.recording.format)
        write_out(self.tables)
        for path in self.tables.glob("*.toml"):
            text = path.read_text()
            for key, value in target.items():
                before = next(line for line in text.splitlines() if line.startswith(f"{key} = "))
                text = text.replace(before, f'{key} = "{value}"')
            path.write_text(text)


@attrs.frozen
class Deployments:
    """Makes deployments on the suite's servers and in the caller's Spark session."""

    servers: Addresses
    spark: SparkSession

    def plain(self, root: Path) -> BuiltDeployment:
        """Make the one that users of `ingest.testing` get: the test makes its topics."""
        return BuiltDeployment(root, self.servers, self.spark)

    def recorded(self, root: Path, prefix: str = "", recording: Recording = SQLSERVER) -> Deployment:
        """Make one over a recording, by default with a prefix that no other deployment has."""
        return Deployment(root, self.servers, self.spark, prefix or f"e{next(_NUMBERS)}", recording)
