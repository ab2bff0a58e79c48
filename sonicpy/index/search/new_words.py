"""The words that became pending in a bucket, by their first letters, so that a family need not compare all of them."""

from bisect import bisect_left
from collections.abc import Collection

from sonicpy.index.search.accents import fold, unmarked
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.known_pending import KnownPending

LETTERS = 2
"""Number of first letters in the key of a word."""
AT_ONCE_MAX = 4_096
"""Maximum of new words to scan; above it, looking up the family again costs less."""
WORDS_MAX = 65_536
"""Words that are kept, at most."""


class NewWords:
    """The new words of a bucket. A consolidation leaves them valid, because it does not change the words of the bucket.

    One thread at a time may call `refresh`, while others call `beginning`.

    Args:
        pending: the pending words, a growing list. The present ones are not new.
        state: of the bucket with exactly these pending words.
        articles: prefixes that are written before a word without an apostrophe.

    Attributes:
        seq: the largest number of a word. A reader behind it may lack some of the words.
    """

    def __init__(self, pending: KnownPending, state: BucketState, articles: tuple[str, ...]) -> None:
        self._pending = pending
        # No word up to this number is missing. Words of before a recovery may leave `seq` higher.
        self._whole = state.pending_seq
        self._end, self.seq = pending.extent()
        self._articles = articles
        self._words: list[str] = []
        self._places: dict[str, list[int]] = {}

    def __len__(self) -> int:
        return len(self._words)

    def refresh(self, pending: KnownPending, state: BucketState) -> bool:
        """Take the words that were added; return False if some of them are no longer known.

        Args:
            pending: the present pending words; another list after a consolidation.
            state: of the bucket; `pending` includes its pending words.
        """
        if pending is not self._pending:
            if self._whole < state.graph_seq:
                return False
            self._pending, self._end = pending, 0
        end, seq = pending.extent()
        if end - self._end > AT_ONCE_MAX or len(self._words) > WORDS_MAX:
            return False
        for place, word in enumerate(map(bytes.decode, pending.words[self._end : end]), len(self._words)):
            self._words.append(word)  # first: who finds the place finds the word
            for key in self._keys(word):
                self._places.setdefault(key, []).append(place)
        self._end, self.seq, self._whole = end, max(self.seq, seq), max(self._whole, state.pending_seq)
        return True

    def beginning(self, keys: Collection[str], after: int) -> list[str]:
        """Return the words from place `after` on that begin with one of the keys, perhaps behind an elision or an
        article."""
        short = tuple(key for key in keys if len(key) < LETTERS)
        if short:
            keys = {*keys, *(key for key in tuple(self._places) if key.startswith(short))}
        found = [self._places[key] for key in keys if key in self._places]
        places = {place for known in found for place in known[bisect_left(known, after) :]}
        return [self._words[place] for place in sorted(places)]

    def _keys(self, word: str) -> set[str]:
        """Return the keys of a word: at its beginning, and behind an elided word or an article."""
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
