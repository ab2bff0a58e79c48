"""One bucket inside one transaction: its terms, postings, objects and words."""

from collections.abc import Iterator
from typing import cast

from sonicpy._native.objects import OBJECTS_PER_RECORD_ROW, RecordRow, oids_in
from sonicpy._native.postings import (
    IID_MAX,
    DamagedBytes,
    Edits,
    Link,
    ObjectRecord,
    Unlink,
    WordRow,
    likely_words,
)
from sonicpy._native.ranking import pack_length
from sonicpy._native.text import Terms
from sonicpy.errors import StoreDamaged, StoreError
from sonicpy.store.environment import OBJECTS, POSTINGS, TERMS, WORDS, Row
from sonicpy.store.keys import block_key, bucket_key, term_key, word_key
from sonicpy.store.names import name_hash
from sonicpy.store.scopes import BucketState
from sonicpy.store.view import View, Why, WriteView


class BucketReader:
    """Reads one bucket through a view."""

    def __init__(self, view: View, state: BucketState) -> None:
        view.settle()
        self.state = state
        self._view = view
        self._transaction = view.transaction

    def words(self, terms: list[bytes]) -> list[WordRow | None]:
        """Return the row of each term, None for those that no object holds."""
        keys = [word_key(self.state.bucket, term) for term in terms]
        found = dict(self._transaction.get_many(WORDS, keys))
        return [
            WordRow(row, len(term)) if (row := found.get(key)) is not None else None
            for key, term in zip(keys, terms, strict=True)
        ]

    def blocks(self, word: WordRow) -> list[bytes]:
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

    def oids(self, iids: list[int]) -> list[str]:
        """Return the names of objects, in the order of their numbers."""
        bucket = self.state.bucket
        names = oids_in(self._view.record_rows(bucket, iids), bucket, iids)
        if None in names:
            raise StoreDamaged(f"bucket {bucket}: postings name {names.count(None)} missing objects")
        return cast(list[str], names)

    def object(self, oid: str) -> ObjectRecord | None:
        """Return what an object holds, or None."""
        name = oid.encode()
        found = self._find(name, name_hash(name))
        return None if found is None else found[1]

    def objects(self) -> Iterator[tuple[int, ObjectRecord]]:
        """Yield the numbers of all objects and what they hold, in the order in which they were made."""
        self._view.settle_records(self.state.bucket)
        for key, row in self._transaction.rows(OBJECTS, bucket_key(self.state.bucket)):
            first = int.from_bytes(key[4:], "big") * OBJECTS_PER_RECORD_ROW
            for place, packed in RecordRow(row).records():
                yield first + place, self._unpacked(first + place, packed)

    def object_numbered(self, iid: int) -> ObjectRecord:
        """Return what the object with this number holds. Raises StoreDamaged if there is none."""
        packed = self._view.record(self.state.bucket, iid)
        if packed is None:
            raise StoreDamaged(f"bucket {self.state.bucket}: object {iid} is missing")
        return self._unpacked(iid, packed)

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

    def lexicon(self, prefix: bytes) -> Iterator[tuple[bytes, WordRow]]:
        """Yield the words that begin with `prefix` in byte order, with their rows, whether they are live or not."""
        start = word_key(self.state.bucket, prefix)
        for key, row in self._transaction.rows(WORDS, start):
            word = key[4:]
            yield word, WordRow(row, len(word))

    def likely_words(self, prefix: bytes, limit: int, examined: int) -> list[bytes]:
        """Return the live words that begin with `prefix`: those that most objects hold first, then short ones.

        Args:
            limit: so many at the most.
            examined: about so many words, the first in byte order, are compared.
        """
        key_prefix = start = word_key(self.state.bucket, prefix)
        best: list[tuple[int, int, bytes]] = []
        size, goes_on = 32, True
        while goes_on and examined > 0:
            rows = self._transaction.some_rows(WORDS, start, size)
            found, goes_on = likely_words(rows, key_prefix, limit)
            goes_on = goes_on and len(rows) == size
            best = sorted(best + found)[:limit]
            examined -= size
            if goes_on:
                start = rows[-1][0] + b"\0"
                size = min(4 * size, examined)
        return [word for _, _, word in best]

    def _find(self, oid: bytes, hash: int) -> tuple[int, ObjectRecord] | None:
        """Return the number and the record of an object, or None."""
        bucket = self.state.bucket
        for iid in self._view.named(self.state, oid, hash):
            packed = self._view.record(bucket, iid)
            if packed is None:
                raise StoreDamaged(f"bucket {bucket}: object {iid} has a name but no record")
            record = self._unpacked(iid, packed)
            if record.oid == oid:
                return iid, record
        return None

    def _unpacked(self, iid: int, packed: bytes) -> ObjectRecord:
        try:
            return ObjectRecord.unpack(packed)
        except DamagedBytes as fault:
            raise StoreDamaged(f"bucket {self.state.bucket}, object {iid}: {fault}") from fault


class BucketWriter(BucketReader):
    """Changes one bucket; what it writes stands in the view's transaction."""

    def __init__(self, view: WriteView, state: BucketState) -> None:
        # Not settled: PUSH works on the rows that are still to be written.
        self.state = state
        self._view = self._writer = view
        self._transaction = view.transaction

    def push(self, oid: str, terms: Terms, window: int, *, new: bool = False) -> bool:
        """Give an object (created where it is missing) the terms of a text; return whether that was done.

        Terms it holds keep their places and the larger term frequency; new ones stand at the head of their lists.

        Args:
            new: do nothing if the object is there.

        Raises:
            StoreError: the transaction failed or the bucket's numbers are used up.
        """
        state = self.state
        name = oid.encode()
        hash = name_hash(name)
        found = self._find(name, hash)
        is_new = found is None
        if new and not is_new:
            return False
        if found is None:
            iid, record = state.next_iid, ObjectRecord.empty(name)
            if iid > IID_MAX:
                raise StoreError(f"bucket {state.bucket} has used up its {IID_MAX + 1} object numbers")
        else:
            iid, record = found
        link = Link(state.bucket, iid, terms, record, state.next_term, self._writer.terms)
        if not self._link(link, window, is_new=is_new):
            return True
        link.finish()
        self._transaction.put_many(TERMS, link.new_terms())
        self._note_changed_words(link, Why.APPEARED)
        self._writer.put_record(state, iid, link.record())
        if is_new:
            self._writer.add_name(state, hash, iid)
            state.next_iid += 1
            state.objects += 1
        state.next_term = link.next_term
        state.live_words += link.live_change
        state.total_length += link.length_change
        self._writer.set_length(state, iid, pack_length(record.length + link.length_change))
        return True

    def _link(self, link: Link, window: int, *, is_new: bool) -> bool:
        """Change the postings of an object's words; return False if there is nothing to change about the object."""
        transaction = self._transaction
        try:
            needed = link.take_rows(transaction.get_many(WORDS, link.word_keys))
            link.take_blocks(transaction.get_many(POSTINGS, needed))
            if not (is_new or link.changed):
                return False
            transaction.put_many(POSTINGS, link.blocks)
            while used_up := link.trim(window):
                for number in used_up:
                    self._drop_first_block(link, number)
        except DamagedBytes as fault:
            raise StoreDamaged(f"bucket {self.state.bucket}: {fault}") from fault
        return True

    def pop(self, oid: str, words: list[bytes]) -> int:
        """Take words from an object; return how many shown ones went. The object goes with its last word."""
        self._writer.settle()
        name = oid.encode()
        found = self._find(name, name_hash(name))
        return 0 if found is None else self._unlink(*found, words)

    def flush_object(self, oid: str) -> int:
        """Forget an object; return how many shown words it held."""
        self._writer.settle()
        name = oid.encode()
        found = self._find(name, name_hash(name))
        if found is None:
            return 0
        iid, record = found
        keys = [term_key(self.state.bucket, term_id) for term_id, *_ in record.terms()]
        words = [term for _, term in self._transaction.get_many(TERMS, keys)]
        return self._unlink(iid, record, words)

    def _unlink(self, iid: int, record: ObjectRecord, words: list[bytes]) -> int:
        state, transaction = self.state, self._transaction
        unlink = Unlink(state.bucket, iid, words, record)
        self._writer.terms.forget(unlink.word_keys)
        try:
            needed = unlink.take_rows(transaction.get_many(WORDS, unlink.word_keys))
            unlink.take_blocks(transaction.get_many(POSTINGS, needed))
        except DamagedBytes as fault:
            raise StoreDamaged(f"bucket {state.bucket}: {fault}") from fault
        for number in unlink.used_up:
            self._drop_first_block(unlink, number)
        transaction.put_many(POSTINGS, unlink.blocks)
        self._delete_all(POSTINGS, unlink.deleted_blocks)
        transaction.put_many(WORDS, unlink.words())
        self._delete_all(WORDS, unlink.deleted_words)
        self._delete_all(TERMS, unlink.deleted_terms)
        self._note_changed_words(unlink, Why.ORPHANED if len(record) == unlink.removed else Why.POPPED)
        state.live_words += unlink.live_change
        state.total_length += unlink.length_change
        if len(record) == unlink.removed:  # also an object that never held a word
            self._forget_object(iid, record)
        elif unlink.removed:
            left = unlink.record()
            assert left is not None
            self._writer.put_record(state, iid, left)
            self._writer.set_length(state, iid, pack_length(record.length + unlink.length_change))
        return unlink.removed_shown

    def _forget_object(self, iid: int, record: ObjectRecord) -> None:
        self._writer.drop_record(self.state, iid)
        self._writer.drop_name(self.state, name_hash(record.oid), iid)
        self._writer.set_length(self.state, iid, 0)
        self.state.objects -= 1

    def _drop_first_block(self, edits: Edits, number: int) -> None:
        """Delete the used-up first block of an edit's word, and find the one that follows."""
        key = edits.first_block_key(number)
        self._transaction.delete(POSTINGS, key)
        following: Row | None = self._transaction.first(POSTINGS, key)
        if following is None or following[0][:9] != key[:9]:
            edits.advance_to_tail(number)
        else:
            edits.advance(number, int.from_bytes(following[0][9:], "big"), following[1][0])

    def _note_changed_words(self, edits: Edits, why: Why) -> None:
        changed = edits.changed_words()
        if changed:
            self._writer.note_pending(self.state, changed, why)

    def _delete_all(self, table: int, keys: list[bytes]) -> None:
        for key in keys:
            self._transaction.delete(table, key)
