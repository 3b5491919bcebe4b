"""A server that issues tokens to a client with a secret (OAuth 2), and publishes its key (JWKS)."""

import base64
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

import attrs
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

AUDIENCE: Final = "kafka"
LIFE_S: Final = 300


@attrs.frozen
class Issuer:
    """The server's addresses; `served` has the scope of each token that it issued."""

    url: str
    served: list[str] = attrs.Factory(list)

    @property
    def token_url(self) -> str:
        """The address that issues tokens."""
        return f"{self.url}/token"

    @property
    def keys_url(self) -> str:
        """The address of the key."""
        return f"{self.url}/keys"


@contextmanager
def issuer_for(client: str, secret: str) -> Iterator[Issuer]:
    """Serve on loopback; tokens go to one client with its secret."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    login = f"Basic {base64.b64encode(f'{client}:{secret}'.encode()).decode()}"
    served: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        """Answers both addresses."""

        def do_GET(self) -> None:
            """Publish the key."""
            numbers = key.public_key().public_numbers()
            public = {"n": _number(numbers.n), "e": _number(numbers.e)}
            self.answer(200, {"keys": [{"kty": "RSA", "kid": "k", "alg": "RS256", "use": "sig", **public}]})

        def do_POST(self) -> None:
            """Issue a token."""
            form = self.rfile.read(int(self.headers["Content-Length"])).decode()
            if self.headers.get("Authorization") != login:
                self.answer(401, {"error": "invalid_client"})
                return
            served.append(form)
            token = _token(key, client)
            self.answer(200, {"access_token": token, "token_type": "Bearer", "expires_in": LIFE_S})

        def answer(self, status: int, content: Any) -> None:
            """Send JSON."""
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Stay silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield Issuer(f"http://127.0.0.1:{server.server_port}", served)
    finally:
        server.shutdown()
        server.server_close()


def _token(key: rsa.RSAPrivateKey, subject: str) -> str:
    now = int(time.time())
    claims = {
        "sub": subject,
        "aud": AUDIENCE,
        "iss": "tests",
        "iat": now,
        "exp": now + LIFE_S,
        "scope": "read",
    }
    parts = [{"alg": "RS256", "kid": "k", "typ": "JWT"}, claims]
    text = ".".join(_base64(json.dumps(part).encode()) for part in parts)
    signature = key.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256())
    return f"{text}.{_base64(signature)}"


def _number(value: int) -> str:
    return _base64(value.to_bytes((value.bit_length() + 7) // 8, "big"))


def _base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
