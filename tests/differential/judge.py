"""The judge: plays a scenario on Sonic twice and on ours once, and says where ours differs."""

from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.differential.scenario import Scenario, Step
from tests.differential.servers import Player


@dataclass(frozen=True, slots=True)
class Difference:
    """The first step whose answer differs."""

    step: Step
    sonic: bytes
    ours: bytes


class Judge:
    """The servers of every configuration that was needed so far; use it inside a `with` block."""

    def __init__(self, folder: Path, sonic: str) -> None:
        self._folder = folder
        self._sonic = sonic
        self._players: dict[tuple[str, str], Player] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for player in self._players.values():
            player.stop()

    def difference(self, scenario: Scenario) -> Difference | None:
        """Return the first difference, or None. What Sonic itself answers in two ways decides nothing."""
        ours = self._player("ours", scenario.profile).play(scenario)
        sonic = self._player("Sonic", scenario.profile).play(scenario)
        if ours == sonic:
            return None
        again = self._player("Sonic", scenario.profile).play(scenario)
        for step, one, other, answer in zip(scenario.steps, sonic, again, ours, strict=True):
            if one == other != answer:
                return Difference(step, one, answer)
            if one != other:
                return None  # from here on, it depends on chance
        return None

    def _player(self, name: str, profile: str) -> Player:
        player = self._players.get((name, profile))
        if player is None:
            folder = self._folder / f"{name} {profile}".replace(" ", "-")
            player = self._players[name, profile] = Player(
                name, folder, profile, self._sonic if name == "Sonic" else None
            )
            player.start()
        return player
