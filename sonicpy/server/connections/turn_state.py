"""TurnState: the state machine of the turns of one connection. It does no I/O: it takes events, and returns the next
steps.

    READY    --lines_left--> QUEUED     --turn-->     READY      its turn is in the queue of all connections
    READY    --defer-->      DEFERRED   --answered--> READY      an answer waits for the disk, or for a long command
    READY    --relay-->      RELAYED    --answered--> READY      another node or process is asked for the answer
    RELAYED  --defer-->      DEFERRED                            none of the others has answered
    READY    --refuse-->     REFUSING   --refused-->  READY      the refusal of a wrong password waits
    any      --lost-->       CLOSED                              the connection is closed, or another process has it

A turn begins in READY or QUEUED, and only while the peer reads its replies (`is_blocked`). A connection reads while it
is READY or REFUSING, and the peer reads: so the server holds little for a peer, whatever it sends.
"""

import enum


class Phase(enum.Enum):
    """The state of a connection: the thing that it waits for. The drawing above explains each."""

    READY = enum.auto()
    QUEUED = enum.auto()
    DEFERRED = enum.auto()
    RELAYED = enum.auto()
    REFUSING = enum.auto()
    CLOSED = enum.auto()


class TurnEvent(enum.Enum):
    """An event after which a connection is in another phase; see the drawing above."""

    LINES_LEFT = enum.auto()
    TURN = enum.auto()
    DEFER = enum.auto()
    RELAY = enum.auto()
    ANSWERED = enum.auto()
    REFUSE = enum.auto()
    REFUSED = enum.auto()


READY, QUEUED, DEFERRED, RELAYED, REFUSING, CLOSED = Phase
TRANSITIONS: dict[Phase, dict[TurnEvent, Phase]] = {
    READY: {
        TurnEvent.LINES_LEFT: QUEUED,
        TurnEvent.DEFER: DEFERRED,
        TurnEvent.RELAY: RELAYED,
        TurnEvent.REFUSE: REFUSING,
    },
    QUEUED: {TurnEvent.TURN: READY},
    DEFERRED: {TurnEvent.ANSWERED: READY},
    RELAYED: {TurnEvent.ANSWERED: READY, TurnEvent.DEFER: DEFERRED},
    REFUSING: {TurnEvent.REFUSED: READY},
}
"""Phase -> event that may come -> next phase. In CLOSED, no event has an effect."""
WAITING = frozenset({QUEUED, DEFERRED, RELAYED})
"""Phases in which further lines would have to be kept."""


class TurnState:
    """The state of one connection.

    Attributes:
        phase: see the drawing at the top of this file.
        is_blocked: the peer does not read its replies.
        is_at_end: the peer sends no more.
        waits: no turn can begin before the next event, so nothing should be read.
        is_paused: the transport was asked not to read.
    """

    __slots__ = ("is_at_end", "is_blocked", "is_paused", "phase", "waits")

    def __init__(self) -> None:
        self.phase = READY
        self.is_blocked = self.is_at_end = self.waits = self.is_paused = False

    def note(self, event: TurnEvent) -> None:
        """Change the phase after an event. Raises KeyError: the event cannot come in this phase."""
        if self.phase is not CLOSED:
            self._enter(TRANSITIONS[self.phase][event])

    def begin_turn(self) -> bool:
        """Return whether a turn begins now; a queued turn that cannot begin leaves the queue."""
        if self.phase is QUEUED:
            self._enter(READY)
        return self.phase is READY and not self.is_blocked

    def wants_turn(self) -> bool:
        """Return whether a turn has to be queued, so that the connection goes on; it is QUEUED then."""
        if self.phase is not READY or self.is_blocked:
            return False
        self._enter(QUEUED)
        return True

    def block(self) -> None:
        """Note that the peer does not read its replies."""
        self.is_blocked = self.waits = True

    def unblock(self) -> None:
        """Note that the peer reads again."""
        self.is_blocked = False
        self.waits = self.phase in WAITING

    def lose(self) -> None:
        """Note that the connection is closed, or that another process has it."""
        self.phase = CLOSED

    def must_change_reading(self) -> bool:
        """Return whether the transport has to pause or to resume reading; `is_paused` is the new state."""
        if self.waits == self.is_paused or self.is_at_end:
            return False
        self.is_paused = self.waits
        return True

    def _enter(self, phase: Phase) -> None:
        self.phase = phase
        self.waits = self.is_blocked or phase in WAITING
