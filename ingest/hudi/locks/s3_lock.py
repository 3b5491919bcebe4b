"""A lock in S3 by conditional writes, with the client that Hadoop's S3A opened.

Hudi's own lock for S3 needs `hudi-aws-bundle` for its client.  S3A has a client with the user's credentials,
and conditions are headers of a request: `If-None-Match: *` creates an object once, `If-Match` replaces it
only as it was read (S3 since November 2024).  A store that ignores them is refused.
"""

import threading
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final
from uuid import uuid4

import attrs
from py4j.protocol import Py4JError, Py4JJavaError

from ingest.spark.java_errors import class_names

EXPIRY_S: Final = 120.0
"""A holder is dead this long after its last beat, by the server's clock."""
BEAT_S: Final = 20.0
FREE: Final = ""
"""The note of a lock that is released."""
_LOST: Final = frozenset({404, 409, 412})
"""Another writer was first: the object is gone, is being written, or is not as it was read."""
_NOT_FOUND: Final = 404
_OBEYING: Final = set[str]()
"""Buckets whose server is known to obey conditions."""
_ABSENT: Final = {"If-None-Match": "*"}


class UnconditionalStoreError(Exception):
    """The store carries out writes whose condition does not hold."""


@attrs.frozen
class _Stored:
    """The lock's object: its text, its version, and its age by the server's clock."""

    text: str
    etag: str
    age_s: float


class S3Lock:
    """One object, whose text is a random name of this holder and the holder's note."""

    def __init__(self, jvm: Any, files: Any, path: Any) -> None:
        self._jvm = jvm
        self._client = files.getAmazonS3ClientForTesting("lock")
        self._bucket = files.getBucket()
        self._key = f"{path.toUri().getPath().strip('/')}/lock.json"
        self._name = uuid4().hex
        self._over = threading.Event()

    def take(self, note: str) -> bool:
        """Try once.  Raises UnconditionalStoreError for a store that does not obey conditions."""
        stored = self._read()
        if stored is not None and stored.text != FREE and stored.age_s < EXPIRY_S:
            return False
        if not self._write(self._text(note), _ABSENT if stored is None else _unchanged(stored.etag)):
            return False
        self._check_store(note)
        threading.Thread(target=self._beat, args=(note,), name="lock-beat", daemon=True).start()
        return True

    def note(self) -> str:
        """Read the holder's note."""
        stored = self._read()
        return stored.text.partition("\n")[2] if stored else ""

    def is_mine(self, note: str) -> bool:
        """Tell whether the object names this holder, and was beaten in time."""
        stored = self._read()
        return stored is not None and stored.text == self._text(note) and stored.age_s < EXPIRY_S

    def release(self, note: str) -> None:
        """Stop beating, and free the lock if it is ours."""
        self.stop()
        try:
            stored = self._read()
            if stored is not None and stored.text == self._text(note):
                self._write(FREE, _unchanged(stored.etag))
        except Py4JError:
            return  # it expires

    def stop(self) -> None:
        """Stop beating: the lock expires."""
        self._over.set()

    def _text(self, note: str) -> str:
        return f"{self._name}\n{note}"

    def _beat(self, note: str) -> None:
        while not self._over.wait(BEAT_S):
            try:
                stored = self._read()
                if stored is None or stored.text != self._text(note):
                    return  # `is_mine` says so before a commit
                self._write(stored.text, _unchanged(stored.etag))
            except Py4JError:
                continue  # the next beat may reach the server, or else the lock expires

    def _check_store(self, note: str) -> None:
        """Write the same text under conditions that do not hold."""
        if self._bucket in _OBEYING:
            return
        for condition in (_ABSENT, _unchanged("0" * 32)):
            if self._put(self._text(note), condition):
                self._write(FREE, {})
                raise UnconditionalStoreError(f"bucket {self._bucket}: {next(iter(condition))} is ignored")
        _OBEYING.add(self._bucket)

    def _read(self) -> _Stored | None:
        try:
            found = self._client.getObject(self._bucket, self._key)
        except Py4JJavaError as error:
            if _status(error) == _NOT_FOUND:
                return None
            raise
        try:
            text = bytes(found.getObjectContent().readAllBytes()).decode(errors="replace")
            metadata = found.getObjectMetadata()
            return _Stored(text, metadata.getETag(), _age_s(metadata))
        finally:
            found.close()

    def _write(self, text: str, condition: dict[str, str]) -> bool:
        """Write under a condition.  An attempt without an answer may have succeeded before the second one."""
        if self._put(text, condition):
            return True
        stored = self._read()
        return stored is not None and stored.text == text != FREE

    def _put(self, text: str, condition: dict[str, str]) -> bool:
        model = self._jvm.com.amazonaws.services.s3.model
        metadata, content = model.ObjectMetadata(), bytearray(text.encode())
        metadata.setContentLength(len(content))
        stream = self._jvm.java.io.ByteArrayInputStream(content)
        request = model.PutObjectRequest(self._bucket, self._key, stream, metadata)
        for name, value in condition.items():
            request.putCustomRequestHeader(name, value)
        try:
            self._client.putObject(request)
        except Py4JJavaError as error:
            if _status(error) in _LOST:
                return False
            raise
        return True


def forget_stores() -> None:
    """Forget which stores obey conditions: the next lock examines its store again."""
    _OBEYING.clear()


def _unchanged(etag: str) -> dict[str, str]:
    return {"If-Match": f'"{etag}"'}


def _status(error: Py4JJavaError) -> int:
    """Return the HTTP status of S3's refusal, or 0 for another error."""
    return int(error.java_exception.getStatusCode()) if "AmazonS3Exception" in class_names(error) else 0


def _age_s(metadata: Any) -> float:
    """Return an object's age by the server's clock, which its answer shows."""
    date = metadata.getRawMetadataValue("Date")
    now = parsedate_to_datetime(str(date)) if date else datetime.now(UTC)
    return now.timestamp() - float(metadata.getLastModified().getTime()) / 1000
