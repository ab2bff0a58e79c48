"""The counters of a bucket as a whole, and their row."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t, uint64_t

from sonicpy._native.varint cimport get_varint, put_varint

from sonicpy._native.keys import IID_MAX
from sonicpy._native.varint import DamagedBytes

cdef uint64_t LARGEST_IID = IID_MAX
cdef uint64_t LARGEST_BUCKET = (<uint64_t> 1 << 32) - 1
cdef uint64_t LARGEST_COUNT = (<uint64_t> 1 << 48) - 1  # of what is counted once for each change


cdef class Counters:
    """The counters in a bucket's row of `scopes`; `sonicpy.store.rows.bucket_state.BucketState` documents them."""

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

    def pack(self) -> bytes:
        """Return the row of the counters."""
        cdef uint8_t[120] room
        cdef uint8_t *out = room
        cdef uint64_t number
        for number in (
            self.bucket, self.next_iid, self.next_term, self.objects, self.total_length, self.live_words,
            self.pending_seq, self.lexicon_version, self.graph_words, self.graph_seq, self.named, self.slices,
        ):
            out = put_varint(out, number)
        return PyBytes_FromStringAndSize(<char *> room, out - room)


cdef int check(Counters counters) except -1:
    """Raise DamagedBytes if a number is higher than any bucket has: numbers are used as sizes and in keys."""
    if counters.bucket > LARGEST_BUCKET:
        raise DamagedBytes(f"it has the number {counters.bucket}; the last possible one is {LARGEST_BUCKET}")
    if counters.next_iid > LARGEST_IID + 1:
        raise DamagedBytes(f"its next object is {counters.next_iid}; the last possible one is {LARGEST_IID}")
    if (
        counters.next_term | counters.objects | counters.total_length | counters.live_words | counters.pending_seq
        | counters.lexicon_version | counters.graph_words | counters.graph_seq | counters.named | counters.slices
    ) > LARGEST_COUNT:
        raise DamagedBytes(f"one of its counters is higher than {LARGEST_COUNT}")
    return 0


def unpack_counters(type kind not None, bytes row not None) -> Counters:
    """Return the counters, as an object of a class, in a row made by `Counters.pack`.

    Raises:
        DamagedBytes: the row is cut off, has another number of fields, or a number that is too high.
    """
    cdef Counters counters = kind.__new__(kind)
    cdef const uint8_t *at = <const uint8_t *> <const char *> row
    cdef const uint8_t *end = at + len(row)
    if (
        get_varint(&at, end, &counters.bucket) < 0
        or get_varint(&at, end, &counters.next_iid) < 0
        or get_varint(&at, end, &counters.next_term) < 0
        or get_varint(&at, end, &counters.objects) < 0
        or get_varint(&at, end, &counters.total_length) < 0
        or get_varint(&at, end, &counters.live_words) < 0
        or get_varint(&at, end, &counters.pending_seq) < 0
        or get_varint(&at, end, &counters.lexicon_version) < 0
        or get_varint(&at, end, &counters.graph_words) < 0
        or get_varint(&at, end, &counters.graph_seq) < 0
        or get_varint(&at, end, &counters.named) < 0
        or get_varint(&at, end, &counters.slices) < 0
        or at != end
    ):
        raise DamagedBytes(f"it has {len(row)} bytes, and not 12 numbers")
    check(counters)
    return counters


def count_states(rows, bytes prefix not None, int place) -> int:
    """Return how many rows of `scopes` have a number other than 0 at `place`.

    Args:
        rows: (key, row) pairs in key order; counting ends before the first key that does not begin with `prefix`.
        place: the place of the number among the fields of BucketState.

    Raises:
        DamagedBytes: a row cannot be read.
    """
    cdef Py_ssize_t count = 0
    cdef int number
    cdef uint64_t value = 0
    cdef bytes key, row
    cdef const uint8_t *at
    cdef const uint8_t *end
    for key, row in rows:
        if not key.startswith(prefix):
            break
        at = <const uint8_t *> <const char *> row
        end = at + len(row)
        for number in range(place + 1):
            if get_varint(&at, end, &value) < 0:
                raise DamagedBytes("the row of a bucket cannot be read")
        count += value != 0
    return count
