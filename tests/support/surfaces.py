"""The same objects in every way to ask: an index, a bucket in parts, a server, an application."""

import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from sonicpy.cluster.node.known_rules import KnownRules
from sonicpy.cluster.node.places import Places
from sonicpy.cluster.node.spread import Spread
from sonicpy.cluster.node.writers import Writers
from sonicpy.cluster.peers.questions import Question, answer_read, pack_question, unpack_question
from sonicpy.cluster.registry.partitions import part_of
from sonicpy.cluster.registry.registry import Layout
from sonicpy.config import Config
from sonicpy.index.recorder import Recorder
from tests.client.ways import WAYS
from tests.index.test_spread import Part
from tests.processes import Server

C, B = "c", "b"
TEXTS = {
    "one": "engine",
    "form": "the engines of a boat",
    "longer": "a boat with an engine and a sail",
    "other": "a boathouse by the river, painted green and white",
    "typo": "enginer",
}
VALUES = {"longer": {"weight": 10**15}}
TAGS = {"one": ["metal"], "longer": ["metal", "wood"], "typo": ["wood"]}
BITS = {"one": b"\xff", "form": b"\x0f", "longer": b"\x00"}

ORDERED = Config.model_validate({"store": {"order": True}})


class Surfaces(NamedTuple):
    """One index, a bucket in parts, and a server, all with the same objects; and the ways to ask them.

    Attributes:
        whole: the index, which also has the objects in two more buckets, "x0" and "x1".
        http: a client of an application over the index; None: FastAPI is not installed.
    """

    folder: Path
    whole: Part
    spread: Spread
    url: str
    clients: dict[str, Any]
    http: Any


class PartsDesk:
    """A substitute for the desk of `Spread`: the parts in this process answer packed questions.

    Attributes:
        written: partition -> the position up to which changes are acknowledged.
    """

    is_strong = False

    def __init__(self, parts: list[Part], places: Places, recorder: Recorder) -> None:
        self.rules = KnownRules(places, {}, Writers.__new__(Writers), recorder, self.ask)
        self._parts = parts
        self.written = [0] * len(parts)

    def acknowledged(self, partitions: Iterable[int]) -> tuple[int, ...]:
        return tuple(self.written[partition] for partition in partitions)

    async def ask(self, partition: int, question: Question, *, once: bool = False) -> bytes:
        number, same = unpack_question(pack_question(partition, question))
        return answer_read(self._parts[number], None, same)  # type: ignore[arg-type]


def opened_surfaces(folder: Path, opened: contextlib.ExitStack) -> Surfaces:
    index = opened.enter_context(Part(folder / "one", ORDERED))
    parts = [opened.enter_context(Part(folder / f"part{number}", ORDERED)) for number in range(2)]
    server = opened.enter_context(Server(folder / "server", {"store.order": "true"}))
    url = f"sonic://{server.host}:{server.port}"
    clients = {name: opened.enter_context(connect(url)) for name, connect in WAYS.items()}
    for oid, text in TEXTS.items():
        fields: dict[str, Any] = {
            "lang": "eng",
            "vector": BITS.get(oid),
            "tags": TAGS.get(oid),
            "values": VALUES.get(oid),
        }
        for each in (index, parts[part_of(oid, len(parts))], clients["blocking"]):
            each.push(C, B, oid, text, **fields)
        index.push(C, f"x{len(oid) % 2}", oid, text, **fields)
    places = Places(Layout(len(parts), 1, ("n1",), spread=((C, len(parts)),)))
    recorder = Recorder(ORDERED)
    spread = Spread(PartsDesk(parts, places, recorder), places, recorder)  # type: ignore[arg-type]
    return Surfaces(folder, index, spread, url, clients, http_client(index))


def http_client(index: Part) -> Any:
    """Return a client of an application over an index; None: FastAPI is not installed."""
    try:
        from starlette.testclient import TestClient  # noqa: PLC0415  an extra brings it

        import sonicpy.http  # noqa: PLC0415
    except ImportError:
        return None
    return TestClient(sonicpy.http.app(index))
