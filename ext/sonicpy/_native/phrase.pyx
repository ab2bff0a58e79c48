"""Phrases: objects that hold words next to each other, by the order of their words (orders.pyx).

The words of an object are read one by one, with a bit for each place of the phrase up to which the last words match it:
shift-and (Baeza-Yates and Gonnet, "A new approach to text searching", 1992).
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset

cimport cython

from sonicpy._native.bit_stream cimport BitReader
from sonicpy._native.bits cimport lowest_bit
from sonicpy._native.dense_records cimport begin_terms, is_dense_row, skip_terms, take_ids
from sonicpy._native.keys cimport term_key
from sonicpy._native.mask cimport Mask
from sonicpy._native.memory cimport zeroed
from sonicpy._native.objects cimport PLACES, Item, read_item
from sonicpy._native.ordered_rows cimport PER_ROW, Found, read_row
from sonicpy._native.orders cimport Places, begin_places, damaged, next_piece, next_place
from sonicpy._native.varint cimport get_varint
from sonicpy._native.windows cimport ROW_BYTES, WINDOW_BITS, WINDOW_WORDS

from sonicpy._native.readers import PutOff

PHRASE_WORDS_MAX = MOST_PLACES

cdef enum:
    MOST_PLACES = 64
    ALONE_MAX = 4  # objects of a window that are looked at alone, before the rows of all candidates are read in one go


class CheckedTooMany(PutOff):
    """More objects would have to be examined than an allowance permits."""


@cython.final
cdef class Allowance:
    """The number of objects that phrases may still examine.

    Attributes:
        left: the number of objects that are left.
    """

    cdef public int64_t left

    def __init__(self, int64_t left):
        self.left = left


@cython.final
cdef class Phrase(Mask):
    """The objects that hold words next to each other, in their order.

    Args:
        among: a mask of objects that include all objects with all of the words.
        reader: the reader of the bucket.
        places: for each word of the phrase, the ids of the terms that may be at its place; at most PHRASE_WORDS_MAX
            words.
        allowance: the number of objects that may be examined; CheckedTooMany is raised if it is too small. None: no
            limit.

    Attributes:
        checked: the number of objects that were examined.
    """

    cdef Mask among
    cdef object reader
    cdef uint64_t *ids  # rising
    cdef uint64_t *places_of  # a bit for each place of the phrase where the term may be
    cdef Py_ssize_t id_count
    cdef uint64_t last
    cdef uint32_t bucket
    cdef int64_t asked  # the window of the object that was looked at alone
    cdef int times
    cdef bint is_made
    cdef Allowance allowance
    cdef uint64_t *terms  # of the object that is examined
    cdef uint64_t terms_room
    cdef readonly uint64_t checked

    def __init__(
        self, Py_ssize_t windows, Mask among not None, reader not None, uint32_t bucket, list places not None,
        Allowance allowance=None,
    ):
        cdef dict bits = {}
        cdef Py_ssize_t number
        if not 0 < len(places) <= MOST_PLACES:
            raise ValueError(f"a phrase has {len(places)} words; allowed are 1 to {MOST_PLACES}")
        self.among, self.reader, self.bucket, self.asked, self.allowance = among, reader, bucket, -1, allowance
        for number, each in enumerate(places):
            for term_id in each:
                bits[term_id] = bits.get(term_id, 0) | <uint64_t> 1 << number
        self.id_count = len(bits)
        self.ids = <uint64_t *> zeroed(self.id_count + 1, sizeof(uint64_t))
        self.places_of = <uint64_t *> zeroed(self.id_count + 1, sizeof(uint64_t))
        for number, (term_id, held) in enumerate(sorted(bits.items())):
            self.ids[number], self.places_of[number] = term_id, held
        self.last = <uint64_t> 1 << (len(places) - 1)

    def __dealloc__(self):
        free(self.ids)
        free(self.places_of)
        free(self.terms)

    cdef int mark(self, Py_ssize_t window, uint64_t *bits) except -1:
        cdef Py_ssize_t word
        cdef list iids = []
        cdef uint64_t left, iid
        if self.made[window] != NULL:  # a mask of several asks for it again
            memcpy(bits, self.made[window], ROW_BYTES)
            return self.made[window] != self.room
        if not self.among.mark(window, bits):
            return 0
        for word in range(WINDOW_WORDS):
            left = bits[word]
            while left:
                iids.append(<uint64_t> window << WINDOW_BITS | word << 6 | lowest_bit(left))
                left &= left - 1
        memset(bits, 0, ROW_BYTES)
        return self.look(iids, bits, None)

    def those(self, list iids not None) -> list:
        """Return the objects of `iids` that hold the phrase, by rising IID, whether `among` has them or not."""
        cdef uint64_t bits[WINDOW_WORDS]
        cdef list held = []
        cdef uint32_t iid
        if iids and self.is_made:
            return [iid for iid in iids if self.passes(iid)]
        if iids:
            self.look(iids, bits, held)
        return held

    def made_in_steps(self):
        """Examine all objects in steps, whatever the allowance: yield after each window. Later, no object is examined
        again."""
        cdef Py_ssize_t window
        cdef Allowance allowance = self.allowance
        for window in range(self.count):
            if self.made[window] == NULL:
                self.allowance = None
                try:
                    self.at(window)
                finally:
                    self.allowance = allowance
                yield
        self.is_made = True

    cdef bint holds(self, uint32_t iid) except -1:
        cdef uint64_t bits[WINDOW_WORDS]
        cdef int64_t window = iid >> WINDOW_BITS
        if window < self.count and self.made[window] != NULL:
            return self.passes(iid)
        if not self.among.holds(iid):
            return False
        if window != self.asked:
            self.asked, self.times = window, 0
        self.times += 1
        if self.times > ALONE_MAX:
            return self.at(window)[(iid & (1 << WINDOW_BITS) - 1) >> 6] >> (iid & 63) & 1
        return self.look([iid], bits, None) != 0

    cdef int look(self, list iids, uint64_t *bits, list held) except -1:
        """Examine objects of a window, by rising IID: set the bits of those that hold the phrase, or add them to
        `held`; return whether any object does. Raises CheckedTooMany if the allowance does not suffice.
        """
        cdef list firsts = first_of_rows(iids)
        cdef dict orders, records
        cdef uint64_t number, row_number
        cdef Found found[PER_ROW]
        cdef Py_ssize_t at = 0, count = len(iids), step
        cdef bytes row, packed
        cdef int some = 0
        if self.allowance is not None:
            if self.allowance.left < count:
                raise CheckedTooMany
            self.allowance.left -= count
        orders = self.reader.order_rows(firsts)
        if not orders:
            return 0
        records = self.reader.records_of(firsts)
        while at < count:
            row_number = <uint64_t> iids[at] // PER_ROW
            row = orders.get(term_key(self.bucket, row_number))
            if row is None:
                while at < count and <uint64_t> iids[at] // PER_ROW == row_number:
                    at += 1
                continue
            read_row(row, found)
            while at < count and <uint64_t> iids[at] // PER_ROW == row_number:
                number = <uint64_t> iids[at] // PLACES
                packed = records.get(term_key(self.bucket, number))
                step = at
                while at < count and <uint64_t> iids[at] // PLACES == number:
                    at += 1
                if packed is None:
                    continue
                if is_dense_row(packed):
                    some |= self.look_at_dense(packed, number * PLACES, iids, step, at, found, bits, held)
                else:
                    some |= self.look_at_plain(packed, number * PLACES, iids, step, at, found, bits, held)
        self.checked += count
        return some

    cdef int look_at_dense(
        self, bytes row, uint64_t start, list iids, Py_ssize_t first, Py_ssize_t end, const Found *found,
        uint64_t *bits, list held,
    ) except -1:
        """Examine the objects from `first` to `end`, which share a dense row of records, as `look` does; return whether
        any holds the phrase.

        Args:
            start: the IID of the first place of the row.
        """
        cdef BitReader terms
        cdef uint64_t most = 0, iid
        cdef int places = begin_terms(row, &terms, &most), place, some = 0
        cdef int64_t count
        self.make_room(most)
        for place in range(PLACES):
            if not places >> place & 1:
                continue
            iid = start + place
            while first < end and <uint64_t> iids[first] < iid:
                first += 1
            if first == end:
                break
            if <uint64_t> iids[first] != iid or found[iid % PER_ROW].at == NULL:
                if not skip_terms(&terms):
                    raise damaged()
                continue
            count = take_ids(&terms, self.terms)
            if count < 0:
                raise damaged()
            some |= self.look_at(iid, count, found, bits, held)
        return some

    cdef int look_at_plain(
        self, bytes row, uint64_t start, list iids, Py_ssize_t first, Py_ssize_t end, const Found *found,
        uint64_t *bits, list held,
    ) except -1:
        """Examine objects that share a plain row of records, as `look_at_dense` does those of a dense one."""
        cdef const uint8_t *at = <const uint8_t *> PyBytes_AS_STRING(row)
        cdef const uint8_t *stop = at + PyBytes_GET_SIZE(row)
        cdef Item item
        cdef int before = -1, some = 0
        cdef uint64_t iid
        while at < stop and first < end:
            read_item(&at, stop, before, &item)
            before = item.place
            iid = start + item.place
            while first < end and <uint64_t> iids[first] < iid:
                first += 1
            if first < end and <uint64_t> iids[first] == iid and found[iid % PER_ROW].at != NULL:
                some |= self.look_at(iid, self.read_terms(&item), found, bits, held)
        return some

    cdef int64_t read_terms(self, const Item *item) except -1:
        """Read the term ids of a plain record into `terms`; return how many there are."""
        cdef const uint8_t *at = item.rest
        cdef const uint8_t *end = at + item.rest_size
        cdef uint64_t count = 0, step, value = 0, tf = 0, term_id = 0
        if get_varint(&at, end, &count) < 0 or count > item.rest_size:
            raise damaged()
        self.make_room(count)
        for step in range(count):
            if get_varint(&at, end, &value) < 0 or (value & 1 and get_varint(&at, end, &tf) < 0):
                raise damaged()
            term_id += value >> 2
            self.terms[step] = term_id
        return count

    cdef int make_room(self, uint64_t terms) except -1:
        """Make room for a number of terms and a gap in `terms`."""
        cdef void *room
        if terms >= self.terms_room:
            room = realloc(self.terms, 2 * (terms + 1) * sizeof(uint64_t))
            if room == NULL:
                raise MemoryError
            self.terms, self.terms_room = <uint64_t *> room, 2 * (terms + 1)
        return 0

    cdef int look_at(self, uint64_t iid, uint64_t count, const Found *found, uint64_t *bits, list held) except -1:
        """Examine an object with `count` terms, whose ids are in `terms`: they are replaced by the places at which they
        may be."""
        cdef Py_ssize_t next_id = 0
        cdef uint64_t step, term_id, places = 0
        cdef int answer
        for step in range(count):
            term_id = self.terms[step]
            while next_id < self.id_count and self.ids[next_id] < term_id:
                next_id += 1
            self.terms[step] = 0
            if next_id < self.id_count and self.ids[next_id] == term_id:
                self.terms[step] = self.places_of[next_id]
                places |= self.places_of[next_id]
        if places != (self.last << 1) - 1:
            return 0  # it lacks a word
        self.terms[count] = 0  # of a gap
        answer = is_in_order(&found[iid % PER_ROW], count, self.terms, self.last)
        if answer < 0:
            raise damaged()
        if answer and held is not None:
            held.append(iid)
        elif answer:
            bits[(iid & ((1 << WINDOW_BITS) - 1)) >> 6] |= <uint64_t> 1 << (iid & 63)
        return answer


cdef list first_of_rows(list iids):
    """Return, by rising IID, the objects of `iids` that are the first ones of `iids` in their rows of records."""
    cdef list found = []
    cdef int64_t before = -1, number
    for iid in iids:
        number = <int64_t> (<uint64_t> iid // PLACES)
        if number != before:
            found.append(iid)
            before = number
    return found


cdef int is_in_order(const Found *order, uint64_t terms, const uint64_t *held, uint64_t last) noexcept nogil:
    """Return whether a piece of an order has the phrase; -1: the order cannot be read.

    Args:
        terms: the number of terms of the object.
        held: for each of its terms, the places in the phrase at which the term may be, as bits; then 0, for a gap.
        last: the bit of the last place of the phrase.
    """
    cdef Places places
    cdef uint64_t here, place = 0
    if not begin_places(&places, order.at, order.size, terms):
        return -1
    while places.pieces:
        if not next_piece(&places):
            return -1
        here = 0
        while places.words:
            if not next_place(&places, &place):
                return -1
            here = (here << 1 | 1) & held[place]
            if here & last:
                return 1
    return 0
