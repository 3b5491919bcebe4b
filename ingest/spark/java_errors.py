"""The cause under a Java exception, which Hudi, Spark and py4j wrap several times."""

from collections.abc import Iterator
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

MAX_CHARS: Final = 500

UNREACHABLE: Final = frozenset(
    {
        "ConnectException",
        "NoRouteToHostException",
        "SocketTimeoutException",
        "UnknownHostException",
        "SdkClientException",  # no answer from S3, whose error answers are AmazonS3Exceptions
        "NoHttpResponseException",
        "StandbyException",  # HDFS: the other name node is the active one
        "RetriableException",
        "SafeModeException",
    }
)
_S3_ANSWERS: Final = frozenset({"AmazonS3Exception", "AmazonServiceException"})
_TOO_MANY, _SERVER_ERROR = 429, 500
NO_ROOM: Final = ("No space left on device", "Disk quota exceeded", "File too large")
"""The operating system's texts for ENOSPC, EDQUOT and EFBIG.  Java passes them on."""
LOCKED: Final = frozenset({"HoodieLockException", "HoodieWriteConflictException"})
DAMAGED: Final = frozenset(
    {
        "AvroRuntimeException",
        "ChecksumException",
        "EOFException",
        "IllegalArgumentException",
        "IllegalStateException",
        "InvalidAvroMagicException",
        "JsonParseException",
        "NullPointerException",
        "NumberFormatException",
        "TableNotFoundException",
    }
)
"""Exceptions of a file with the wrong content, or without any: another try reads the same bytes."""


def root_cause(error: Exception) -> str:
    """Return class and text of the deepest exception.  One without a text borrows the one above it.

    The first line counts, and the lines after a line that ends with a colon, because Hudi lists its culprits
    there.
    """
    silent: list[str] = []
    for java in reversed(list(chain(error))):
        name = java.getClass().getSimpleName()
        message = (java.getMessage() or "").strip()
        if message:
            return f"{name}: {_text(message)}" + "".join(f" ({wrapper})" for wrapper in silent)
        silent.append(name)
    return ", ".join(silent) or f"{type(error).__name__}: {error}"


def class_names(error: Exception) -> frozenset[str]:
    """Return the simple class names of all exceptions in the chain."""
    return frozenset(java.getClass().getSimpleName() for java in chain(error))


def has_no_room(error: Exception) -> bool:
    """Tell whether a write failed because the storage is full."""
    return any(text in (java.getMessage() or "") for java in chain(error) for text in NO_ROOM)


def is_damage(error: Exception) -> bool:
    """Tell whether a file's content is at fault, not the way to it."""
    names = class_names(error)
    return bool(names & DAMAGED) and not is_unreachable(error)


def is_unreachable(error: Exception) -> bool:
    """Tell whether the storage did not answer, or could not serve: another try may succeed."""
    return bool(class_names(error) & UNREACHABLE) or any(map(_is_overloaded, chain(error)))


def _is_overloaded(java: Any) -> bool:
    """Tell whether S3 answered that it cannot serve now: 429 and 5xx."""
    if java.getClass().getSimpleName() not in _S3_ANSWERS:
        return False
    status = int(java.getStatusCode())
    return status == _TOO_MANY or status >= _SERVER_ERROR


def chain(error: Exception) -> Iterator[Any]:
    """Walk from the Java exception that reached Python down to its cause."""
    java = _java(error)
    while java is not None:
        yield java
        java = java.getCause()


def _text(message: str) -> str:
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    text = lines[0]
    if text.endswith(":"):
        text = f"{text} {'; '.join(' '.join(line.split()) for line in lines[1:])}"
    return text[:MAX_CHARS]


def _java(error: Exception) -> Any | None:
    """Return the Java exception inside pyspark's, which keeps it as `_origin` in pyspark's own classes."""
    if isinstance(error, Py4JJavaError):
        return error.java_exception
    return getattr(error, "_origin", None) if isinstance(error, PySparkException) else None
