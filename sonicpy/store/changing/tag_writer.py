"""Changes the tags of objects inside the write transaction: a row of ids for each object, and postings for each tag."""

from typing import TYPE_CHECKING

from sonicpy._native.add_terms import AddTerms
from sonicpy._native.named_terms import pack_ids
from sonicpy._native.object_record import ObjectRecord
from sonicpy._native.remove_terms import RemoveTerms
from sonicpy._native.tag_rows import TagRow
from sonicpy._native.terms import Terms
from sonicpy.store.disk.table_numbers import TAGS
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.id_row import IdRow
from sonicpy.store.rows.keys import tag_key
from sonicpy.store.rows.numbered_terms import drop_terms
from sonicpy.store.rows.tag_counts import OF_TAGS, Beside, TagCounts, pack_tag_counts, unpack_tag_counts
from sonicpy.store.rows.word_rows import stored_words

if TYPE_CHECKING:
    from sonicpy.store.changing.bucket_tables import BucketTables
    from sonicpy.store.views.write_view import WriteView

NO_NAME = b"-"
"""A name for native code that needs the name of an object; changes of tags do not depend on it."""
NO_TERMS = ObjectRecord.empty(NO_NAME)
"""A record with that name and no terms."""


class TagWriter:
    """Changes the tags of the objects of one bucket.

    Args:
        view: the view of the open write transaction.
        state: the state of the bucket.
        tables: reads and writes the rows under the number that the bucket has given its tags.
        beside: the kind of terms: OF_TAGS, or OF_TEXTS for those of named texts.
    """

    def __init__(self, view: "WriteView", state: BucketState, tables: "BucketTables", beside: Beside = OF_TAGS) -> None:
        self._view = view
        self._state = state
        self._beside = beside
        self._number = state.bucket | beside.mark
        self._rows = state.bucket | beside.row_mark
        self._tables = tables
        self._fact: bytes | None = None
        self._counts = TagCounts()  # as this fact has them

    def ids_of(self, iid: int) -> list[int]:
        """Return the ids of the tags of an object."""
        return self._row(iid).of(iid % self._beside.per_row)

    def put(self, iid: int, tags: list[bytes]) -> None:
        """Replace the tags of an object.

        Args:
            tags: the new tags, sorted, without duplicates.
        """
        row, place = self._row(iid), iid % self._beside.per_row
        ids = row.of(place)
        held = self._view.terms_numbered(self._number, ids) if ids else {}
        wanted = set(tags)
        gone = {tag_id: tag for tag_id, tag in held.items() if tag not in wanted}
        new = sorted(wanted.difference(held.values()))
        if not gone and not new:
            return
        self._view.require(self._beside.use)
        self._view.touch(self._number)
        counts = unpack_tag_counts(self._view.fact(self._state.bucket, self._beside.counts))
        if gone:
            counts = self._remove(iid, gone, counts)
        left = held.keys() - gone.keys()
        if new:
            added, counts = self._add(iid, new, counts)
            left |= set(added)
        self._view.set_fact(self._state.bucket, self._beside.counts, pack_tag_counts(counts))
        row.put(place, sorted(left))
        self._write(iid, row)

    def begin(self, iid: int, terms: Terms) -> None:
        """Give an object its first tags, or its first terms of named texts.

        Args:
            terms: the terms in rising order, with their frequencies.
        """
        if not terms.words:
            return
        self._view.require(self._beside.use)
        self._view.touch(self._number)
        fact = self._view.fact(self._state.bucket, self._beside.counts)
        if fact is None or fact != self._fact:
            self._counts = unpack_tag_counts(fact)
        ids, self._counts = self._link(iid, terms, self._counts)
        self._fact = pack_tag_counts(self._counts)
        self._view.set_fact(self._state.bucket, self._beside.counts, self._fact)
        self._view.transaction.put(TAGS, tag_key(self._rows, iid), pack_ids(ids))

    def _row(self, iid: int) -> TagRow | IdRow:
        key = tag_key(self._rows, iid // self._beside.per_row)
        return self._beside.row(self._view.transaction.get(TAGS, key) or b"")

    def _write(self, iid: int, row: TagRow | IdRow) -> None:
        key, packed = tag_key(self._rows, iid // self._beside.per_row), row.pack()
        if packed:
            self._view.transaction.put(TAGS, key, packed)
        else:
            self._view.transaction.delete(TAGS, key)

    def _add(self, iid: int, tags: list[bytes], counts: TagCounts) -> tuple[list[int], TagCounts]:
        """Add an object to the postings of tags that it did not have; return the ids of the tags, and the new
        counters."""
        return self._link(iid, Terms(tags, bytes(map(self._beside.frequency_of, tags)), bytes(len(tags))), counts)

    def _link(self, iid: int, terms: Terms, counts: TagCounts) -> tuple[list[int], TagCounts]:
        view, tables = self._view, self._tables
        change = AddTerms(self._number, iid, terms, NO_TERMS, counts.next_id, view.terms)
        needed = change.take_rows(stored_words(view.transaction, change.word_keys) if change.word_keys else [])
        change.take_blocks(tables.read_blocks(needed) if needed else [])
        change.finish()
        ids, new = change.term_ids(), change.new_terms()
        if iid + 1 < self._state.next_iid:  # the newest object is behind all others anyway
            view.note_rewritten(self._number, ids)
        if new:
            view.word_notes(self._number).terms.extend(new)
        if change.blocks:
            tables.write_blocks(change.blocks)
            tables.put_impacts(change.blocks)
        return ids, TagCounts(change.next_term, counts.live + len(new), counts.held + len(terms))

    def _remove(self, iid: int, tags: dict[int, bytes], counts: TagCounts) -> TagCounts:
        """Take an object out of the postings of some of its tags, given by their ids; return the new counters."""
        view = self._view
        view.flush_term_rows()
        view.note_rewritten(self._number, list(tags))
        record = ObjectRecord.of(NO_NAME, [(tag_id, 1, False, 0) for tag_id in tags])
        change = RemoveTerms(self._number, iid, list(tags.values()), record)
        self._tables.change_words(change)
        drop_terms(view.transaction, self._number, change.deleted_terms)
        return TagCounts(counts.next_id, counts.live - len(change.deleted_terms), counts.held - change.removed)
