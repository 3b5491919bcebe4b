"""Servers as local processes."""

import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.patience import PATIENCE_S

_POLL_S: Final = 0.2
_LOG_BYTES: Final = 4000


@contextmanager
def running(
    command: Sequence[str | Path],
    log: Path,
    is_up: Callable[[], bool],
    env: Mapping[str, str] | None = None,
) -> Iterator[None]:
    """Run a server in the folder of its log, and wait until it is up.  A failure shows the end of the log."""
    with (
        log.open("wb") as output,
        subprocess.Popen(command, cwd=log.parent, stdout=output, stderr=output, env=env) as process,
    ):
        try:
            until = time.monotonic() + PATIENCE_S
            while not is_up():
                is_late = process.poll() is not None or time.monotonic() > until
                assert not is_late, log.read_text()[-_LOG_BYTES:]
                time.sleep(_POLL_S)
            yield
        finally:
            process.terminate()
            process.wait(60)
