"""A certificate authority and a server certificate for one API on the loopback.

EKS hands out its own authority in ``certificateAuthority.data``; clients trust nothing else. Keys are
P-256: quick to make, accepted by Go, Python and OpenSSL alike.
"""

from __future__ import annotations

import base64
import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_VALIDITY = datetime.timedelta(days=3650)


@dataclass(frozen=True)
class ServerIdentity:
    """PEM texts of one server: the authority's certificate, the server's certificate and its key."""

    authority_pem: bytes
    certificate_pem: bytes
    key_pem: bytes

    @property
    def authority_data(self) -> str:
        """Base64 of the authority's PEM, as ``eks:DescribeCluster`` answers it."""
        return base64.b64encode(self.authority_pem).decode("ascii")

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Write certificate chain and key below ``folder`` (``ssl`` reads files only)."""
        chain, key = folder / "server.crt", folder / "server.key"
        chain.write_bytes(self.certificate_pem + self.authority_pem)
        key.touch(mode=0o600)
        key.write_bytes(self.key_pem)
        return chain, key


def make_server_identity(common_name: str) -> ServerIdentity:
    """A fresh authority ``kubernetes`` and a certificate for 127.0.0.1, localhost and the service names."""
    now = datetime.datetime.now(datetime.UTC)
    authority_key = ec.generate_private_key(ec.SECP256R1())
    authority_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kubernetes")])
    authority = (
        _builder(authority_name, authority_name, authority_key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_key_usage(signing=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    server_key = ec.generate_private_key(ec.SECP256R1())
    server_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name[:64])])
    names: list[x509.GeneralName] = [
        x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
        x509.DNSName("localhost"),
        x509.DNSName("kubernetes"),
        x509.DNSName("kubernetes.default.svc"),
    ]
    server = (
        _builder(server_name, authority_name, server_key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(_key_usage(signing=False), critical=True)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False
        )
        .sign(authority_key, hashes.SHA256())
    )
    return ServerIdentity(
        authority_pem=authority.public_bytes(serialization.Encoding.PEM),
        certificate_pem=server.public_bytes(serialization.Encoding.PEM),
        key_pem=server_key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime.datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + _VALIDITY)
    )


def _key_usage(*, signing: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signing,
        crl_sign=signing,
        encipher_only=False,
        decipher_only=False,
    )
