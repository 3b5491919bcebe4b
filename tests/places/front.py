"""A proxy in front of an S3 server: it counts requests, and breaks those that a test chooses."""

import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from http.client import HTTPConnection, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Literal
from urllib.parse import unquote, urlsplit

import attrs

Fault = Literal["pass", "cut", "unanswered", "busy", "slow", "unconditional"]
"""Forward; cut the connection in the middle of the request; carry it out, but cut before the answer; answer
503; wait; carry it out without its conditions."""

SLOW_S: Final = 3.0
_CONDITIONS: Final = frozenset({"if-match", "if-none-match"})
_HOPS: Final = frozenset({"connection", "keep-alive", "transfer-encoding", "expect"})


@attrs.frozen
class Request:
    """A request, by its method, and its path and query as the client sent them."""

    method: str
    target: str

    @property
    def path(self) -> str:
        """The path, decoded, without the query."""
        return unquote(urlsplit(self.target).path)

    @property
    def is_listing(self) -> bool:
        """Tell whether it lists a folder."""
        return self.method == "GET" and "list-type=" in self.target


def forward(_: Request) -> Fault:
    """Break nothing."""
    return "pass"


def first(number: int, chosen: Callable[[Request], bool], fault: Fault) -> Callable[[Request], Fault]:
    """Break the first requests that are chosen, and forward all others."""
    lock, hits = threading.Lock(), Counter[str]()

    def decide(request: Request) -> Fault:
        if not chosen(request):
            return "pass"
        with lock:
            hits["chosen"] += 1
            return fault if hits["chosen"] <= number else "pass"

    return decide


@attrs.define
class Front:
    """A running proxy: `decide` may be replaced at any time."""

    port: int
    decide: Callable[[Request], Fault] = forward
    requests: list[Request] = attrs.Factory(list)
    broken: list[Request] = attrs.Factory(list)
    turn: threading.Lock = attrs.Factory(threading.Lock)
    """Held by the conditional write that the server carries out."""

    def counts(self) -> dict[str, int]:
        """Return the number of requests by kind."""
        return dict(
            Counter("LIST" if request.is_listing else request.method for request in list(self.requests))
        )


@contextmanager
def front_of(upstream: int) -> Iterator[Front]:
    """Serve on a free port of loopback."""
    front = Front(0)

    class Handler(_Forwarder):
        """Asks this proxy."""

        server_port, proxy = upstream, front

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    front.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield front
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Forwarder(BaseHTTPRequestHandler):
    """Forwards a request, or breaks it."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server_port: int
    proxy: Front

    def _serve(self) -> None:
        request = Request(self.command, self.path)
        self.proxy.requests.append(request)
        fault = self.proxy.decide(request)
        if fault != "pass":
            self.proxy.broken.append(request)
        length = int(self.headers.get("Content-Length") or 0)
        if fault == "cut":
            self._forward(self.rfile.read(length // 2), length)
            self._drop()
            return
        body = self.rfile.read(length)
        if fault == "busy":
            self._answer(503, [("x-amz-request-id", "busy")], _BUSY)
            return
        if fault == "slow":
            time.sleep(SLOW_S)
        answer = self._carry_out(body, length, is_unconditional=fault == "unconditional")
        if fault == "unanswered" or answer is None:
            self._drop()
            return
        status, headers, content = answer
        self._answer(status, headers, content)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _serve  # noqa: N815  http.server's names

    def _carry_out(
        self, body: bytes, length: int, *, is_unconditional: bool
    ) -> tuple[int, list[tuple[str, str]], bytes] | None:
        """Send a whole request on; conditional writes one at a time, since S3Mock examines, then writes."""
        is_conditional = any(name in self.headers for name in _CONDITIONS)
        with self.proxy.turn if is_conditional else nullcontext():
            return self._forward(body, length, _HOPS | (_CONDITIONS if is_unconditional else frozenset()))

    def _forward(
        self, body: bytes, length: int, hidden: frozenset[str] = _HOPS
    ) -> tuple[int, list[tuple[str, str]], bytes] | None:
        """Send a request on, its body cut off where it is shorter than its length."""
        connection = HTTPConnection("127.0.0.1", self.server_port, timeout=60)
        try:
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in hidden:
                    connection.putheader(name, value)
            connection.endheaders(body or None)
            if len(body) < length:
                return None
            response: HTTPResponse = connection.getresponse()
            return response.status, response.getheaders(), response.read()
        except OSError:
            return None
        finally:
            connection.close()

    def _answer(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
        self.send_response_only(status)
        names = {name.lower() for name, _ in headers}
        for name, value in headers:
            if name.lower() not in _HOPS:
                self.send_header(name, value)
        if "content-length" not in names:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _drop(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


_BUSY: Final = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
