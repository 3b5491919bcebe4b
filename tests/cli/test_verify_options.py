"""The options of `ingest verify` that contradict each other, or say nothing."""

import pytest

from ingest.cli.app import call


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--counts", "--keys"], "--counts excludes --keys"),
        (["--keys", "--full"], "--keys excludes --full"),
        (["--as-is", "--wait", "5"], "--as-is excludes --wait"),
        (["--sample", "0%"], "--sample 0%: is not a share"),
        (["--sample", "5"], "--sample 5: is not a share"),
        (["--sample", "101%"], "--sample 101%: is not a share"),
        (["--execute"], "--execute needs --repair"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(
    options: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is opened; exit code 2."""
    assert call(["verify", "t", *options]) == 2
    assert text in capsys.readouterr().err
