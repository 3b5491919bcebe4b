"""Secrets in a file that other users of the machine can read."""

import logging
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path


def readable_by_all(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Return the files that every user of this machine can read; missing ones are left out."""
    return tuple(path for path in paths if path.is_file() and path.stat().st_mode & stat.S_IROTH)


def warn_if_readable(file: Path, secret_keys: Sequence[str]) -> None:
    """Log a warning for secrets in a settings file that everybody may read; the group is a team's choice."""
    if not secret_keys:
        return
    mode = stat.S_IMODE(file.stat().st_mode)
    if mode & stat.S_IROTH:
        logging.getLogger(__name__).warning(
            "%s holds secrets (%s), and every user of this machine can read it (mode %03o): "
            "run `chmod o-r %s`, or keep the secrets in files or variables",
            file, ", ".join(secret_keys), mode, file,
        )  # fmt: skip
