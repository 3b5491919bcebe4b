"""The check of commit subjects, and the hooks that run it."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / ".ci" / "subject.py"
PRE_COMMIT = Path(sys.executable).with_name("pre-commit")


def check(folder: Path, message: str) -> subprocess.CompletedProcess[str]:
    """Check a message as the hook does."""
    path = folder / "COMMIT_EDITMSG"
    path.write_text(message, encoding="utf-8")
    return subprocess.run(
        [sys.executable, str(SCRIPT), str(path)], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    "message",
    [
        "Add a check of commit subjects\n",
        "Process each record once, and embed its key\n\nThe reason.\n",
        "Bring the brokers' version to 4.1.1\n",
        f"{'Add ' * 18}",
        "# Please enter the commit message\nFix the lock\n# Changes to be committed:\n",
        f"Fix the lock\n\n# ---- >8 ----\n{'diff ' * 30}\n",
        "Merge branch 'main' into a branch with a name that is much longer than seventy-two characters",
        f'Revert "{"Fix the lock " * 6}"\n',
        "fixup! Fix the lock\n",
    ],
)
def test_one_imperative_sentence_passes(message: str, tmp_path: Path) -> None:
    """With or without a body, comments of git, and the subjects that git writes."""
    done = check(tmp_path, message)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ("", "has no subject"),
        ("# only comments\n", "has no subject"),
        (f"Fix {'x' * 69}", "has 73 characters; allowed: 72"),
        ("fix the lock", "capital letter: fix"),
        ("Fixed the lock", "imperative"),
        ("Fixes the lock", "imperative"),
        ("Fixing the lock", "imperative"),
        ("The lock is fixed", "imperative"),
        ("Lock: wait for it", "imperative"),
        ("Fix the lock.", "one sentence"),
        ("Fix the lock; wait for it", "one sentence"),
        ("Fix the lock\nand wait for it", "an empty line"),
    ],
)
def test_another_subject_is_refused_with_the_rule(message: str, problem: str, tmp_path: Path) -> None:
    """The hook says which rule a message breaks."""
    done = check(tmp_path, message)
    assert done.returncode == 1
    assert problem in done.stderr


def test_the_hooks_are_programs_of_the_checkout() -> None:
    """The configuration is valid, and no hook is fetched from a network."""
    config = ROOT / ".pre-commit-config.yaml"
    subprocess.run([str(PRE_COMMIT), "validate-config", str(config)], check=True)
    lines = [line.strip() for line in config.read_text(encoding="utf-8").splitlines()]
    assert [line for line in lines if line.startswith("- repo:")] == ["- repo: local"]
    assert {line for line in lines if line.startswith("language:")} == {"language: system"}
    entries = [line.split()[1:] for line in lines if line.startswith("entry:")]
    assert [entry[0] for entry in entries if not (ROOT / entry[0]).exists()] == []
    scripts = [word for entry in entries for word in entry if word.endswith(".py")]
    assert [script for script in scripts if not (ROOT / script).exists()] == []
