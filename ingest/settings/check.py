"""The rules that concern several settings at once."""

from collections.abc import Iterator

from ingest.config.rules import WrongValueError
from ingest.settings.deployment import RegistrySettings
from ingest.settings.secret import secrets_in_url


def registry_problems(registry: RegistrySettings) -> Iterator[WrongValueError]:
    """Find credentials that contradict each other or are incomplete."""
    oauth = {
        "oauth_token_url": registry.oauth_token_url,
        "oauth_client_id": registry.oauth_client_id,
        "oauth_client_secret": registry.oauth_client_secret,
    }
    methods = {
        "basic_auth": registry.basic_auth is not None,
        "user:password in url": bool(secrets_in_url(registry.url)),
        "bearer_token": registry.bearer_token is not None,
        "oauth_*": any(oauth.values()),
    }
    used = [method for method, is_used in methods.items() if is_used]
    if len(used) > 1:
        yield WrongValueError("registry", f"found {' and '.join(used)}", "Keep one of them")
    missing = [name for name, value in oauth.items() if not value]
    if methods["oauth_*"] and missing:
        yield WrongValueError(f"registry.{missing[0]}", "is not set, but OAuth needs it")
    if registry.basic_auth and ":" not in registry.basic_auth.reveal():
        yield WrongValueError("registry.basic_auth", "found text without a colon; allowed: user:password")
    if (registry.key or registry.key_password) and not registry.certificate:
        yield WrongValueError("registry.certificate", "is not set, but key or key_password is")
