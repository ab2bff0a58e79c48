"""The keys of a cluster: one value of the vault, which every node reads again and again.

The value holds a few thousand keys; tokens narrow them for as many tenants as there are.
"""

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

from sonicpy.access.key import Key, pack_key, unpack_key
from sonicpy.cluster.log.broker import NotReady
from sonicpy.cluster.log.ending import end
from sonicpy.cluster.log.vault import Vault
from sonicpy.cluster.registry.registry import cluster_at
from sonicpy.errors import ConfigError, InvalidArgument, SonicError, StoreError
from sonicpy.ids import shown
from sonicpy.server.watching.unexpected import Unexpected

logger = logging.getLogger(__name__)

VALUE = "keys"
LOOK_S = 0.4
"""The interval in seconds at which a node reads the keys again, so that a change takes effect within a second."""
Change = Callable[[dict[str, Any]], bool]
BYTES_MAX = 900_000
"""The most bytes of the value: the brokers take at most 1 MiB per message."""
WHERE = "the registry of the cluster"
ALLOWED = "allowed is a JSON object of keys by name"


class RegisteredKeys:
    """The keys of a cluster, as a node has last read them."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._revision = 0
        self._keys: Mapping[str, Key] = {}

    def get(self, name: str) -> Key | None:
        """Return the key with a name; None: there is none."""
        return self._keys.get(name)

    async def follow(self) -> None:
        """Read the keys again and again, until the task is cancelled."""
        unexpected, told = Unexpected(logger, "while the keys were read"), ""
        while True:
            try:
                await self.look()
                told = ""
            except NotReady:  # the keys stay as they were read: brokers that are gone revoke nothing
                pass
            except SonicError as error:
                if str(error) != told:
                    told = str(error)
                    logger.error("%s", error)
            except Exception as error:  # noqa: BLE001 - keys that are revoked later have to end, too
                unexpected.log(error)
            await asyncio.sleep(LOOK_S)

    async def look(self) -> None:
        """Read the keys.

        Raises:
            NotReady: no broker answers.
            ConfigError: the keys, or one of them, cannot be read; the keys stay as they were.
            StoreError: the brokers refuse.
        """
        noted = await self._vault.get(VALUE)
        if noted is not None and noted.revision != self._revision:
            self._revision = noted.revision
            self._keys = _unpacked(noted.value)


def _unpacked(value: bytes) -> dict[str, Key]:
    return {name: unpack_key(name, packed, WHERE) for name, packed in _packed(value).items()}


def _packed(value: bytes) -> dict[str, Any]:
    """Return the packed keys in a value by name. Raises ConfigError if it cannot be read."""
    try:
        held = json.loads(value)
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError among them
        raise ConfigError(f"{WHERE}: the value {VALUE} cannot be read: {error}; {ALLOWED}.") from error
    if not isinstance(held, dict):
        raise ConfigError(f"{WHERE}: the value {VALUE} is {shown(held)}; {ALLOWED}.")
    return held


class ClusterKeys:
    """The keys of a cluster, changed by `sonicpy keys`; the methods are those of `access.key_store.KeyStore`.

    Args:
        brokers: addresses of NATS servers, separated by commas.
    """

    def __init__(self, brokers: str) -> None:
        self._brokers = brokers

    def all(self) -> Iterator[Key]:
        """Yield all keys, by name. Raises SonicError."""
        held = asyncio.run(self._change(lambda held: False))
        return iter([_unpacked(json.dumps({name: held[name]}).encode())[name] for name in sorted(held)])

    def put(self, key: Key) -> bool:
        """Add a key; return False if there is one with this name already. Raises SonicError."""
        added = False

        def add(held: dict[str, Any]) -> bool:
            nonlocal added
            added = key.name not in held
            held.setdefault(key.name, json.loads(pack_key(key)))
            return added

        asyncio.run(self._change(add))
        return added

    def remove(self, name: str) -> bool:
        """Remove a key; return whether there was one. Raises SonicError."""
        removed = False

        def drop(held: dict[str, Any]) -> bool:
            nonlocal removed
            removed = held.pop(name, None) is not None
            return removed

        asyncio.run(self._change(drop))
        return removed

    async def _change(self, change: Change) -> dict[str, Any]:
        async with cluster_at(self._brokers, "sonicpy keys", patient=False) as (_, registry):
            return await change_keys(registry.vault, change)


async def change_keys(vault: Vault, change: Change) -> dict[str, Any]:
    """Change the keys of a cluster; return all of them, by name and packed.

    Args:
        change: changes a dict of keys by name, and returns whether it has changed anything.

    Raises:
        ConfigError: the present keys cannot be read.
        InvalidArgument: there would be too many keys for one value.
        StoreError: another command changed them at the same time, or the brokers refuse.
    """
    noted = await vault.get(VALUE)
    held: dict[str, Any] = {} if noted is None else _packed(noted.value)
    if change(held):
        value = json.dumps(held, separators=(",", ":")).encode()
        if len(value) > BYTES_MAX:
            raise InvalidArgument(
                f"the keys of the cluster take {len(value)} bytes; allowed are {BYTES_MAX}: sign tokens instead"
            )
        try:
            await vault.update(VALUE, value, 0 if noted is None else noted.revision)
        except NotReady as error:
            raise StoreError(f"the keys were not changed, try again: {error}") from error
    return held


@contextlib.asynccontextmanager
async def following(vault: Vault) -> AsyncIterator[RegisteredKeys]:
    """Follow the keys of a cluster inside a `with` block; yield these keys. Raises ConfigError if they cannot be read
    at first.
    """
    keys = RegisteredKeys(vault)
    with contextlib.suppress(NotReady):
        await keys.look()
    task = asyncio.ensure_future(keys.follow())
    try:
        yield keys
    finally:
        await end([task])
