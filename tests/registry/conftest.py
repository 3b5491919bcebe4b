"""A stage for registries: folders on disk, and real HTTP servers that play what a test tells them."""

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import attrs
import pytest

from tests.certificates import Certificates, make_certificates


@attrs.frozen
class SignalRequest:
    """One request as the server saw it."""

    method: str
    path: str
    headers: dict[str, str]
    body: str


@attrs.frozen
class Server:
    """A server that plays; `asked` grows with every request."""

    url: str
    asked: list[SignalRequest]


Play = Callable[[SignalRequest], tuple[int, Any]]
Stage = Callable[..., Server]


@pytest.fixture
def stage() -> Iterator[Stage]:
    """Start servers on loopback: `stage(play)`, or `stage(play, tls=context)`."""
    started: list[ThreadingHTTPServer] = []

    def start(play: Play, tls: ssl.SSLContext | None = None) -> Server:
        requests: list[SignalRequest] = []
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(play, requests))
        server.handle_error = lambda *_: None  # type: ignore[method-assign] # refused handshakes
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        started.append(server)
        return Server(f"http{'s' if tls else ''}://127.0.0.1:{server.server_port}", requests)

    yield start
    for server in started:
        server.shutdown()
        server.server_close()


def _handler(play: Play, asked: list[SignalRequest]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Answer everything with the result of `play`: a text as it is, all else as JSON."""

        def answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length).decode()
            request = SignalRequest(self.command, self.path, dict(self.headers), body)
            asked.append(request)
            status, text = play(request)
            payload = (text if isinstance(text, str) else json.dumps(text)).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815 - http.server's names

        def log_message(self, *_: object) -> None:
            """Stay silent."""

    return Handler


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Make a CA and its certificates."""
    return make_certificates(tmp_path_factory.mktemp("certificates"))
