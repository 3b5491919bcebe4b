"""A proxy in front of the real registry: it forwards requests, or answers them as the test demands."""

import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final
from urllib.parse import urlsplit

import attrs


@attrs.frozen
class Answer:
    """An HTTP answer; `is_cut` closes the connection in the middle of the body."""

    status: int
    body: bytes
    is_cut: bool = False


_DIRECT: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))

Play = Callable[[str, Answer], Answer | None]
"""Returns the answer to a request, from its path and the registry's answer; None never answers."""


def as_it_is(_: str, answer: Answer) -> Answer:
    """Return the registry's own answer."""
    return answer


def saying(status: int, message: str) -> Play:
    """Answer every request with a status, in the registry's error format."""
    body = json.dumps({"error_code": status * 100 + 1, "message": message}).encode()
    return lambda _, __: Answer(status, body)


def only(part: str, play: Play) -> Play:
    """Apply `play` to requests with a text in their path, and forward the others."""
    return lambda path, answer: play(path, answer) if part in path else answer


@attrs.define
class Front:
    """A running proxy: `play` decides its answers, and can be replaced at any time."""

    url: str
    play: Play = as_it_is
    asked: list[str] = attrs.Factory(list)
    """The path of every request."""


@contextmanager
def front_of(registry_url: str, silent_s: float = 1.0) -> Iterator[Front]:
    """Serve on a free port; an unanswered request stays open for `silent_s`."""
    upstream = urlsplit(registry_url)
    front = Front("")

    class Handler(BaseHTTPRequestHandler):
        """Forwards requests to the registry, and answers as `play` decides."""

        def do_GET(self) -> None:
            """Answer."""
            front.asked.append(self.path)
            answer = front.play(self.path, _ask(f"{upstream.scheme}://{upstream.netloc}{self.path}"))
            if answer is None:
                time.sleep(silent_s)
                self.close_connection = True
                return
            self.send_response(answer.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body[: len(answer.body) // 2] if answer.is_cut else answer.body)
            self.close_connection = True

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    front.url = f"http://127.0.0.1:{server.server_port}{upstream.path}"
    try:
        yield front
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _ask(url: str) -> Answer:
    try:
        with _DIRECT.open(url) as response:
            return Answer(response.status, response.read())
    except urllib.error.HTTPError as error:
        return Answer(error.code, error.read())
