"""Translate `[kafka.properties]` for the two clients of a run: librdkafka and Kafka's Java client.

Settings may use either family of names, and each client gets its own.  These names pass to both clients
unchanged: `security.protocol`, `sasl.mechanism` (or `sasl.mechanisms`) and the names of `_BOTH`.  These are
translated:

====================================================  =============================================
librdkafka                                            Java
====================================================  =============================================
sasl.username, sasl.password (PLAIN and SCRAM)        sasl.jaas.config
sasl.oauthbearer.method = oidc, with client.id,       sasl.jaas.config and
client.secret, scope and extensions                   sasl.login.callback.handler.class
ssl.ca.location, or ssl.ca.pem                        ssl.truststore.type = PEM with
                                                      ssl.truststore.location or .certificates
ssl.certificate.location, or ssl.certificate.pem      ssl.keystore.type = PEM with
                                                      ssl.keystore.location or .certificate.chain
ssl.key.location, or ssl.key.pem (PKCS#8)             the same ssl.keystore.location, or .key
ssl.key.password                                      not passed: the key is opened (see below)
ssl.keystore.location, .password (PKCS#12)            the same with ssl.keystore.type = PKCS12
ssl.endpoint.identification.algorithm, disabled       the same, empty
====================================================  =============================================

A file named by a librdkafka property is read here and given to Java inline, so that executors on
other machines need no copy of it.  An encrypted key is opened here.  `ingest.kafka.iam` translates the login
of Amazon MSK.  Other logins (GSSAPI, OAUTHBEARER by another method) are not translated: write the properties
of both families.  A name outside these lists is an error.
"""

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ingest.kafka.iam import MECHANISM as IAM
from ingest.kafka.iam import client_iam, java_iam
from ingest.kafka.login import client_login, java_login, wrong
from ingest.settings import looks_secret


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_OURS = _names(
    "bootstrap.servers group.id group.instance.id auto.offset.reset isolation.level "
    "enable.auto.commit key.deserializer value.deserializer"
)
_BOTH = _names(
    "security.protocol client.id client.rack client.dns.lookup metadata.max.age.ms "
    "connections.max.idle.ms reconnect.backoff.ms reconnect.backoff.max.ms retry.backoff.ms "
    "socket.connection.setup.timeout.ms ssl.key.password sasl.kerberos.service.name "
    "sasl.kerberos.min.time.before.relogin sasl.oauthbearer.token.endpoint.url"
)
_CLIENT_ONLY = _names(
    "sasl.username sasl.password ssl.ca.location ssl.ca.pem ssl.certificate.location "
    "ssl.certificate.pem ssl.key.location ssl.key.pem ssl.crl.location ssl.sigalgs.list "
    "ssl.curves.list broker.address.family socket.timeout.ms socket.keepalive.enable debug "
    "log_level sasl.kerberos.keytab sasl.kerberos.principal sasl.kerberos.kinit.cmd "
    "sasl.oauthbearer.config sasl.oauthbearer.method sasl.oauthbearer.client.id "
    "sasl.oauthbearer.client.secret sasl.oauthbearer.scope sasl.oauthbearer.extensions"
)
_JAVA_ONLY = _names(
    "sasl.jaas.config sasl.login.class sasl.login.callback.handler.class "
    "sasl.client.callback.handler.class ssl.truststore.type ssl.truststore.location "
    "ssl.truststore.password ssl.truststore.certificates ssl.keystore.type "
    "ssl.keystore.certificate.chain ssl.keystore.key ssl.protocol ssl.enabled.protocols "
    "ssl.provider ssl.keymanager.algorithm ssl.trustmanager.algorithm request.timeout.ms "
    "default.api.timeout.ms fetch.max.bytes fetch.min.bytes fetch.max.wait.ms "
    "max.partition.fetch.bytes max.poll.records receive.buffer.bytes"
)
_TRANSLATED = _names(
    "sasl.mechanism sasl.mechanisms ssl.keystore.location ssl.keystore.password "
    "ssl.endpoint.identification.algorithm enable.ssl.certificate.verification"
)
_KNOWN = _BOTH | _CLIENT_ONLY | _JAVA_ONLY | _TRANSLATED


def client_properties(properties: Mapping[str, str]) -> dict[str, Any]:
    """Return the properties for librdkafka.

    Java properties without an equivalent are left out or refused.
    """
    _check_names(properties)
    passed = {name: value for name, value in properties.items() if name in _BOTH | _CLIENT_ONLY}
    mechanism = _mechanism(properties)
    if mechanism:
        passed["sasl.mechanism"] = mechanism
    if "ssl.endpoint.identification.algorithm" in properties:
        checked = properties["ssl.endpoint.identification.algorithm"] or "none"
        passed["ssl.endpoint.identification.algorithm"] = checked
    iam = client_iam(properties) if mechanism == IAM else {}
    return {**client_login(properties, mechanism), **_client_tls(properties), **passed, **iam}


def spark_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties for Kafka's Java client, each name with Spark's prefix `kafka.`."""
    _check_names(properties)
    passed = {name: value for name, value in properties.items() if name in _BOTH | _JAVA_ONLY}
    mechanism = _mechanism(properties)
    if mechanism:
        passed["sasl.mechanism"] = mechanism
    if "ssl.endpoint.identification.algorithm" in properties:
        checked = properties["ssl.endpoint.identification.algorithm"]
        passed["ssl.endpoint.identification.algorithm"] = "" if checked == "none" else checked
    if "security.protocol" in passed:
        passed["security.protocol"] = passed["security.protocol"].upper()
    iam = java_iam(properties) if mechanism == IAM else {}
    if iam:  # the class of AWS's own mechanism
        passed.pop("sasl.client.callback.handler.class", None)
    java = {**java_login(properties, mechanism), **_java_tls(properties), **passed, **iam}
    return {f"kafka.{name}": value for name, value in _with_open_key(java).items()}


def without_secrets(text: str, properties: Mapping[str, str]) -> str:
    """Mask every secret value of the properties in a text for people."""
    for name, value in properties.items():
        if value and looks_secret(name):
            text = text.replace(value, "***")
    return text


def _check_names(properties: Mapping[str, str]) -> None:
    for name in properties:
        if name in _OURS:
            raise wrong(name, "ingest sets this property itself", "Remove it")
        if name not in _KNOWN:
            near = difflib.get_close_matches(name, sorted(_KNOWN), n=1)
            raise wrong(name, "unknown property", f"Did you mean '{near[0]}'?" if near else "Remove it")
    if properties.get("enable.ssl.certificate.verification", "true").lower() != "true":
        raise wrong(
            "enable.ssl.certificate.verification",
            "the Java client that reads the records cannot go without it",
            "Give the authority's certificate with ssl.ca.location",
        )


def _mechanism(properties: Mapping[str, str]) -> str:
    return properties.get("sasl.mechanism", properties.get("sasl.mechanisms", ""))


def _client_tls(properties: Mapping[str, str]) -> dict[str, str]:
    get = properties.get
    tls: dict[str, str] = {}
    if "ssl.truststore.certificates" in properties:
        tls["ssl.ca.pem"] = properties["ssl.truststore.certificates"]
    if "ssl.truststore.location" in properties and not get("ssl.ca.location"):
        _need_type("ssl.truststore", get("ssl.truststore.type", "JKS"), ("PEM",))
        tls["ssl.ca.location"] = properties["ssl.truststore.location"]
    if "ssl.keystore.certificate.chain" in properties:
        tls["ssl.certificate.pem"] = properties["ssl.keystore.certificate.chain"]
    if "ssl.keystore.key" in properties:
        tls["ssl.key.pem"] = properties["ssl.keystore.key"]
    if "ssl.keystore.location" in properties and not get("ssl.key.location"):
        tls |= _client_keystore(properties)
    return tls


def _client_keystore(properties: Mapping[str, str]) -> dict[str, str]:
    kind = properties.get("ssl.keystore.type", "PKCS12")
    _need_type("ssl.keystore", kind, ("PEM", "PKCS12"))
    path = properties["ssl.keystore.location"]
    if kind == "PEM":  # one file holds both, and OpenSSL takes the part that it needs
        return {"ssl.certificate.location": path, "ssl.key.location": path}
    password = properties.get("ssl.keystore.password", "")
    return {"ssl.keystore.location": path, "ssl.keystore.password": password}


def _need_type(store: str, store_type: str, allowed: tuple[str, ...]) -> None:
    if store_type not in allowed:
        raise wrong(
            f"{store}.type",
            f"found {store_type}; librdkafka reads {' or '.join(allowed)}",
            "Convert the store, or give PEM files with ssl.ca.location, ssl.certificate.location "
            "and ssl.key.location as well",
        )


def _java_tls(properties: Mapping[str, str]) -> dict[str, str]:
    authority = _pem(properties, "ssl.ca")
    chain, key = _pem(properties, "ssl.certificate"), _pem(properties, "ssl.key")
    tls: dict[str, str] = {}
    if authority and "ssl.truststore.location" not in properties:
        tls |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": authority}
    if "ssl.keystore.location" in properties:
        store = ("ssl.keystore.location", "ssl.keystore.password")
        tls |= {name: properties[name] for name in store if name in properties}
        return {"ssl.keystore.type": "PKCS12", **tls}
    if key and "BEGIN PRIVATE KEY" not in key and "BEGIN ENCRYPTED PRIVATE KEY" not in key:
        todo = "Convert it: openssl pkcs8 -topk8 -in KEY -out KEY8"
        raise wrong("ssl.key.location", "is not a PKCS#8 key, the only kind that Java reads", todo)
    if chain and key:
        names = ("ssl.keystore.type", "ssl.keystore.certificate.chain", "ssl.keystore.key")
        tls |= dict(zip(names, ("PEM", chain, key), strict=True))
    elif chain or key:
        raise wrong("ssl.key" if chain else "ssl.certificate", "missing: a key needs its certificate")
    return tls


def _with_open_key(java: Mapping[str, str]) -> dict[str, str]:
    """Open an encrypted key: Java 17 has no key factory for PBES2, with which OpenSSL encrypts.

    Key and password go the same way to the executors, so that an open key is as safe as both of them.
    """
    key = java.get("ssl.keystore.key", "")
    if "BEGIN ENCRYPTED PRIVATE KEY" not in key:
        return dict(java)
    # 20 ms to import, for encrypted keys only.
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415

    try:
        opened = serialization.load_pem_private_key(key.encode(), java.get("ssl.key.password", "").encode())
    except (ValueError, TypeError):
        raise wrong("ssl.key.password", "does not open the key of ssl.key.location") from None
    pem = opened.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    without_password = {name: value for name, value in java.items() if name != "ssl.key.password"}
    return {**without_password, "ssl.keystore.key": pem.decode()}


def _pem(properties: Mapping[str, str], name: str) -> str:
    """Return a PEM text, from `<name>.pem` or the file that `<name>.location` names."""
    path = properties.get(f"{name}.location")
    if path is None:
        return properties.get(f"{name}.pem", "")
    try:
        return Path(path).read_text("ascii", errors="replace")
    except OSError as error:
        raise wrong(f"{name}.location", f"{path}: {error.strerror}") from error
