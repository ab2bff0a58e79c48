"""The keys of a cluster, in the registry, which every node reads again and again."""

import asyncio
import json
from pathlib import Path

import pytest

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from sonicpy.access.key import Key, hash_of, make_key, new_secret, pack_key
from sonicpy.cluster.log.vault import NotedValue
from sonicpy.cluster.operator.dev import DevCluster
from sonicpy.cluster.registry import registered_keys
from sonicpy.cluster.registry.registered_keys import ClusterKeys, change_keys, following
from sonicpy.errors import ConfigError, InvalidArgument, StoreError
from tests.cluster.clusters import running
from tests.cluster.memory import MemoryVault
from tests.server.peer import Peer
from tests.support.patience import until, until_in_loop


def key_of(name: str, secret: str = "") -> Key:
    return make_key(name, hash_of(secret.encode()), {"verbs": ["all"], "scopes": ["messages"]})


async def put(vault: MemoryVault, key: Key) -> None:
    packed = json.loads(pack_key(key))
    await change_keys(vault, lambda held: held.update({key.name: packed}) is None)


def test_nodes_follow_the_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registered_keys, "LOOK_S", 0.01)

    async def follow() -> None:
        vault = MemoryVault()
        async with following(vault) as keys:
            assert keys.get("web") is None
            await put(vault, key_of("web"))
            await asyncio.sleep(0.05)
            assert keys.get("web") == key_of("web")
            await change_keys(vault, lambda held: bool(held.pop("web")))
            await asyncio.sleep(0.05)
            assert keys.get("web") is None

    asyncio.run(follow())


DAMAGED = pytest.mark.parametrize("value", [b"", b"[]", b"null", b"\xff", b'{"web":'])


@DAMAGED
def test_a_value_that_is_no_table_of_keys_is_refused(value: bytes) -> None:
    async def test() -> None:
        vault = MemoryVault()
        vault._write("keys", value)
        with pytest.raises(ConfigError, match="registry of the cluster: the value keys .*; allowed is a JSON object"):
            async with following(vault):
                pass
        with pytest.raises(ConfigError, match="registry of the cluster: the value keys .*; allowed is a JSON object"):
            await put(vault, key_of("web"))

    asyncio.run(test())


@DAMAGED
def test_keys_are_followed_behind_a_value_that_cannot_be_read(
    value: bytes, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(registered_keys, "LOOK_S", 0.01)

    async def test() -> None:
        vault = MemoryVault()
        await put(vault, key_of("web"))
        async with following(vault) as keys:
            vault._write("keys", value)
            await until_in_loop(lambda: "the value keys" in caplog.text, "the node has told it")
            assert keys.get("web") == key_of("web")
            vault._write("keys", b"{}")
            await until_in_loop(lambda: keys.get("web") is None, "the key is revoked")

    asyncio.run(test())
    assert len(caplog.records) == 1


class FaultyVault(MemoryVault):
    """A vault that raises an error in its next reads."""

    error: Exception | None = None

    async def get(self, key: str) -> NotedValue | None:
        if self.error is not None:
            raise self.error
        return await super().get(key)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (KeyError("data"), "an unexpected error while the keys were read: KeyError('data')"),
        (StoreError("the brokers refuse"), "the brokers refuse"),
    ],
)
def test_keys_are_followed_behind_any_error(
    error: Exception, said: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(registered_keys, "LOOK_S", 0.01)

    async def test() -> None:
        vault = FaultyVault()
        await put(vault, key_of("web"))
        async with following(vault) as keys:
            vault.error = error
            await until_in_loop(lambda: bool(caplog.records), "the node has told it")
            vault.error = None
            await change_keys(vault, lambda held: bool(held.pop("web")))
            await until_in_loop(lambda: keys.get("web") is None, "the key is revoked")

    asyncio.run(test())
    assert {record.message for record in caplog.records} == {said}


def test_a_change_at_the_same_time_is_refused() -> None:
    vault = MemoryVault()

    def meanwhile(held: dict[str, object]) -> bool:
        vault._write("keys", b"{}")
        held["a"] = {}
        return True

    with pytest.raises(StoreError, match="the keys were not changed, try again"):
        asyncio.run(change_keys(vault, meanwhile))


def test_too_many_keys_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="sign tokens instead"):
        asyncio.run(change_keys(MemoryVault(), lambda held: held.update({"a": "x" * 10**6}) is None))


@pytest.mark.full
def test_a_key_of_a_running_cluster(tmp_path: Path) -> None:
    with running(DevCluster(tmp_path, 2, 2)) as cluster:
        keys, secret = ClusterKeys(cluster.addresses), new_secret("web")
        assert keys.put(key_of("web", secret))
        assert not keys.put(key_of("web", secret))
        assert [key.name for key in keys.all()] == ["web"]
        for port in cluster.node_ports.values():
            until(lambda port=port: asked(port, secret, "other") == "ERR not_permitted")
            assert asked(port, secret, "messages") == "RESULT 0"
        assert keys.remove("web")


def asked(port: int, secret: str, collection: str) -> str:
    """Return the first word of a node's answer to a count with a key."""
    server = type("Address", (), {"host": "127.0.0.1", "port": port, "password": secret})()
    with Peer(server, "ingest") as peer:
        return peer.ask(f"COUNT {collection} b").partition("(")[0]
