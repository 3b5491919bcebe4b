"""A real broker and a real registry that require a login: by password, token or certificate."""

import base64
import http.client
import re
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import attrs
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # the package has no __all__
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from ingest.local.broker import broker_problem, prepare_broker
from ingest.local.ports import LOOPBACK, choose_port
from ingest.local.process import Process, lock_data, start_process, stop_processes
from tests.certificates import Certificates
from tests.e2e.issuer import AUDIENCE, Issuer
from tests.patience import ANSWER_S

USER: Final = "ann"
LISTENERS: Final = {"PLAIN": "SASL_SSL", "SCRAM": "SASL_SSL", "MUTUAL": "SSL", "OAUTH": "SASL_SSL"}
"""Listeners other than the open one, by name, with their protocol."""
_JAAS: Final = "org.apache.kafka.common.security"
_UP_S: Final = 600.0
_MORE: Final = """
listeners={listeners},CONTROLLER://{controller}
advertised.listeners={listeners}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,{protocols}
ssl.keystore.type=PEM
ssl.keystore.location={keystore}
ssl.truststore.type=PEM
ssl.truststore.location={truststore}
listener.name.mutual.ssl.client.auth=required
listener.name.plain.sasl.enabled.mechanisms=PLAIN
listener.name.plain.plain.sasl.jaas.config={jaas}.plain.PlainLoginModule required user_{user}="{password}";
listener.name.scram.sasl.enabled.mechanisms=SCRAM-SHA-512
listener.name.scram.scram-sha-512.sasl.jaas.config={jaas}.scram.ScramLoginModule required;
listener.name.oauth.sasl.enabled.mechanisms=OAUTHBEARER
listener.name.oauth.oauthbearer.sasl.server.callback.handler.class={jaas}.oauthbearer.OAuthBearerValidatorCallbackHandler
listener.name.oauth.oauthbearer.sasl.jaas.config={jaas}.oauthbearer.OAuthBearerLoginModule required;
listener.name.oauth.sasl.oauthbearer.jwks.endpoint.url={keys}
listener.name.oauth.sasl.oauthbearer.expected.audience={audience}
"""


@attrs.frozen
class SecuredBroker:
    """The broker's addresses, by listener."""

    addresses: Mapping[str, str]

    @property
    def open(self) -> str:
        """The listener without a login."""
        return self.addresses["PLAINTEXT"]


@contextmanager
def secured_broker(
    data: Path, certificates: Certificates, issuer: Issuer, plain: str, scram: str
) -> Iterator[SecuredBroker]:
    """Run a broker; `plain` and `scram` are the passwords of `USER`, `issuer` makes the tokens to accept."""
    process = Process("broker", data)
    ports: dict[str, int] = {}
    for name in ("PLAINTEXT", *LISTENERS):
        ports[name] = choose_port(frozenset(ports.values()))
    addresses = {name: f"{LOOPBACK}:{port}" for name, port in ports.items()}
    keystore = data / "server.both.pem"
    keystore.write_bytes(certificates.server_key.read_bytes() + certificates.server.read_bytes())
    try:
        with lock_data(data) as lock:
            command = prepare_broker(process.folder, ports["PLAINTEXT"])
            allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={issuer.keys_url}"
            command = tuple(part.replace("-Xmx512m", f"-Xmx512m {allowed}") for part in command)
            for name in ("format", "server"):
                file = process.folder / f"{name}.properties"
                controller = re.search(rf"CONTROLLER://({LOOPBACK}:\d+)", file.read_text())
                assert controller is not None
                properties = _MORE.format(
                    listeners=",".join(f"{listener}://{address}" for listener, address in addresses.items()),
                    protocols=",".join(f"{listener}:{protocol}" for listener, protocol in LISTENERS.items()),
                    controller=controller[1], keystore=keystore, truststore=certificates.ca,
                    jaas=_JAAS, user=USER, password=plain, keys=issuer.keys_url, audience=AUDIENCE,
                )  # fmt: skip
                file.write_text(file.read_text() + properties)  # Java uses the last of duplicate keys
            start_process(process, command, lock)
        end = time.monotonic() + _UP_S
        while problem := broker_problem(ports["PLAINTEXT"]):
            assert time.monotonic() < end, f"{problem}: {process.log.read_text()[-2000:]}"
            time.sleep(0.1)
        broker = SecuredBroker(addresses)
        _let_in(broker, scram)
        yield broker
    finally:
        stop_processes([process])


def _let_in(broker: SecuredBroker, password: str) -> None:
    """Register the user's SCRAM password with the broker."""
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    wish = UserScramCredentialUpsertion(USER, info, password.encode())
    admin = AdminClient({"bootstrap.servers": broker.open, "log_level": 0})
    for done in admin.alter_user_scram_credentials([wish]).values():
        done.result(timeout=ANSWER_S)


# --- registry ----------------------------------------------------------------------------------


@attrs.frozen
class Gate:
    """A TLS proxy in front of a registry: `opens` decides by a request's headers."""

    opens: Callable[[Mapping[str, str]], bool] = lambda _: True
    mutual: bool = False


def by_basic(login: str) -> Gate:
    """Require a user and a password."""
    header = f"Basic {base64.b64encode(login.encode()).decode()}"
    return Gate(lambda headers: headers.get("Authorization") == header)


def by_token(token: str) -> Gate:
    """Require a bearer token."""
    return Gate(lambda headers: headers.get("Authorization") == f"Bearer {token}")


@contextmanager
def registry_behind(url: str, gate: Gate, certificates: Certificates) -> Iterator[str]:
    """Put a TLS gate in front of the registry at `url`; yield the gate's URL."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.server, certificates.server_key)
    if gate.mutual:
        context.load_verify_locations(certificates.ca)
        context.verify_mode = ssl.CERT_REQUIRED
    behind = urlsplit(url)

    class Handler(BaseHTTPRequestHandler):
        """Forward the requests that the gate opens for."""

        def pass_on(self) -> None:
            """Answer as the registry does, or with 401 in its form."""
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if not gate.opens(self.headers):
                self.answer(401, b'{"error_code": 40101, "message": "not let in"}')
                return
            connection = http.client.HTTPConnection(behind.netloc, timeout=30)
            plain = {name: self.headers[name] for name in ("Content-Type", "Accept") if name in self.headers}
            connection.request(self.command, self.path, body or None, plain)
            response = connection.getresponse()
            self.answer(response.status, response.read())
            connection.close()

        def answer(self, status: int, body: bytes) -> None:
            """Send an answer."""
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = do_DELETE = pass_on  # noqa: N815 - http.server's names

        def log_message(self, *_: object) -> None:
            """Stay silent."""

    server = ThreadingHTTPServer((LOOPBACK, 0), Handler)
    server.handle_error = lambda *_: None  # type: ignore[method-assign] # refused handshakes
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"https://{LOOPBACK}:{server.server_port}{behind.path}"
    finally:
        server.shutdown()
        server.server_close()
