"""TLS on the TCP addresses: the same answers and limits; a start without a usable certificate fails."""

import select
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from tests.processes import HOST, Server, free_port, refused_start
from tests.server.certificates import Certificates, write_certificates
from tests.server.peer import Peer
from tests.server.test_start import is_one_sentence, ping
from tests.server.test_timeouts import MEGABYTE, SENT_BYTES_MAX, WORDS, read_slowly
from tests.support.patience import WAIT_S, until


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return write_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def tls_server(tmp_path_factory: pytest.TempPathFactory, certificates: Certificates) -> Iterator[Server]:
    """A server with TLS, an idle time-out of one second, and enough words for long answers."""
    folder = tmp_path_factory.mktemp("tls")
    settings = {**certificates.settings(), "channel.tcp_timeout": 1, "channel.unix_socket": folder / "s.sock"}
    with Server(folder, settings) as server:
        with Peer(server, "ingest", tls=certificates.client()) as ingest:
            for number in range(WORDS):
                ingest.send_lines(f'PUSH many b o{number % 7} "{"a" * 32}{number:05}" LANG(none)')
            assert set(ingest.lines(WORDS)) == {"OK"}
        yield server
        assert server.log() == "", "nothing that peers do is worth a line"


def test_many_commands_in_one_go(tls_server: Server, certificates: Certificates) -> None:
    with Peer(tls_server, "search", tls=certificates.client()) as peer:
        peer.send(b"PING\n" * 20_000)
        assert peer.lines(20_000) == ["PONG"] * 20_000
        assert len(peer.results("LIST many b LIMIT(500)")) == WORDS


def test_the_unix_socket_does_without(tls_server: Server) -> None:
    with Peer(tls_server, "search", unix=tls_server.folder / "s.sock") as peer:
        assert peer.ask("PING") == "PONG"


def test_a_plain_client_is_rejected(tls_server: Server) -> None:
    with Peer(tls_server) as peer:
        peer.send(b"START search\n")
        assert b"CONNECTED" not in peer.rest()


@pytest.mark.full
def test_a_silent_connection_is_closed(tls_server: Server, certificates: Certificates) -> None:
    began = time.monotonic()
    with Peer(tls_server, "search", tls=certificates.client()) as peer:
        assert peer.rest() == b""
        assert time.monotonic() - began > 0.9


def test_quit_closes(tls_server: Server, certificates: Certificates) -> None:
    with Peer(tls_server, "search", tls=certificates.client()) as peer:
        peer.send(b"PING\nQUIT\nPING\n")
        assert peer.rest() == b"PONG\r\nENDED quit\r\n"


@pytest.mark.full
def test_a_peer_that_never_reads_is_paused_bounded_and_dropped(tls_server: Server, certificates: Certificates) -> None:
    before = tls_server.rss_bytes()
    with Peer(tls_server, "search", receive_bytes=4096, tls=certificates.client()) as peer:
        sent = send_until_paused(peer.socket, b"LIST many b LIMIT(500)\n" * 10_000)
        assert sent < SENT_BYTES_MAX, "the server did not stop reading"
        assert tls_server.rss_bytes() - before < 10 * MEGABYTE
        with Peer(tls_server, "search", tls=certificates.client()) as other:
            assert other.ask("PING") == "PONG"
        until(lambda: connections(tls_server) == 1, "a peer that never reads is dropped", pause_s=0.1)


@pytest.mark.full
def test_a_slow_reader_gets_everything(tls_server: Server, certificates: Certificates) -> None:
    with Peer(tls_server, "search", receive_bytes=65_536, tls=certificates.client()) as peer:
        read_slowly(peer)


def test_the_end_of_input_ends_a_connection(tls_server: Server, certificates: Certificates) -> None:
    """The loop's TLS has no half-close: answers until then arrive, and the server closes the connection."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = certificates.client().wrap_bio(incoming, outgoing, server_hostname=HOST)
    with socket.create_connection((HOST, tls_server.port), timeout=WAIT_S) as connection:
        while True:
            try:
                client.do_handshake()
                break
            except ssl.SSLWantReadError:
                connection.sendall(outgoing.read())
                incoming.write(connection.recv(1 << 16))
        client.write(b"START search\nPING\nPING\n")
        with pytest.raises(ssl.SSLWantReadError):
            client.unwrap()  # announces the end of what it sends
        connection.sendall(outgoing.read())
        while data := connection.recv(1 << 16):
            incoming.write(data)
        incoming.write_eof()
        answers = b""
        with pytest.raises(ssl.SSLZeroReturnError):  # the server does the same
            while True:
                answers += client.read()
    assert answers.split(b"\r\n")[1:] == [b"STARTED search protocol(1) buffer(20000)", b"PONG", b"PONG", b""]


def test_a_peer_that_vanishes_harms_nobody(tls_server: Server, certificates: Certificates) -> None:
    for sent in (b'PUSH gone b o "words"\n' * 5_000, b"PING\nQUIT\n"):
        for close in (Peer.half_close, Peer.close):
            peer = Peer(tls_server, "ingest", tls=certificates.client())
            peer.send(sent)
            close(peer)
            peer.close()
    with socket.create_connection((HOST, tls_server.port)):
        pass  # before the handshake
    with Peer(tls_server, "search", tls=certificates.client()) as peer:
        assert peer.ask("PING") == "PONG"


@pytest.mark.full
def test_a_stop_answers_what_is_under_way_and_does_not_wait_for_handshakes(
    tmp_path: Path, certificates: Certificates
) -> None:
    with Server(tmp_path, certificates.settings()) as server:
        with socket.create_connection((HOST, server.port)), Peer(server, "ingest", tls=certificates.client()) as peer:
            peer.send(b'PUSH c b o "eins"\n' * 2_000)
            assert peer.line() == "OK"
            assert server.stop() == 0
            assert set(peer.rest().decode().split("\r\n")) <= {"OK", "ERR shutting_down", ""}
        assert server.log() == ""


def test_ping_over_tls(tls_server: Server, certificates: Certificates, tmp_path: Path) -> None:
    address = f"{HOST}:{tls_server.port}"
    assert ping("--inet", address, "--ca", str(certificates.ca), "--password", "x")[0] == 0
    assert ping("--unix", str(tls_server.folder / "s.sock"))[0] == 0
    status, said = ping("--inet", address, "--tls")
    assert (status, is_one_sentence(said)) == (1, True), said
    assert "a certificate that is not trusted" in said


def wrong_key(good: Certificates, other: Certificates) -> tuple[Path, Path, str]:
    return good.certificate, other.key, "the key is that of another certificate"


def swapped(good: Certificates, other: Certificates) -> tuple[Path, Path, str]:
    return good.key, good.certificate, "cannot be used"


def missing(good: Certificates, other: Certificates) -> tuple[Path, Path, str]:
    return good.certificate, good.key.with_name("none.pem"), "none.pem, which cannot be read: No such file"


def encrypted(good: Certificates, other: Certificates) -> tuple[Path, Path, str]:
    key = serialization.load_pem_private_key(good.key.read_bytes(), None)
    path = good.key.with_name("encrypted.pem")
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"secret"),
        )
    )
    return good.certificate, path, "without a passphrase"


def test_a_certificate_that_cannot_be_used_ends_the_server(tmp_path: Path, certificates: Certificates) -> None:
    other = write_certificates(tmp_path / "other")
    for case in (wrong_key, swapped, missing, encrypted):
        certificate, key, named = case(certificates, other)
        settings = {"channel.tls_certificate": certificate, "channel.tls_key": key}
        arguments = ["--inet", f"{HOST}:{free_port()}", "--data", str(tmp_path / "store")]
        status, said = refused_start(arguments, tmp_path, settings)
        assert (status, is_one_sentence(said)) == (2, True), said
        assert named in said
        assert not (tmp_path / "store").exists(), "nothing was touched"


def connections(server: Server) -> int:
    with Peer(server, "control", unix=server.folder / "s.sock") as control:
        return int(control.ask("INFO").split("clients_connected(")[1].split(")")[0])


def send_until_paused(target: socket.socket, data: bytes) -> int:
    """Send repeatedly until the server reads nothing for 0.2 s; return the number of bytes that it took. Raises
    AssertionError if that never happens.
    """
    target.setblocking(False)
    sent, begun = 0, time.monotonic()
    while time.monotonic() - begun < WAIT_S:
        try:
            sent += target.send(data)
        except (ssl.SSLWantWriteError, BlockingIOError):
            if not select.select([], [target], [], 0.2)[1]:
                return sent
        if sent > SENT_BYTES_MAX:
            return sent
    raise AssertionError("the server neither took nor refused what was sent")
