"""`[types]` of a table file."""

from typing import Literal

import attrs

from ingest.tables.column import Nanos, OutOfRange, TimeOfDay
from ingest.tables.rules import check_placeholder

Timestamps = Literal["ntz", "utc"]


@attrs.frozen
class Types:
    """The Spark types of semantic types.  No default loses data silently."""

    time: TimeOfDay = attrs.field(
        default="string",
        metadata={
            "help": "Time of day. `string`: all digits of the source. `micros`: µs since midnight. "
            "Fixed at creation."
        },
    )
    nanos: Nanos = attrs.field(
        default="timestamp",
        metadata={
            "help": "Timestamps with nanoseconds. `timestamp`: to 1 µs. `bigint`, `string`: all nine digits. "
            "Fixed at creation."
        },
    )
    timestamps: Timestamps = attrs.field(
        default="ntz",
        metadata={
            "help": "Timestamps without a zone. `ntz`: `timestamp_ntz`, the wall clock itself. `utc`: "
            "`timestamp`, the wall clock as if it were in UTC, for readers that refuse the other "
            "([Readers](readers.md)). Fixed at creation."
        },
    )
    decimals: Literal["string", "fail"] = attrs.field(
        default="string",
        metadata={
            "help": "Decimals with more than 38 digits. `string`: all digits, as text. `fail`: stop the run."
        },
    )
    out_of_range: OutOfRange = attrs.field(
        default="fail",
        metadata={
            "help": "Infinity, and dates outside the years 1 to 9999. `fail`: reject the record. "
            "`null`: store null."
        },
    )
    placeholder: str = attrs.field(
        default="__debezium_unavailable_value",
        validator=check_placeholder,
        metadata={
            "expert": True,
            "help": "The connector's `unavailable.value.placeholder`. `hex:…` gives its bytes.",
        },
    )
