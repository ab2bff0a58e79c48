"""The rows of tables in an open transaction of LMDB."""


cdef class StoredRows:
    cdef public object began_after, cached_view
    cdef readonly object _txn
    cdef readonly list _tables, _cursors
    cdef readonly bint write

    cdef object handle(self, int table)
    cdef object at(self, int table)
    cdef list found(self, int table, list keys)


cdef class MixedRows(StoredRows):
    cdef public object _has_small
    cdef public dict _small
    cdef public tuple _mixed

    cdef object small_of(self, int table, bytes key)
    cdef bint may_mix(self, int table)
    cdef bint is_mixed(self, int table) except -1
