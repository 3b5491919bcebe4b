"""The programs that a test's process finds."""

import os
from pathlib import Path


def programs_without(folder: Path, unwanted: set[str]) -> Path:
    """Return a folder that has all programs of PATH except some."""
    folder.mkdir()
    for path in reversed(os.environ["PATH"].split(os.pathsep)):
        for program in Path(path).iterdir() if Path(path).is_dir() else ():
            if program.name not in unwanted:
                (folder / program.name).unlink(missing_ok=True)
                (folder / program.name).symlink_to(program)
    return folder
