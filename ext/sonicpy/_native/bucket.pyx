"""One bucket while it is written: its counters, and PUSH as far as it goes without a table.

    Counters        what is known of a bucket as a whole
    PushWriter      PUSH; who inherits from it reads and writes the tables
"""

from libc.stdint cimport uint8_t, uint64_t

from sonicpy._native.object_change cimport AddTerms, begin_add_terms
from sonicpy._native.lengths cimport Lengths, pack_length
from sonicpy._native.names cimport WaitingNames, name_hash
from sonicpy._native.objects cimport PLACES, NewestRow
from sonicpy._native.postings cimport ObjectRecord, empty_record
from sonicpy._native.term_cache cimport TermCache
from sonicpy._native.terms cimport Terms

from sonicpy._native.postings import IID_MAX, DamagedBytes

cdef uint64_t LARGEST_IID = IID_MAX


cdef class Counters:
    """The numbers that a bucket's row in `scopes` holds; `sonicpy.store.bucket_state.BucketState` tells what they mean."""
    cdef public uint64_t bucket
    cdef public uint64_t next_iid
    cdef public uint64_t next_term
    cdef public uint64_t objects
    cdef public uint64_t total_length
    cdef public uint64_t live_words
    cdef public uint64_t pending_seq
    cdef public uint64_t lexicon_version
    cdef public uint64_t graph_words
    cdef public uint64_t graph_seq
    cdef public uint64_t named
    cdef public uint64_t slices

    def __init__(
        self,
        uint64_t bucket,
        uint64_t next_iid=0,
        uint64_t next_term=0,
        uint64_t objects=0,
        uint64_t total_length=0,
        uint64_t live_words=0,
        uint64_t pending_seq=0,
        uint64_t lexicon_version=0,
        uint64_t graph_words=0,
        uint64_t graph_seq=0,
        uint64_t named=0,
        uint64_t slices=0,
    ):
        self.bucket = bucket
        self.next_iid = next_iid
        self.next_term = next_term
        self.objects = objects
        self.total_length = total_length
        self.live_words = live_words
        self.pending_seq = pending_seq
        self.lexicon_version = lexicon_version
        self.graph_words = graph_words
        self.graph_seq = graph_seq
        self.named = named
        self.slices = slices

    @property
    def average_length(self) -> float:
        """The mean length of the objects."""
        return <double> self.total_length / <double> self.objects if self.objects else 0.0


cdef class PushWriter:
    """PUSH into one bucket of an open transaction.

    Rows of words, names, the newest row of records and lengths stand in memory. Only where that is not enough these
    methods are called, which who inherits has to have:

        _stored_names(hash)            the IIDs of the objects in `oids` whose OID has this hash
        _find_among(iids, oid)         (IID, record) of the object among some that has an OID, or None
        _read_words(keys)              (key, row) of those of some words that have a row, in their order
        _read_blocks(keys)             the same for blocks of postings
        _write_blocks(rows)            put rows into `postings`
        _drop_first_block(link, n)     delete the used-up first block of edit n, and tell the link which one follows
        _write_terms(rows)             put rows into `terms`
        _note_appeared(words)          words, by their keys, are live now
        _put_record(iid, record)       of an object that does not stand in the newest row

    Args:
        counters: of the bucket.
        terms: the rows of words that PUSH changes.
        names: those that `oids` may not hold yet.
        newest: the row that new objects go to.
        lengths: of all objects.
    """
    cdef Counters _counters
    cdef TermCache _terms
    cdef WaitingNames _names
    cdef NewestRow _newest
    cdef Lengths _lengths

    def __init__(
        self,
        Counters counters not None,
        TermCache terms not None,
        WaitingNames names not None,
        NewestRow newest not None,
        Lengths lengths not None,
    ):
        self._counters = counters
        self._terms = terms
        self._names = names
        self._newest = newest
        self._lengths = lengths

    def push(self, str oid not None, Terms terms not None, uint64_t window, *, bint new=False) -> bool:
        """Give an object (created where it is missing) the terms of a text; return whether that was done.

        Terms it holds keep their places and the larger term frequency; new ones stand at the head of their lists.

        Args:
            new: do nothing if the object is there.

        Raises:
            OverflowError: the bucket's numbers, or the blocks of a word, are used up.
            DamagedBytes: a row cannot be read.
        """
        cdef Counters counters = self._counters
        cdef bytes name = oid.encode()
        cdef uint64_t hash = name_hash(name), iid
        cdef tuple iids, found = None
        cdef ObjectRecord record
        cdef AddTerms link
        if counters is None:
            raise ValueError("who inherits from PushWriter has to call its __init__")
        iids = self._names.iids(hash)
        if counters.slices:
            iids += <tuple> self._stored_names(hash)
        if iids:
            found = self._find_among(iids, name)
        if found is None:
            iid = counters.next_iid
            if iid > LARGEST_IID:
                raise OverflowError(f"bucket {counters.bucket} has used up its {LARGEST_IID + 1} object numbers")
            record = empty_record(name)
        elif new:
            return False
        else:
            iid, record = found
        link = begin_add_terms(counters.bucket, iid, terms, record, counters.next_term, self._terms)
        if not self.link(link, window, found is None):
            return True
        if link._next_term != counters.next_term:
            self._write_terms(link.new_terms())
            counters.next_term = link._next_term
        if link.turned:
            self._note_appeared(link.changed_words())
        if iid // PLACES == self._newest.number:
            self._newest.put_record(<int> (iid % PLACES), link.record())
        else:
            self._put_record(iid, link.record())
        if found is None:
            self._names.put(hash, iid)
            counters.next_iid += 1
            counters.objects += 1
        counters.live_words += link.live_change
        counters.total_length += link.length_change
        self._lengths.set(iid, pack_length(record.total_tf() + link.length_change))
        return True

    cdef bint link(self, AddTerms link, uint64_t window, bint is_new) except -1:
        """Change the postings of an object's words; return False if there is nothing to change about the object."""
        cdef list needed, used_up
        try:
            needed = link.take_rows(self._read_words(link.word_keys) if link.word_keys else [])
            link.take_blocks(self._read_blocks(needed) if needed else [])
            if not (is_new or link.changed):
                return False
            if link.blocks:
                self._write_blocks(link.blocks)
            used_up = link.trim(window)
            while used_up:
                for number in used_up:
                    self._drop_first_block(link, number)
                used_up = link.trim(window)
        except DamagedBytes as error:
            raise DamagedBytes(f"bucket {self._counters.bucket}: {error}") from error
        link.finish()
        return True
