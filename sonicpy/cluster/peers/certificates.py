"""The certificate of a node's listener, if the traffic between nodes is encrypted.

Each start of a node makes a new certificate and writes it to the registry, so no authority needs to sign it: other
nodes trust this certificate alone. Its names and dates are not checked, because the registry is trusted.

Import this only where it is needed: the package cryptography takes memory, which nodes without TLS save.
"""

import ssl
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

VALID_FROM, VALID_UNTIL = datetime(2000, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)
"""The dates of certificates: far enough apart for machines whose clocks are wrong."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """A new certificate, and the TLS context that serves with it.

    Attributes:
        text: the certificate as PEM.
    """

    text: str
    context: ssl.SSLContext


def make_certificate(name: str) -> Certificate:
    """Return a new certificate of a node."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(VALID_FROM)
        .not_valid_after(VALID_UNTIL)
        .sign(key, hashes.SHA256())
    )
    text = certificate.public_bytes(Encoding.PEM)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:  # no other user can read it; `ssl` takes keys only from files
        path = Path(folder, "node.pem")
        path.touch(mode=0o600)
        path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) + text)
        context.load_cert_chain(path)
    return Certificate(text.decode(), context)
