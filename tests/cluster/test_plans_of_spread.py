"""Plans of queries of a spread bucket are used again, unless the node has acknowledged a change since."""

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from sonicpy.channel.commands import Query  # noqa: E402
from sonicpy.cluster.node import spread as module  # noqa: E402
from sonicpy.cluster.node.places import Places  # noqa: E402
from sonicpy.cluster.node.spread import Spread  # noqa: E402
from sonicpy.cluster.registry.registry import Layout  # noqa: E402
from sonicpy.config import Config  # noqa: E402
from sonicpy.index.recorder import Recorder  # noqa: E402
from sonicpy.search import asked  # noqa: E402
from tests.index.test_spread import Part  # noqa: E402
from tests.support.patience import WAIT_S  # noqa: E402
from tests.support.surfaces import PartsDesk  # noqa: E402


@pytest.mark.parametrize(
    ("pushed", "asked_for"),
    [("banana bread", "banana"), ("the zebra runs", "zebras"), ("kangaroo island", "kangar"), ("red kiwi", "red kiwi")],
)
def test_a_query_sees_what_its_node_acknowledged_after_the_last_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pushed: str, asked_for: str
) -> None:
    monkeypatch.setattr(module, "CACHED_S", WAIT_S)
    with contextlib.ExitStack() as opened:
        parts = [opened.enter_context(Part(tmp_path / name)) for name in ("part0", "part1")]
        places, recorder = Places(Layout(2, 1, ("n1",), spread=(("c", 2),))), Recorder(Config())
        desk: Any = PartsDesk(parts, places, recorder)
        spread = Spread(desk, places, recorder)
        query = Query(*asked("QUERY", "c", "b", asked_for, {}))
        for number in range(20):
            parts[places.partition_of("c", "b", f"o{number}")].push("c", "b", f"o{number}", "red apple")
        asyncio.run(spread.execute(query))
        partition = places.partition_of("c", "b", "new")
        parts[partition].push("c", "b", "new", pushed)
        desk.written[partition] += 1
        assert b"new" in asyncio.run(spread.execute(query)).split()
