"""Rows of `tags`: the ids of the tags of each of 64 neighbouring objects.

    row     number of objects with tags - 1 u8; in bits (bit_stream.pxd): unless all 64 have some, bits(6) the place of
            each if they are at most 10, else 64 bits, one for each place; bits(6) k and bits(6) m; bits(1) whether some
            object has the same tags as the one before it in the row; bits(1) whether all others have equally many tags,
            and if so golomb(0) of this number - 1;
            per object, if some are the same, bits(1) whether this one is; if it is not, golomb(0) of the number of its
            tags - 1 unless all have equally many, golomb(k) of the first id, and per further tag by rising id golomb(m) of
            id - id before - 1

Objects that are pushed together often have equal tags, such as the tenant, the language, the source. k and m are the
numbers that make the row shortest.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport UINT64_MAX, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy, memset

from sonicpy._native.bit_stream cimport (
    SPARE_BYTES,
    BitReader,
    BitWriter,
    begin_bits,
    end_bits,
    is_at_end,
    put_bits,
    put_golomb,
    take_bits,
    take_golomb,
)
from sonicpy._native.bits cimport count_bits, highest_bit

from sonicpy._native.varint import DamagedBytes

cdef enum:
    LISTED_MAX = 10  # objects whose places are listed
    K_BITS = 6
    K_MAX = 40
    TAG_BYTES_MAX = 16  # golomb of an id of 40 bits takes at most 79 + 40 bits
    HEAD_BYTES_MAX = 20

cdef uint64_t TAG_ID_MAX = (<uint64_t> 1 << 40) - 1
cdef uint64_t NONE = UINT64_MAX

OBJECTS_PER_TAG_ROW = TAG_PLACES


cdef class TagRow:
    """The tags of 64 neighbouring objects.

    Args:
        row: the row in the table; b"": none of the objects has tags.

    Raises:
        DamagedBytes: the row cannot be read.
    """

    def __init__(self, bytes row not None=b""):
        memset(&self.lists, 0, sizeof(TagLists))
        self._used = 0
        if row:
            self.read(<const uint8_t *> PyBytes_AS_STRING(row), PyBytes_GET_SIZE(row))

    def __dealloc__(self):
        free(self._room)

    cdef int make_room(self, Py_ssize_t ids) except -1:
        """Make room for further ids; those that were written before may move."""
        cdef Py_ssize_t size = 2 * (self._used + ids) + 64
        cdef uint64_t *room
        cdef int place
        if self._used + ids <= self._size:
            return 0
        room = <uint64_t *> malloc(size * sizeof(uint64_t))
        if room == NULL:
            raise MemoryError
        if self._used:
            memcpy(room, self._room, self._used * sizeof(uint64_t))
        for place in range(TAG_PLACES):
            if self.lists.counts[place]:
                self.lists.ids[place] = room + (self.lists.ids[place] - <const uint64_t *> self._room)
        free(self._room)
        self._room, self._size = room, size
        return 0

    cdef int read(self, const uint8_t *row, Py_ssize_t size) except -1:
        cdef BitReader bits
        cdef uint64_t places, count = 0, gap = 0, before
        cdef int place, last = -1, number, first_k, next_k
        cdef bint has_same, has_one_count
        bits.start, bits.size, bits.at = row + 1, size - 1, 0
        places = read_places(row[0] + 1, &bits)
        first_k, next_k = <int> take_bits(&bits, K_BITS), <int> take_bits(&bits, K_BITS)
        has_same, has_one_count = take_bits(&bits, 1), take_bits(&bits, 1)
        if first_k > K_MAX or next_k > K_MAX or (has_one_count and not take_count(&bits, &count)):
            raise damaged()
        for place in range(TAG_PLACES):
            if not places >> place & 1:
                continue
            if has_same and take_bits(&bits, 1):
                if last < 0:
                    raise damaged()
                self.lists.counts[place], self.lists.ids[place] = self.lists.counts[last], self.lists.ids[last]
                continue
            if not has_one_count and not take_count(&bits, &count):
                raise damaged()
            self.make_room(count)
            before = NONE
            for number in range(<int> count):
                if not take_golomb(&bits, next_k if number else first_k, &gap) or gap > TAG_ID_MAX:
                    raise damaged()
                before += gap + 1
                if before > TAG_ID_MAX:
                    raise damaged()
                self._room[self._used + number] = before
            self.lists.counts[place], self.lists.ids[place] = <int> count, self._room + self._used
            self._used += count
            last = place
        if not is_at_end(&bits):
            raise damaged()
        return 0

    def of(self, int place) -> list:
        """Return the ids of the tags of an object, rising.

        Args:
            place: IID % 64.
        """
        cdef int number
        return [self.lists.ids[place & 63][number] for number in range(self.lists.counts[place & 63])]

    def places(self) -> list:
        """Return the places of the objects that have tags."""
        return [place for place in range(TAG_PLACES) if self.lists.counts[place]]

    def put(self, int place, list ids not None) -> None:
        """Replace the tags of an object.

        Args:
            ids: the ids of the new tags, rising; []: the object has no tags any more.

        Raises:
            ValueError: the ids are not in rising order, or there are too many.
        """
        cdef uint64_t before = NONE, id
        cdef Py_ssize_t count = len(ids), number
        if not 0 <= place < TAG_PLACES or count > OBJECT_TAGS_MAX:
            raise ValueError(f"an object has a place from 0 to 63 and at most {OBJECT_TAGS_MAX} tags")
        self.make_room(count)
        for number in range(count):
            id = ids[number]
            if (before != NONE and id <= before) or id > TAG_ID_MAX:
                raise ValueError("the ids of the tags of an object rise, and have 40 bits")
            self._room[self._used + number] = before = id
        self.lists.counts[place], self.lists.ids[place] = <int> count, self._room + self._used
        self._used += count

    def pack(self) -> bytes:
        """Return the row; b"": no object has tags."""
        cdef BitWriter bits
        cdef Shape shape
        cdef int place, number, count
        cdef uint64_t before
        cdef uint8_t *room
        self.measure(&shape)
        if not shape.places:
            return b""
        room = <uint8_t *> malloc(HEAD_BYTES_MAX + TAG_PLACES * 4 + shape.ids * TAG_BYTES_MAX + SPARE_BYTES)
        if room == NULL:
            raise MemoryError
        try:
            room[0] = <uint8_t> (count_bits(shape.places) - 1)
            begin_bits(&bits, room + 1)
            put_places(&bits, shape.places)
            put_bits(&bits, shape.first_k, K_BITS)
            put_bits(&bits, shape.next_k, K_BITS)
            put_bits(&bits, shape.same != 0, 1)
            put_bits(&bits, shape.one_count > 0, 1)
            if shape.one_count > 0:
                put_golomb(&bits, shape.one_count - 1, 0)
            for place in range(TAG_PLACES):
                count = self.lists.counts[place]
                if not count:
                    continue
                if shape.same:
                    put_bits(&bits, shape.same >> place & 1, 1)
                    if shape.same >> place & 1:
                        continue
                if not shape.one_count > 0:
                    put_golomb(&bits, count - 1, 0)
                before = NONE
                for number in range(count):
                    put_golomb(
                        &bits, self.lists.ids[place][number] - before - 1, shape.next_k if number else shape.first_k
                    )
                    before = self.lists.ids[place][number]
            return PyBytes_FromStringAndSize(<char *> room, end_bits(&bits) - room)
        finally:
            free(room)

    cdef void measure(self, Shape *shape) noexcept nogil:
        """Choose the form of the row, and write it into `shape`."""
        cdef int place, last = -1, number, count
        cdef uint64_t before
        memset(shape, 0, sizeof(Shape))
        for place in range(TAG_PLACES):
            count = self.lists.counts[place]
            if not count:
                continue
            shape.places |= <uint64_t> 1 << place
            shape.ids += count
            if last >= 0 and count == self.lists.counts[last] and not memcmp(
                self.lists.ids[place], self.lists.ids[last], count * sizeof(uint64_t)
            ):
                shape.same |= <uint64_t> 1 << place
                continue
            shape.one_count = count if last < 0 or shape.one_count == count else -1
            last = place
            before = NONE
            for number in range(count):
                note_length(shape.lengths[number > 0], self.lists.ids[place][number] - before - 1)
                before = self.lists.ids[place][number]
        shape.first_k, shape.next_k = shortest(shape.lengths[0]), shortest(shape.lengths[1])


cdef inline void note_length(uint32_t *lengths, uint64_t value) noexcept nogil:
    """Add, for each k, the length of the code of a number to the sum for all numbers."""
    cdef int k
    for k in range(K_MAX + 1):
        lengths[k] += 2 * highest_bit((value >> k) + 1) + 1 + k


cdef inline int shortest(const uint32_t *lengths) noexcept nogil:
    """Return the k for which the sum of the lengths is smallest."""
    cdef int k, best = 0
    for k in range(1, K_MAX + 1):
        if lengths[k] < lengths[best]:
            best = k
    return best


cdef inline bint take_count(BitReader *bits, uint64_t *count) noexcept nogil:
    """Read the number of tags of an object; return False if it cannot be read."""
    if not take_golomb(bits, 0, count) or count[0] >= OBJECT_TAGS_MAX:
        return False
    count[0] += 1
    return True


cdef inline void put_places(BitWriter *bits, uint64_t places) noexcept nogil:
    cdef int place, count = count_bits(places)
    if count == TAG_PLACES:
        return
    if count > LISTED_MAX:
        put_bits(bits, <uint32_t> places, 32)
        put_bits(bits, places >> 32, 32)
        return
    for place in range(TAG_PLACES):
        if places >> place & 1:
            put_bits(bits, place, 6)


cdef uint64_t read_places(int count, BitReader *bits) except? 0:
    """Return the bits of the places of `count` objects. Raises DamagedBytes."""
    cdef uint64_t places = 0
    cdef int number
    if count == TAG_PLACES:
        return UINT64_MAX
    if count > LISTED_MAX:
        places = take_bits(bits, 32)
        places |= take_bits(bits, 32) << 32
    else:
        for number in range(count):
            places |= <uint64_t> 1 << take_bits(bits, 6)
    if count_bits(places) != count:
        raise damaged()
    return places


cdef object damaged():
    return DamagedBytes("a row of tags cannot be read")
