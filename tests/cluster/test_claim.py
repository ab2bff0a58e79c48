"""One process at a time writes under a name: an acknowledgement after a later process has the name is not an OK."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, cast

import pytest

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from nats.aio.client import Client  # noqa: E402
from nats.errors import NoRespondersError  # noqa: E402

from sonicpy.cluster.log.writer import LogWriter  # noqa: E402
from sonicpy.cluster.node import claim as module  # noqa: E402
from sonicpy.cluster.node.claim import REACHED_S, WAIT_S, NameClaim, NameLost, now_s  # noqa: E402
from sonicpy.cluster.registry.registry import Registry  # noqa: E402
from sonicpy.errors import ConfigError, StoreError  # noqa: E402
from tests.cluster.memory import MemoryBroker  # noqa: E402
from tests.support import patience  # noqa: E402

TAKEN = "--node is n1, which a running node has"


@dataclass
class Message:
    """A message as a subscriber receives it."""

    data: bytes
    reply: str = ""
    answer: bytes | None = None

    async def respond(self, answer: bytes) -> None:
        self.answer = answer


class Subscription:
    """A subscription that `unsubscribe` ends."""

    def __init__(self, hub: "Hub", take: Callable[[Message], Awaitable[None]]) -> None:
        self._hub, self._take = hub, take

    async def unsubscribe(self) -> None:
        self._hub.takers.remove(self._take)


class Hub:
    """Brokers with one subject; while `is_cut`, no message gets through."""

    is_closed = False

    def __init__(self) -> None:
        self.takers: list[Callable[[Message], Awaitable[None]]] = []
        self.is_cut = False

    async def subscribe(self, subject: str, cb: Callable[[Message], Awaitable[None]]) -> Subscription:
        self.takers.append(cb)
        return Subscription(self, cb)

    async def publish(self, subject: str, data: bytes) -> None:
        for take in [] if self.is_cut else list(self.takers):
            await take(Message(data))

    async def request(self, subject: str, data: bytes, timeout: float) -> Message:  # noqa: ASYNC109 - as nats-py has it
        if self.is_cut or not self.takers:
            raise NoRespondersError
        message = Message(data, "reply")
        await self.takers[0](message)
        return Message(message.answer or b"")


class Names:
    """A registry that holds the incarnation of each name."""

    def __init__(self) -> None:
        self.held: dict[str, int] = {}
        self.asked = 0

    async def incarnation(self, name: str) -> tuple[int, bool]:
        is_first = name not in self.held
        self.held[name] = self.held.get(name, 0) + 1
        return self.held[name], is_first

    async def confirm_incarnation(self, name: str, number: int) -> bool:
        self.asked += 1
        if self.asked == 1:
            raise ConfigError("the brokers choose a leader.")
        return self.held[name] == number


async def take(hub: Hub, names: Names) -> NameClaim:
    return await NameClaim.take(cast(Client, hub), cast(Registry, names), "n1", TAKEN)


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, patience.WAIT_S))


def test_a_name_that_another_process_has_is_refused() -> None:
    async def test() -> None:
        hub, names = Hub(), Names()
        first = await take(hub, names)
        with pytest.raises(ConfigError, match=r"which a running node has \(process \d+ of the machine .+\)\."):
            await take(hub, names)
        await first.confirm()
        await first.release()
        again = await take(hub, names)
        assert again.incarnation == 2
        await again.release()

    run(test())


def test_who_hears_a_later_process_writes_no_more() -> None:
    async def test() -> None:
        hub, names = Hub(), Names()
        first = await take(hub, names)
        await first.confirm()
        hub.is_cut = True  # the second one asks for the holder of the name in vain
        second = await take(hub, names)
        await first.confirm()
        hub.is_cut = False
        with pytest.raises(NameLost, match="another process has taken the name n1"):
            await asyncio.wait_for(first.wait_for_loss(), patience.WAIT_S)
        with pytest.raises(NameLost):
            await first.confirm()
        await second.confirm()
        await first.release()
        await second.release()

    run(test())


def test_who_stood_still_asks_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        hub, names = Hub(), Names()
        first = await take(hub, names)
        await first.confirm()
        asked = names.asked
        hub.is_cut = True
        await first.confirm()
        assert names.asked == asked
        monkeypatch.setattr(module, "now_s", lambda: now_s() + 2 * REACHED_S)
        await first.confirm()  # the name is free: it asks until a broker answers, and then goes on
        assert names.asked == asked + 1
        await first.confirm()
        assert names.asked == asked + 1
        await names.incarnation("n1")
        monkeypatch.setattr(module, "now_s", lambda: now_s() + 4 * REACHED_S)
        with pytest.raises(NameLost):
            await first.confirm()
        await first.release()

    run(test())


def test_announcements_that_were_late_count_as_standing_still(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        hub, names = Hub(), Names()
        first = await take(hub, names)
        await names.incarnation("n1")
        monkeypatch.setattr(module, "now_s", lambda: now_s() + 2 * REACHED_S)
        await hub.publish("", b"%d %f" % (first.incarnation, module.now_s()))
        with pytest.raises(NameLost):
            await first.confirm()
        await first.release()

    run(test())


@pytest.mark.full
def test_who_comes_later_waits_until_the_one_before_has_heard_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        hub, names = Hub(), Names()
        with monkeypatch.context() as patched:
            patched.setattr(module, "WAIT_S", 10 * patience.WAIT_S)
            first = await take(hub, names)
            await first.may_begin()  # at once
        await first.release()
        second = await take(hub, names)
        began = now_s()
        await second.may_begin()
        assert now_s() - began > REACHED_S
        await second.release()

    run(test())


class Broker:
    """The one broker that a process can reach, which delivers only the messages of this process."""

    is_closed = False

    def __init__(self, hub: Hub) -> None:
        self.own = Hub()
        self._hub = hub

    async def subscribe(self, subject: str, cb: Callable[[Message], Awaitable[None]]) -> Subscription:
        return await self.own.subscribe(subject, cb)

    async def publish(self, subject: str, data: bytes) -> None:
        await self.own.publish(subject, data)

    async def request(self, subject: str, data: bytes, timeout: float) -> Message:  # noqa: ASYNC109 - as nats-py has it
        return await self._hub.request(subject, data, timeout)


def test_who_was_cut_off_with_its_broker_asks_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process has received its own messages all the time, but not those of the process that took its name."""

    async def test() -> None:
        names = Names()
        first = await take(cast(Hub, Broker(Hub())), names)
        await first.confirm()
        second = await take(Hub(), names)
        late_s = 0.0
        monkeypatch.setattr(module, "now_s", lambda: now_s() + late_s)
        for _ in range(4):  # it stays connected to its broker
            late_s += REACHED_S / 2
            await cast(Any, first)._connection.publish("", b"%d %f" % (first.incarnation, module.now_s()))
        with pytest.raises(NameLost):
            await first.confirm()
        await first.release()
        await second.release()

    run(test())


def test_who_writes_looks_in_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    assert module.ANNOUNCE_S + module.ANSWER_S < WAIT_S  # it has looked before the second one begins

    async def test() -> None:
        monkeypatch.setattr(module, "REACHED_S", 100.0)  # only the watch looks
        names = Troubled()
        first = await take(cast(Hub, Broker(Hub())), names)
        await first.confirm()
        second = await take(Hub(), names)
        await look_at(first)
        with pytest.raises(NameLost):
            await first.confirm()
        await first.release()
        await second.release()

    run(test())


def test_a_registry_without_a_leader_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests sent while the registry had no leader are never answered."""

    class Leaderless(Names):
        async def confirm_incarnation(self, name: str, number: int) -> bool:
            self.asked += 1
            if self.asked < 3:
                await asyncio.sleep(1000)
            return self.held[name] == number

    async def test() -> None:
        monkeypatch.setattr(module, "ANSWER_S", 0.05)
        first = await take(Hub(), Leaderless())
        await asyncio.wait_for(first.confirm(), patience.WAIT_S)
        await first.release()

    run(test())


def test_what_a_replica_has_carried_out_does_not_wait_for_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        names = Troubled()
        first = await take(Hub(), names)
        await first.confirm()
        names.error = ConfigError("the brokers choose a leader.")
        monkeypatch.setattr(module, "now_s", lambda: now_s() + 2 * REACHED_S)
        effect: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(0.05, effect.set_result, None)
        await asyncio.wait_for(first.confirm(effect), patience.WAIT_S)
        await asyncio.wait_for(first.confirm(effect), patience.WAIT_S)
        with pytest.raises(TimeoutError):  # that effect proves nothing for later batches
            await asyncio.wait_for(first.confirm(), 0.3)
        await names.incarnation("n1")
        names.error = None
        with pytest.raises(NameLost):
            await first.confirm()
        await first.release()

    run(test())


class Troubled(Names):
    """A registry that raises `error` unless it is None."""

    error: Exception | None = None

    async def confirm_incarnation(self, name: str, number: int) -> bool:
        self.asked += 1
        if self.error is not None:
            raise self.error
        return self.held[name] == number


async def look_at(claim: NameClaim) -> None:
    """Make a process that writes read the registry once."""
    await claim.confirm()
    asked = cast(Any, claim)._registry.asked
    while cast(Any, claim)._registry.asked == asked:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.01)


@pytest.mark.full
@pytest.mark.parametrize("error", [ConfigError("the brokers choose a leader."), OSError("the connection is lost")])
def test_who_writes_while_the_registry_is_silent_waits(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    async def test() -> None:
        monkeypatch.setattr(module, "REACHED_S", 100.0)
        names = Troubled()
        first = await take(cast(Hub, Broker(Hub())), names)
        await first.confirm()
        names.error = error
        await look_at(first)
        await asyncio.wait_for(first.confirm(), patience.WAIT_S)  # its brokers may be choosing a leader
        monkeypatch.setattr(module, "ELECTION_S", 0.0)  # that long it does not take
        await look_at(first)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(first.confirm(), 0.1)
        names.error = None
        await names.incarnation("n1")
        with pytest.raises(NameLost):
            await first.confirm()
        await first.release()

    run(test())


def test_a_watch_that_fails_is_told_and_every_ok_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        monkeypatch.setattr(module, "REACHED_S", 100.0)
        names = Troubled()
        first = await take(cast(Hub, Broker(Hub())), names)
        await first.confirm()
        names.error = KeyError("something that nobody foresaw")
        await look_at(first)
        names.error = None
        await first.confirm()
        await names.incarnation("n1")
        with pytest.raises(NameLost):
            await first.confirm()
        await first.release()

    run(test())
    assert [record.message for record in caplog.records] == ["an unexpected error with the name n1"]


class Lost:
    """A claim that is lost after the first acknowledgement."""

    loss: str | None = None

    async def may_begin(self) -> None:
        return

    async def confirm(self, effect: "asyncio.Future[None]") -> None:
        self.loss = "another process has the name"
        raise NameLost(self.loss)


def test_an_acknowledgement_is_no_ok_once_the_name_is_lost() -> None:
    async def test() -> None:
        broker = MemoryBroker()
        noted: list[int] = []
        writer = LogWriter(broker, 0, "n1", 1, lambda batch, position: noted.append(position), claim=Lost())
        batch = writer.add(3, b"a")
        answers = batch.answers_of(3)
        with pytest.raises(StoreError, match="was sent, and its outcome is unknown: another process has the name"):
            await batch.done
        with pytest.raises(StoreError, match="its outcome is unknown"):
            await answers
        with pytest.raises(StoreError, match="^another process has the name"):
            await writer.add(3, b"b").done
        assert len(broker.logs[0]) == 1
        assert not noted

    run(test())


class Leaderless:
    """A claim that is not lost, whose registry does not answer."""

    loss: str | None = None

    async def may_begin(self) -> None:
        return

    async def confirm(self, effect: "asyncio.Future[None]") -> None:
        await effect


def test_an_effect_is_that_of_all_partitions_of_a_batch() -> None:
    async def test() -> None:
        writer = LogWriter(MemoryBroker(), 0, "n1", 1, lambda batch, position: None, claim=Leaderless())
        batch = writer.add(3, b"a")
        assert writer.add(4, b"b") is batch
        await asyncio.sleep(0.05)
        for incarnation, number, partition in ((2, 1, 3), (1, 2, 3), (1, 1, 3), (1, 1, 3)):
            writer.note_answers(incarnation, number, partition, [1])
            await asyncio.sleep(0.01)
            assert not batch.done.done()
        writer.note_answers(1, 1, 4, [1])
        assert await asyncio.wait_for(batch.done, patience.WAIT_S) == 1

    run(test())


def test_a_barrier_is_a_place_in_the_log_whoever_has_the_name() -> None:
    async def test() -> None:
        writer = LogWriter(MemoryBroker(), 0, "n1", 1, lambda batch, position: None, claim=Lost())
        assert await asyncio.wait_for(writer.barrier().done, patience.WAIT_S) == 1

    run(test())
