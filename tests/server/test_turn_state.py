"""The state machine of turns, compared with the diagram in its docstring."""

import random
import re

import pytest

from sonicpy.server.connections import turn_state
from sonicpy.server.connections.turn_state import CLOSED, QUEUED, READY, REFUSING, Phase, TurnEvent, TurnState

ARROW = re.compile(r"([A-Z]{2,}) +--(\w+)--> +(?=([A-Z]{2,}))")


def drawn() -> dict[tuple[Phase, TurnEvent], Phase]:
    """Return the arrows of the diagram, except those of LOST."""
    arrows = ARROW.findall(str(turn_state.__doc__))
    assert len(arrows) == 9, "each line of the diagram is read"
    return {(Phase[before], TurnEvent[event.upper()]): Phase[after] for before, event, after in arrows}


def state_in(phase: Phase) -> TurnState:
    """Return a state that has reached a phase by events."""
    state = TurnState()
    ways = {
        "QUEUED": ["LINES_LEFT"], "DEFERRED": ["DEFER"], "RELAYED": ["RELAY"], "REFUSING": ["REFUSE"],
    }  # fmt: skip
    for event in ways.get(phase.name, []):
        state.note(TurnEvent[event])
    if phase is CLOSED:
        state.lose()
    assert state.phase is phase
    return state


@pytest.mark.parametrize("phase", Phase)
def test_the_diagram_is_right(phase: Phase) -> None:
    arrows = drawn()
    for event in TurnEvent:
        state = state_in(phase)
        if phase is CLOSED:
            state.note(event)
            assert state.phase is CLOSED
        elif (phase, event) in arrows:
            state.note(event)
            assert state.phase is arrows[phase, event]
        else:
            with pytest.raises(KeyError):
                state.note(event)
            assert state.phase is phase


@pytest.mark.parametrize("phase", Phase)
def test_a_turn_begins_only_where_it_is_drawn(phase: Phase) -> None:
    assert state_in(phase).begin_turn() == (phase in (READY, QUEUED))
    assert state_in(phase).wants_turn() == (phase is READY)
    blocked = state_in(phase)
    blocked.block()
    assert not blocked.wants_turn()
    assert not blocked.begin_turn()
    assert blocked.phase is (READY if phase is QUEUED else phase), "it left the queue, and queues again once it may"
    blocked.unblock()
    assert blocked.wants_turn() == (phase in (READY, QUEUED))


class Obvious:
    """A reference implementation of TurnState that records the reasons to wait, one by one."""

    def __init__(self) -> None:
        self.reasons: set[str] = set()
        self.is_lost = False

    @property
    def waits(self) -> bool:
        return bool(self.reasons - {"refusing"})


@pytest.mark.parametrize("seed", range(20))
def test_reading_stops_exactly_while_something_is_waited_for(seed: int) -> None:
    chance, state, twin, reads = random.Random(seed), TurnState(), Obvious(), True
    arrows = drawn()
    for _ in range(200):
        event = chance.choice([*TurnEvent, "block", "unblock"])
        if event == "block":
            state.block()
            twin.reasons.add("blocked")
        elif event == "unblock":
            state.unblock()
            twin.reasons.discard("blocked")
        elif (after := arrows.get((state.phase, event))) is not None:
            state.note(event)
            twin.reasons -= {phase.name.lower() for phase in Phase}
            twin.reasons |= set() if after is READY else {after.name.lower()}
        if state.must_change_reading():
            reads = not reads
        assert (state.waits, reads) == (twin.waits, not twin.waits)
        assert reads == (not state.is_paused)


def test_nothing_is_read_behind_the_end_of_the_input() -> None:
    state = state_in(QUEUED)
    state.is_at_end = True
    assert not state.must_change_reading(), "the transport may be told neither"


def test_a_refusal_lets_the_connection_read() -> None:
    state = state_in(REFUSING)
    assert not state.waits
    assert not state.begin_turn()
