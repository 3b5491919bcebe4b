"""Recorded events in other forms than Debezium's envelope.

Each form is a function from a recording to a recording: a folder that `ingest local produce` accepts, with
the referee's rows.  `flattened` applies Debezium's ExtractNewRecordState, `cdl` writes the messages of
Huawei's CDL, `deltas` those of MongoDB's connector in its other capture modes.
"""

from tests.e2e.forms.bare import make_bare
from tests.e2e.forms.cdl import make_cdl
from tests.e2e.forms.deltas import make_deltas
from tests.e2e.forms.flattened import make_flattened

__all__ = ["make_bare", "make_cdl", "make_deltas", "make_flattened"]
