"""The judge: plays a scenario on Sonic twice and on sonicpy once, and finds the first difference."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Self

from tests.differential.scenario import Scenario, Step
from tests.differential.servers import Player

AGAIN = 3
"""The number of times that Sonic repeats a scenario with an unexplained difference, because some of its answers depend
on chance.
"""
REMEMBERED = 8
"""The most scenarios whose difference is cached."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first step whose answer differs."""

    at: int
    """The place of the step in the scenario."""
    step: Step
    sonic: bytes
    ours: bytes


class Judge:
    """The servers of every configuration that was needed so far; use it inside a `with` block."""

    def __init__(self, folder: Path, sonic: str) -> None:
        self._folder = folder
        self._sonic = sonic
        self._players: dict[tuple[str, str], Player] = {}
        self._threads = ThreadPoolExecutor(1, "Sonic")
        self._judged: dict[Scenario, Difference | None] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._threads.shutdown()
        for player in self._players.values():
            player.stop()

    def difference(self, scenario: Scenario) -> Difference | None:
        """Return the first difference, or None. Answers that differ between two runs of Sonic do not count.

        The results of the last scenarios are cached, because rules need the difference of a scenario twice.
        """
        if scenario not in self._judged:
            if len(self._judged) == REMEMBERED:
                del self._judged[next(iter(self._judged))]
            self._judged[scenario] = self._judge(scenario)
        return self._judged[scenario]

    def is_steady(self, scenario: Scenario, difference: Difference) -> bool:
        """Return whether the step differs in the same way each time that both servers play the scenario again."""
        answers = {(self._play("Sonic", scenario)[difference.at], b"") for _ in range(AGAIN)}
        answers.add((b"", self._play("ours", scenario)[difference.at]))
        return answers == {(difference.sonic, b""), (b"", difference.ours)}

    def _judge(self, scenario: Scenario) -> Difference | None:
        playing = self._threads.submit(self._play, "Sonic", scenario)
        ours = self._play("ours", scenario)
        sonic = playing.result()
        if ours == sonic:
            return None
        again = self._play("Sonic", scenario)
        for at, (step, one, other, answer) in enumerate(zip(scenario.steps, sonic, again, ours, strict=True)):
            if one == other != answer:
                return Difference(at, step, one, answer)
            if one != other:
                return None  # from here on, it depends on chance
        return None

    def _play(self, name: str, scenario: Scenario) -> list[bytes]:
        """Return the answers of one server; if figures of INFO are compared, the server starts without data."""
        if not scenario.is_fresh:
            return self._player(name, scenario.profile).play(scenario)
        with (
            TemporaryDirectory(dir=self._folder) as folder,
            Player(name, Path(folder), scenario.profile, self._binary(name)) as player,
        ):
            return player.play(scenario)

    def _binary(self, name: str) -> str | None:
        return self._sonic if name == "Sonic" else None

    def _player(self, name: str, profile: str) -> Player:
        player = self._players.get((name, profile))
        if player is None:
            folder = self._folder / f"{name} {profile}".replace(" ", "-")
            player = self._players[name, profile] = Player(name, folder, profile, self._binary(name))
            player.start()
        return player
