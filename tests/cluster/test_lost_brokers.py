"""A broker that ends during a command of the operator is one sentence, with the state that the command leaves."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from nats.aio.client import Client  # noqa: E402
from nats.errors import ConnectionClosedError, FlushTimeoutError  # noqa: E402

from sonicpy.cluster.log.broker import NotReady  # noqa: E402
from sonicpy.cluster.registry import watched  # noqa: E402
from sonicpy.cluster.registry.orders import Order, tell_layout, tell_recovery  # noqa: E402
from sonicpy.cluster.registry.registry import Layout  # noqa: E402
from sonicpy.cluster.registry.status import ask_nodes  # noqa: E402
from sonicpy.cluster.registry.watched import Asleep, give_watched_order  # noqa: E402


class LostBrokers:
    """A connection to brokers that have ended."""

    is_closed = False

    def __init__(self, error: Exception) -> None:
        self._error = error

    def new_inbox(self) -> str:
        return "inbox"

    async def publish(self, *_: object, **__: object) -> None:
        if isinstance(self._error, ConnectionClosedError):
            raise self._error

    async def flush(self) -> None:
        raise self._error

    async def subscribe(self, *_: object, **__: object) -> None:
        raise self._error

    async def request(self, *_: object, **__: object) -> None:
        await asyncio.Event().wait()


Call = Callable[[Client], Coroutine[Any, Any, object]]
CALLS: list[tuple[Call, str]] = [
    (tell_layout, "has passed it on to the nodes .*: they read the layout some seconds after a broker answers again"),
    (lambda brokers: tell_recovery(brokers, 3), "to the nodes .*: restart nodes whose reads of partition 3 get ERR"),
    (lambda brokers: ask_nodes(brokers, Layout(2, 1, ("n1",))), "the nodes cannot be asked: no broker answers"),
]


@pytest.mark.parametrize("error", [ConnectionClosedError(), FlushTimeoutError()], ids=["closed", "silent"])
@pytest.mark.parametrize(("call", "said"), CALLS, ids=["layout", "recovery", "status"])
def test_a_command_says_so_in_a_sentence(call: Call, said: str, error: Exception) -> None:
    with pytest.raises(NotReady, match=said):
        asyncio.run(call(cast(Client, LostBrokers(error))))


def test_an_order_waits_for_another_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watched, "SILENCE_S", 0.1)
    monkeypatch.setattr(watched, "LOOK_S", 0.01)
    with pytest.raises(Asleep, match="the node has not answered for 0.1 s"):
        asyncio.run(give_watched_order(cast(Client, LostBrokers(FlushTimeoutError())), "n1", Order("save", 0)))
