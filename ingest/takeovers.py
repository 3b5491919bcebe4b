"""The part of the Python API that begins tables with rows from elsewhere."""

from typing import TYPE_CHECKING

from ingest.adopt.request import AdoptRequest, LoadRequest
from ingest.deployment import Deployment
from ingest.lazy import LazyModule

if TYPE_CHECKING:
    from ingest.adopt import adopt as adopting
    from ingest.adopt import load as loading
    from ingest.adopt.plan import Takeover
    from ingest.run.context import Progress
    from ingest.stop import Stop
else:
    adopting, loading = LazyModule("ingest.adopt.adopt"), LazyModule("ingest.adopt.load")


def silent(table: str, step: str) -> None:
    """Ignore a step: the default progress."""


class Takeovers(Deployment):
    """A deployment whose tables may begin with rows that no message brought."""

    def adopt(
        self,
        name: str,
        request: AdoptRequest | None = None,
        *,
        progress: "Progress" = silent,
        stop: "Stop | None" = None,
    ) -> "Takeover":
        """Take over a Hudi table of another writer (see `ingest.adopt.adopt`).

        Signals work as in `run`; an error is in the result.
        """
        table, run = self.table(name), self._run(progress, stop=stop)
        request = request or AdoptRequest()
        return adopting.adopt_table(
            run, table, lambda: self._driver.process, request, raises_signal=stop is None
        )

    def load(
        self, name: str, request: LoadRequest, *, progress: "Progress" = silent, stop: "Stop | None" = None
    ) -> "Takeover":
        """Fill an empty table from an export of its source (see `ingest.adopt.load`).

        Signals work as in `run`; an error is in the result.
        """
        table, run = self.table(name), self._run(progress, stop=stop)
        return loading.load_table(
            run, table, lambda: self._driver.process, request, raises_signal=stop is None
        )
