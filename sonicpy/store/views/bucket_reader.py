"""Reads one bucket inside one transaction: its terms, postings, objects and words, and in the same way its tags.

Tags have rows and postings under a number of their own, with the IIDs of the bucket.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, TypeVar, cast

from sonicpy._native.completions import pack_completions
from sonicpy._native.growing_record import GrowingRecord
from sonicpy._native.keys import word_keys
from sonicpy._native.length_masks import LengthMasks
from sonicpy._native.name_map import name_hash
from sonicpy._native.object_record import ObjectRecord
from sonicpy._native.objects import OBJECTS_PER_RECORD_ROW, RecordRow, oids_in
from sonicpy._native.ordered_rows import order_keys
from sonicpy._native.postings import PostingList, posting_count
from sonicpy._native.stored_postings import StoredPostings
from sonicpy._native.term_rows import TermInfo, infos_found, shown_bytes
from sonicpy._native.varint import DamagedBytes
from sonicpy.errors import StoreDamaged
from sonicpy.rules import counts_letters
from sonicpy.store.disk.pages import pages
from sonicpy.store.disk.table_numbers import IMPACTS, META, OBJECTS, POSTINGS, TAGS, StoredRow
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.digests import NO_DIGEST, exported_digest
from sonicpy.store.rows.keys import bucket_key, owner_of, tag_key, term_key, word_key
from sonicpy.store.rows.meta import ANALYZER
from sonicpy.store.rows.tag_counts import OF_TAGS, OF_TEXTS, Beside, TagCounts, unpack_tag_counts
from sonicpy.store.views.with_texts import WithTexts

if TYPE_CHECKING:
    from sonicpy.store.views.beside_words import ColumnRows, Owner, TagRows
    from sonicpy.store.views.bucket_rows import BucketRows

Record = TypeVar("Record", bound=ObjectRecord | GrowingRecord)

WINDOW_BITS = 12
"""The binary logarithm of the number of objects in a window."""


class BucketReader:
    """Reads one bucket through a view."""

    def __init__(self, view: "BucketRows", state: BucketState) -> None:
        self.state = state
        self._view = view
        self._transaction = view.transaction

    def fact(self, kind: int) -> bytes | None:
        """Return the fact `kind`, a number of 8 bits, of the bucket; None: the bucket has no such fact."""
        return self._view.fact(self.state.bucket, kind)

    def vector_rows(self, keys: list[bytes]) -> dict[bytes, bytes]:
        """Return the rows of vectors with these keys, by key; keys without a row are left out."""
        return self._view.vector_rows(keys)

    def order_rows(self, iids: list[int]) -> dict[bytes, bytes]:
        """Return the rows with the orders of objects, given by rising IID, by key; rows that do not exist are left
        out."""
        return self._view.order_rows(order_keys(self.state.bucket, iids))

    def exported_digest(self, iid: int) -> str | None:
        """Return the digest of an object in the form of an export; None: the object has none."""
        digest = self._view.digest(self.state.bucket, iid)
        if digest == NO_DIGEST:
            return None
        return exported_digest(digest, self._transaction.get(META, ANALYZER.name) or b"")

    def records_of(self, iids: list[int]) -> dict[bytes, bytes]:
        """Return the rows with the records of some objects, by key."""
        return self._view.record_rows(self.state.bucket, iids)

    @cached_property
    def rules(self) -> int:
        """The version of the rules by which the texts of the bucket are cut. Each query asks some times."""
        return self._view.rules(self.state.bucket)

    @property
    def tags(self) -> "TagRows | None":
        """A reader of the tags of the bucket; None: no object has a tag."""
        return self._view.tag_reader(self)

    @property
    def texts(self) -> "TagRows | None":
        """A reader of the named texts in the bucket, whose terms are those of `rows.named_words`; None: there are
        none."""
        return self._view.tag_reader(self, OF_TEXTS)

    @property
    def with_texts(self) -> WithTexts:
        """A reader that also reads terms of named texts."""
        return WithTexts(self)

    @property
    def columns(self) -> "ColumnRows | None":
        """A reader of the values in the bucket; None: no object has a value."""
        return self._view.column_reader(self)

    def words(self, terms: list[bytes]) -> list[TermInfo | None]:
        """Return the row of each term; None: no object holds the term."""
        keys = word_keys(self.state.bucket, terms)
        return infos_found(terms, keys, self._view.word_rows(keys), letters=counts_letters(self.rules))

    def blocks(self, word: TermInfo) -> list[bytes]:
        """Return all blocks of a word's postings, in their order: by IID, or by association."""
        blocks: list[bytes] = []
        if word.position:
            prefix = term_key(self.state.bucket, word.term_id)
            blocks = [block for _, block in self._transaction.rows(POSTINGS, prefix)]
        if word.tail:
            blocks.append(word.tail)
        return blocks

    def read_blocks(self, keys: list[bytes]) -> list[StoredRow]:
        """Return the (key, block) of each existing block of postings with one of these keys, in order."""
        return self._transaction.get_many(POSTINGS, keys)

    def note_made(self, size_bytes: int) -> None:
        """Note that a query made windows of postings of `size_bytes`. Without a cache, nothing is done."""

    def postings(self, word: TermInfo) -> StoredPostings:
        """Return a word's postings by rising IID, read on demand."""
        return self.postings_with(word, self.lengths())

    def postings_with(self, word: TermInfo, lengths: bytes | bytearray) -> StoredPostings:
        """Return a word's postings as `postings` does, with the lengths of all objects given by the caller."""
        bucket = self.state.bucket
        if self._view.by_association:
            return StoredPostings.of_blocks(bucket, word.term_id, word.df, self.blocks(word), lengths)
        rows: list[bytes] = []
        if word.position:
            prefix = term_key(bucket, word.term_id)
            rows = self._transaction.rows_of(IMPACTS, prefix)
        return StoredPostings(bucket, word.term_id, word.df, rows, word.tail, word.position, lengths)

    def postings_of(self, words: list[TermInfo]) -> list[StoredPostings]:
        """Return the postings of each word; duplicate words share one `StoredPostings`."""
        found: dict[int, StoredPostings] = {}
        for word in words:
            if word.term_id not in found:
                found[word.term_id] = self.postings(word)
        return [found[word.term_id] for word in words]

    def postings_within(self, words: list[TermInfo], window: int) -> list[StoredPostings]:
        """Return the newest `window` postings of each word, shared as in `postings_of`."""
        found: dict[int, StoredPostings] = {}
        for word in words:
            if word.term_id not in found:
                found[word.term_id] = self.window_postings(word, window) if word.df > window else self.postings(word)
        return [found[word.term_id] for word in words]

    def window_postings(self, word: TermInfo, window: int) -> StoredPostings:
        """Return the newest `window` postings of a word by rising IID."""
        blocks, skipped = self._newest_blocks(word, window)
        bucket, lengths = self.state.bucket, self.lengths()
        return StoredPostings.of_blocks(bucket, word.term_id, min(word.df, window), blocks, lengths, skipped)

    def newest_postings(self, word: TermInfo, window: int) -> tuple[PostingList, int]:
        """Return the newest postings of a word, and the number of leading postings beyond the window.

        Args:
            window: the number of postings to read; 0: all.
        """
        blocks, skipped = self._newest_blocks(word, window)
        return PostingList.of(blocks), skipped

    def _newest_blocks(self, word: TermInfo, window: int) -> tuple[list[bytes], int]:
        """Return the blocks with the newest `window` postings (0: all), and the number of leading postings outside the
        window. Raises StoreDamaged if blocks are missing."""
        blocks = [word.tail] if word.tail else []
        count = posting_count(word.tail) if word.tail else 0
        if word.position and (not window or count < window):
            for _, block in self._transaction.newest_first(POSTINGS, term_key(self.state.bucket, word.term_id)):
                blocks.append(block)
                count += posting_count(block)
                if window and count >= window:
                    break
        wanted = min(window, word.df) if window else word.df
        if count < wanted:
            raise StoreDamaged(f"bucket {self.state.bucket}: a word counts {word.df} postings, but has {count}")
        return blocks[::-1], max(count - window, 0) if window else 0

    def oids(self, iids: list[int]) -> list[str]:
        """Return the OIDs of objects, in the order of `iids`. Raises StoreDamaged if one is missing."""
        bucket = self.state.bucket
        names = oids_in(self._view.record_rows(bucket, iids, names=True), bucket, iids)
        if None in names:
            raise StoreDamaged(f"bucket {bucket}: postings name {names.count(None)} missing objects")
        return cast(list[str], names)

    def object(self, oid: str) -> ObjectRecord | None:
        """Return the record of an object, or None."""
        found = find_object(self._view, self.state, oid)
        return None if found is None else found[1]

    def numbered(self, oid: str) -> tuple[int, ObjectRecord] | None:
        """Return the IID and the record of an object, or None."""
        return find_object(self._view, self.state, oid)

    def objects(self) -> Iterator[tuple[int, ObjectRecord]]:
        """Yield the IID and the record of every object, by rising IID."""
        bucket, by_association = self.state.bucket, self._view.by_association
        self._view.flush_records(bucket)
        for key, row in self._transaction.rows(OBJECTS, bucket_key(bucket)):
            first = int.from_bytes(key[4:], "big") * OBJECTS_PER_RECORD_ROW
            for place, packed in RecordRow(row).records():
                iid = first + place
                yield iid, unpacked(by_association, bucket, iid, packed, ObjectRecord.unpack)

    def number_of(self, oid: str) -> int | None:
        """Return the IID of an object, or None."""
        found = find_object(self._view, self.state, oid)
        return None if found is None else found[0]

    def holds(self, oid: str) -> bool:
        """Return whether an object with this OID exists. Names are compared, and no record is read."""
        name, view, state = oid.encode(), self._view, self.state
        for iid in view.stored_named(state, name_hash(name)):
            if self.oids([iid])[0] == oid:
                return True
        return any(self.oids([iid])[0] == oid for iid in view.new_named(state, name))

    def existing(self, iids: list[int]) -> list[int]:
        """Return the given IIDs that belong to existing objects."""
        bucket = self.state.bucket
        names = oids_in(self._view.record_rows(bucket, iids, names=True), bucket, iids)
        return [iid for iid, name in zip(iids, names, strict=True) if name is not None]

    def object_numbered(self, iid: int) -> ObjectRecord:
        """Return the record of the object with this IID. Raises StoreDamaged if the record is missing."""
        return _record(self._view, self.state.bucket, iid)

    def terms(self, term_ids: list[int]) -> list[str]:
        """Return the terms with these ids. Raises StoreDamaged if one is missing."""
        return [term.decode() for term in self.term_bytes(term_ids)]

    def term_bytes(self, term_ids: list[int]) -> list[bytes]:
        """Return the terms with these ids as bytes. Raises StoreDamaged if one is missing."""
        found = self._view.terms_numbered(self.state.bucket, term_ids)
        try:
            return [found[term_id] for term_id in term_ids]
        except KeyError:
            missing = len(set(term_ids) - found.keys())
            raise StoreDamaged(f"bucket {self.state.bucket}: objects name {missing} missing terms") from None

    def lengths(self) -> bytes | bytearray:
        """Return the packed lengths of all objects, by IID."""
        return self._view.lengths(self.state)

    def length_masks(self) -> LengthMasks:
        """Return the masks of the bucket that select objects by length."""
        return LengthMasks(self.lengths())

    def wordless(self) -> list[int]:
        """Return the IIDs of the objects without words. The caller must not change the list."""
        lengths, count = self.lengths(), self.state.next_iid
        without = list(_places(lengths, 0)) + list(range(len(lengths), count))
        return self.existing(without)

    def lexicon(self, prefix: bytes, after: bytes = b"") -> Iterator[tuple[bytes, TermInfo]]:
        """Yield the words that begin with `prefix` in byte order, with their rows, including words that are not in the
        lexicon.

        Args:
            after: only words behind this one.
        """
        key_prefix = word_key(self.state.bucket, prefix)
        start = word_key(self.state.bucket, after) + b"\0" if after else key_prefix
        letters = counts_letters(self.rules)
        for rows in pages(partial(self._view.word_rows_from, prefix=key_prefix), key_prefix, start=start):
            for key, row in rows:
                word = key[4:]
                yield word, TermInfo(row, shown_bytes(word, letters=letters))

    def words_with(self, prefix: bytes, most: int) -> list[bytes]:
        """Return the first words that begin with `prefix`, at most `most`, in byte order, including words that are not
        in the lexicon."""
        key_prefix = word_key(self.state.bucket, prefix)
        words: list[bytes] = []
        start, size = key_prefix, min(16, most)
        while True:
            keys = self._view.word_keys_from(start, size, key_prefix)
            words += [key[4:] for key in keys]
            if len(words) >= most or len(keys) < size:
                return words
            start, size = keys[-1] + b"\0", min(4 * size, most - len(words))

    def likely_words(self, prefix: bytes, limit: int, examined: int) -> list[bytes]:
        """Return at most `limit` live words: the prefix itself, then the others by object frequency, then by length.

        Args:
            examined: the most words to compare, the first ones in byte order.
        """
        letters = counts_letters(self.rules)
        words = self._view.word_range(word_key(self.state.bucket, prefix), examined, letters=letters)
        return words.likely(prefix, limit, examined) or []

    def pending_between(self, before: int, until: int) -> list[bytes] | None:
        """Return the words that became pending with numbers above `before`, up to `until`; None: all words must be
        read."""
        known = self._view.growing_pending_words(self.state)
        return None if known is None else known.between(before, until)

    def packed_completions(self, prefix: bytes, examined: int) -> bytes:
        """Return the first `examined` completions of `prefix`, packed for `_native.completions.likely_of_all`."""
        key_prefix = word_key(self.state.bucket, prefix)
        rows = self._view.word_rows_from(key_prefix, examined, key_prefix)
        return pack_completions(rows, len(key_prefix), letters=counts_letters(self.rules))


class TagReader(BucketReader):
    """Reads the tags of a bucket as a `BucketReader` reads its words; the postings of a tag are of the objects that
    have it.

    Args:
        owner: the reader of the words of the bucket.
        counts: the counters of its tags.
        beside: the kind of terms: OF_TAGS, or OF_TEXTS for those of named texts.
    """

    def __init__(self, view: "BucketRows", owner: "Owner", counts: TagCounts, beside: Beside = OF_TAGS) -> None:
        super().__init__(view, tags_state(owner.state, counts, beside))
        self._beside = beside
        self._owner = owner
        self.live = counts.live
        """The number of tags that objects have."""

    def lengths(self) -> bytes | bytearray:
        """Return the packed lengths of all objects of the bucket, by IID."""
        return self._owner.lengths()

    def length_masks(self) -> LengthMasks:
        """Return the masks of the bucket that select objects by length."""
        return self._owner.length_masks()

    def starting(self, prefix: bytes, after: bytes = b"") -> Iterator[tuple[bytes, TermInfo]]:
        """Yield the tags that begin with `prefix`, in byte order, with their rows.

        Args:
            after: only tags behind this one.
        """
        key_prefix = word_key(self.state.bucket, prefix)
        start = word_key(self.state.bucket, after) + b"\0" if after else key_prefix
        for rows in pages(partial(self._view.word_rows_from, prefix=key_prefix), key_prefix, start=start):
            for key, row in rows:
                yield key[4:], TermInfo(row, 0)

    def tag_ids_of(self, iids: list[int]) -> list[list[int]]:
        """Return the ids of the tags of each object, in rising order."""
        bucket, per_row = owner_of(self.state.bucket) | self._beside.row_mark, self._beside.per_row
        held = {
            number: self._beside.row(self._transaction.get(TAGS, tag_key(bucket, number)) or b"")
            for number in {iid // per_row for iid in iids}
        }
        return [held[iid // per_row].of(iid % per_row) for iid in iids]

    def tags_of(self, iids: list[int]) -> list[list[str]]:
        """Return the tags of each object, in byte order."""
        ids = self.tag_ids_of(iids)
        named = self._named({tag_id for held in ids for tag_id in held})
        return [[tag.decode() for tag in sorted(named[tag_id] for tag_id in held)] for held in ids]

    def tags_numbered(self, ids: list[int]) -> list[str]:
        """Return the tags with these ids."""
        named = self._named(ids)
        return [named[tag_id].decode() for tag_id in ids]

    def _named(self, ids: Iterable[int]) -> dict[int, bytes]:
        wanted = set(ids)
        named = self._view.terms_numbered(self.state.bucket, wanted)
        if len(named) < len(wanted):
            missing = len(wanted) - len(named)
            raise StoreDamaged(f"bucket {owner_of(self.state.bucket)}: objects have {missing} tags without a name")
        return named


def _places(packed: bytes | bytearray, value: int) -> Iterator[int]:
    """Yield the indices at which bytes have a value."""
    at = packed.find(value)
    while at >= 0:
        yield at
        at = packed.find(value, at + 1)


def tag_counts(owner: "Owner", beside: Beside = OF_TAGS) -> TagCounts | None:
    """Return the counters of the tags of a bucket, or of another kind of terms, `beside`; None: no object has any."""
    fact = owner.fact(beside.counts)
    counts = None if fact is None else _unpacked_counts(fact)
    return counts if counts is not None and counts.live else None


_unpacked_counts = lru_cache(maxsize=256)(unpack_tag_counts)  # each query with tags asks


def tags_state(state: BucketState, counts: TagCounts, beside: Beside = OF_TAGS) -> BucketState:
    """Return the state that a reader of the tags of a bucket, or of another kind of terms, `beside`, needs: the number
    and the counters of the terms."""
    return BucketState(state.bucket | beside.mark, state.next_iid, counts.next_id, state.objects)


def find_object(view: "BucketRows", state: BucketState, oid: str) -> tuple[int, ObjectRecord] | None:
    """Return the IID and the record of an object, or None."""
    name = oid.encode()
    return find_among(partial(_record, view, state.bucket), view.named(state, name, name_hash(name)), name)


def _record(view: "BucketRows", bucket: int, iid: int) -> ObjectRecord:
    return unpacked(view.by_association, bucket, iid, view.record(bucket, iid), ObjectRecord.unpack)


def find_among(read: Callable[[int], Record], iids: Iterable[int], oid: bytes) -> tuple[int, Record] | None:
    """Return the IID and the record of the object among `iids` that has an OID, or None.

    Args:
        read: a function that returns the record of an object.

    Raises:
        StoreDamaged: an object has no record, or its record cannot be read.
    """
    for iid in iids:
        record = read(iid)
        if record.oid == oid:
            return iid, record
    return None


def unpacked(
    by_association: bool, bucket: int, iid: int, packed: bytes | None, unpack: Callable[[bytes, bool], Record]
) -> Record:
    """Return the record of an object, as `unpack` reads it. Raises StoreDamaged if there is none, or it cannot be
    read."""
    if packed is None:
        raise StoreDamaged(f"bucket {bucket}: object {iid} has no record")
    try:
        return unpack(packed, by_association)
    except DamagedBytes as error:
        raise StoreDamaged(f"bucket {bucket}, object {iid}: {error}") from error


def window_count(reader: BucketReader) -> int:
    """Return the number of windows of a bucket."""
    return (max(len(reader.lengths()), reader.state.next_iid) >> WINDOW_BITS) + 1
