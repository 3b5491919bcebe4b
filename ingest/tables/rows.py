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
    source_where: str | None = attrs.field(
        default=None,
        validator=not_empty,
        metadata={
            "help": "The same condition in the source's SQL, over the source's columns: `ingest verify` "
            "compares the rows of the source for which it is true."
        },
    )
