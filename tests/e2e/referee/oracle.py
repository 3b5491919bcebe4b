"""Oracle's text, as its client writes it with ISO formats."""

import re

from tests.e2e.referee.kind import DOUBLE, EXACT, FLOAT, PLAIN, TEXT, Kind
from tests.e2e.referee.moments import instant, wall_clock


def kind_of(declared: str) -> Kind:
    """Return the reader of a declared type; a table stores NUMBER without a precision as text."""
    return _KINDS[declared if declared == "NUMBER" else re.sub(r"\([^)]*\)", "()", declared)]


_CLOCK, _INSTANT = Kind(wall_clock), Kind(instant)
_KINDS = {
    "NUMBER": PLAIN,
    "FLOAT()": PLAIN,
    "NUMBER()": EXACT,
    "INTEGER": EXACT,
    "BINARY_FLOAT": FLOAT,
    "BINARY_DOUBLE": DOUBLE,
    **dict.fromkeys(("VARCHAR2()", "NVARCHAR2()", "CHAR()", "NCHAR()", "CLOB", "NCLOB"), TEXT),
    **dict.fromkeys(("DATE", "TIMESTAMP()"), _CLOCK),
    "TIMESTAMP() WITH TIME ZONE": _INSTANT,
    **dict.fromkeys(("INTERVAL YEAR() TO MONTH", "INTERVAL DAY() TO SECOND()"), TEXT),
    "BLOB": Kind(lambda text: bytes.fromhex(text[2:])),
}
