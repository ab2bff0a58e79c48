"""The reasons why a word is pending."""

from enum import IntEnum


class Why(IntEnum):
    """The last change of a pending word; stored as the last byte of its row, behind the sequence number."""

    APPEARED = 0
    POPPED = 1
    """The word vanished by a POP, and its object still has other words."""
    ORPHANED = 2
    """The word vanished with its object."""
