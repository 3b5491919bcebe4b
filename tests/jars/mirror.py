"""A Maven repository on loopback that cuts, stalls and refuses as a test asks it to."""

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import attrs

from tests.certificates import Certificates


@attrs.define
class Mirror:
    """The files by path, and the misbehaviour of the next answers."""

    files: dict[str, bytes | Path]
    url: str = ""
    requests: list[tuple[str, str]] = attrs.field(factory=list)
    """Path and range of each request."""
    cuts: list[int] = attrs.field(factory=list)
    """The next answers end after so many bytes."""
    statuses: list[int] = attrs.field(factory=list)
    """The next answers have these statuses and no body."""
    has_ranges: bool = True
    stalled: threading.Event | None = None
    """If set: answers stop in the middle until the event."""

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer a GET."""
        path, wanted = handler.path, handler.headers.get("Range", "")
        self.requests.append((path, wanted))
        name = next((name for name in self.files if path.endswith(name)), None)
        status = self.statuses.pop(0) if self.statuses else 404 if name is None else 200
        if status != 200 or name is None:
            handler.send_response(status)
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        source = self.files[name]
        content = source if isinstance(source, bytes) else source.read_bytes()
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and self.has_ranges else 0
        handler.send_response(206 if start else 200)
        handler.send_header("Content-Length", str(len(content) - start))
        handler.end_headers()
        self._send(handler, content[start:])

    def _send(self, handler: BaseHTTPRequestHandler, content: bytes) -> None:
        if self.stalled is not None:
            handler.wfile.write(content[: len(content) * 3 // 4])
            handler.wfile.flush()
            self.stalled.wait(60)
            return
        handler.wfile.write(content[: self.cuts.pop(0)] if self.cuts else content)


@contextmanager
def serve(files: dict[str, bytes | Path], certificates: Certificates | None = None) -> Iterator[Mirror]:
    """Serve files; with certificates by HTTPS."""
    mirror = Mirror(files)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.close_connection = True
            with suppress(ConnectionError):
                mirror.answer(self)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    scheme = "http"
    if certificates is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificates.server, certificates.server_key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        scheme = "https"
    mirror.url = f"{scheme}://127.0.0.1:{server.server_port}/maven"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield mirror
    finally:
        if mirror.stalled is not None:
            mirror.stalled.set()
        server.shutdown()
        server.server_close()
        thread.join()
