"""One bucket inside one transaction, for reading: its terms, postings, objects and words."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, cast

from sonicpy._native.object_record import ObjectRecord
from sonicpy._native.objects import OBJECTS_PER_RECORD_ROW, RecordRow, oids_in
from sonicpy._native.postings import PostingList
from sonicpy._native.term_rows import TermInfo, likely_words
from sonicpy._native.varint import DamagedBytes
from sonicpy.errors import StoreDamaged
from sonicpy.store.bucket_state import BucketState
from sonicpy.store.environment import OBJECTS, POSTINGS, TERMS
from sonicpy.store.keys import block_key, bucket_key, term_key, word_key
from sonicpy.store.names import name_hash
from sonicpy.store.pages import pages

if TYPE_CHECKING:
    from sonicpy.store.view import View


class BucketReader:
    """Reads one bucket through a view."""

    def __init__(self, view: "View", state: BucketState) -> None:
        self.state = state
        self._view = view
        self._transaction = view.transaction

    def words(self, terms: list[bytes]) -> list[TermInfo | None]:
        """Return the row of each term, None for a term that no object holds."""
        keys = [word_key(self.state.bucket, term) for term in terms]
        found = self._view.word_rows(keys)
        return [
            TermInfo(row, len(term)) if (row := found.get(key)) is not None else None
            for key, term in zip(keys, terms, strict=True)
        ]

    def blocks(self, word: TermInfo) -> list[bytes]:
        """Return the blocks of a word's postings, oldest first; the first `word.dead` postings do not count."""
        first, last, tail = word.first_block, word.last_block, word.tail
        if first >= last:
            return [tail] if tail else []
        if last - first <= 2 * word.df // 128 + 2:  # few are missing: name them all
            keys = [block_key(self.state.bucket, word.term_id, number) for number in range(first, last)]
            blocks = [block for _, block in self._transaction.get_many(POSTINGS, keys)]
        else:
            prefix = term_key(self.state.bucket, word.term_id)
            start = block_key(self.state.bucket, word.term_id, first)
            blocks = [block for _, block in self._transaction.rows(POSTINGS, prefix, start)]
        if tail:
            blocks.append(tail)
        return blocks

    def postings(self, word: TermInfo) -> PostingList | list[bytes]:
        """Return a word's postings as ranking takes them: decoded where they are cached, else their blocks."""
        return self.blocks(word)

    def oids(self, iids: list[int]) -> list[str]:
        """Return the OIDs of objects, in the order of `iids`."""
        bucket = self.state.bucket
        names = oids_in(self._view.record_rows(bucket, iids), bucket, iids)
        if None in names:
            raise StoreDamaged(f"bucket {bucket}: postings name {names.count(None)} missing objects")
        return cast(list[str], names)

    def object(self, oid: str) -> ObjectRecord | None:
        """Return the record of an object, or None."""
        found = find_object(self._view, self.state, oid)
        return None if found is None else found[1]

    def objects(self) -> Iterator[tuple[int, ObjectRecord]]:
        """Yield the IID and the record of every object, by rising IID."""
        self._view.flush_records(self.state.bucket)
        for key, row in self._transaction.rows(OBJECTS, bucket_key(self.state.bucket)):
            first = int.from_bytes(key[4:], "big") * OBJECTS_PER_RECORD_ROW
            for place, packed in RecordRow(row).records():
                yield first + place, _unpacked(self.state.bucket, first + place, packed)

    def object_numbered(self, iid: int) -> ObjectRecord:
        """Return the record of the object with this IID. Raises StoreDamaged if there is none."""
        packed = self._view.record(self.state.bucket, iid)
        if packed is None:
            raise StoreDamaged(f"bucket {self.state.bucket}: object {iid} is missing")
        return _unpacked(self.state.bucket, iid, packed)

    def terms(self, term_ids: list[int]) -> list[str]:
        """Return the terms with these numbers. Raises StoreDamaged if one is missing."""
        keys = [term_key(self.state.bucket, term_id) for term_id in term_ids]
        rows = self._transaction.get_many(TERMS, keys)
        if len(rows) != len(keys):
            raise StoreDamaged(f"bucket {self.state.bucket}: objects name {len(keys) - len(rows)} missing terms")
        return [term.decode() for _, term in rows]

    def lengths(self) -> bytes | bytearray:
        """Return the packed lengths of all objects, by IID."""
        return self._view.lengths(self.state)

    def lexicon(self, prefix: bytes) -> Iterator[tuple[bytes, TermInfo]]:
        """Yield the words that begin with `prefix` in byte order, with their rows, whether they are live or not."""
        key_prefix = word_key(self.state.bucket, prefix)
        for rows in pages(self._view.word_rows_from, key_prefix):
            for key, row in rows:
                if not key.startswith(key_prefix):
                    return
                yield key[4:], TermInfo(row, len(key) - 4)

    def likely_words(self, prefix: bytes, limit: int, examined: int) -> list[bytes]:
        """Return at most `limit` live words with a prefix, first those that most objects hold, then short ones.

        Args:
            examined: about how many words to compare, the first ones in byte order.
        """
        key_prefix = word_key(self.state.bucket, prefix)
        best: list[tuple[int, int, bytes]] = []
        for rows in pages(self._view.word_rows_from, key_prefix):
            best = sorted(best + likely_words(rows, key_prefix, limit))[:limit]
            examined -= len(rows)
            if examined <= 0:
                break
        return [word for _, _, word in best]


def find_object(view: "View", state: BucketState, oid: str) -> tuple[int, ObjectRecord] | None:
    """Return the IID and the record of an object, or None."""
    name = oid.encode()
    return find_among(view, state.bucket, view.named(state, name, name_hash(name)), name)


def find_among(view: "View", bucket: int, iids: Iterable[int], oid: bytes) -> tuple[int, ObjectRecord] | None:
    """Return the IID and the record of the object among some that has an OID, or None.

    Raises:
        StoreDamaged: one of them has no record, or it cannot be read.
    """
    for iid in iids:
        packed = view.record(bucket, iid)
        if packed is None:
            raise StoreDamaged(f"bucket {bucket}: object {iid} has a name but no record")
        record = _unpacked(bucket, iid, packed)
        if record.oid == oid:
            return iid, record
    return None


def _unpacked(bucket: int, iid: int, packed: bytes) -> ObjectRecord:
    try:
        return ObjectRecord.unpack(packed)
    except DamagedBytes as error:
        raise StoreDamaged(f"bucket {bucket}, object {iid}: {error}") from error
