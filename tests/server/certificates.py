"""Certificates for one test, signed by an authority that is made for it."""

import ssl
from dataclasses import dataclass
from pathlib import Path

import trustme

from tests.processes import HOST


@dataclass(frozen=True, slots=True)
class Certificates:
    """PEM files, and the context of a client that trusts them."""

    certificate: Path
    key: Path
    ca: Path

    def settings(self) -> dict[str, object]:
        """Return the settings of a server with TLS."""
        return {"channel.tls_certificate": self.certificate, "channel.tls_key": self.key}

    def client(self) -> ssl.SSLContext:
        """Return the TLS context of a client."""
        return ssl.create_default_context(cafile=str(self.ca))


def write_certificates(folder: Path, name: str = HOST) -> Certificates:
    """Write a certificate for `name`, its key, and the certificate of the authority that signed it; return their
    paths.
    """
    folder.mkdir(parents=True, exist_ok=True)
    authority = trustme.CA()
    signed = authority.issue_cert(name)
    files = Certificates(folder / "certificate.pem", folder / "key.pem", folder / "ca.pem")
    signed.private_key_pem.write_to_path(str(files.key))
    authority.cert_pem.write_to_path(str(files.ca))
    files.certificate.write_bytes(b"".join(blob.bytes() for blob in signed.cert_chain_pems))
    return files
