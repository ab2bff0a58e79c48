"""Packs the bytes of the log: records of mutations, and their frames.

Layouts (v = varint of varint.pxd; numbers of fixed size are little-endian):

    frame    size u32 (at most RECORD_BYTES_MAX), CRC-32 of the record u32, record

    record   kind u8, names as v(size) and UTF-8, then the other fields of the kind
    PUSH     1: collection, bucket, oid, v(window), terms
    POP      2: collection, bucket, oid, terms
    FLUSHO   3: collection, bucket, oid
    FLUSHB   4: collection, bucket
    FLUSHC   5: collection
    fields   6: collection, bucket, oid, mode u8, then of each field id u8, v(size), bytes
    PUSH     7: as 1, v(rules) in place of the window, then the languages of the text as v(size) and ASCII
    UPSERT   8: as 7 up to the languages, then v(size) of all fields, fields as in 6, terms
    synonyms 10: collection, mode, rules, as three names
    PUSH     12: v(size of a record of kind 1 or 7), that record, then fields as in 6

    terms    v(number), then of each v(size), bytes, count u8, flags u8

A mutation is a named tuple: the names, then terms, window or rules, or the mode, and a tuple of (id, bytes), if its kind
has them. `RecordCodec` gets the class of each kind; LAYOUTS lists the fields of each kind.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_Check, PyTuple_GET_ITEM, PyTuple_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from sonicpy._native.terms cimport Terms
from sonicpy._native.varint cimport get_varint, put_varint, varint_bytes

from sonicpy._native.varint import DamagedBytes

cdef extern from "Python.h":
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *size) except NULL

cdef enum:
    PUSH = 1
    FIELDS = 6  # the kind that ends with a mode and fields
    RULED_PUSH = 7
    UPSERT = 8
    PUSH_WITH = 12  # a PUSH and fields
    KINDS = 13  # one more than the largest
    NAMES_MAX = 3
    FRAME_BYTES = 8
    RECORD_MAX = 1 << 24
    CRC_POLYNOMIAL = 0xEDB88320  # of zlib and Ethernet, lowest bit first

RECORD_BYTES_MAX = RECORD_MAX


cdef struct Layout:
    int fields
    int names
    bint has_terms
    bint has_window  # only with terms

cdef Layout[KINDS] LAYOUTS
LAYOUTS[PUSH] = Layout(6, 3, True, True)
LAYOUTS[2] = Layout(4, 3, True, False)
LAYOUTS[3] = Layout(3, 3, False, False)
LAYOUTS[4] = Layout(2, 2, False, False)
LAYOUTS[5] = Layout(1, 1, False, False)
LAYOUTS[FIELDS] = Layout(5, 3, False, False)
LAYOUTS[RULED_PUSH] = LAYOUTS[PUSH]
LAYOUTS[UPSERT] = Layout(6, 3, True, True)
LAYOUTS[10] = Layout(3, 3, False, False)
LAYOUTS[PUSH_WITH] = Layout(6, 0, False, False)


cdef class RecordCodec:
    """Packs mutations into records and unpacks them.

    Args:
        classes: the named tuple of each kind, by its number.

    Raises:
        ValueError: a kind does not exist, or the number of fields of a class is not that of its kind.
    """
    cdef list _classes  # by kind, None where there is none

    def __cinit__(self, dict classes not None):
        cdef int kind
        self._classes = [None] * KINDS
        for kind, mutation_class in classes.items():
            if not 0 < kind < KINDS:
                raise ValueError(f"there is no kind {kind} of records")
            if len(mutation_class._fields) != LAYOUTS[kind].fields:
                raise ValueError(f"a record of kind {kind} has {LAYOUTS[kind].fields} fields: {mutation_class._fields}")
            self._classes[kind] = mutation_class

    def pack(self, mutation not None) -> bytes:
        """Return the record of a mutation.

        Raises:
            TypeError: the mutation is of no known class, or a field has the wrong type.
        """
        cdef object mutation_class = type(mutation)
        cdef int kind = 1
        while kind < KINDS and PyList_GET_ITEM(self._classes, kind) != <PyObject *> mutation_class:
            kind += 1
        if kind == KINDS:
            raise TypeError(f"{mutation_class.__name__} is no mutation that the log knows")
        if not PyTuple_Check(mutation) or PyTuple_GET_SIZE(mutation) != LAYOUTS[kind].fields:
            raise TypeError(f"{mutation_class.__name__} has {LAYOUTS[kind].fields} fields")
        if kind == FIELDS:
            return packed(kind, mutation) + packed_fields(mutation[3], mutation[4])
        if kind == PUSH_WITH:
            return self.pack_push_with(*mutation)
        if kind == PUSH and <object> PyTuple_GET_ITEM(mutation, LAYOUTS[PUSH].fields - 1) != 1:
            kind = RULED_PUSH
        return packed(kind, mutation)

    def pack_push(
        self, str collection not None, str bucket not None, str oid not None, Terms terms not None, int rules=1
    ) -> bytes:
        """Return the record that `pack` would return for a PUSH, without making the mutation."""
        return packed(RULED_PUSH if rules > 1 else PUSH, (collection, bucket, oid, terms, 0, rules))

    def pack_push_with(
        self, str collection not None, str bucket not None, str oid not None, Terms terms not None,
        tuple fields not None, int rules=1,
    ) -> bytes:
        """Return the record that `pack` would return for a PUSH with fields, without making the mutation."""
        return packed_push_with(self.pack_push(collection, bucket, oid, terms, rules), fields)

    def pack_upsert(
        self, str collection not None, str bucket not None, str oid not None, Terms terms not None, int rules,
        tuple fields not None,
    ) -> bytes:
        """Return the record that `pack` would return for an UPSERT, without making the mutation."""
        return packed(UPSERT, (collection, bucket, oid, terms, rules, fields))

    def unpack(self, bytes record not None):
        """Return the mutation of a record.

        Raises:
            DamagedBytes: the record is of no known kind, is cut off, or has bytes behind its end.
            UnicodeDecodeError: a name is not UTF-8.
        """
        cdef int kind = (<const uint8_t *> PyBytes_AS_STRING(record))[0]  # of an empty record 0
        cdef list fields
        if not 0 < kind < KINDS or self._classes[kind] is None and kind != RULED_PUSH:
            raise DamagedBytes(f"it has the unknown kind {kind}")
        if kind == PUSH_WITH:
            push, extra = parts_of_push_with(record)
            push = self.unpack(push)
            return self._classes[PUSH_WITH]._make((*push[:4], extra, push[5]))
        fields = fields_in(kind, record)
        if kind == PUSH:
            fields.append(1)
        elif kind == RULED_PUSH:
            fields.insert(-1, 0)
        return self._classes[PUSH if kind == RULED_PUSH else kind]._make(fields)


# -- mutations to records -----------------------------------------------------------------------------------------

cdef bytes packed(int kind, object fields):
    cdef const char *names[NAMES_MAX]
    cdef Py_ssize_t sizes[NAMES_MAX]
    cdef const Layout *layout = &LAYOUTS[kind]
    cdef Py_ssize_t total = 1
    cdef uint64_t window = 0
    cdef Terms terms = None
    cdef bytes record, languages = b""
    cdef tuple more = ()
    cdef Py_ssize_t more_bytes = 0
    cdef uint8_t *out
    cdef int number
    for number in range(layout.names):
        names[number] = PyUnicode_AsUTF8AndSize(<object> PyTuple_GET_ITEM(fields, number), &sizes[number])
        total += varint_bytes(sizes[number]) + sizes[number]
    if layout.has_window:
        window = <object> PyTuple_GET_ITEM(fields, layout.names + 1 + (kind == RULED_PUSH))
        total += varint_bytes(window)
    if kind >= RULED_PUSH and layout.has_terms and isinstance(<object> PyTuple_GET_ITEM(fields, layout.names), Terms):
        languages = (<Terms> PyTuple_GET_ITEM(fields, layout.names)).languages
        total += varint_bytes(PyBytes_GET_SIZE(languages)) + PyBytes_GET_SIZE(languages)
    if kind == UPSERT:
        more = <object> PyTuple_GET_ITEM(fields, layout.names + 2)
        more_bytes = size_of_fields(more)
        total += varint_bytes(more_bytes) + more_bytes
    if layout.has_terms:
        if not isinstance(<object> PyTuple_GET_ITEM(fields, layout.names), Terms):
            raise TypeError("the terms of a mutation are Terms")
        terms = <Terms> PyTuple_GET_ITEM(fields, layout.names)
        total += size_of_terms(terms)  # no code of Python runs between this and `put_terms`
    record = PyBytes_FromStringAndSize(NULL, total)
    out = <uint8_t *> PyBytes_AS_STRING(record)
    out[0] = <uint8_t> kind
    out += 1
    for number in range(layout.names):
        out = put_varint(out, sizes[number])
        memcpy(out, names[number], sizes[number])
        out += sizes[number]
    if layout.has_window:
        out = put_varint(out, window)
    if kind >= RULED_PUSH and layout.has_terms:
        out = put_varint(out, PyBytes_GET_SIZE(languages))
        memcpy(out, PyBytes_AS_STRING(languages), PyBytes_GET_SIZE(languages))
        out += PyBytes_GET_SIZE(languages)
    if kind == UPSERT:
        out = put_varint(out, more_bytes)
        put_fields(out, more)
        out += more_bytes
    if layout.has_terms:
        put_terms(out, terms)
    return record


cdef bytes packed_fields(object mode, tuple fields):
    """Return the end of a record with fields: the mode, and the fields."""
    cdef bytes packed = PyBytes_FromStringAndSize(NULL, 1 + size_of_fields(fields))
    cdef uint8_t *out = <uint8_t *> PyBytes_AS_STRING(packed)
    out[0] = mode
    put_fields(out + 1, fields)
    return packed


cdef bytes packed_push_with(bytes push, tuple fields):
    """Return the record of a PUSH with fields, given the record of the PUSH alone."""
    cdef Py_ssize_t size = PyBytes_GET_SIZE(push)
    cdef bytes record = PyBytes_FromStringAndSize(NULL, 1 + varint_bytes(size) + size + size_of_fields(fields))
    cdef uint8_t *out = <uint8_t *> PyBytes_AS_STRING(record)
    out[0] = PUSH_WITH
    out = put_varint(out + 1, size)
    memcpy(out, PyBytes_AS_STRING(push), size)
    put_fields(out + size, fields)
    return record


cdef tuple parts_of_push_with(bytes record):
    """Return the record of the PUSH alone, and the fields, from a record of a PUSH with fields. Raises DamagedBytes."""
    cdef const uint8_t *at = <const uint8_t *> PyBytes_AS_STRING(record) + 1
    cdef const uint8_t *end = at - 1 + PyBytes_GET_SIZE(record)
    cdef uint64_t size = 0
    if get_varint(&at, end, &size) < 0 or size > <uint64_t> (end - at) or not size or at[0] not in (PUSH, RULED_PUSH):
        raise DamagedBytes("its PUSH is cut off")
    push = PyBytes_FromStringAndSize(<const char *> at, size)
    at += size
    return push, take_fields(&at, end)


cdef Py_ssize_t size_of_fields(tuple fields) except -1:
    """Return the number of bytes that `put_fields` writes. Raises TypeError if the fields cannot be written."""
    cdef Py_ssize_t total = 0, size
    cdef uint8_t id
    if fields is None:
        raise TypeError("the fields of a mutation are a tuple")
    for field in fields:
        if not isinstance(field, tuple) or len(<tuple> field) != 2 or not PyBytes_CheckExact((<tuple> field)[1]):
            raise TypeError("a field is a tuple of its id and bytes")
        id = (<tuple> field)[0]  # a larger one does not fit
        size = PyBytes_GET_SIZE((<tuple> field)[1])
        total += 1 + varint_bytes(size) + size
    return total


cdef int put_fields(uint8_t *out, tuple fields) except -1:
    """Write fields into the bytes that `size_of_fields` counted."""
    cdef Py_ssize_t size
    cdef bytes value
    for field in fields:
        value = (<tuple> field)[1]
        size = PyBytes_GET_SIZE(value)
        out[0] = (<tuple> field)[0]
        out = put_varint(out + 1, size)
        memcpy(out, PyBytes_AS_STRING(value), size)
        out += size
    return 0


def pack_terms(Terms terms not None) -> bytes:
    """Return terms packed for a record."""
    cdef bytes packed = PyBytes_FromStringAndSize(NULL, size_of_terms(terms))
    put_terms(<uint8_t *> PyBytes_AS_STRING(packed), terms)
    return packed


cdef Py_ssize_t size_of_terms(Terms terms) except -1:
    """Return the number of bytes that `put_terms` writes. Raises TypeError or ValueError if the terms cannot be
    written.
    """
    cdef list words = terms.words
    cdef Py_ssize_t total, size, number, count = len(words)
    cdef PyObject *word
    if len(terms.counts) != count or len(terms.flags) != count:  # the list of words can be changed from outside
        raise ValueError(f"{count} words need as many counts and flags, not {len(terms.counts)} and {len(terms.flags)}")
    total = varint_bytes(count) + 2 * count
    for number in range(count):
        word = PyList_GET_ITEM(words, number)  # borrowed
        if not PyBytes_CheckExact(<object> word):
            raise TypeError("a word is bytes")
        size = PyBytes_GET_SIZE(<object> word)
        total += varint_bytes(size) + size
    return total


cdef void put_terms(uint8_t *out, Terms terms) noexcept:
    """Write terms into the bytes that `size_of_terms` counted."""
    cdef const uint8_t *counts = <const uint8_t *> PyBytes_AS_STRING(terms.counts)
    cdef const uint8_t *flags = <const uint8_t *> PyBytes_AS_STRING(terms.flags)
    cdef list words = terms.words
    cdef Py_ssize_t size, number, count = PyList_GET_SIZE(words)
    cdef PyObject *word
    out = put_varint(out, count)
    for number in range(count):
        word = PyList_GET_ITEM(words, number)  # borrowed
        size = PyBytes_GET_SIZE(<object> word)
        out = put_varint(out, size)
        memcpy(out, PyBytes_AS_STRING(<object> word), size)
        out += size
        out[0] = counts[number]
        out[1] = flags[number]
        out += 2


# -- records to mutations -----------------------------------------------------------------------------------------

cdef list fields_in(int kind, bytes record):
    cdef const uint8_t *at = <const uint8_t *> PyBytes_AS_STRING(record)
    cdef const uint8_t *end = at + PyBytes_GET_SIZE(record)
    cdef const Layout *layout = &LAYOUTS[kind]
    cdef uint64_t size = 0, window = 0
    cdef list fields = []
    cdef tuple more = ()
    cdef bytes languages = b""
    cdef Terms terms
    cdef int number
    at += 1
    for number in range(layout.names):
        if get_varint(&at, end, &size) < 0 or size > <uint64_t> (end - at):
            raise DamagedBytes("a name is cut off")
        fields.append(PyUnicode_DecodeUTF8(<const char *> at, size, NULL))
        at += size
    if layout.has_window and get_varint(&at, end, &window) < 0:
        raise DamagedBytes("its window is cut off")
    if kind >= RULED_PUSH and layout.has_terms:
        if get_varint(&at, end, &size) < 0 or size > <uint64_t> (end - at):
            raise DamagedBytes("its languages are cut off")
        languages = PyBytes_FromStringAndSize(<const char *> at, size)
        at += size
    if kind == UPSERT:
        if get_varint(&at, end, &size) < 0 or size > <uint64_t> (end - at):
            raise DamagedBytes("its fields are cut off")
        more = take_fields(&at, at + size)
    if layout.has_terms:
        terms = take_terms(&at, end)
        terms.languages = languages
        fields.append(terms)
    if layout.has_window:
        fields.append(window)
    if kind == UPSERT:
        fields.append(more)
    if kind == FIELDS:
        if at == end:
            raise DamagedBytes("its mode is cut off")
        fields.append(at[0])
        at += 1
        fields.append(take_fields(&at, end))
    if at != end:
        raise DamagedBytes("there are bytes behind its end")
    return fields


cdef tuple take_fields(const uint8_t **at, const uint8_t *end):
    cdef uint64_t size = 0
    cdef uint8_t id
    cdef list fields = []
    while at[0] < end:
        id = at[0][0]
        at[0] += 1
        if get_varint(at, end, &size) < 0 or size > <uint64_t> (end - at[0]):
            raise DamagedBytes("a field is cut off")
        fields.append((id, PyBytes_FromStringAndSize(<const char *> at[0], size)))
        at[0] += size
    return tuple(fields)


def unpack_terms(bytes packed not None) -> Terms:
    """Return the terms that `pack_terms` packed. Raises DamagedBytes."""
    cdef const uint8_t *at = <const uint8_t *> PyBytes_AS_STRING(packed)
    return take_terms(&at, at + PyBytes_GET_SIZE(packed))


cdef Terms take_terms(const uint8_t **at, const uint8_t *end):
    cdef uint64_t number = 0, size = 0, step
    cdef list words = []
    cdef bytearray counts = bytearray(), flags = bytearray()
    if get_varint(at, end, &number) < 0:
        raise DamagedBytes("a list of terms is cut off")
    for step in range(number):
        if get_varint(at, end, &size) < 0 or end - at[0] < 2 or size > <uint64_t> (end - at[0] - 2):
            raise DamagedBytes("a list of terms is cut off")
        words.append(PyBytes_FromStringAndSize(<const char *> at[0], size))
        at[0] += size
        counts.append(at[0][0])
        flags.append(at[0][1])
        at[0] += 2
    if at[0] != end:
        raise DamagedBytes("a list of terms has bytes behind its end")
    return Terms(words, bytes(counts), bytes(flags))


# -- frames -------------------------------------------------------------------------------------------------------

def frame_records(list records not None) -> bytes:
    """Return the frames of records, one after the other.

    Raises:
        ValueError: a record is longer than RECORD_BYTES_MAX.
    """
    cdef Py_ssize_t total = 0, size
    cdef bytes record, framed
    cdef uint8_t *out
    for record in records:
        size = len(record)
        if size > RECORD_MAX:
            raise ValueError(f"a record of {size} bytes is refused: at most {RECORD_MAX} are taken")
        total += FRAME_BYTES + size
    framed = PyBytes_FromStringAndSize(NULL, total)
    out = <uint8_t *> PyBytes_AS_STRING(framed)
    for record in records:
        size = PyBytes_GET_SIZE(record)
        put_u32(out, <uint32_t> size)
        memcpy(out + FRAME_BYTES, PyBytes_AS_STRING(record), size)
        put_u32(out + 4, crc32(out + FRAME_BYTES, size))
        out += FRAME_BYTES + size
    return framed


# Our own CRC-32, because a call of zlib's costs as much as the checksum of a usual record. It takes eight bytes a step:
# table n has the effect of a byte on the checksum once n zero bytes have followed it (Kounavis and Berry, "Novel table
# lookup-based algorithms for high-performance CRC generation", 2008).
cdef uint32_t[8][256] CRC_TABLES


cdef void fill_crc_tables() noexcept nogil:
    cdef uint32_t value
    cdef int byte, step
    for byte in range(256):
        value = byte
        for step in range(8):
            value = value >> 1 ^ (<uint32_t> CRC_POLYNOMIAL if value & 1 else 0)
        CRC_TABLES[0][byte] = value
    for step in range(1, 8):
        for byte in range(256):
            value = CRC_TABLES[step - 1][byte]
            CRC_TABLES[step][byte] = value >> 8 ^ CRC_TABLES[0][value & 0xFF]


fill_crc_tables()


cdef uint32_t crc32(const uint8_t *at, Py_ssize_t size) noexcept nogil:
    """Return the CRC-32 of some bytes, as zlib.crc32 does."""
    cdef const uint8_t *end = at + size
    cdef uint32_t low, high, crc = 0xFFFFFFFF
    while end - at >= 8:
        low = crc ^ get_u32(at)
        high = get_u32(at + 4)
        crc = (
            CRC_TABLES[7][low & 0xFF]
            ^ CRC_TABLES[6][low >> 8 & 0xFF]
            ^ CRC_TABLES[5][low >> 16 & 0xFF]
            ^ CRC_TABLES[4][low >> 24]
            ^ CRC_TABLES[3][high & 0xFF]
            ^ CRC_TABLES[2][high >> 8 & 0xFF]
            ^ CRC_TABLES[1][high >> 16 & 0xFF]
            ^ CRC_TABLES[0][high >> 24]
        )
        at += 8
    while at < end:
        crc = crc >> 8 ^ CRC_TABLES[0][(crc ^ at[0]) & 0xFF]
        at += 1
    return ~crc


cdef inline uint32_t get_u32(const uint8_t *at) noexcept nogil:
    return at[0] | <uint32_t> at[1] << 8 | <uint32_t> at[2] << 16 | <uint32_t> at[3] << 24


cdef inline void put_u32(uint8_t *out, uint32_t value) noexcept nogil:
    cdef int step
    for step in range(4):
        out[step] = <uint8_t> (value >> (8 * step))
