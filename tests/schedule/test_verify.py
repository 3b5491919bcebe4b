"""IngestVerifyOperator over programs that behave like `ingest verify`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ingest.schedule import IngestVerifyOperator
from ingest.schedule.states import AirflowException, AirflowFailException
from tests.schedule.reports import script

Make = Callable[..., str]
ROWS = {"missing": 0, "extra": 0, "doubled": 0, "different": 0, "in_flight": 0}
EQUAL = {"tables": [{"table": "t", "outcome": "equal", "rows": ROWS, "error": None}]}
DIFFERENT = {
    "tables": [{"table": "t", "outcome": "different", "rows": {**ROWS, "missing": 3}, "error": None}]
}
SHARDED = {
    "tables": [
        {
            **DIFFERENT["tables"][0],
            "topics": [
                {**EQUAL["tables"][0], "topic": "s1.t"},
                {**DIFFERENT["tables"][0], "topic": "s2.t"},
            ],
        }
    ]
}


def test_equal_tables_return_the_answer(program: Make, context: dict[str, Any]) -> None:
    """It is the XCom, too; no asset changes."""
    executable = program(script(0, EQUAL))
    task = IngestVerifyOperator(task_id="v", executable=executable, tables="t", run_args=["--keys"])
    assert task.execute(context) == EQUAL
    assert context["ti"].pushed == {"report": EQUAL}
    assert task.outlets == []
    arguments = json.loads(Path(executable).with_name("called.json").read_text())["argv"]
    assert arguments[:2] == ["verify", "t"]
    assert arguments[-1] == "--keys"


@pytest.mark.parametrize(
    ("code", "answer", "error", "words"),
    [
        (1, DIFFERENT, AirflowFailException, "t: 3 missing"),
        (1, SHARDED, AirflowFailException, "t from s2.t: 3 missing"),
        (75, DIFFERENT, AirflowException, "a retry may succeed"),
        (2, None, AirflowFailException, "not set up correctly"),
        (0, None, AirflowFailException, "wrote no run report"),
    ],
)
def test_the_exit_code_decides_on_a_retry(
    code: int, answer: Any, error: type[Exception], words: str, *, program: Make, context: dict[str, Any]
) -> None:
    """Tables that differ would differ again."""
    task = IngestVerifyOperator(task_id="v", executable=program(script(code, answer)), tables="t")
    with pytest.raises(error, match=words) as raised:
        task.execute(context)
    assert type(raised.value) is error
