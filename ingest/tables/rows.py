"""The rows that a table holds."""

import attrs

from ingest.config.rules import not_empty


@attrs.frozen
class Rows:
    """The rows to hold, of those that the source has."""

    where: str | None = attrs.field(
        default=None,
        validator=not_empty,
        metadata={
            "help": "Condition in Spark SQL over the row's own columns. The table has only rows for which it "
            "is true. Fixed at creation: see [Chosen columns](../chosen.md)."
        },
    )
