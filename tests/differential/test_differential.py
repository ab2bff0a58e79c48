"""The differential runner: scenarios that repeat, a shrinker that shrinks, and some hundred scenarios beside Sonic."""

from pathlib import Path

import pytest

from tests.differential.__main__ import search
from tests.differential.judge import Judge
from tests.differential.scenario import RESTART, Scenario, Step, make
from tests.differential.shrink import shrink
from tests.support.server_process import find_sonic

SEEDS = range(1_000_000, 1_000_300)


def test_a_seed_always_gives_the_same_scenario() -> None:
    made = [make(seed) for seed in range(300)]
    assert made == [make(seed) for seed in range(300)]
    assert len({scenario.profile for scenario in made}) == 9
    commands = {step.line.split(b" ")[0] for scenario in made for step in scenario.steps}
    assert {b"PUSH", b"POP", b"QUERY", b"SUGGEST", b"LIST", b"COUNTO", b"FLUSHO", b"FLUSHB", b"FLUSHC"} <= commands
    assert any(RESTART in scenario.steps for scenario in made)


def test_what_differs_shrinks_to_what_matters() -> None:
    steps = tuple(Step("ingest 1", b'PUSH {c} b A "one two three %d"' % number) for number in range(40))

    def differs(scenario: Scenario) -> bool:
        return any(b"two" in step.line and b"7" in step.line for step in scenario.steps)

    smallest = shrink(Scenario(1, "default", steps), differs)
    assert differs(smallest)
    assert len(smallest.steps) == 1
    assert len(smallest.steps[0].line) <= len(b'PUSH {c} two 37"')


@pytest.mark.full
@pytest.mark.timeout(1200)
def test_compat_mode_answers_as_sonic_does(tmp_path: Path) -> None:
    sonic = find_sonic()
    if sonic is None:
        pytest.skip("no Sonic: neither SONIC_BIN nor sonic on the PATH")
    with Judge(tmp_path, sonic) as judge:
        counts = search(judge, SEEDS, tmp_path / "differences")
    found = sorted(path.read_text() for path in (tmp_path / "differences").glob("*.txt"))
    assert not counts["unexplained"], "\n\n".join(found)
