"""Certificates made for a test: an authority, a server's pair for loopback, a client's pair."""

import datetime as dt
import ipaddress
from pathlib import Path

import attrs
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@attrs.frozen
class Certificates:
    """PEM files: a CA, a server's pair for 127.0.0.1, a client's pair whose key has a password."""

    ca: Path
    server: Path
    server_key: Path
    client: Path
    client_key: Path
    client_key_password: str


def make_certificates(folder: Path, password: str = "tr0ub4dor") -> Certificates:  # noqa: S107 - of a test's key
    """Make a CA and its certificates; `password` is that of the client's key."""
    ca_key = ec.generate_private_key(ec.SECP256R1())
    ca = _signed(ca_key.public_key(), "test ca", ca_key, None)
    (folder / "ca.pem").write_bytes(ca.public_bytes(serialization.Encoding.PEM))
    for name, secret in (("server", None), ("client", password.encode())):
        key = ec.generate_private_key(ec.SECP256R1())
        pem = _signed(key.public_key(), name, ca_key, ca).public_bytes(serialization.Encoding.PEM)
        (folder / f"{name}.pem").write_bytes(pem)
        (folder / f"{name}.key").write_bytes(_key_pem(key, secret))
    return Certificates(
        folder / "ca.pem",
        folder / "server.pem",
        folder / "server.key",
        folder / "client.pem",
        folder / "client.key",
        password,
    )


def _key_pem(key: ec.EllipticCurvePrivateKey, password: bytes | None) -> bytes:
    encryption = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)


def _usage(*, is_ca: bool) -> x509.KeyUsage:
    """Return the uses of an authority's key, or those of a server's or client's."""
    unused = dict.fromkeys(
        ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement"), False
    )
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=is_ca,
        crl_sign=is_ca,
        encipher_only=False,
        decipher_only=False,
        **unused,
    )


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
        # Python 3.13 demands these of authorities and of what they sign (VERIFY_X509_STRICT).
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False
        )
        .add_extension(_usage(is_ca=issuer is None), critical=True)
        .sign(signer, hashes.SHA256())
    )
