"""How old the unread messages of a table may be."""

import attrs

from ingest.config.convert import Seconds
from ingest.config.rules import AtLeast


@attrs.frozen
class Freshness:
    """The limit of a table.  None is the limit of the settings."""

    max_behind: Seconds | None = attrs.field(
        default=None,
        validator=attrs.validators.optional(AtLeast(0)),
        metadata={
            "help": 'Largest age of the oldest unread message, such as "15 min". An older one makes '
            "`ingest status` say `behind`. 0: no limit. By default `[freshness] max_behind` of the settings."
        },
    )
