"""The words that became pending in a bucket, by their first letters, so that a family need not look at all of them."""

from bisect import bisect_left

from sonicpy.index.search.accents import fold, unmarked
from sonicpy.store.bucket_state import BucketState

LETTERS = 2
"""First letters of a word, folded, by which it is found."""
AT_ONCE_MAX = 4_096
"""New words that are taken at once, at most: beyond, looking for a family again costs less."""
WORDS_MAX = 65_536
"""Words that are kept, at most."""


class NewWords:
    """The new words of a bucket. They outlive a consolidation: it changes which words are pending, not which there are.

    Args:
        pending: the list of pending words, to which others are added. Those that are in it now are not new.
        state: of the bucket at that moment.
        articles: what may be written before a word without an apostrophe.
    """

    def __init__(self, pending: list[bytes], state: BucketState, articles: tuple[str, ...]) -> None:
        self._pending = pending
        self._end = len(pending)
        self._seq = state.pending_seq
        self._articles = articles
        self._words: list[str] = []
        self._places: dict[str, list[int]] = {}

    def __len__(self) -> int:
        return len(self._words)

    def refresh(self, pending: list[bytes], state: BucketState) -> bool:
        """Take the words that were added; return False if not all of them are known any more.

        Args:
            pending: the list of pending words now, another one after a consolidation.
            state: the list holds at least the words that are pending at this moment.
        """
        if pending is not self._pending:
            if self._seq < state.graph_seq:
                return False
            self._pending, self._end = pending, 0
        end = len(pending)
        if end - self._end > AT_ONCE_MAX or len(self._words) > WORDS_MAX:
            return False
        for word in map(bytes.decode, pending[self._end : end]):
            for key in self._keys(word):
                self._places.setdefault(key, []).append(len(self._words))
            self._words.append(word)
        self._end, self._seq = end, max(self._seq, state.pending_seq)
        return True

    def beginning(self, keys: frozenset[str], after: int) -> list[str]:
        """Return the words from place `after` on that begin as one of the keys does, by `first_letters`; or what stands
        in them behind an elided word or an article does."""
        short = tuple(key for key in keys if len(key) < LETTERS)
        if short:
            keys = keys.union(key for key in self._places if key.startswith(short))
        found = [self._places[key] for key in keys if key in self._places]
        places = {place for known in found for place in known[bisect_left(known, after) :]}
        return [self._words[place] for place in sorted(places)]

    def _keys(self, word: str) -> set[str]:
        """Return the first letters of a word, and of what stands behind an elided word or an article."""
        if word.isascii() and "'" not in word:  # most words, without the look-ups for the others
            return {word[:LETTERS]}
        plain = unmarked(word)
        found = {first_letters(plain)}
        if "'" in plain:
            found.add(first_letters(plain[plain.index("'") + 1 :]))
        if plain.startswith(self._articles):
            behind = (plain[len(article) :] for article in self._articles if plain.startswith(article))
            found.update(map(first_letters, behind))
        return found


def first_letters(word: str) -> str:
    """Return the key of a word, or of its beginning."""
    return fold(unmarked(word), "")[:LETTERS]
