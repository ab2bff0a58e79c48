"""Connections with a key in search processes: the key has the same effect there as in the main process."""

import sys
from collections.abc import Iterator

import pytest

from sonicpy.access.key import hash_of, make_key, new_secret
from sonicpy.access.key_store import KeyStore
from tests.access.test_keys import SECRET, token
from tests.processes import Server
from tests.server.peer import Peer
from tests.server.search_tree import wait_for
from tests.support import proc
from tests.support.patience import until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")

KEYS = {
    "some": {"verbs": ["search"], "scopes": ["mine/a"]},
    "fixed": {"verbs": ["query", "suggest"], "scopes": ["mine"], "filter": "red"},
    "slow": {"verbs": ["search"], "scopes": ["mine"], "rate": 1000},
}
PUSHED = ['mine a o1 "word" TAGS(red)', 'mine a o2 "word secretword" TAGS(blue)', 'mine b o3 "word" TAGS(red)']


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    settings = {"server.search_processes": 1, "server.secret": SECRET}
    with Server(tmp_path_factory.mktemp("keys"), settings, password="word") as running:
        with Peer(running, "ingest") as peer:
            assert [peer.ask(f"PUSH {line}") for line in PUSHED] == ["OK"] * len(PUSHED)
        wait_for(running)
        yield running


@pytest.fixture(scope="module")
def secrets(server: Server) -> dict[str, str]:
    """Return the secret of each key."""
    return {name: added(KeyStore(server.folder / "store"), name, given) for name, given in KEYS.items()}


def added(store: KeyStore, name: str, given: dict[str, object]) -> str:
    secret = new_secret(name)
    assert store.put(make_key(name, hash_of(secret.encode()), given))
    return secret


def with_secret(server: Server, secret: str) -> Peer:
    peer = Peer(server)
    peer.line()
    assert peer.ask(f"START search {secret}").startswith("STARTED search")
    return peer


def handed(server: Server, secret: str) -> Peer:
    """Return a connection with a key that the search process serves."""
    [process] = wait_for(server)

    def connected() -> Peer | None:
        before = proc.sockets(process)
        peer = with_secret(server, secret)
        if proc.sockets(process) > before:
            return peer
        peer.close()
        return None

    found = until(connected, "a connection goes to the search process", pause_s=0.02)
    assert found is not None
    return found


def test_a_key_reaches_its_buckets_alone(server: Server, secrets: dict[str, str]) -> None:
    with handed(server, secrets["some"]) as peer:
        assert set(peer.results('QUERY mine a "word"')) == {"o1", "o2"}
        assert peer.ask('QUERY mine b "word"') == (
            "ERR not_permitted(the key some does not reach mine/b; it reaches mine/a)"
        )
        assert peer.ask('SUGGEST theirs b "wo"').startswith("ERR not_permitted(")
        assert peer.ask("PING") == "PONG"


def test_a_fixed_filter_holds(server: Server, secrets: dict[str, str]) -> None:
    with handed(server, secrets["fixed"]) as peer:
        assert peer.results('QUERY mine a "word"') == ["o1"]
        assert peer.results('QUERY mine a "secretword"') == []
        assert peer.results('SUGGEST mine a "secret"') == []
        assert peer.ask("LIST mine a").startswith("ERR not_permitted(")
        with Peer(server, "ingest") as ingest:  # a change that only the main process has yet
            assert ingest.ask('PUSH mine a o4 "word late" TAGS(blue)') == "OK"
            assert ingest.ask('PUSH mine a o5 "word late" TAGS(red)') == "OK"
        assert peer.results('QUERY mine a "late"') == ["o5"]


def test_a_token_is_narrower_than_its_key(server: Server, secrets: dict[str, str]) -> None:
    with handed(server, token("fixed", buckets=["mine/b"])) as peer:
        assert peer.results('QUERY mine b "word"') == ["o3"]
        assert peer.ask('QUERY mine a "word"').startswith("ERR not_permitted(the token of the key fixed")


@pytest.mark.full
def test_a_revoked_key_ends_there_too(server: Server) -> None:
    store = KeyStore(server.folder / "store")
    with handed(server, added(store, "brief", {"verbs": ["search"], "scopes": ["mine"]})) as peer:
        assert peer.results('QUERY mine b "word"') == ["o3"]
        assert store.remove("brief")
        until(lambda: peer.ask('QUERY mine b "word"').startswith("ERR not_permitted(the key brief was revoked"))


def test_a_rate_is_counted_in_the_main_process(server: Server, secrets: dict[str, str]) -> None:
    [process] = wait_for(server)
    before = proc.sockets(process)
    with with_secret(server, secrets["slow"]) as peer:
        assert peer.results('QUERY mine b "word"') == ["o3"]
        assert proc.sockets(process) <= before
