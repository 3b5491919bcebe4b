"""TCP ports on loopback."""

import errno
import random
import socket
from typing import Final

from ingest.errors import LocalServerError, UsageError

LOOPBACK: Final = "127.0.0.1"
CHOICE: Final = range(20000, 30000)
"""Below Linux's ephemeral ports (32768…): no outgoing connection sits on a port kept for the next start."""


def choose_port(excluded: frozenset[int] = frozenset()) -> int:
    """Choose a free port."""
    candidates = random.sample(CHOICE, k=200)
    for port in candidates:
        if port not in excluded and port_problem(port) == "":
            return port
    raise LocalServerError("servers", f"no free port between {CHOICE.start} and {CHOICE.stop}")


def check_port(server: str, port: int, flag: str) -> None:
    """Check that a server could listen on a port.  Raises LocalServerError."""
    if problem := port_problem(port):
        raise LocalServerError(
            server, f"port {port} {problem}", todo=f"Free it, or choose another with {flag}"
        )


def check_number(port: int | None, flag: str) -> None:
    """Check that a number is a TCP port.  Raises UsageError."""
    highest = 65535
    if port is not None and not 1 <= port <= highest:
        raise UsageError(f"{flag} {port} is not a port; allowed: 1 to {highest}")


def port_problem(port: int) -> str:
    """Return the reason why a port of loopback cannot be used, or an empty text if it can."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as Java does: TIME_WAIT is free
        try:
            listener.bind((LOOPBACK, port))
        except OSError as error:
            in_use = error.errno == errno.EADDRINUSE
            return "is taken by another process" if in_use else f"cannot be used: {error.strerror}"
    return ""


def listens(port: int) -> bool:
    """Tell whether something accepts connections on a port."""
    try:
        with socket.create_connection((LOOPBACK, port), timeout=1):
            return True
    except OSError:
        return False
