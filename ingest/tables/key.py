"""`[key]` of a table file."""

from typing import Literal

import attrs

from ingest.tables.rules import check_column_names


@attrs.frozen
class Key:
    """The record key, and the policy for messages with a key that contradicts their row."""

    columns: tuple[str, ...] = attrs.field(
        default=(),
        validator=check_column_names,
        metadata={"help": "Columns of the key. Empty: the columns of the key subject. Fixed at creation."},
    )
    mismatch: Literal["reject", "ignore"] = attrs.field(
        default="reject",
        metadata={
            "expert": True,
            "help": "Effect of a message key that contradicts its row. `reject`: the record is rejected. "
            "`ignore`: they are not compared.",
        },
    )
