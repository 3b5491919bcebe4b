"""A server that sends slowly, much or without end: an error within the limits, whatever it sends."""

import gzip
import socket
import threading
import time
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from ingest.errors import NoRegistryError, RegistryUnreachableError
from ingest.names import Subject
from ingest.registry import open_registry
from ingest.registry.limits import LONGEST_BODY
from ingest.settings import RegistrySettings, Secret

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
Address = str


@pytest.fixture
def raw() -> Iterator[Any]:
    """Start a server that sends the given pieces to every client, with a pause before each."""
    sockets = []

    def start(pieces: list[bytes], pause: float = 0.0) -> Address:
        server = socket.create_server(("127.0.0.1", 0))
        sockets.append(server)
        threading.Thread(target=_serve, args=(server, pieces, pause), daemon=True).start()
        return f"http://127.0.0.1:{server.getsockname()[1]}"

    yield start
    for server in sockets:
        server.close()


def _serve(server: socket.socket, pieces: list[bytes], pause: float) -> None:
    while True:
        try:
            client, _ = server.accept()
            with client:
                client.recv(65536)
                for piece in pieces:
                    time.sleep(pause)
                    client.sendall(piece)
        except OSError:  # the client has gone, or the test is over
            if server.fileno() < 0:
                return


def _bytes(text: bytes) -> list[bytes]:
    return [text[n : n + 1] for n in range(len(text))]


SLOW = {
    "body": [HEAD + b"Content-Length: 200\r\n\r\n", *_bytes(b" " * 200)],
    "headers": _bytes(HEAD + b"X: " + b"x" * 200),
}


@pytest.mark.parametrize("pieces", SLOW.values(), ids=SLOW)
def test_an_answer_byte_by_byte_ends_at_the_time_limit(raw: Any, pieces: list[bytes]) -> None:
    """Each byte comes in time, and the answer never ends."""
    settings = RegistrySettings(url=raw(pieces, 0.1), timeout_s=0.5, retries=0)
    started = time.monotonic()
    with pytest.raises(RegistryUnreachableError, match=r"list subjects: no whole answer within 0\.5 s"):
        open_registry(settings).subjects()
    assert time.monotonic() - started < 5


def test_a_token_server_has_the_same_time_limit(raw: Any) -> None:
    """It stands before every request."""
    settings = RegistrySettings(
        url="http://127.0.0.1:1", oauth_token_url=raw(SLOW["body"], 0.1), oauth_client_id="me",
        oauth_client_secret=Secret("geheim"), timeout_s=0.5, retries=0,
    )  # fmt: skip
    with pytest.raises(RegistryUnreachableError, match="fetch an OAuth token"):
        open_registry(settings).subjects()


@pytest.mark.parametrize("packed", [False, True])
def test_an_answer_without_end_is_given_up_by_its_length(raw: Any, packed: bool) -> None:  # noqa: FBT001
    """Also one that zlib packs into little: its length is that after unpacking."""
    body = b"[" + b" " * (LONGEST_BODY + 1)
    sent = gzip.compress(body, 1) if packed else body
    coding = b"Content-Encoding: gzip\r\n" if packed else b""
    head = HEAD + coding + b"Content-Length: %d\r\n\r\n" % len(sent)
    with pytest.raises(NoRegistryError, match="list subjects: the answer is longer than 64 MiB"):
        open_registry(RegistrySettings(url=raw([head, sent]), retries=0)).subjects()


def test_a_list_whose_pages_never_end_is_given_up(stage: Any) -> None:
    """A server that invents names, one on each page."""
    numbers = count(1)
    server = stage(lambda _: (200, [f"s{next(numbers)}"]))
    registry = open_registry(RegistrySettings(url=server.url))
    with pytest.raises(NoRegistryError, match="lists more than 1,000,000 entries or 1,000 pages"):
        registry.subjects()
    assert len(server.asked) == 1_000
    assert registry.url in server.url


def test_a_compressed_answer_is_read(raw: Any) -> None:
    """A proxy may compress."""
    sent = gzip.compress(b'["a","b"]')
    head = HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(sent)
    found = open_registry(RegistrySettings(url=raw([head, sent]))).subjects()
    assert found == (Subject("a"), Subject("b"))
