"""The JSON of each command's result, key for key, as scripts read it."""

import json
import socket
from pathlib import Path

import pytest

from tests.contract.results import REJECT, RESULTS

RECORDED = json.loads(Path(__file__).with_name("results.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_has_the_recorded_json(name: str) -> None:
    """The order of its keys, too. A difference is a change for scripts."""
    shown = json.dumps(RESULTS[name].to_json(), indent=1).replace(f'"{socket.gethostname()}"', '"HOST"')
    assert shown == json.dumps(RECORDED[name], indent=1)


def test_nothing_recorded_is_left_over() -> None:
    """Each record belongs to a value."""
    assert RECORDED.keys() == RESULTS.keys()


def test_a_whole_reject_has_its_bytes() -> None:
    """As hexadecimal digits, and null for a tombstone's value."""
    bytes_of = {"key": "6b", "value": None, "headers": [{"key": "h", "value": "76"}]}
    assert REJECT.to_json(whole=True) == REJECT.to_json() | bytes_of
