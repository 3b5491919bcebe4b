"""Limits of one request to a server: its whole time, and the length of its answer.

httpx limits the wait for each packet only, so a server that sends a byte a second would hold a run forever.
"""

import threading
import time
from collections.abc import Iterable
from typing import Any, Final

import attrs
import httpcore2
import httpx2

LONGEST_BODY: Final = 64 * 1024 * 1024
"""Bytes of an answer, decompressed: a list of 200,000 names has about 20 MB."""


class TooLongError(ValueError):
    """An answer longer than any that a registry gives."""


def limit_requests(session: httpx2.Client, seconds: float) -> None:
    """Bound each request of a session: `seconds` from its first packet to its last, and `LONGEST_BODY`.

    The client libraries make their sessions themselves, and httpx has no setting for either limit.
    """
    clock = _Clock(seconds)
    session._transport = _limited(session._transport, clock)  # noqa: SLF001
    session._mounts = {  # noqa: SLF001
        pattern: transport and _limited(transport, clock)
        for pattern, transport in session._mounts.items()  # noqa: SLF001
    }


def _limited(transport: httpx2.BaseTransport, clock: "_Clock") -> "_LimitedTransport":
    pool = getattr(transport, "_pool", None)
    if pool is not None:
        pool._network_backend = _Backend(pool._network_backend, clock)  # noqa: SLF001
    return _LimitedTransport(transport, clock)


class _Clock(threading.local):
    """The time that is left of a thread's request."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.end = time.monotonic() + seconds

    def start(self) -> None:
        self.end = time.monotonic() + self.seconds

    def left(self, timeout: float | None, error: type[Exception]) -> float:
        left = self.end - time.monotonic()
        if left <= 0:
            raise error("the whole answer takes too long")
        return left if timeout is None else min(timeout, left)


@attrs.frozen
class _LimitedTransport(httpx2.BaseTransport):
    inner: httpx2.BaseTransport
    clock: _Clock

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request, and read all of its answer."""
        self.clock.start()
        answer = self.inner.handle_request(request)
        answer.request = request
        body = bytearray()
        try:
            for chunk in answer.iter_bytes():
                body += chunk
                if len(body) > LONGEST_BODY:
                    raise TooLongError(f"the answer is longer than {LONGEST_BODY >> 20} MiB")
        finally:
            answer.close()
        left_out = ("content-encoding", "content-length", "transfer-encoding")
        headers = [pair for pair in answer.headers.multi_items() if pair[0].lower() not in left_out]
        return httpx2.Response(
            answer.status_code, headers=headers, content=bytes(body), extensions=answer.extensions
        )

    def close(self) -> None:
        self.inner.close()


@attrs.frozen
class _Backend(httpcore2.NetworkBackend):
    inner: httpcore2.NetworkBackend
    clock: _Clock

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        seconds = self.clock.left(timeout, httpcore2.ConnectTimeout)
        stream = self.inner.connect_tcp(host, port, seconds, local_address, socket_options)
        return _Stream(stream, self.clock)


@attrs.frozen
class _Stream(httpcore2.NetworkStream):
    inner: httpcore2.NetworkStream
    clock: _Clock

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self.inner.read(max_bytes, self.clock.left(timeout, httpcore2.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self.inner.write(buffer, self.clock.left(timeout, httpcore2.WriteTimeout))

    def close(self) -> None:
        self.inner.close()

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        seconds = self.clock.left(timeout, httpcore2.ConnectTimeout)
        return _Stream(self.inner.start_tls(ssl_context, server_hostname, seconds), self.clock)

    def get_extra_info(self, info: str) -> Any:
        return self.inner.get_extra_info(info)
