"""Every attack runs, in small scale in the gate and in full scale in the full set."""

import gc
import socket
import warnings
from pathlib import Path

import pytest

from tests.attacks.catalogue import Attack, attacks
from tests.attacks.clients import Proxy
from tests.processes import HOST
from tests.support.examples import some

GATE = 0.02
"""The scale in the gate: some seconds for an attack."""

EACH = pytest.mark.parametrize("attack", some(attacks(), 4), ids=lambda attack: attack.name)


@EACH
def test_attack(attack: Attack, tmp_path: Path) -> None:
    tried, wrong, _ = attack.run(GATE, 1, tmp_path)
    assert tried and not wrong, wrong[:10]


@pytest.mark.full
@pytest.mark.timeout(1800)
@EACH
def test_whole_attack(attack: Attack, tmp_path: Path) -> None:
    tried, wrong, _ = attack.run(1, 2, tmp_path)
    assert tried and not wrong, wrong[:10]


def test_a_proxy_ends_the_connections_that_came_last() -> None:
    with warnings.catch_warnings(record=True) as warned, socket.create_server((HOST, 0)) as target:
        warnings.simplefilter("always")
        for _ in range(5):
            with Proxy(target.getsockname()[1]) as proxy:
                peers = [socket.create_connection((HOST, proxy.port)) for _ in range(6)]
            for peer in peers:
                peer.close()
        del proxy
        gc.collect()
    assert [str(warning.message) for warning in warned] == []
