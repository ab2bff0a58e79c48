"""The correct answers, from plain dictionaries: in order if the ranking is `newest`, else as sets."""

from collections.abc import Iterable, Sequence

from benchmarks.peers.kinds import BOTH, LIMIT, PREFIX, TYPO


class Oracle:
    """The objects of each word.

    Args:
        rows: (object, text) pairs, oldest first.
    """

    def __init__(self, rows: Iterable[tuple[object, str]]) -> None:
        self.objects: dict[str, list[object]] = {}
        """Word -> its objects, oldest first."""
        for name, text in rows:
            for word in set(text.lower().split()):
                self.objects.setdefault(word, []).append(name)

    def holders(self, word: str) -> set[object]:
        """Return the objects that hold a word."""
        return set(self.objects.get(word, ()))

    def newest(self, words: Sequence[str]) -> list[object]:
        """Return the first LIMIT objects that hold all words, newest first."""
        rarest, *others = sorted((self.objects.get(word, []) for word in words), key=len)
        held = [set(some) for some in others]
        return [name for name in reversed(rarest) if all(name in some for some in held)][:LIMIT]

    def fault(self, kind: str, words: Sequence[str], found: Sequence[object]) -> str | None:
        """Return a description of the error in the answer to a query for LIMIT objects, or None.

        Args:
            kind: WORD, BOTH, EITHER, PREFIX, or TYPO.
            words: the words of the query; for TYPO the correct word.
            found: the objects that the peer returned.
        """
        if len(set(found)) != len(found):
            return "an object twice"
        if kind == PREFIX:
            allowed = {name for word, some in self.objects.items() if word.startswith(words[0]) for name in some}
            return None if allowed & set(found) or not allowed else "no holder of the prefix"
        sets = [self.holders(word) for word in words]
        if kind == TYPO:
            return None if sets[0] & set(found) else "the word that was meant is not found"
        union = set().union(*sets)
        if not set(found) <= union:
            return "an object that holds none of the words"
        must = set.intersection(*sets) if kind == BOTH else union
        if kind == BOTH:
            missing = min(LIMIT, len(must)) - len(must & set(found[:LIMIT]))
        else:
            missing = min(LIMIT, len(must)) - len(found)
        return f"{missing} objects missing" if missing > 0 else None
