"""Full-text engines with a stemmer for English, in process: SQLite FTS5 (porter) and tantivy (en_stem)."""

import re
from collections import defaultdict
from collections.abc import Callable

from benchmarks.peers import tantivy
from benchmarks.peers.kinds import Engine
from benchmarks.peers.sqlite import Fts5

WORD = re.compile(r"\w+")


class Judged:
    """An engine for the evaluation: queries for any of the words, ranked by its own BM25. Names of objects are numbers.

    Args:
        make: returns the engine of a collection; each name is used once.
    """

    def __init__(self, make: Callable[[], Engine]) -> None:
        self._engines: defaultdict[str, Engine] = defaultdict(make)
        self._fresh: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)

    def push(self, collection: str, bucket: str, object: str, text: str, lang: str | None = None) -> None:
        """Keep the text of an object for `consolidate`."""
        self._fresh[f"{collection}/{bucket}"].append((int(object), text))

    def consolidate(self) -> None:
        """Index and commit the texts pushed so far."""
        for scope, rows in self._fresh.items():
            self._engines[scope].add(rows)
        self._fresh.clear()

    def query(
        self, collection: str, bucket: str, text: str, *, limit: int = 10, offset: int = 0, lang: str | None = None
    ) -> list[str]:
        """Return the best objects."""
        return list(map(str, self._engines[f"{collection}/{bucket}"].any_of(WORD.findall(text), limit, offset)))

    def suggest(self, collection: str, bucket: str, word: str, *, limit: int = 5) -> list[str]:
        """Return an empty list: these engines correct no words."""
        return []

    def flush_collection(self, collection: str) -> int:
        """Do nothing, so that the collection is kept; return 0."""
        return 0


def stemming_engines() -> dict[str, Judged]:
    """Return the engines that are installed, by name."""
    found = {"SQLite FTS5, porter": Judged(lambda: Fts5(options=", tokenize = 'porter unicode61'"))}
    if tantivy.is_installed():
        found["tantivy, en_stem"] = Judged(lambda: tantivy.Tantivy(has_numbers=True, tokenizer="en_stem"))
    return found
