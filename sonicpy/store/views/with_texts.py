"""A reader of the words and the named texts of a bucket together, for plans that name both."""

from typing import TYPE_CHECKING, Any, Protocol

from sonicpy._native.stored_postings import StoredPostings
from sonicpy._native.term_rows import TermInfo
from sonicpy.store.rows.named_words import is_named

if TYPE_CHECKING:
    from sonicpy.store.views.beside_words import TagRows


class WordRows(Protocol):
    """The reader of the words of a bucket; `BucketReader` documents the methods."""

    @property
    def texts(self) -> "TagRows | None": ...
    def words(self, terms: list[bytes]) -> list[TermInfo | None]: ...


class WithTexts:
    """Reads a bucket as its reader does; the rows and postings of terms of named texts come from the reader of the
    texts.

    Args:
        reader: the reader of the bucket.
    """

    def __init__(self, reader: WordRows) -> None:
        self._reader = reader
        self._texts = reader.texts
        self._rows: dict[int, TermInfo] = {}
        """The rows of terms of named texts that have been read, by their `id()`."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)

    @property
    def with_texts(self) -> "WithTexts":
        """This reader, which already reads terms of named texts."""
        return self

    def words(self, terms: list[bytes]) -> list[TermInfo | None]:
        """Return the row of each term; None: no object holds the term."""
        rows: list[TermInfo | None] = [None] * len(terms)
        named = [place for place, term in enumerate(terms) if is_named(term)]
        plain = sorted(set(range(len(terms))).difference(named))
        for place, row in zip(plain, self._reader.words([terms[place] for place in plain]), strict=True):
            rows[place] = row
        if self._texts is not None:
            for place, row in zip(named, self._texts.words([terms[place] for place in named]), strict=True):
                rows[place] = row
                if row is not None:
                    self._rows[id(row)] = row
        return rows

    def postings_of(self, words: list[TermInfo]) -> list[StoredPostings]:
        """Return the postings of each word; duplicate words share one `StoredPostings`."""
        return self._each("postings_of", words)

    def postings_within(self, words: list[TermInfo], window: int) -> list[StoredPostings]:
        """Return the newest `window` postings of each word, shared as in `postings_of`."""
        return self._each("postings_within", words, window)

    def _each(self, method: str, words: list[TermInfo], *more: int) -> list[StoredPostings]:
        found: dict[int, StoredPostings] = {}
        for reader, rows in (
            (self._reader, [word for word in words if id(word) not in self._rows]),
            (self._texts, [word for word in words if id(word) in self._rows]),
        ):
            if rows:
                postings = getattr(reader, method)(rows, *more)
                found.update(zip(map(id, rows), postings, strict=True))
        return [found[id(word)] for word in words]
