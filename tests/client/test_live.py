"""Tests of clients with a real server: killed and started again, slow to take rows, behind TLS, a Unix socket and
IPv6.
"""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import sonicpy
from sonicpy.errors import ConfigError, ConnectionLost, NotSonic, WrongPassword
from tests.client.fake import Caller, Fake
from tests.client.ways import ALL_WAYS, EVERY_WAY, ONE_WAY, Connect
from tests.processes import HOST, Server, free_port
from tests.server.certificates import Certificates, write_certificates
from tests.support.patience import WAIT_S, is_within


@pytest.fixture(params=EVERY_WAY)
def connect(request: pytest.FixtureRequest) -> Connect:
    return ALL_WAYS[request.param]


@pytest.fixture(params=ONE_WAY)
def connect_apart(request: pytest.FixtureRequest) -> Connect:
    return ALL_WAYS[request.param]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return write_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def tls_server(tmp_path_factory: pytest.TempPathFactory, certificates: Certificates) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("tls")
    settings = {**certificates.settings(), "channel.unix_socket": folder / "s.sock"}
    with Server(folder, settings, password="p/w") as server:
        yield server


def url_of(server: Server) -> str:
    return f"sonic://{server.host}:{server.port}"


def in_a_while(work: object, delay_s: float = 0.3) -> threading.Timer:
    timer = threading.Timer(delay_s, work)  # type: ignore[arg-type]
    timer.start()
    return timer


@pytest.mark.full
def test_reads_and_push_outlive_a_server(connect_apart: Connect, tmp_path: Path) -> None:
    with Server(tmp_path) as server, connect_apart(url_of(server)) as client:
        client.push("c", "b", "o:1", "zebra")
        assert client.query("c", "b", "zebra") == ["o:1"]
        server.kill()
        later = in_a_while(server.start)
        client.push("c", "b", "o:2", "zebra")  # retried until the server is there
        later.join()
        assert sorted(client.query("c", "b", "zebra")) == ["o:1", "o:2"]

        server.stop()
        later = in_a_while(server.start)
        assert client.count_objects("c", "b") == 2
        later.join()


def test_rows_outlive_a_server(connect_apart: Connect, tmp_path: Path) -> None:
    killed = threading.Event()

    def rows() -> Iterator[tuple[str, str]]:
        for number in range(6000):
            if number == 2500:
                server.kill()
                threading.Timer(0.2, lambda: (server.start(), killed.set())).start()
            yield f"o:{number}", f"zebra number{number}"

    with Server(tmp_path) as server, connect_apart(url_of(server)) as client:
        report = client.push_many(rows(), collection="c", bucket="b", lang="none")
        assert killed.wait(WAIT_S)
        assert (report.indexed, report.refused) == (6000, [])
        assert client.count_objects("c", "b") == 6000
        for number in (0, 2499, 2500, 5999):
            assert client.query("c", "b", f"number{number}", limit=1) == [f"o:{number}"]


def test_without_a_server_even_reads_end(connect_apart: Connect) -> None:
    def script(caller: Caller) -> None:
        caller.greet()
        caller.line()

    with Fake(script) as fake:
        client = connect_apart(fake.url, retry_s=0.3)
    with client:
        began = time.monotonic()
        with pytest.raises(ConnectionLost, match="cannot be reached"):
            client.query("c", "b", "zebra")
        assert is_within(5, began)


def test_tls(connect: Connect, tls_server: Server, certificates: Certificates) -> None:
    address = f"{HOST}:{tls_server.port}"
    for url, options in (
        (f"sonics://:p%2Fw@{address}?ca={certificates.ca}", {}),
        (f"sonics://:p%2Fw@{address}", {"tls": certificates.client()}),
    ):
        with connect(url, **options) as client:
            client.push("c", "b", "o", "zebra " * 50_000)
            assert client.query("c", "b", "zebra") == ["o"]
            assert client.push_many([(f"o:{number}", "kiwi") for number in range(2000)], collection="c", bucket="b")
            assert client.count_objects("c", "b") == 2001
    with pytest.raises(NotSonic, match="is not trusted"):
        connect(f"sonics://:p%2Fw@{address}")
    with pytest.raises(WrongPassword):
        connect(f"sonics://{address}?ca={certificates.ca}")
    with pytest.raises(ConfigError, match="cannot be read"):
        connect(f"sonics://{address}?ca=/nowhere.pem")
    with pytest.raises(ConfigError, match="not a PEM certificate"):
        connect(f"sonics://{address}?ca={__file__}")


def test_tls_where_there_is_none(connect: Connect, shared_server: Server) -> None:
    with pytest.raises(NotSonic, match=r"speaks no TLS: use sonic://$"):
        connect(f"sonics://{HOST}:{shared_server.port}")
    mail = Fake(lambda caller: caller.say("220 mail.example.net ESMTP"))
    with mail, pytest.raises(NotSonic, match=r"speaks no TLS: use sonic://$"):
        connect(mail.url.replace("sonic://", "sonics://"))


def test_unix_socket(connect: Connect, tls_server: Server, tmp_path: Path) -> None:
    path = tls_server.folder / "s.sock"
    with connect(f"sonic+unix://{path}?password=p%2Fw") as client:
        client.push("unix", "b", "o", "zebra")
        assert client.query("unix", "b", "zebra") == ["o"]
        assert str(path) in repr(client.target if hasattr(client, "target") else client)
    with pytest.raises(ConnectionLost, match="cannot be reached: No such file"):
        connect(f"sonic+unix://{tmp_path / 'nobody.sock'}")


def test_ipv6(connect_apart: Connect, tmp_path: Path) -> None:
    try:
        server = Server(tmp_path, host="::1")
    except OSError:
        pytest.skip("this machine has no IPv6")
    with server:
        with connect_apart(f"sonic://[::1]:{server.port}") as client:
            assert client.ping() > 0
            assert client.info()["clients_connected"] == 2
        with connect_apart(f"sonic://localhost:{server.port}") as client:
            assert client.ping() > 0


def test_localhost_is_either_address_of_this_machine(connect_apart: Connect, shared_server: Server) -> None:
    with connect_apart(f"sonic://localhost:{shared_server.port}") as client:
        assert client.ping() > 0
    port = free_port()
    with pytest.raises(ConnectionLost, match=f"^localhost:{port} cannot be reached"):
        connect_apart(f"sonic://localhost:{port}", retry_s=0)


def test_a_blank_ends_the_last_word_as_in_the_library(connect_apart: Connect, shared_server: Server) -> None:
    texts = {"1": "world peace", "2": "hello there"}
    with (
        sonicpy.open(":memory:") as index,
        connect_apart(f"sonic://{shared_server.host}:{shared_server.port}") as client,
    ):
        for name, text in texts.items():
            index.push("blank_at_end", "b", name, text)
            client.push("blank_at_end", "b", name, text)
        for query in ("worl", "worl ", "worl \t ", "worl\\ ", 'worl" ', "hello worl ", " "):
            expected = index.query("blank_at_end", "b", query)
            found = client.query("blank_at_end", "b", query)
            assert list(found) == list(expected)
            assert [hit.score for hit in found] == pytest.approx([hit.score for hit in expected], abs=1e-6)
        one, other = (index.query("blank_at_end", "b", text)[0].score for text in ("worl ", "worl"))
        assert one != other
        client.flush("blank_at_end")
