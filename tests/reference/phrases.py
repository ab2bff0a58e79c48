"""The order of words and phrases, computed slowly: each object has its texts as lists of words."""

from collections.abc import Sequence

GAP = None


class Ordered:
    """The texts of the objects of a bucket."""

    def __init__(self) -> None:
        self.texts: dict[str, list[list[str | None]]] = {}

    def push(self, oid: str, words: Sequence[str], *, keeps: bool = True) -> None:
        """Add a text; without `keeps`, its order is not kept."""
        if not keeps:
            return
        held = self.texts.setdefault(oid, [])
        if words and list(words) not in held:
            held.append(list(words))

    def upsert(self, oid: str, words: Sequence[str]) -> None:
        """Replace all texts."""
        self.texts[oid] = [list(words)] if words else []

    def pop(self, oid: str, words: Sequence[str]) -> None:
        """Replace some words by gaps; remove texts without any word."""
        if oid in self.texts:
            changed = [[None if word in words else word for word in text] for text in self.texts[oid]]
            self.texts[oid] = [text for text in changed if any(text)]

    def flush(self, oid: str) -> None:
        """Forget an object."""
        self.texts.pop(oid, None)

    def holders(self, phrase: Sequence[str]) -> set[str]:
        """Return the objects with a text in which the words of a phrase follow each other."""
        size, wanted = len(phrase), list(phrase)
        return {
            oid
            for oid, texts in self.texts.items()
            if any(text[start : start + size] == wanted for text in texts for start in range(len(text) - size + 1))
        }
