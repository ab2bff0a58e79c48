"""Notes about the words of a bucket that an open transaction changes: rows that wait until they are read, or for the
commit, when many share a page.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t

from sonicpy._native.counters cimport Counters
from sonicpy._native.keys cimport put_big_endian
from sonicpy._native.small_entries cimport BUCKET_BYTES
from sonicpy._native.table_access cimport MixedRows

from sonicpy._native.numbered_terms import entries_by_row, with_terms

cdef enum:
    SEQUENCE_BYTES = 6


@cython.no_gc  # it refers to the transaction, and to lists, dicts and sets of bytes and numbers: no cycle begins here
cdef class WordNotes:
    """The notes of one bucket.

    Args:
        transaction: the open transaction.
        number: the number of the bucket, as keys begin with it.
        table: the number of a table with rows of small buckets.
        pending: a dict that gets the rows of `pending`, by key.
        recorded: the ids of the buckets that have rows in `pending`.
        words: a list that gets the words that became live or vanished.
        begins_small: whether new buckets begin as small ones, whose words need no rows in `pending`.

    Attributes:
        terms: (term id, term) pairs of new words, by rising term id, which `terms` does not hold yet.
        words: as given.
    """

    def __cinit__(
        self,
        MixedRows transaction not None,
        bytes number not None,
        int table,
        dict pending not None,
        set recorded not None,
        list words not None,
        bint begins_small,
    ):
        self.terms, self.words = [], words
        self._transaction, self._number, self._table = transaction, number, table
        self._pending, self._recorded, self._begins_small = pending, recorded, begins_small

    def add(self, Counters counters not None, list keys not None, int why) -> None:
        """Note words, by their keys, that appeared or vanished; those of a small bucket without a graph need no rows.

        Args:
            counters: those of the bucket, which count the words.
            why: as in `sonicpy.store.disk.why`.
        """
        self.note(counters, keys, why)

    def write_terms(self, int table) -> None:
        """Write the terms of new words into their rows in a table, and forget them."""
        cdef object place
        cdef bytes key, entries
        if not self.terms:
            return
        place = self._transaction.small_of(table, self._number)
        if place is None:
            place = self._transaction
        for key, entries in entries_by_row(<uint32_t> int.from_bytes(self._number, "big"), self.terms):
            place.put(table, key, with_terms(place.get(table, key), entries))
        self.terms.clear()

    cdef int note(self, Counters counters, list keys, int why) except -1:
        cdef uint8_t[SEQUENCE_BYTES + 1] row
        cdef bint has_rows = self.has_rows(counters)
        cdef bytes key
        row[SEQUENCE_BYTES] = <uint8_t> why
        for key in keys:
            counters.pending_seq += 1
            if has_rows:
                put_big_endian(row, counters.pending_seq, SEQUENCE_BYTES)
                self._pending[key] = PyBytes_FromStringAndSize(<char *> row, sizeof(row))
            self.words.append(
                PyBytes_FromStringAndSize(PyBytes_AS_STRING(key) + BUCKET_BYTES, PyBytes_GET_SIZE(key) - BUCKET_BYTES)
            )
        return 0

    cdef bint has_rows(self, Counters counters) except -1:
        """Return whether words of the bucket get rows in `pending`; note that it has some."""
        if counters.bucket in self._recorded:
            return True
        if self._begins_small and not counters.lexicon_version and counters.graph_words:
            if self._transaction.small_of(self._table, self._number) is not None:
                return False
        self._recorded.add(counters.bucket)
        return True
