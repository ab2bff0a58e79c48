"""The pending words of a bucket that readers know, so that only those which changes add have to be read.

The snapshots and the open write transaction of a process share one list for each bucket: what is made of the words,
such as families, then outlives commits, too.
"""

import threading
from dataclasses import dataclass, field

from sonicpy._native.held import Held

PENDING_READ_MAX = 4_096
"""Pending words that are all read to find the new ones among them; beyond, looking for a family again costs less."""


@dataclass(slots=True)
class KnownPending:
    """The pending words of a bucket that were read; later changes add some, until a consolidation.

    Attributes:
        graph_seq: see BucketState.
        commit: the number of a commit all of whose pending words these are, perhaps with later ones.
        seq: the `pending_seq` up to which they were read. The graph holds those up to `graph_seq`.
    """

    graph_seq: int
    commit: int
    seq: int
    words: list[bytes] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def extent(self) -> tuple[int, int]:
        """Return how many words there are, and the `pending_seq` up to which they were read: a reader of an older state
        finds words among them that its bucket does not have yet, or does not have any more."""
        with Held(self._lock):
            return len(self.words), self.seq

    def take(self, new: list[bytes], before: int, seq: int, commit: int) -> None:
        """Add the words behind number `before`, unless another thread has added some: fewer, perhaps."""
        with Held(self._lock):
            if self.seq == before:
                self.words += new  # first: who sees the new number finds the words
                self.seq, self.commit = seq, max(self.commit, commit)

    def take_last(self, words: list[bytes] | None, seq: int, commit: int) -> bool:
        """Add the new ones of the words with the last numbers up to `seq`; return whether these are all new ones.

        Args:
            words: one for each number; None: they are not known.
        """
        with Held(self._lock):
            before = self.seq
            if words is None or seq - len(words) > before:
                return False
            self.words += words[len(words) - max(seq - before, 0) :]
            self.seq, self.commit = max(seq, before), max(self.commit, commit)
            return True
