"""Every attack, small in the gate and whole in the full set."""

from pathlib import Path

import pytest

from tests.attacks.catalogue import Attack, attacks

GATE = 0.02
"""Scale in the gate: less than a second for an attack."""

EACH = pytest.mark.parametrize("attack", attacks(), ids=lambda attack: attack.name)


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
