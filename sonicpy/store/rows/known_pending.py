"""A list of the pending words of a bucket. Readers extend it by reading only the words that were added since.

The snapshots and the open write transaction of a process share one list for each bucket, so that data derived from the
words, such as families, outlives commits.
"""

import threading

from sonicpy._native.held import Held

PENDING_READ_MAX = 4_096
"""The most pending words that are scanned for new members of a family; with more, a new look-up costs less."""


class KnownPending:
    """The pending words of a bucket that have been read; later changes add to them until a consolidation.

    Args:
        graph_seq: see BucketState.
        commit: the number of a commit whose pending words are all in the list, perhaps with later ones.
        seq: the `pending_seq` up to which words were read. The graph includes words up to `graph_seq`.

    Attributes:
        counted: a sequence number: the list ends with one word for each later number, in order.
    """

    __slots__ = ("_lock", "commit", "counted", "graph_seq", "seq", "words")

    def __init__(self, graph_seq: int, commit: int, seq: int) -> None:
        self.graph_seq = graph_seq
        self.commit = commit
        self.seq = seq
        self.counted = seq
        self.words: list[bytes] = []
        self._lock = threading.Lock()

    def between(self, before: int, until: int) -> list[bytes] | None:
        """Return the words with numbers above `before`, up to `until`; None: the list cannot separate them from
        others."""
        with Held(self._lock):
            if not self.counted <= before <= until <= self.seq:
                return None
            end = len(self.words) - (self.seq - until)
            return self.words[end - (until - before) : end]

    def take(self, new: list[bytes], before: int, seq: int, commit: int) -> None:
        """Add the words with numbers above `before`, unless another thread has added words meanwhile.

        Args:
            new: the words with the numbers from `before` + 1 to `seq`.
            commit: the number of the commit that has them.
        """
        with Held(self._lock):
            if self.seq == before:
                self.words += new  # before the number: a thread that sees the new number finds the words
                self.seq, self.commit, self.counted = seq, max(self.commit, commit), seq

    def take_last(self, words: list[bytes] | None, seq: int, commit: int) -> bool:
        """Take the words with the last numbers up to `seq`, and add the new ones; return False if new words are
        missing.

        Args:
            words: one word for each number; None: the words are not known.
            commit: the number of the commit that has them.
        """
        with Held(self._lock):
            before = self.seq
            if words is None or seq - len(words) > before:
                return False
            self.words += words[len(words) - max(seq - before, 0) :]
            self.seq, self.commit = max(seq, before), max(self.commit, commit)
            return True
