"""Logging in: the headers and certificates that really arrive at a server."""

import base64
import html
import json
import ssl
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, quote_plus

import pytest

from ingest.errors import RegistryRefusedError, RegistryUnreachableError, SettingsError
from ingest.registry import open_registry
from ingest.settings import RegistrySettings, Secret

EMPTY = (200, [])


def _basic(text: str) -> str:
    return f"Basic {base64.b64encode(text.encode()).decode()}"


def test_basic_credentials_arrive(stage: Any) -> None:
    """A password may hold colons."""
    server = stage(lambda _: EMPTY)
    open_registry(RegistrySettings(url=server.url, basic_auth=Secret("bob:a:b"))).subjects()
    assert server.asked[0].headers["Authorization"] == _basic("bob:a:b")


def test_credentials_in_the_url_arrive(stage: Any) -> None:
    """As people write it for one of several servers."""
    server = stage(lambda _: EMPTY)
    open_registry(RegistrySettings(url=server.url.replace("//", "//bob:pw@"))).subjects()
    assert server.asked[0].headers["Authorization"] == _basic("bob:pw")


def test_a_bearer_token_arrives_with_the_headers_of_confluent_cloud(stage: Any) -> None:
    """The logical cluster and the identity pool go along."""
    server = stage(lambda _: EMPTY)
    settings = RegistrySettings(
        url=server.url,
        bearer_token=Secret("t0k"),
        logical_cluster="lsrc-1",
        identity_pool_id="pool-2",
    )
    open_registry(settings).subjects()
    headers = server.asked[0].headers
    assert headers["Authorization"] == "Bearer t0k"
    assert headers["target-sr-cluster"] == "lsrc-1"
    assert headers["Confluent-Identity-Pool-Id"] == "pool-2"


def _oauth(url: str, token_url: str, **more: Any) -> RegistrySettings:
    return RegistrySettings(
        url=url,
        oauth_token_url=token_url,
        oauth_client_id="me",
        oauth_client_secret=Secret("geheim"),
        oauth_scope="read",
        retries=0,
        **more,
    )


def test_an_oauth_token_is_fetched_once_and_used(stage: Any) -> None:
    """The client credentials go to the token server, the token to the registry."""
    token = {"access_token": "t1", "token_type": "Bearer", "expires_in": 3600}
    server, tokens = stage(lambda _: EMPTY), stage(lambda _: (200, token))
    registry = open_registry(_oauth(server.url, f"{tokens.url}/token"))
    registry.subjects()
    registry.subjects()
    assert [request.headers["Authorization"] for request in server.asked] == ["Bearer t1"] * 2
    assert len(tokens.asked) == 1
    assert tokens.asked[0].headers["Authorization"] == _basic("me:geheim")
    form = parse_qs(tokens.asked[0].body)
    assert (form["grant_type"], form["scope"]) == (["client_credentials"], ["read"])


def test_an_expired_oauth_token_is_fetched_again(stage: Any) -> None:
    """A run outlives a token."""
    answers = iter([{"access_token": f"t{n}", "expires_in": n} for n in (1, 3600)])
    server, tokens = stage(lambda _: EMPTY), stage(lambda _: (200, next(answers)))
    registry = open_registry(_oauth(server.url, tokens.url))
    registry.subjects()
    registry.subjects()
    assert [request.headers["Authorization"] for request in server.asked] == ["Bearer t1", "Bearer t3600"]


def test_a_token_server_that_says_no_is_final(stage: Any) -> None:
    """Its own words are kept, the secret is not."""
    tokens = stage(lambda _: (401, {"error": "invalid_client", "error_description": "unknown me"}))
    with pytest.raises(RegistryRefusedError, match="unknown me") as caught:
        open_registry(_oauth("http://127.0.0.1:1", tokens.url)).subjects()
    assert tokens.url in str(caught.value)
    assert "geheim" not in str(caught.value)


@pytest.mark.parametrize("body", ["", "<html>no</html>", [], {"message": "no"}])
def test_a_token_server_that_refuses_without_a_reason_is_final_too(stage: Any, body: object) -> None:
    """As a proxy does: its page has nothing of OAuth."""
    tokens = stage(lambda _: (401, body))
    with pytest.raises(RegistryRefusedError, match="HTTP 401: the login was refused") as caught:
        open_registry(_oauth("http://127.0.0.1:1", tokens.url)).subjects()
    assert "oauth_client_id" in str(caught.value)


ECHOES: Mapping[str, Callable[[str], str]] = {
    "plain": str,
    "password": lambda login: login.partition(":")[2],
    "base64": lambda login: base64.b64encode(login.encode()).decode(),
    "base64 without padding": lambda login: base64.b64encode(login.encode()).decode().rstrip("="),
    "base64 for URLs": lambda login: base64.urlsafe_b64encode(login.encode()).decode(),
    "percent": lambda login: quote(login, safe=""),
    "percent in lower case": lambda login: quote(login, safe="").lower(),
    "form": quote_plus,
    "JSON": lambda login: json.dumps(login)[1:-1],
    "HTML": html.escape,
}


@pytest.mark.parametrize("echo", ECHOES)
def test_a_secret_that_a_server_repeats_is_masked_in_every_spelling(stage: Any, echo: str) -> None:
    """Proxies and debug pages show what they got, decoded or encoded once more."""
    login = 'bob:p ä/ü+?&"<~~~>'
    server = stage(lambda _: (403, {"error_code": 403, "message": f"got <{ECHOES[echo](login)}>"}))
    with pytest.raises(RegistryRefusedError) as caught:
        open_registry(RegistrySettings(url=server.url, basic_auth=Secret(login))).subjects()
    assert "got <***>" in str(caught.value)


def test_a_decoded_password_of_a_url_is_masked(stage: Any) -> None:
    """The URL has it percent-encoded, and the server answers with what arrived."""
    server = stage(lambda _: (403, {"error_code": 403, "message": "no right for p@ss wörd"}))
    url = server.url.replace("//", f"//bob:{quote('p@ss wörd')}@")
    with pytest.raises(RegistryRefusedError) as caught:
        open_registry(RegistrySettings(url=url)).subjects()
    assert "no right for ***" in str(caught.value)


@pytest.mark.parametrize("answer", [(503, "down"), (200, "<html/>"), (200, {"no": "token"})])
def test_a_token_server_in_trouble_is_temporary(stage: Any, answer: tuple[int, object]) -> None:
    """Server errors and pages that hold no token."""
    tokens = stage(lambda _: answer)
    with pytest.raises(RegistryUnreachableError, match="fetch an OAuth token"):
        open_registry(_oauth("http://127.0.0.1:1", tokens.url)).subjects()


def _server_context(certificates: Any, *, mutual: bool = False) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.server, certificates.server_key)
    if mutual:
        context.load_verify_locations(certificates.ca)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def test_a_private_ca_is_trusted_when_it_is_named(stage: Any, certificates: Any) -> None:
    """The same CA holds for the token server."""
    context = _server_context(certificates)
    token = {"access_token": "t1", "expires_in": 3600}
    server = stage(lambda _: EMPTY, tls=context)
    tokens = stage(lambda _: (200, token), tls=context)
    assert open_registry(_oauth(server.url, tokens.url, ca=certificates.ca)).subjects() == ()
    assert server.asked[0].headers["Authorization"] == "Bearer t1"


def test_an_unknown_ca_is_a_settings_error_that_names_the_key(stage: Any, certificates: Any) -> None:
    """It would fail again unchanged, so it is not temporary."""
    server = stage(lambda _: EMPTY, tls=_server_context(certificates))
    with pytest.raises(SettingsError, match=r"registry\.ca: the certificate of https"):
        open_registry(RegistrySettings(url=server.url, retries=0)).subjects()
    with pytest.raises(SettingsError, match=r"registry\.ca: the certificate of https"):
        open_registry(_oauth("http://127.0.0.1:1", server.url)).subjects()
    assert server.asked == []


def test_a_client_certificate_opens_a_server_that_wants_one(stage: Any, certificates: Any) -> None:
    """The key is encrypted, its password a secret."""
    server = stage(lambda _: EMPTY, tls=_server_context(certificates, mutual=True))
    settings = RegistrySettings(
        url=server.url,
        ca=certificates.ca,
        certificate=certificates.client,
        key=certificates.client_key,
        key_password=Secret(certificates.client_key_password),
    )
    assert open_registry(settings).subjects() == ()


def test_without_a_client_certificate_such_a_server_is_not_reached(stage: Any, certificates: Any) -> None:
    """The client sees the alert or the closed connection first, depending on timing."""
    server = stage(lambda _: EMPTY, tls=_server_context(certificates, mutual=True))
    settings = RegistrySettings(url=server.url, ca=certificates.ca, retries=0)
    with pytest.raises((SettingsError, RegistryUnreachableError)):
        open_registry(settings).subjects()
    assert server.asked == []


def test_certificate_files_that_cannot_be_read_are_a_settings_error(
    tmp_path: Path, certificates: Any
) -> None:
    """A missing file, one that is not a PEM, a wrong password: found before anything is asked."""
    rubbish = tmp_path / "rubbish.pem"
    rubbish.write_text("no PEM")
    wrong = {"certificate": certificates.client, "key": certificates.client_key}
    for settings in (
        RegistrySettings(url="https://h", ca=tmp_path / "gone.pem"),
        RegistrySettings(url="https://h", ca=rubbish),
        RegistrySettings(url="https://h", **wrong, key_password=Secret("wrong")),
    ):
        with pytest.raises(SettingsError, match=r"registry\.ca, certificate, key: cannot be read"):
            open_registry(settings)
