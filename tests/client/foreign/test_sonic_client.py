"""Tests with sonic-client 1.0.0 from PyPI (module `sonic`), unchanged: a client written without knowledge of this
server.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.client.foreign.both import Address
from tests.processes import Server

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # its regular expressions are written with invalid escapes
    import sonic.client
    from sonic import ControlClient, IngestClient, SearchClient


@contextmanager
def connected(kind: type, server: Server | Address) -> Iterator[sonic.client.SonicClient]:
    """A client whose connections are closed at the end, because it never closes them itself."""
    client = kind(server.host, server.port, server.password)
    try:
        yield client
    finally:
        for connection in (*client.pool._inuse_connections, *client.pool._available_connections.queue):
            connection.close()


def test_ingest(locked_server: Server) -> None:
    with connected(IngestClient, locked_server) as client:
        assert client.ping() is True
        assert client.push("ingest", "b", "o:1", 'Die "erste" Zeile\nund die zweite', lang="deu") is True
        assert client.push("ingest", "b", "o:2", "Zeile mehr") is True
        assert client.count("ingest") == 1
        assert client.count("ingest", "b", "o:2") == 2
        assert client.pop("ingest", "b", "o:2", "mehr") == 1
        assert client.flush("ingest", "b", "o:2") == 1
        assert client.flush("ingest", "b") == 1
        assert client.flush("ingest") == 1


def test_search(locked_server: Server) -> None:
    with connected(IngestClient, locked_server) as client:
        for number in range(15):
            assert client.push("search", "b", f"o{number}", "gemeinsam erkennbar") is True
    with connected(SearchClient, locked_server) as client:
        assert len(client.query("search", "b", "gemeinsam")) == 10
        first = client.query("search", "b", "gemeinsam", limit=8)
        second = client.query("search", "b", "gemeinsam", limit=8, offset=8, lang="deu")
        assert sorted(first + second) == sorted(f"o{number}" for number in range(15))
        assert client.suggest("search", "b", "erkenn", limit=3) == ["erkennbar"]
        assert client.query("nowhere", "b", "nothing") == []
        assert client.suggest("nowhere", "b", "nothing") == []
        assert client.ping() is True


def test_errors(locked_server: Server) -> None:
    with connected(SearchClient, locked_server) as client:
        with pytest.raises(sonic.client.SonicServerError, match="policy_reject"):
            client.query("search", "b", "too many", limit=1_000)
        assert client.ping() is True, "the connection goes on"


def test_control(locked_server: Server) -> None:
    with connected(ControlClient, locked_server) as client:
        client.trigger("consolidate")
        assert client.ping() is True
        connection = client.get_active_connection()
        assert (connection.protocol, connection.bufsize) == ("1", "20000")


def test_a_wrong_password_is_refused(locked_server: Server) -> None:
    connection = sonic.client.SonicConnection(locked_server.host, locked_server.port, "wrong", "search")
    with pytest.raises(ValueError, match="ENDED authentication_failed"):
        connection.connect()
    connection.close()
