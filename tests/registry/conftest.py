"""A stage for registries: folders on disk, and real HTTP servers that play what a test tells them."""

import datetime as dt
import ipaddress
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import attrs
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@attrs.frozen
class Asked:
    """One request as the server saw it."""

    method: str
    path: str
    headers: dict[str, str]
    body: str


@attrs.frozen
class Server:
    """A server that plays; `asked` grows with every request."""

    url: str
    asked: list[Asked]


Play = Callable[[Asked], tuple[int, Any]]
Stage = Callable[..., Server]


@pytest.fixture
def stage() -> Iterator[Stage]:
    """Start servers on loopback: `stage(play)`, or `stage(play, tls=context)`."""
    started: list[ThreadingHTTPServer] = []

    def start(play: Play, tls: ssl.SSLContext | None = None) -> Server:
        asked: list[Asked] = []
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(play, asked))
        server.handle_error = lambda *_: None  # type: ignore[method-assign] # refused handshakes
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        started.append(server)
        return Server(f"http{'s' if tls else ''}://127.0.0.1:{server.server_port}", asked)

    yield start
    for server in started:
        server.shutdown()
        server.server_close()


def _handler(play: Play, asked: list[Asked]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Answer everything with what `play` returns: a text as it is, all else as JSON."""

        def answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length).decode()
            request = Asked(self.command, self.path, dict(self.headers), body)
            asked.append(request)
            status, said = play(request)
            payload = (said if isinstance(said, str) else json.dumps(said)).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815 - http.server's names

        def log_message(self, *_: object) -> None:
            """Stay silent."""

    return Handler


@attrs.frozen
class Certificates:
    """PEM files: a CA, a server's pair for 127.0.0.1, a client's pair whose key has a password."""

    ca: Path
    server: Path
    server_key: Path
    client: Path
    client_key: Path
    client_key_password: str


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Make a CA and what it signs."""
    folder = tmp_path_factory.mktemp("certificates")
    ca_key = ec.generate_private_key(ec.SECP256R1())
    ca = _signed(ca_key.public_key(), "test ca", ca_key, None)
    (folder / "ca.pem").write_bytes(ca.public_bytes(serialization.Encoding.PEM))
    for name, password in (("server", None), ("client", b"tr0ub4dor")):
        key = ec.generate_private_key(ec.SECP256R1())
        pem = _signed(key.public_key(), name, ca_key, ca).public_bytes(serialization.Encoding.PEM)
        (folder / f"{name}.pem").write_bytes(pem)
        (folder / f"{name}.key").write_bytes(_key_pem(key, password))
    return Certificates(
        folder / "ca.pem",
        folder / "server.pem",
        folder / "server.key",
        folder / "client.pem",
        folder / "client.key",
        "tr0ub4dor",
    )


def _key_pem(key: ec.EllipticCurvePrivateKey, password: bytes | None) -> bytes:
    encryption = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)


def _signed(
    public: ec.EllipticCurvePublicKey,
    name: str,
    signer: ec.EllipticCurvePrivateKey,
    issuer: x509.Certificate | None,
) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.subject if issuer else subject)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .sign(signer, hashes.SHA256())
    )
