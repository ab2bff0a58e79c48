"""Changes the named texts of objects inside the write transaction. Their terms are stored as tags are."""

from typing import TYPE_CHECKING

from sonicpy._native.terms import Terms
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.named_words import TEXT_NAMES, is_whole, pack_names, split_name, unpack_names
from sonicpy.store.rows.tag_counts import OF_TEXTS
from sonicpy.text_names import TEXTS_MAX

if TYPE_CHECKING:
    from sonicpy.store.changing.tag_writer import TagWriter
    from sonicpy.store.views.write_view import WriteView


class TextWriter:
    """Changes the named texts of the objects of one bucket.

    Args:
        view: the view of the open write transaction.
        state: the state of the bucket.
        terms: the writer of the terms of named texts.
    """

    def __init__(self, view: "WriteView", state: BucketState, terms: "TagWriter") -> None:
        self._view = view
        self._bucket = state.bucket
        self._number = state.bucket | OF_TEXTS.mark
        self._terms = terms
        self._fact: bytes | None = None
        self._known: list[bytes] = []  # the names in this fact

    def replace(self, iid: int, terms: Terms, names: tuple[bytes, ...]) -> None:
        """Replace the named texts of an object.

        Args:
            terms, names: the new texts, as `unpack_named` returns them.
        """
        fitting = self._fitting(terms, names)
        if ids := self._terms.ids_of(iid):
            self._put(iid, ids, fitting.words)
        else:
            self._terms.begin(iid, fitting)

    def add(self, iid: int, terms: Terms, names: tuple[bytes, ...], *, new: bool = False) -> None:
        """Add the terms of named texts to an object. A text that grows loses the term for the text as a whole.

        Args:
            new: True: the object has no named text yet.
        """
        fitting = self._fitting(terms, names)
        ids = [] if new else self._terms.ids_of(iid)
        if not ids:
            if not new:
                self._view.digests.end(self._bucket, iid)
            self._terms.begin(iid, fitting)
            return
        held, added = self._named(ids), set(fitting.words)
        if not added <= held:  # even if the object has the words in another text
            self._view.digests.end(self._bucket, iid)
        grown = _names_with_more(held, added)
        self._put(iid, ids, [term for term in held | added if not _is_whole_of(term, grown)])

    def take(self, iid: int, words: list[bytes]) -> None:
        """Remove words from all named texts of an object."""
        ids = self._terms.ids_of(iid)
        if not ids:
            return
        held, gone = self._named(ids), set(words)
        left = {term for term in held if split_name(term)[1] not in gone}
        shorter = {split_name(term)[0] for term in held - left}
        self._put(iid, ids, [term for term in left if not _is_whole_of(term, shorter)])

    def drop(self, iid: int) -> None:
        """Remove all named texts of an object."""
        self._terms.put(iid, [])

    def _put(self, iid: int, ids: list[int], terms: list[bytes]) -> None:
        if ids:  # the object may become shorter: cached bounds of its postings end
            self._view.touch(self._number)
            self._view.note_rewritten(self._number, ids)
        self._terms.put(iid, sorted(terms))

    def _named(self, ids: list[int]) -> set[bytes]:
        return set(self._view.terms_numbered(self._number, ids).values()) if ids else set()

    def _fitting(self, terms: Terms, names: tuple[bytes, ...]) -> Terms:
        """Note the names of texts, and return the terms of the texts that the bucket has room for. A writer refuses too
        many names beforehand; in a cluster, the names that come first get the room."""
        fact = self._view.fact(self._bucket, TEXT_NAMES)
        if fact is None or fact != self._fact:
            self._fact, self._known = fact, unpack_names(fact)
        known = self._known
        new = [name for name in names if name not in known][: TEXTS_MAX - len(known)]
        if new:
            known = [*known, *new]
            self._view.set_fact(self._bucket, TEXT_NAMES, pack_names(known))
        elif all(name in known for name in names):
            return terms
        kept = [number for number, term in enumerate(terms.words) if split_name(term)[0] in known]
        return Terms(
            [terms.words[number] for number in kept], bytes(terms.counts[number] for number in kept), bytes(len(kept))
        )


def _names_with_more(held: set[bytes], new: set[bytes]) -> set[bytes]:
    """Return the names of the texts that an object had before and to which new words are added."""
    before = {name for name, _ in map(split_name, held)}
    return {name for name, _ in map(split_name, new ^ held) if name in before} & {
        name for name, _ in map(split_name, new)
    }


def _is_whole_of(term: bytes, names: set[bytes]) -> bool:
    name, word = split_name(term)
    return is_whole(word) and name in names
