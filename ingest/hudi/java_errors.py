"""The reason under a Java exception, which Hudi, Spark and py4j wrap several times over."""

from collections.abc import Iterator
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

MOST_CHARS: Final = 500

UNREACHABLE: Final = frozenset(
    {
        "ConnectException",
        "NoRouteToHostException",
        "SocketTimeoutException",
        "UnknownHostException",
        "SdkClientException",  # S3: no answer; an answer with an error is an AmazonS3Exception
    }
)
NO_ROOM: Final = ("No space left on device", "Disk quota exceeded", "File too large")
"""What the operating system says of ENOSPC, EDQUOT and EFBIG; Java passes it on."""
LOCKED: Final = frozenset({"HoodieLockException", "HoodieWriteConflictException"})


def root_cause(error: Exception) -> str:
    """Give class and first line of the deepest exception; one without a message borrows the one above it."""
    silent: list[str] = []
    for java in reversed(list(chain(error))):
        name = java.getClass().getSimpleName()
        message = (java.getMessage() or "").strip()
        if message:
            line = message.splitlines()[0][:MOST_CHARS]
            return f"{name}: {line}" + "".join(f" ({one})" for one in silent)
        silent.append(name)
    return ", ".join(silent) or f"{type(error).__name__}: {error}"


def class_names(error: Exception) -> frozenset[str]:
    """Give the simple class names of all exceptions in the chain."""
    return frozenset(java.getClass().getSimpleName() for java in chain(error))


def has_no_room(error: Exception) -> bool:
    """Tell whether a write failed for want of room."""
    return any(words in (java.getMessage() or "") for java in chain(error) for words in NO_ROOM)


def chain(error: Exception) -> Iterator[Any]:
    """Walk from the Java exception that reached Python down to its cause."""
    java = _java(error)
    while java is not None:
        yield java
        java = java.getCause()


def _java(error: Exception) -> Any | None:
    """Take the Java exception out of what pyspark raised; its own classes keep it as `_origin`."""
    if isinstance(error, Py4JJavaError):
        return error.java_exception
    return getattr(error, "_origin", None) if isinstance(error, PySparkException) else None
