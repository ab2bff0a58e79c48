"""The reasons why a word is pending."""

from enum import IntEnum


class Why(IntEnum):
    """The last change of a pending word: the last byte of its row, behind the sequence number."""

    APPEARED = 0
    POPPED = 1
    """The word vanished by a POP that left its object other words."""
    ORPHANED = 2
    """The word vanished with its object."""
