"""The settings of lineage events."""

from pathlib import Path

import attrs

from ingest.config.convert import Seconds
from ingest.config.rules import AtLeast, not_empty
from ingest.settings.secret import Secret, mask_url


@attrs.frozen
class LineageSettings:
    """Events about each table's runs for lineage tools, in the form of OpenLineage."""

    url: str = attrs.field(
        default="",
        repr=lambda text: repr(mask_url(text)),
        metadata={
            "help": "Address of a server that takes OpenLineage events, such as Marquez: they go to "
            "`<url>/api/v1/lineage`. Needs the extra `[lineage]`. Empty: no events by HTTP."
        },
    )
    file: Path | None = attrs.field(
        default=None, metadata={"help": "File to which the events are appended, a line of JSON each."}
    )
    api_key: Secret | None = attrs.field(default=None, metadata={"help": "Key that the server asks for."})
    namespace: str = attrs.field(
        default="ingest",
        validator=not_empty,
        metadata={
            "help": "Namespace of the jobs, of which each table has one. A namespace for each deployment "
            "is usual."
        },
    )
    timeout_s: Seconds = attrs.field(
        default=5.0,
        validator=AtLeast(0.001),
        metadata={
            "expert": True,
            "help": "Time limit of one request, in seconds. After the first failure a run sends no more.",
        },
    )

    @property
    def is_on(self) -> bool:
        """Whether a receiver is set."""
        return bool(self.url) or self.file is not None
