"""The login of a Kafka client, translated between librdkafka's properties and Java's JAAS line."""

import re
from collections.abc import Mapping
from typing import Final

from ingest.errors import SettingsError

_SECURITY: Final = "org.apache.kafka.common.security"
_PLAIN: Final = f"{_SECURITY}.plain.PlainLoginModule"
_SCRAM: Final = f"{_SECURITY}.scram.ScramLoginModule"
_OAUTH: Final = f"{_SECURITY}.oauthbearer"
_OIDC: Final[Mapping[str, str]] = {
    "clientId": "sasl.oauthbearer.client.id",
    "clientSecret": "sasl.oauthbearer.client.secret",
    "scope": "sasl.oauthbearer.scope",
}
"""Options of Java's login module for client credentials, and librdkafka's properties."""
_OIDC_NEEDS: Final = (_OIDC["clientId"], _OIDC["clientSecret"], "sasl.oauthbearer.token.endpoint.url")
_EXTENSION: Final = "extension_"
_OPTION: Final = re.compile(
    r"""\b(?P<name>\w+)\s*=\s*(?P<value>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s;"']+)"""
)


def wrong(name: str, problem: str, todo: str = "") -> SettingsError:
    """Return the error of one property.  `problem` must not hold its value."""
    return SettingsError("settings", f"kafka.properties.{name}", problem, todo)


def java_login(properties: Mapping[str, str], mechanism: str) -> dict[str, str]:
    """Return Java's properties of a login that is given by librdkafka's."""
    if "sasl.jaas.config" in properties:
        handler = _has_clients_secret(properties, mechanism)
        return {"sasl.login.callback.handler.class": _HANDLER} if handler else {}
    if mechanism == "OAUTHBEARER" and properties.get("sasl.oauthbearer.method", "").lower() == "oidc":
        return _java_oidc(properties)
    if not _has_password(mechanism):
        return {}
    _need(properties, ("sasl.username", "sasl.password"), f"sasl.mechanism {mechanism}")
    login = {name: properties[f"sasl.{name}"] for name in ("username", "password")}
    return {"sasl.jaas.config": jaas_line(_PLAIN if mechanism == "PLAIN" else _SCRAM, login)}


def client_login(properties: Mapping[str, str], mechanism: str) -> dict[str, str]:
    """Return librdkafka's properties of a login that is given by a JAAS line."""
    if _has_clients_secret(properties, mechanism):
        return _client_oidc(properties)
    if not _has_password(mechanism) or "sasl.jaas.config" not in properties:
        return {}
    options = jaas_options(properties["sasl.jaas.config"])
    if not {"username", "password"} <= options.keys():
        raise wrong("sasl.jaas.config", "holds no username and password", "Give both, quoted")
    return {f"sasl.{name}": options[name] for name in ("username", "password")}


_HANDLER: Final = f"{_OAUTH}.OAuthBearerLoginCallbackHandler"
"""This package has the class in Kafka 3.4 and in 4.  Kafka 4 lacks the one in `oauthbearer.secured`."""


def _has_password(mechanism: str) -> bool:
    return mechanism == "PLAIN" or mechanism.startswith("SCRAM-")


def _has_clients_secret(properties: Mapping[str, str], mechanism: str) -> bool:
    """Tell whether a JAAS line has a client's secret for Kafka's callback handler, not for another class."""
    own_class = properties.get("sasl.login.callback.handler.class", _HANDLER).rpartition(".")[2]
    is_plain = mechanism == "OAUTHBEARER" and own_class == _HANDLER.rpartition(".")[2]
    return is_plain and "clientSecret" in jaas_options(properties.get("sasl.jaas.config", ""))


def _java_oidc(properties: Mapping[str, str]) -> dict[str, str]:
    _need(properties, _OIDC_NEEDS, "sasl.oauthbearer.method oidc")
    options = {option: properties[name] for option, name in _OIDC.items() if name in properties}
    for pair in filter(None, properties.get("sasl.oauthbearer.extensions", "").split(",")):
        name, is_pair, value = pair.partition("=")
        if not is_pair:
            raise wrong("sasl.oauthbearer.extensions", "is not a list of name=value")
        options[f"{_EXTENSION}{name.strip()}"] = value.strip()
    return {
        "sasl.jaas.config": jaas_line(f"{_OAUTH}.OAuthBearerLoginModule", options),
        "sasl.login.callback.handler.class": _HANDLER,
    }


def _client_oidc(properties: Mapping[str, str]) -> dict[str, str]:
    options = jaas_options(properties["sasl.jaas.config"])
    client = {name: options[option] for option, name in _OIDC.items() if option in options}
    extensions = [
        f"{name.removeprefix(_EXTENSION)}={value}"
        for name, value in options.items()
        if name.startswith(_EXTENSION)
    ]
    _need({**properties, **client}, _OIDC_NEEDS, "a login by clientId and clientSecret")
    more = {"sasl.oauthbearer.extensions": ",".join(extensions)} if extensions else {}
    return {"sasl.oauthbearer.method": "oidc", **client, **more}


def _need(properties: Mapping[str, str], names: tuple[str, ...], reason: str) -> None:
    for name in names:
        if name not in properties:
            raise wrong(name, f"missing, and {reason} needs it")


def jaas_line(module: str, options: Mapping[str, str]) -> str:
    """Write a JAAS line."""
    return f"{module} required {' '.join(f'{name}={_quote(value)}' for name, value in options.items())};"


def jaas_options(jaas: str) -> dict[str, str]:
    """Return the options of a JAAS line."""
    return {match["name"]: _unquote(match["value"]) for match in _OPTION.finditer(jaas)}


def _quote(text: str) -> str:
    """Write a JAAS string: Java reads it with StreamTokenizer, which knows backslash escapes."""
    if re.search(r"[\x00-\x1f]", text):
        raise wrong("sasl.username or sasl.password", "holds a control character")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _unquote(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text[0] in "\"'" else text
