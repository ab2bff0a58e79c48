"""PUSH, UPSERT and FLUSHO in one bucket inside a write transaction: work on cached rows, read the rows that no cache
holds, and hand over the rows to write.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from sonicpy._native.add_terms cimport AddTerms, begin_add_terms
from sonicpy._native.counters cimport Counters
from sonicpy._native.cut_terms cimport CutTerms, begin_cut_terms
from sonicpy._native.lengths cimport Lengths, pack_length
from sonicpy._native.name_map cimport NameMap, name_hash
from sonicpy._native.object_change cimport ADD
from sonicpy._native.object_record cimport ObjectRecord, empty_record
from sonicpy._native.record_item cimport PLACES
from sonicpy._native.term_cache cimport TermCache
from sonicpy._native.terms cimport Terms
from sonicpy._native.waiting_rows cimport BufferedRow, RecentRow
from sonicpy._native.word_notes cimport APPEARED, ORPHANED, POPPED, WordNotes

from sonicpy._native.keys import IID_MAX
from sonicpy._native.name_rows import name_key, named, without_name
from sonicpy._native.varint import DamagedBytes

cdef uint64_t LARGEST_IID = IID_MAX


cdef class PushWriter:
    """Carries out PUSH, UPSERT and FLUSHO in one bucket of an open transaction.

    Args:
        counters: the counters of the bucket.
        tables: reads and writes the rows that no cache holds: an object with the methods of `BucketTables`.
        terms: the cached rows of words.
        notes: the changes of the words of the bucket that wait to be written.
        names: the OIDs that `oids` may lack.
        newest: the row for new objects.
        recent: changed rows of records, by number.
        lengths: the lengths of all objects.
        by_association: whether the bucket's lists are in the order of association; else by IID.
        letters: True: words of up to 50 letters are in the lexicon; False: words of up to 40 bytes.

    Attributes:
        keeps_ids: whether to note the ids of the terms of each text.
        packed_ids: the ids of the terms of the last text, if they are noted: numbers of 64 bits.
        begun: the IID of the object that the last text began; -1: it began none.
        added: those of them that an existing object did not hold before.
    """
    cdef Counters _counters
    cdef TermCache _terms
    cdef WordNotes _notes
    cdef NameMap _names
    cdef BufferedRow _newest
    cdef dict _recent
    cdef bytes _names_key, _names_row  # the last row of names that was read
    cdef Lengths _lengths
    cdef object _tables
    cdef tuple _asked  # what `named` returned last; None: it may have changed
    cdef uint64_t _asked_hash
    cdef bint _by_association, _letters
    cdef public bint keeps_ids
    cdef readonly bytes packed_ids
    cdef readonly int64_t begun
    cdef readonly list added

    def __cinit__(
        self,
        Counters counters not None,
        tables not None,
        TermCache terms not None,
        WordNotes notes not None,
        NameMap names not None,
        BufferedRow newest not None,
        dict recent not None,
        Lengths lengths not None,
        bint by_association,
        bint letters,
    ):
        self._tables = tables
        self._counters = counters
        self._terms = terms
        self._notes = notes
        self._names = names
        self._newest = newest
        self._recent = recent
        self._lengths = lengths
        self._by_association = by_association
        self._letters = letters
        self.packed_ids = b""

    def push(self, str oid not None, Terms terms not None, *, bint new=False) -> bool:
        """Add the terms of a text to an object (created if it is missing); return False if `new` prevented that.

        Terms that the object holds keep the larger term frequency.

        Args:
            new: do nothing if the object exists.

        Raises:
            OverflowError: the bucket's numbers, or the blocks of a word, are used up.
            DamagedBytes: a row cannot be read.
        """
        cdef bytes name = oid.encode()
        cdef uint64_t hash = name_hash(name)
        cdef tuple iids = self.iids_of(hash)
        cdef tuple found = None
        self._asked = None  # names may change
        if iids:
            found = self._tables.find_growing(iids, name)
        if new and found is not None:
            return False
        self.add(name, hash, found, terms)
        return True

    cdef int add(self, bytes name, uint64_t hash, tuple found, Terms terms) except -1:
        """Add terms to an object as `find_growing` returned it; None: it is created."""
        cdef Counters counters = self._counters
        cdef uint64_t iid, length
        cdef list rewritten = None
        cdef bytes packed = None
        cdef AddTerms change
        self.begun = -1
        if found is None:
            iid = self.next_iid()
            record = empty_record(name, self._by_association)
        else:
            iid, record = found
        change = begin_add_terms(
            counters.bucket, iid, terms, record, counters.next_term, self._terms, self._by_association,
            self._letters,
        )
        if not self.change_postings(change, found is None):
            if self.keeps_ids:
                self.keep_ids(change, found is None)
            return 0
        if self.keeps_ids:
            self.keep_ids(change, found is None)
        if found is not None:
            rewritten = change.term_ids()
        self.note_words(change)
        if change._growing is not None:
            length = change._growing._total_tf
            change.grow()
            if iid // PLACES == self._newest.number:
                self._newest.grow(<int> (iid % PLACES), change._growing)
            else:
                self._tables.grow_record(iid, change._growing)
        else:
            length = change._record.total_tf()
            packed = change.record()
            if iid // PLACES == self._newest.number:
                self._newest.put_record(<int> (iid % PLACES), packed)
                packed = None
        if found is None:
            self._names.put(hash, iid)
            self.begun = <int64_t> iid
            counters.next_iid += 1
            counters.objects += 1
        counters.live_words += change.live_change
        counters.total_length += change.length_change
        self._lengths.set(iid, pack_length(length + change.length_change))
        if rewritten is not None or packed is not None or change.blocks:
            self._tables.write_push(iid, rewritten, packed, change.blocks or None)
            if rewritten is not None:
                self._tables.end_digest(iid)
        return 0

    def replace(self, str oid not None, Terms terms not None) -> int:
        """Replace the terms of an object (created if it is missing); return its IID, which stays. Words that the object
        holds already are not written again. Only for lists by IID.

        Raises:
            OverflowError, DamagedBytes: as in `push`.
            ValueError: the lists are in the order of association.
        """
        cdef bytes name = oid.encode()
        cdef uint64_t hash = name_hash(name), iid
        cdef tuple found = self.find(name, hash)
        cdef ObjectRecord record
        cdef AddTerms change
        cdef CutTerms cut = None
        cdef list gone
        if self._by_association:
            raise ValueError("a text is replaced in lists by IID only")
        if found is None:
            self.add(name, hash, None, terms)
            return self._counters.next_iid - 1
        iid, record = found
        record.unpack_terms()
        change = begin_add_terms(
            self._counters.bucket, iid, terms, record, self._counters.next_term, self._terms, False, self._letters
        )
        change._lowers = True
        try:
            needed = change.take_rows(self._tables.read_words(change.word_keys) if change.word_keys else [])
            gone = change.gone()
            if gone:
                cut = self.begin_cut(iid, gone, record)
            change.take_blocks(self._tables.read_blocks(needed) if needed else [])
        except DamagedBytes as error:
            raise DamagedBytes(f"bucket {self._counters.bucket}: {error}") from error
        if self.keeps_ids:
            self.keep_ids(change, False)
        if change.changed or cut is not None:
            change._record = record.without(gone)
            self.write_replaced(iid, record, change, cut)
        return iid

    def flush(self, str oid not None, Py_ssize_t most, write_gone not None) -> int:
        """Delete an object; return its number of words, hidden ones not counted, 0 if it does not exist; -1: the object
        has more than `most` terms, and nothing was done. Only for lists by IID.

        Args:
            write_gone: a function that writes the rows that no cache takes, called once the caches and the counters
                hold the change. Its arguments: the IID; the record; whether the cached row that held it has lost it;
                the ids of the words whose lists changed; the (key, row) of the names that have lost the OID, with an
                empty row if it was the last one; (key, block) pairs; the keys of blocks to delete. Each of the last
                three may be None.

        Raises:
            DamagedBytes: a row cannot be read.
            ValueError: the lists are in the order of association.
        """
        cdef Counters counters = self._counters
        cdef bytes name = oid.encode()
        cdef uint64_t hash = name_hash(name), iid
        cdef tuple found = self.find(name, hash)
        cdef ObjectRecord record
        cdef CutTerms cut
        cdef bint is_dropped = True
        cdef object row
        if self._by_association:
            raise ValueError("an object of lists by IID only is deleted here")
        if found is None:
            return 0
        iid, record = found
        if record._count > most:
            return -1
        record.unpack_terms()
        try:
            cut = self.begin_cut(iid, record.term_ids(), record)
        except DamagedBytes as error:
            raise DamagedBytes(f"bucket {counters.bucket}: {error}") from error
        cut.finish()
        counters.live_words += cut.live_change
        counters.total_length += cut.length_change
        counters.objects -= 1
        row = self._recent.get(iid // PLACES)
        if iid // PLACES == self._newest.number:
            self._newest.remove(<int> (iid % PLACES))
        elif row is not None:
            (<RecentRow?> row).remove(<int> (iid % PLACES))
        else:
            is_dropped = False
        self._names.drop(hash, iid)
        self._lengths.set(iid, 0)
        if cut.turned:
            self._notes.note(counters, cut.changed_words(), ORPHANED)
        write_gone(
            iid, record, is_dropped, cut.changed_terms(), self.take_name(hash, iid), cut.blocks or None,
            cut.deleted_blocks or None,
        )
        return cut.removed_shown

    cdef int note_words(self, AddTerms change) except -1:
        """Note the terms of new words, and the words that became live."""
        if change._next_term != self._counters.next_term:
            self._notes.terms += change.new_terms()
            self._counters.next_term = change._next_term
        if change.turned:
            self._notes.note(self._counters, change.changed_words(), APPEARED)
        return 0

    def named(self, str oid not None) -> tuple:
        """Return the IIDs of the objects that may have an OID, because its hash is that of their names; the next call
        of `push`, `replace` or `flush` need not look them up, unless `forget_named` is called."""
        self._asked_hash = name_hash(oid.encode())
        self._asked = None
        self._asked = self.iids_of(self._asked_hash)
        return self._asked

    def forget_named(self) -> None:
        """Forget the result of `named`, and the row of names: names have changed."""
        self._asked = self._names_key = None

    @property
    def ids(self) -> list:
        """The ids of the terms of the last text, if they are noted, else []."""
        cdef const uint64_t *ids = <const uint64_t *> PyBytes_AS_STRING(self.packed_ids)
        return [ids[number] for number in range(PyBytes_GET_SIZE(self.packed_ids) // <Py_ssize_t> sizeof(uint64_t))]

    cdef int keep_ids(self, AddTerms change, bint is_new) except -1:
        """Note the ids of the terms of a text that `change` added; `is_new`: its object is new."""
        cdef Py_ssize_t number
        cdef bytes packed = PyBytes_FromStringAndSize(NULL, change._count * sizeof(uint64_t))
        cdef uint64_t *ids = <uint64_t *> PyBytes_AS_STRING(packed)
        for number in range(change._count):
            ids[number] = change._edits[number].held.term_id
        self.packed_ids = packed
        self.added = [] if is_new else [
            change._edits[number].held.term_id for number in range(change._count) if change._edits[number].step == ADD
        ]
        return 0

    cdef CutTerms begin_cut(self, uint64_t iid, list gone, ObjectRecord record):
        """Begin to change the rows and the blocks of the terms, given by their ids, that an object loses. Raises
        DamagedBytes if a term is missing.
        """
        cdef CutTerms cut = begin_cut_terms(
            <uint32_t> self._counters.bucket, iid, gone, record, self._terms, self._letters
        )
        cdef list unknown
        cdef dict read
        if cut._unknown:
            unknown = cut.unknown_terms()
            read = self._tables.read_terms(unknown)
            if len(read) != len(unknown):
                raise DamagedBytes(f"object {iid} holds {len(unknown) - len(read)} terms that are missing")
            cut.take_words(read)
        needed = cut.take_rows(self._tables.read_words(cut.word_keys) if cut.word_keys else [])
        cut.take_blocks(self._tables.read_blocks(needed) if needed else [])
        return cut

    cdef int write_replaced(self, uint64_t iid, ObjectRecord record, AddTerms change, CutTerms cut) except -1:
        """Put a replaced text into the caches and the counters, and hand over the rows to write."""
        cdef Counters counters = self._counters
        cdef list rewritten = change.changed_terms(), shorter = None
        cdef uint64_t length = record.total_tf() + change.length_change
        cdef bytes packed = change.record()
        change.finish()
        counters.live_words += change.live_change
        if cut is not None:
            cut.finish()
            rewritten += cut.changed_terms()
            length += cut.length_change
            counters.live_words += cut.live_change
        if pack_length(length) < pack_length(record.total_tf()):
            rewritten += change.term_ids()
            shorter = change.kept_in_blocks()
        self.note_words(change)
        if iid // PLACES == self._newest.number:
            self._newest.put_record(<int> (iid % PLACES), packed)
            packed = None
        counters.total_length += length - record.total_tf()
        self._lengths.set(iid, pack_length(length))
        self._tables.write_push(iid, rewritten, packed, change.blocks or None)
        if cut is not None and cut.turned:
            self._notes.note(counters, cut.changed_words(), POPPED)
        if cut is not None or shorter:
            self._tables.write_cut(
                iid,
                (cut.blocks or None) if cut is not None else None,
                (cut.deleted_blocks or None) if cut is not None else None,
                shorter or None,
            )
        return 0

    cdef tuple find(self, bytes name, uint64_t hash):
        """Return the IID and the record of the object with an OID, or None."""
        cdef tuple iids = self.iids_of(hash)
        cdef object row
        cdef bytes packed
        cdef ObjectRecord record
        cdef uint64_t iid
        self._asked = None  # the caller changes names
        if not iids:
            return None
        if len(iids) == 1:
            iid = iids[0]
            row = self._recent.get(iid // PLACES)
            packed = None if row is None else (<RecentRow?> row).record_at(<int> (iid % PLACES))
            if packed is not None:
                record = ObjectRecord.unpack(packed, self._by_association)
                if record.oid == name:
                    return iid, record
        return self._tables.find_among(iids, name)

    def found(self, str oid not None) -> tuple | None:
        """Return the IID and the record of an object, or None."""
        cdef bytes name = oid.encode()
        return self.find(name, name_hash(name))

    def iid_of(self, str oid not None) -> int | None:
        """Return the IID of an object, or None. Names are compared, and no record is read."""
        cdef bytes name = oid.encode()
        cdef tuple iids = self.iids_of(name_hash(name))
        self._asked = None  # as in `find`
        return self._tables.iid_among(iids, name) if iids else None

    cdef tuple iids_of(self, uint64_t hash):
        cdef Counters counters = self._counters
        cdef tuple iids
        if self._asked is not None and self._asked_hash == hash:
            iids, self._asked = self._asked, None
            return iids
        iids = self._names.iids(hash)
        if counters.slices:
            self.read_names(hash)
            if self._names_row is not None:
                iids += <tuple> named(self._names_row, hash)
        return iids

    cdef int read_names(self, uint64_t hash) except -1:
        """Read the row of names to which a hash belongs, unless it was the last one: a FLUSHO is followed by a PUSH."""
        cdef bytes key = name_key(self._counters.bucket, hash, self._counters.slices)
        if key != self._names_key:
            self._names_key = None
            self._names_row = self._tables.read_names(key)
            self._names_key = key
        return 0

    cdef tuple take_name(self, uint64_t hash, uint64_t iid):
        """Take a name out of its row; return the key and the row to write, or None if no row has the name."""
        cdef bytes left
        if not self._counters.slices:
            return None
        self.read_names(hash)
        left = None if self._names_row is None else without_name(self._names_row, hash, iid)
        if left is None:
            return None
        self._names_row = left or None
        return self._names_key, left

    cdef uint64_t next_iid(self) except? 0:
        """Return the IID of a new object. Raises OverflowError if all are used up."""
        if self._counters.next_iid > LARGEST_IID:
            raise OverflowError(
                f"bucket {self._counters.bucket} has used up its {LARGEST_IID + 1} object numbers"
            )
        return self._counters.next_iid

    cdef bint change_postings(self, AddTerms change, bint is_new) except -1:
        """Change the postings of an object's words; return False if nothing changes. Raises DamagedBytes."""
        cdef list needed
        try:
            needed = change.take_rows(self._tables.read_words(change.word_keys) if change.word_keys else [])
            change.take_blocks(self._tables.read_blocks(needed) if needed else [])
        except DamagedBytes as error:
            raise DamagedBytes(f"bucket {self._counters.bucket}: {error}") from error
        if not (is_new or change.changed):
            return False
        change.finish()
        return True
