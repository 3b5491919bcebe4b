"""Check the subject of a commit: one imperative sentence of at most 72 characters.

`python .ci/subject.py FILE` reads the message that git has written into FILE, prints each problem, and exits
with 1 if there is one.  `make hooks` lets git run it at each commit.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

LIMIT: Final = 72
BY_GIT: Final = ("Merge ", 'Revert "', "Reapply ", "fixup! ", "squash! ", "amend! ")
"""Subjects that git writes itself."""
SCISSORS: Final = re.compile(r"^. -+ >8 -+$", re.MULTILINE)
"""`git commit --verbose` writes the diff below this line."""
OTHER_FORMS: Final = re.compile(
    r"(?!(Bring|Fling|Ping|Ring|Spring|Swing|Embed|Exceed|Feed|Need|Proceed|Seed|Shed|Speed|Alias|Bias|Focus)$)"
    r"(A|An|The|It|This|[A-Z][a-z]+(ed|ing|[^s]s))$"
)
"""Words that begin a report ("Added", "Adds", "Adding", "The …"), and not verbs that end like one."""


def main(path: Path) -> int:
    """Print the problems of a message; return 1 if it has any."""
    text = SCISSORS.split(path.read_text(encoding="utf-8"))[0]
    lines = [line.rstrip() for line in text.splitlines() if not line.startswith("#")]
    while lines and not lines[0]:
        del lines[0]
    if lines and lines[0].startswith(BY_GIT):
        return 0
    problems = list(_problems(lines))
    for problem in problems:
        print(f"commit message: {problem}", file=sys.stderr)
    return int(bool(problems))


def _problems(lines: list[str]) -> Iterator[str]:
    """Yield the rules that a message breaks."""
    if not lines:
        yield "has no subject"
        return
    subject, first = lines[0], lines[0].split()[0]
    if len(subject) > LIMIT:
        yield f"the subject has {len(subject)} characters; allowed: {LIMIT}. Move the rest to the body"
    if not subject[0].isupper():
        yield f"the subject must begin with a capital letter: {first}"
    if first.endswith(":") or OTHER_FORMS.match(first):
        yield f'the subject must begin with a verb in the imperative ("Add", not "Added" or "Adds"): {first}'
    if subject.endswith(".") or re.search(r"; |\. ", subject):
        yield "the subject must be one sentence, without a full stop"
    if lines[1:2] not in ([], [""]):
        yield "an empty line must follow the subject"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
