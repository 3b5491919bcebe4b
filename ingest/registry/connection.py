"""One registry server: the login, and the meaning of its refusals."""

import ssl
from collections.abc import Callable
from typing import Any

import attrs
import httpx2  # the client's HTTP library: its exceptions come through
from authlib.integrations.httpx_client import (  # type: ignore[import-untyped] # ships no types
    OAuth2Client,
    OAuthError,
)
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError

from ingest.errors import (
    IngestError,
    NoRegistryError,
    RegistryRefusedError,
    RegistryUnreachableError,
    SchemaNotFoundError,
    SettingsError,
)
from ingest.log import masked
from ingest.registry.limits import TooLongError, limit_requests
from ingest.settings import RegistrySettings, Secret, Settings, mask_url

RETRY_WAIT_MS = 100
LONGEST_ANSWER = 300

# Exceptions of the client.  It raises the last five when another server answers, such as a login page.
FAILURES = (
    IngestError,
    SchemaRegistryError,
    httpx2.RequestError,
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    RecursionError,
)

# 40401 subject, 40402 version, 40403 schema (id), 40408 own compatibility level, 42202 version number:
# Confluent's API reference, "Errors".  Apicurio answers 40402 instead of Confluent's 42202.
_NOT_THERE = (40401, 40402, 40403, 40408, 42202)
_NO_SUCH_PATH = "the path does not exist; a registry's URL may need one, such as /apis/ccompat/v7"
_TOO_BUSY = (408, 425, 429)
_LOGIN = (401, 403)
_LOG_IN = "fetch an OAuth token"
_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL", "HTTP_REQUEST")
"""How OpenSSL names bytes that are not TLS."""

OTHER_SERVER = (
    "Check host, port and path of [registry] url: a web page, a proxy's login page or another service "
    "answers there"
)


@attrs.frozen
class Question:
    """A request as errors name it.  `wanted` is the thing that does not exist after a 404.

    `coded`: only the registry's own error code means that, not a bare 404.
    """

    request: str
    wanted: str = ""
    coded: bool = False


@attrs.frozen
class Connection:
    """A client for one address.  `url` is safe to show."""

    url: str
    client: SchemaRegistryClient
    settings: RegistrySettings

    def explain(self, error: Exception, question: Question) -> IngestError:
        """Translate an exception of the client into an `IngestError`, without secrets."""
        match error:
            case IngestError():
                return error
            case SchemaRegistryError():
                return self._refusal(error, question)
            case httpx2.TimeoutException():
                problem = f"{question.request}: no whole answer within {self.settings.timeout_s:g} s"
                return RegistryUnreachableError(self.url, problem)
            case TooLongError():
                return NoRegistryError(self.url, question.request, str(error), OTHER_SERVER)
            case httpx2.RequestError() if "CERTIFICATE" in str(error):
                return _certificate_trouble(self.url, error)
            case httpx2.RequestError() if any(sign in str(error) for sign in _NO_TLS):
                problem = f"the server does not speak TLS: {self._clean(error)}"
                todo = "Write http:// in place of https:// in [registry] url, or name its TLS port"
                return NoRegistryError(self.url, question.request, problem, todo)
            case httpx2.RequestError():
                return RegistryUnreachableError(self.url, f"{question.request}: {self._clean(error)}")
            case _:
                problem = f"the answer is not a schema registry's ({type(error).__name__})"
                return NoRegistryError(self.url, question.request, problem, OTHER_SERVER)

    def _refusal(self, error: SchemaRegistryError, question: Question) -> IngestError:
        status, text = error.http_status_code, self._clean(error.error_message)
        if status >= 500 or status in _TOO_BUSY:  # noqa: PLR2004 - HTTP's server errors
            return RegistryUnreachableError(self.url, f"{question.request}: HTTP {status}: {text}")
        if question.wanted and error.error_code in _NOT_THERE:
            return SchemaNotFoundError(self.url, question.wanted)
        if status in _LOGIN:
            return RegistryRefusedError(self.url, question.request, status, text, self._login_hint())
        if status == 400 and "https" in text.lower():  # noqa: PLR2004 - a TLS port's answer to plain HTTP
            todo = "Write https:// in place of http:// in [registry] url"
            return NoRegistryError(self.url, question.request, f"HTTP {status}: {text}", todo)
        if status == 404 and (not error.error_code or error.error_code < 0):  # noqa: PLR2004 - same
            if question.wanted and not question.coded:
                return SchemaNotFoundError(self.url, question.wanted, f"Or {_NO_SUCH_PATH}")
            return RegistryRefusedError(self.url, question.request, status, _NO_SUCH_PATH)
        return RegistryRefusedError(self.url, question.request, status, text)

    def _login_hint(self) -> str:
        """Name the settings of a login: those to check, or those to set."""
        settings = self.settings
        logins = {
            "basic_auth": settings.basic_auth,
            "bearer_token": settings.bearer_token,
            "oauth_token_url": settings.oauth_token_url,
        }
        chosen = [name for name, value in logins.items() if value]
        if chosen:
            return f"Check [registry] {' and '.join(chosen)}, and the rights of that user"
        return 'Set [registry] basic_auth = "user:password", or bearer_token'

    def _clean(self, said: object) -> str:
        """Shorten a server's words, and mask secrets that it may have repeated."""
        text = masked(str(said) or type(said).__name__, Settings(registry=self.settings).secrets())
        text = mask_url(text)
        return text if len(text) <= LONGEST_ANSWER else f"{text[:LONGEST_ANSWER]}…"


def connect(url: str, settings: RegistrySettings) -> Connection:
    """Build the client for one address.  It sends no request yet."""
    shown = mask_url(url)
    if not url.startswith(("http://", "https://")):
        problem = f"{shown!r} is neither http://…, https://… nor a folder"
        raise SettingsError("settings", "registry.url", problem)
    try:
        httpx2.URL(url)
        client = SchemaRegistryClient(_client_properties(url, settings))
        limit_requests(client._rest_client.session, settings.timeout_s)  # noqa: SLF001
        return Connection(shown, client, settings)
    except (OSError, ssl.SSLError) as error:
        problem = f"cannot be read: {error}"
        raise SettingsError("settings", "registry.ca, certificate, key", problem) from None
    except (ValueError, httpx2.InvalidURL) as error:
        raise SettingsError("settings", "registry", str(error).replace(url, shown)) from None


def _client_properties(url: str, settings: RegistrySettings) -> dict[str, Any]:
    properties = {
        "url": url,
        "timeout": settings.timeout_s,
        "max.retries": settings.retries,
        "retries.wait.ms": RETRY_WAIT_MS,
        "ssl.ca.location": settings.ca and str(settings.ca),
        "ssl.certificate.location": settings.certificate and str(settings.certificate),
        "ssl.key.location": settings.key and str(settings.key),
        "ssl.key.password": _text(settings.key_password),
        "basic.auth.user.info": _text(settings.basic_auth),
    }
    if settings.bearer_token or settings.oauth_token_url:
        token = _static_token(settings) if settings.bearer_token else _oauth_token(settings)
        properties |= {
            "bearer.auth.credentials.source": "CUSTOM",
            "bearer.auth.custom.provider.function": lambda _: _bearer_fields(settings, token()),
            "bearer.auth.custom.provider.config": {},
        }
    return {name: value for name, value in properties.items() if value is not None}


def _bearer_fields(settings: RegistrySettings, token: str) -> dict[str, str]:
    fields = {
        "bearer.auth.token": token,
        "bearer.auth.logical.cluster": settings.logical_cluster,
    }
    if settings.identity_pool_id:
        fields["bearer.auth.identity.pool.id"] = settings.identity_pool_id
    return fields


def _static_token(settings: RegistrySettings) -> Callable[[], str]:
    return lambda: _text(settings.bearer_token) or ""


def _oauth_token(settings: RegistrySettings) -> Callable[[], str]:
    """Fetch a token with client credentials, and again shortly before it expires.

    The client's own OAUTHBEARER source knows no CA and no timeout: a private token server fails.
    """
    verify: ssl.SSLContext | bool = True
    if settings.ca:
        verify = ssl.create_default_context(cafile=str(settings.ca))
    session = OAuth2Client(
        client_id=settings.oauth_client_id,
        client_secret=_text(settings.oauth_client_secret),
        scope=settings.oauth_scope or None,
        verify=verify,
        timeout=settings.timeout_s,
    )
    limit_requests(session, settings.timeout_s)
    session.register_compliance_hook("access_token_response", _check_token_answer)

    def token() -> str:
        if session.token is None or session.token.is_expired():
            session.token = _fetch_token(session, settings.oauth_token_url)
        return str(session.token["access_token"])

    return token


def _check_token_answer(answer: httpx2.Response) -> httpx2.Response:
    """Refuse a 4xx without an error in OAuth's form, because authlib would look for a token in it."""
    if 400 <= answer.status_code < 500 and answer.status_code not in _TOO_BUSY:  # noqa: PLR2004  HTTP's
        try:
            says_why = "error" in answer.json()
        except (ValueError, TypeError):
            says_why = False
        if not says_why:
            todo = "Check [registry] oauth_token_url, oauth_client_id and oauth_client_secret"
            shown, problem = mask_url(str(answer.url)), "the login was refused without a reason"
            raise RegistryRefusedError(shown, _LOG_IN, answer.status_code, problem, todo)
    return answer


def _fetch_token(session: OAuth2Client, url: str) -> Any:
    shown, request = mask_url(url), _LOG_IN
    try:
        token = session.fetch_token(url=url, grant_type="client_credentials")
    except OAuthError as error:
        raise RegistryRefusedError(shown, request, 401, str(error)) from None
    except httpx2.RequestError as error:
        if "CERTIFICATE" in str(error):
            raise _certificate_trouble(shown, error) from None
        problem = f"{request}: {str(error) or type(error).__name__}"
        raise RegistryUnreachableError(shown, problem) from None
    except httpx2.HTTPStatusError as error:
        problem = f"{request}: HTTP {error.response.status_code}"
        raise RegistryUnreachableError(shown, problem) from None
    except ValueError:
        token = {}
    if "access_token" not in token:
        session.token = None
        raise RegistryUnreachableError(shown, f"{request}: the answer holds no token")
    return token


def _certificate_trouble(url: str, error: Exception) -> SettingsError:
    """Name the setting.  VERIFY_FAILED of OpenSSL concerns the server's certificate, ALERT_… the client's."""
    if "VERIFY_FAILED" in str(error):
        problem = f"the certificate of {url} cannot be verified: {error}"
        return SettingsError("settings", "registry.ca", problem, "Name the CA that signed it")
    problem = f"{url} refuses the client's certificate: {error}"
    todo = "Set [registry] certificate and key to a pair that the server trusts"
    return SettingsError("settings", "registry.certificate", problem, todo)


def _text(secret: Secret | None) -> str | None:
    return secret.reveal() if secret else None
