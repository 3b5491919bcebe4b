"""Client properties for librdkafka and for Java."""

from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from hypothesis import given
from hypothesis import strategies as st

from ingest.errors import SettingsError
from ingest.kafka.properties import client_properties, spark_properties, without_secrets
from tests.certificates import make_certificates

LOGIN = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "ann",
    "sasl.password": 'a"b\\c',
}
PKCS8 = "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n"


def test_a_plain_login_becomes_a_jaas_line() -> None:
    """User and password are quoted as Java reads them."""
    assert spark_properties(LOGIN) == {
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required "
        'username="ann" password="a\\"b\\\\c";',
    }


def test_a_scram_login_takes_the_scram_module() -> None:
    """SCRAM has its own login module in Java; `sasl.mechanisms` is librdkafka's other name."""
    given = {"sasl.mechanisms": "SCRAM-SHA-512", "sasl.username": "u", "sasl.password": "p"}

    assert "scram.ScramLoginModule" in spark_properties(given)["kafka.sasl.jaas.config"]
    assert spark_properties(given)["kafka.sasl.mechanism"] == "SCRAM-SHA-512"


@pytest.mark.parametrize("line", ["username=ann password='s3c';", 'password="s3c" username="ann" ;'])
def test_a_jaas_line_becomes_user_and_password(line: str) -> None:
    """Java allows either quote, none, and any order."""
    result = client_properties({"sasl.mechanism": "PLAIN", "sasl.jaas.config": f"x.Y required {line}"})

    assert result == {"sasl.mechanism": "PLAIN", "sasl.username": "ann", "sasl.password": "s3c"}


OIDC = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.method": "oidc",
    "sasl.oauthbearer.token.endpoint.url": "https://login/token",
    "sasl.oauthbearer.client.id": "ann",
    "sasl.oauthbearer.client.secret": 's"3c\\',
    "sasl.oauthbearer.scope": "kafka",
    "sasl.oauthbearer.extensions": "logicalCluster=lkc-1,identityPoolId=pool-2",
}


def test_a_clients_credentials_become_a_jaas_line_and_its_handler() -> None:
    """With scope and extensions; the endpoint has one name in both families."""
    assert spark_properties(OIDC) == {
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "OAUTHBEARER",
        "kafka.sasl.oauthbearer.token.endpoint.url": "https://login/token",
        "kafka.sasl.login.callback.handler.class": (
            "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
        ),
        "kafka.sasl.jaas.config": (
            "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
            'clientId="ann" clientSecret="s\\"3c\\\\" scope="kafka" '
            'extension_logicalCluster="lkc-1" extension_identityPoolId="pool-2";'
        ),
    }


def test_a_clients_credentials_survive_the_way_to_java_and_back() -> None:
    """A person may write either family; each client gets all of its own, with or without Java's class."""
    java = {name.removeprefix("kafka."): value for name, value in spark_properties(OIDC).items()}
    without_class = {name: value for name, value in java.items() if "class" not in name}
    for written in (java, without_class):
        assert client_properties(written) == OIDC
        assert spark_properties(written) == spark_properties(OIDC)


@pytest.mark.parametrize("name", ["client.id", "client.secret", "token.endpoint.url"])
def test_incomplete_credentials_of_a_client_are_named(name: str) -> None:
    """Java would fail in a task, librdkafka in a thread of its own."""
    missing = f"sasl.oauthbearer.{name}"
    given = {key: value for key, value in OIDC.items() if key != missing}
    with pytest.raises(SettingsError, match=f"{missing}: missing, and sasl.oauthbearer.method oidc needs it"):
        spark_properties(given)
    with pytest.raises(SettingsError, match="is not a list of name=value"):
        spark_properties(OIDC | {"sasl.oauthbearer.extensions": "lkc-1"})


def test_another_handler_of_tokens_is_left_alone() -> None:
    """MSK's IAM login, for example, is a class of its own, with options of its own."""
    given = {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": 'x.Module required clientSecret="1";',
        "sasl.login.callback.handler.class": "com.example.IamHandler",
        "sasl.oauthbearer.config": "principal=ann",
    }
    assert client_properties(given) == {
        "sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.config": "principal=ann",
    }  # fmt: skip
    assert spark_properties(given)["kafka.sasl.login.callback.handler.class"] == "com.example.IamHandler"


text = st.text(st.characters(min_codepoint=32, exclude_categories=["Cs"]), min_size=1)


@given(text, text)
def test_a_login_survives_the_way_to_java_and_back(user: str, password: str) -> None:
    """No character of a password is lost or taken for syntax."""
    java = spark_properties({**LOGIN, "sasl.username": user, "sasl.password": password})
    back = client_properties({name.removeprefix("kafka."): value for name, value in java.items()})

    assert (back["sasl.username"], back["sasl.password"]) == (user, password)


def test_pem_files_are_given_to_java_inline(tmp_path: Path) -> None:
    """Executors elsewhere need no copy of the files."""
    for name, content in {"ca.pem": "CA", "cert.pem": "CERT", "key.pem": PKCS8}.items():
        (tmp_path / name).write_text(content)
    result = spark_properties(
        {
            "ssl.ca.location": str(tmp_path / "ca.pem"),
            "ssl.certificate.location": str(tmp_path / "cert.pem"),
            "ssl.key.location": str(tmp_path / "key.pem"),
            "ssl.key.password": "k",
        }
    )

    assert result == {
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.certificates": "CA",
        "kafka.ssl.keystore.type": "PEM",
        "kafka.ssl.keystore.certificate.chain": "CERT",
        "kafka.ssl.keystore.key": PKCS8,
        "kafka.ssl.key.password": "k",
    }


def test_an_encrypted_key_is_opened_for_java(tmp_path: Path) -> None:
    """Java 17 cannot read what OpenSSL encrypts; a password that does not open it is reported without it."""
    built = make_certificates(tmp_path, "s3cret")
    given = {
        "ssl.certificate.location": str(built.client),
        "ssl.key.location": str(built.client_key),
        "ssl.key.password": "s3cret",
    }

    result = spark_properties(given)

    assert result["kafka.ssl.keystore.key"].startswith("-----BEGIN PRIVATE KEY-----")
    assert "kafka.ssl.key.password" not in result
    assert client_properties(given) == given
    with pytest.raises(SettingsError, match=r"ssl\.key\.password: does not open") as caught:
        spark_properties({**given, "ssl.key.password": "wr0ng"})
    assert "wr0ng" not in str(caught.value)


def test_java_pem_stores_become_pem_files_for_librdkafka() -> None:
    """One PEM file holds key and certificate; OpenSSL takes from it what it looks for."""
    result = client_properties(
        {
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": "/ca.pem",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": "/both.pem",
        }
    )

    assert result == {
        "ssl.ca.location": "/ca.pem",
        "ssl.certificate.location": "/both.pem",
        "ssl.key.location": "/both.pem",
    }


def test_a_store_that_librdkafka_cannot_read_is_refused() -> None:
    """A JKS store is Java's alone."""
    with pytest.raises(SettingsError, match=r"ssl.truststore.type: found JKS; librdkafka reads PEM"):
        client_properties({"ssl.truststore.location": "/store.jks"})


def test_a_key_that_java_cannot_read_is_refused_with_the_command_that_converts_it(tmp_path: Path) -> None:
    """Java reads PKCS#8 alone, OpenSSL more."""
    key = tmp_path / "key.pem"
    key.write_text("-----BEGIN RSA PRIVATE KEY-----")

    with pytest.raises(SettingsError, match="openssl pkcs8"):
        spark_properties({"ssl.key.location": str(key), "ssl.certificate.pem": "CERT"})


def test_a_missing_file_is_named() -> None:
    """The error has the property and the path."""
    with pytest.raises(SettingsError, match=r"ssl.ca.location: /nowhere/ca.pem: No such file"):
        spark_properties({"ssl.ca.location": "/nowhere/ca.pem"})


def test_host_name_checks_are_turned_off_in_each_family_s_way() -> None:
    """Java's word for none is an empty text."""
    name = "ssl.endpoint.identification.algorithm"

    assert spark_properties({name: "none"}) == {f"kafka.{name}": ""}
    assert client_properties({name: ""}) == {name: "none"}


def test_an_unknown_property_is_refused_with_a_suggestion() -> None:
    """Neither client gets a name that it would ignore without a word."""
    with pytest.raises(SettingsError, match=r"Did you mean 'sasl\.password'"):
        spark_properties({"sasl.pasword": "s3c"})


@pytest.mark.parametrize("name", ["group.id", "isolation.level", "enable.auto.commit"])
def test_a_property_that_ingest_sets_itself_is_refused(name: str) -> None:
    """Offsets live in the table, and only committed records are read."""
    with pytest.raises(SettingsError, match="sets this property itself"):
        client_properties({name: "x"})


def test_a_missing_password_is_named() -> None:
    """A half login is an error before any broker is asked."""
    with pytest.raises(SettingsError, match=r"sasl.password: missing"):
        spark_properties({"sasl.mechanism": "PLAIN", "sasl.username": "ann"})


def test_no_error_shows_a_secret() -> None:
    """What fails about a login is said without it."""
    for wrong in ({"sasl.jaas.config": "x.Y s3cret"}, {"sasl.username": "u", "sasl.password": "s3cret\n"}):
        with pytest.raises(SettingsError) as caught:
            {**client_properties(given := {"sasl.mechanism": "PLAIN", **wrong}), **spark_properties(given)}
        assert "s3cret" not in str(caught.value)
    assert without_secrets("login s3cret failed", {"sasl.password": "s3cret"}) == "login *** failed"


@pytest.mark.parametrize(
    "properties",
    [
        LOGIN,
        {"client.id": "x", "client.dns.lookup": "use_all_dns_ips", "retry.backoff.ms": "100"},
        {"fetch.max.bytes": "1000", "request.timeout.ms": "1000", "max.poll.records": "10"},
        {"ssl.endpoint.identification.algorithm": "", "ssl.enabled.protocols": "TLSv1.3"},
    ],
)
def test_librdkafka_accepts_the_properties(properties: dict[str, str]) -> None:
    """The library itself refuses unknown names and wrong values when the client is made."""
    client = AdminClient(client_properties(properties))

    assert client.poll(0) == 0
