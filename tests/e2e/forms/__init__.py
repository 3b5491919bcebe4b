"""Recorded events in other forms than Debezium's envelope, made by plain functions.

A form is made of a whole recording: a folder that `ingest local load` takes, with the referee's rows in it.
`flattened` is what Debezium's ExtractNewRecordState makes of envelopes, `cdl` what Huawei's CDL would send,
`deltas` what MongoDB's connector sends in its other capture modes.
"""

from tests.e2e.forms.bare import make_bare
from tests.e2e.forms.cdl import make_cdl
from tests.e2e.forms.deltas import make_deltas
from tests.e2e.forms.flattened import make_flattened

__all__ = ["make_bare", "make_cdl", "make_deltas", "make_flattened"]
