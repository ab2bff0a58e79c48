"""The word graph: the words of one bucket as two minimal automata; built, verified, listed, completed and corrected.

One automaton holds the words, the other the same words reversed by characters. The file (little-endian):

    magic       8 bytes "SPYGRAPH"
    format      u16, and u16 zero
    bucket      u32
    version     u64, of the lexicon
    words       u64
    forward     u32 bytes of the automaton, u32 its root
    backward    u32 bytes of the automaton, u32 its root
    automata    forward, then backward: a zero byte, then the nodes
    signs       41 bytes each: length and bytes of every 256th word in byte order, so that places are found by number
    zeros       8 bytes, so that labels can be read eight at a time
    crc         u32, CRC-32 of everything before it

    node        u8 number of edges, their labels by rising value, their edges; goes by its place in the automaton
    label       a byte of UTF-8
    edge        u32: bit 0 a word ends here; bits 1 to 3 a character of one byte, of two, of more begins somewhere
                behind it; the others are its target, or 0: nothing is behind it

A target always stands before the node that points to it, so an automaton has no circle and every walk ends. Labels
stand together so that a walk that knows what it wants passes most nodes by with a look at eight bytes.

Building is the incremental minimisation of sorted words of Daciuk, Mihov, Watson and Watson (2000). Correction walks
the automaton with the bit-parallel NFA of Wu and Manber (1992).
"""

from cpython.buffer cimport PyBUF_READ
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.memoryview cimport PyMemoryView_FromMemory
from libc.errno cimport errno
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, qsort, realloc
from libc.string cimport memcmp, memcpy, memset
from posix.fcntl cimport O_CLOEXEC, O_RDONLY, open as open_file
from posix.mman cimport MAP_FAILED, MAP_SHARED, PROT_READ, mmap, munmap
from posix.types cimport off_t
from posix.unistd cimport SEEK_END, close as close_file, lseek

import os
import secrets
import zlib

cdef extern from *:
    """
    #define lowest_bit(bits) __builtin_ctzll(bits)
    #define swap_bytes(bytes) __builtin_bswap64(bytes)
    #define count_bits(bits) __builtin_popcountll(bits)
    """
    int lowest_bit(uint64_t bits) noexcept nogil
    uint64_t swap_bytes(uint64_t bytes) noexcept nogil
    int count_bits(uint64_t bits) noexcept nogil

cdef enum:
    FORMAT = 1
    HEADER_BYTES = 48
    EDGE_BYTES = 4
    ZERO_BYTES = 8
    CRC_BYTES = 4

    WORD = 1
    WIDTH_1 = 1 << 1
    WIDTH_2 = 1 << 2
    WIDTH_MORE = 1 << 3
    WIDTHS = WIDTH_1 | WIDTH_2 | WIDTH_MORE
    TARGET_SHIFT = 4

    WORD_MAX = 40  # bytes
    SIGN_BYTES = 1 + WORD_MAX
    SIGN_WORDS = 256
    NODE_EDGES_MAX = 179  # bytes that begin a character: 128 of ASCII, 51 leads
    NODE_MAX_BYTES = 1 + NODE_EDGES_MAX * (1 + EDGE_BYTES)

    DISTANCE_MAX = 3
    PATTERN_MAX = 60  # characters: one bit each and one for the end, in 64
    WIDE_SLOTS = 128
    MATCH_COST = 50  # edges: sorting and returning a match takes as long as looking at so many

    NO_MEMORY = -1
    TOO_LARGE = -2

cdef const char *MAGIC = b"SPYGRAPH"

WORD_BYTES_MAX = WORD_MAX

AUTOMATON_MAX_BYTES = 1 << (32 - TARGET_SHIFT)
"""What targets reach: some 30 million words."""

EDGE_BUDGET = 100_000
"""Edges one correction looks at by default: half a millisecond, five times what a word needs among 250,000."""


class DamagedGraph(ValueError):
    """The bytes are not a word graph."""


class GraphTooLarge(ValueError):
    """The words need more bytes than are allowed."""


# -- nodes --------------------------------------------------------------------------------------------------------

cdef inline uint32_t read_u32(const uint8_t *at) noexcept nogil:
    return <uint32_t> at[0] | <uint32_t> at[1] << 8 | <uint32_t> at[2] << 16 | <uint32_t> at[3] << 24


cdef inline uint64_t read_u64(const uint8_t *at) noexcept nogil:
    return <uint64_t> read_u32(at) | <uint64_t> read_u32(at + 4) << 32


cdef inline void write_u32(uint8_t *out, uint32_t value) noexcept nogil:
    cdef int step
    for step in range(4):
        out[step] = <uint8_t> (value >> 8 * step)


cdef inline void write_u64(uint8_t *out, uint64_t value) noexcept nogil:
    write_u32(out, <uint32_t> value)
    write_u32(out + 4, <uint32_t> (value >> 32))


cdef inline uint32_t edge_of(const uint8_t *node, int place) noexcept nogil:
    return read_u32(node + 1 + node[0] + EDGE_BYTES * place)


cdef inline uint32_t target_of(uint32_t edge) noexcept nogil:
    return edge >> TARGET_SHIFT


cdef inline int find_label(const uint8_t *node, uint8_t label) noexcept nogil:
    """Return the place of a label in its node, or -1. Eight labels are compared at once: equal ones become zero."""
    cdef uint64_t ones = <uint64_t> 0x0101010101010101, found
    cdef int place = 0
    while place < node[0]:
        found = read_u64(node + 1 + place) ^ ones * label
        found = (found - ones) & ~found & ones << 7
        if found:
            place += lowest_bit(found) >> 3
            return place if place < node[0] else -1
        place += 8
    return -1


# -- characters ---------------------------------------------------------------------------------------------------

cdef inline int bytes_behind(uint8_t lead) noexcept nogil:
    """How many bytes follow `lead` in its character."""
    return 0 if lead < 0xC0 else 1 if lead < 0xE0 else 2 if lead < 0xF0 else 3


cdef inline uint32_t bits_of_lead(uint8_t lead) noexcept nogil:
    return lead & (0x7F if lead < 0xC0 else 0x1F if lead < 0xE0 else 0x0F if lead < 0xF0 else 0x07)


cdef inline uint8_t lead_of(uint32_t point) noexcept nogil:
    """The first byte of a character."""
    if point < 0x80:
        return <uint8_t> point
    return 0xC0 | point >> 6 if point < 0x800 else 0xE0 | point >> 12 if point < 0x10000 else 0xF0 | point >> 18


cdef inline uint32_t width_of(uint8_t label) noexcept nogil:
    """The flag of the characters that begin with this byte; 0: none does."""
    return WIDTH_1 if label < 0x80 else 0 if label < 0xC0 else WIDTH_2 if label < 0xE0 else WIDTH_MORE


cdef int read_character(const uint8_t *text, Py_ssize_t size, uint32_t *point) noexcept nogil:
    """Decode the first of `size` > 0 bytes; return how many bytes it takes, or 0: this is not UTF-8."""
    cdef uint8_t lead = text[0]
    cdef int behind = bytes_behind(lead), step
    point[0] = bits_of_lead(lead)
    if lead < 0x80:
        return 1
    if lead < 0xC2 or lead > 0xF4 or size <= behind:
        return 0
    for step in range(1, behind + 1):
        if text[step] & 0xC0 != 0x80:
            return 0
        point[0] = point[0] << 6 | (text[step] & 0x3F)
    if behind == 2 and (point[0] < 0x800 or 0xD800 <= point[0] < 0xE000):
        return 0
    if behind == 3 and not 0x10000 <= point[0] < 0x110000:
        return 0
    return behind + 1


cdef bint is_utf8(const uint8_t *text, Py_ssize_t size) noexcept nogil:
    cdef uint32_t point
    cdef int width
    while size > 0:
        width = read_character(text, size, &point)
        if width == 0:
            return False
        text += width
        size -= width
    return True


cdef void reverse(const uint8_t *word, int size, uint8_t *out) noexcept nogil:
    """Write the characters of a word last first, the bytes of each in order; every byte lands inside `out`."""
    cdef int at = 0, width
    while at < size:
        width = min(bytes_behind(word[at]) + 1, size - at)
        memcpy(out + size - at - width, word + at, width)
        at += width


# -- building -----------------------------------------------------------------------------------------------------

cdef struct OpenNode:
    int count
    uint8_t labels[NODE_EDGES_MAX]
    uint32_t edges[NODE_EDGES_MAX]


cdef struct Automaton:
    # Nodes that are finished stand in `nodes`, each once; those on the way of the last word are still open.
    uint8_t *nodes
    uint64_t size, capacity, most
    uint64_t *slots  # hash table over the nodes: hash above place; 0 is an empty slot
    uint64_t slot_mask, count
    uint64_t seed
    OpenNode open[WORD_MAX]
    uint8_t last[WORD_MAX]
    int last_size
    uint32_t root


cdef Automaton *new_automaton(uint64_t most, uint64_t seed) noexcept nogil:
    cdef Automaton *self = <Automaton *> calloc(1, sizeof(Automaton))
    if self == NULL:
        return NULL
    self.capacity = 16384
    self.slot_mask = 4095
    self.most = most
    self.seed = seed
    self.nodes = <uint8_t *> calloc(self.capacity, 1)
    self.slots = <uint64_t *> calloc(self.slot_mask + 1, sizeof(uint64_t))
    self.size = 1
    if self.nodes == NULL or self.slots == NULL:
        free_automaton(self)
        return NULL
    return self


cdef void free_automaton(Automaton *self) noexcept nogil:
    if self != NULL:
        free(self.nodes)
        free(self.slots)
        free(self)


cdef int add_word(Automaton *self, const uint8_t *word, int size) noexcept nogil:
    """Add a word greater than the last one."""
    cdef int common = 0, depth, failed
    cdef OpenNode *node
    while common < self.last_size and common < size and word[common] == self.last[common]:
        common += 1
    failed = close_below(self, common)
    if failed:
        return failed
    for depth in range(common, size):
        node = &self.open[depth]
        node.labels[node.count] = word[depth]
        node.edges[node.count] = WORD if depth == size - 1 else 0
        node.count += 1
    memcpy(self.last, word, size)
    self.last_size = size
    return 0


cdef int close_below(Automaton *self, int kept) noexcept nogil:
    """Finish the open nodes deeper than `kept`: no further word passes through them."""
    cdef int depth, failed
    cdef uint32_t place = 0, widths
    cdef OpenNode *parent
    for depth in range(self.last_size - 1, kept, -1):
        widths = widths_behind(&self.open[depth])
        failed = finish_node(self, &self.open[depth], &place)
        if failed:
            return failed
        parent = &self.open[depth - 1]
        parent.edges[parent.count - 1] |= place << TARGET_SHIFT | widths
    return 0


cdef uint32_t widths_behind(const OpenNode *node) noexcept nogil:
    cdef uint32_t widths = 0
    cdef int step
    for step in range(node.count):
        widths |= node.edges[step] | width_of(node.labels[step])
    return widths & WIDTHS


cdef int finish_automaton(Automaton *self) noexcept nogil:
    cdef int failed = close_below(self, 0)
    if failed == 0 and self.last_size:
        failed = finish_node(self, &self.open[0], &self.root)
    return failed


cdef int finish_node(Automaton *self, OpenNode *node, uint32_t *place) noexcept nogil:
    """Find the equal of a node among the finished ones, or write it there; the open node is empty then."""
    cdef uint8_t packed[NODE_MAX_BYTES + 8]
    cdef int size = pack_node(node, packed)
    cdef uint64_t tag = hash_node(self.seed, packed, size)
    cdef uint64_t slot = tag & self.slot_mask
    node.count = 0
    tag = tag << 32
    while self.slots[slot]:
        place[0] = <uint32_t> self.slots[slot]
        if self.slots[slot] == (tag | place[0]) and is_same(self, place[0], packed, size):
            return 0
        slot = (slot + 1) & self.slot_mask
    if self.size + size > self.most:
        return TOO_LARGE
    if self.size + size > self.capacity and not grow_nodes(self):
        return NO_MEMORY
    place[0] = <uint32_t> self.size
    self.slots[slot] = tag | place[0]
    memcpy(self.nodes + self.size, packed, size)
    self.size += size
    self.count += 1
    return NO_MEMORY if 2 * self.count > self.slot_mask and not grow_slots(self) else 0


cdef int pack_node(const OpenNode *node, uint8_t *out) noexcept nogil:
    cdef int step
    out[0] = <uint8_t> node.count
    memcpy(out + 1, node.labels, node.count)
    for step in range(node.count):
        write_u32(out + 1 + node.count + EDGE_BYTES * step, node.edges[step])
    return 1 + node.count * (1 + EDGE_BYTES)


cdef bint is_same(const Automaton *self, uint32_t place, const uint8_t *packed, int size) noexcept nogil:
    return place + <uint64_t> size <= self.size and memcmp(self.nodes + place, packed, size) == 0


cdef uint32_t hash_node(uint64_t seed, uint8_t *packed, int size) noexcept nogil:
    """Hash eight bytes at a time; those behind the node are set to zero."""
    cdef uint64_t value = seed
    cdef int at
    memset(packed + size, 0, 8)
    for at in range(0, size, 8):
        value = (value ^ read_u64(packed + at)) * <uint64_t> 0x9E3779B97F4A7C15
        value ^= value >> 29
    return <uint32_t> (value >> 16)


cdef bint grow_nodes(Automaton *self) noexcept nogil:
    cdef uint8_t *nodes = <uint8_t *> realloc(self.nodes, 2 * self.capacity)
    if nodes == NULL:
        return False
    self.nodes = nodes
    self.capacity *= 2
    return True


cdef bint grow_slots(Automaton *self) noexcept nogil:
    cdef uint64_t mask = 2 * self.slot_mask + 1, number, slot
    cdef uint64_t *slots = <uint64_t *> calloc(mask + 1, sizeof(uint64_t))
    if slots == NULL:
        return False
    for number in range(self.slot_mask + 1):
        if self.slots[number]:
            slot = self.slots[number] >> 32 & mask
            while slots[slot]:
                slot = (slot + 1) & mask
            slots[slot] = self.slots[number]
    free(self.slots)
    self.slots = slots
    self.slot_mask = mask
    return True


cdef int add_sorted(Automaton *self, const uint8_t *words, uint64_t size) noexcept nogil:
    """Add every word of a run of (length, bytes) in byte order."""
    cdef uint64_t at = 0
    cdef int failed = 0
    while at < size and not failed:
        failed = add_word(self, words + at + 1, words[at])
        at += 1 + words[at]
    return failed if failed else finish_automaton(self)


cdef struct Ending:
    # A reversed word to be sorted: its first eight bytes as a number, and where it stands.
    uint64_t head
    const uint8_t *word  # its length, then its bytes


cdef int compare_endings(const void *left, const void *right) noexcept nogil:
    cdef const uint8_t *one = (<const Ending *> left).word
    cdef const uint8_t *other = (<const Ending *> right).word
    cdef int order = memcmp(one + 1, other + 1, min(one[0], other[0]))
    return order if order else <int> one[0] - <int> other[0]


cdef void sort_endings(Ending *endings, Ending *room, uint64_t count) noexcept nogil:
    """Sort by heads, byte by byte from the last one; then those of equal heads, which are few, by what is behind."""
    cdef uint64_t begins[257]
    cdef uint64_t number, last
    cdef Ending *swapped
    cdef int shift, value
    for shift in range(0, 64, 8):
        memset(begins, 0, sizeof(begins))
        for number in range(count):
            begins[(endings[number].head >> shift & 255) + 1] += 1
        for value in range(255):
            begins[value + 1] += begins[value]
        for number in range(count):
            value = endings[number].head >> shift & 255
            room[begins[value]] = endings[number]
            begins[value] += 1
        swapped = endings
        endings = room
        room = swapped
    number = 0
    while number < count:
        last = number
        while last + 1 < count and endings[last + 1].head == endings[number].head:
            last += 1
        if last > number:
            qsort(endings + number, last + 1 - number, sizeof(Ending), compare_endings)
        number = last + 1


cdef int add_reversed(Automaton *self, const uint8_t *words, uint64_t size, uint64_t count) noexcept nogil:
    """Add every word of a run of (length, bytes), reversed."""
    cdef uint8_t *turned = <uint8_t *> malloc(size + 8)
    cdef Ending *endings = <Ending *> malloc((2 * count + 1) * sizeof(Ending))  # half of it is room to sort
    cdef uint64_t number, at = 0
    cdef int failed = NO_MEMORY
    if turned != NULL and endings != NULL:
        failed = 0
        for number in range(count):
            turned[at] = words[at]
            reverse(words + at + 1, words[at], turned + at + 1)
            endings[number] = Ending(head_of(turned + at), turned + at)
            at += 1 + words[at]
        sort_endings(endings, endings + count, count)
        number = 0
        while number < count and not failed:
            failed = add_word(self, endings[number].word + 1, endings[number].word[0])
            number += 1
    free(turned)
    free(endings)
    return failed if failed else finish_automaton(self)


cdef inline uint64_t head_of(const uint8_t *word) noexcept nogil:
    """The first eight bytes behind the length as a big-endian number; zeros where the word has fewer."""
    cdef uint64_t head = swap_bytes(read_u64(word + 1))
    return head if word[0] >= 8 else head & ~(<uint64_t> -1 >> 8 * word[0])


cdef class WordGraphBuilder:
    """Words in, the content of a graph file out.

    Args:
        automaton_max_bytes: the most bytes that each of the two automata may take.
    """
    cdef uint8_t *_words  # length and bytes of each, in order
    cdef uint64_t _size, _capacity, _count, _last
    cdef uint64_t _most
    cdef bint _finished

    def __cinit__(self, uint64_t automaton_max_bytes=AUTOMATON_MAX_BYTES):
        self._most = min(automaton_max_bytes, <uint64_t> AUTOMATON_MAX_BYTES)
        self._capacity = 4096
        self._words = <uint8_t *> malloc(self._capacity)
        if self._words == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self._words)

    def __len__(self) -> int:
        return self._count

    def add(self, bytes word not None) -> None:
        """Add a word of 1 to 40 bytes of UTF-8 that is greater, byte by byte, than the one added before it.

        Raises:
            ValueError: it is not such a word, or the builder is finished.
        """
        cdef const uint8_t *text = <const uint8_t *> word
        cdef Py_ssize_t size = len(word)
        if self._finished:
            raise ValueError("a finished builder takes no further word")
        if not 0 < size <= WORD_MAX:
            raise ValueError(f"a word has 1 to {WORD_MAX} bytes, not {size}")
        if not is_utf8(text, size):
            raise ValueError(f"a word is UTF-8, not {word!r}")
        if self._count and not self.is_next(text, size):
            raise ValueError(f"words come in rising byte order, not {word!r} after {self.last_word()!r}")
        if self._size + 1 + size > self._capacity:
            self.grow()
        self._last = self._size
        self._words[self._size] = <uint8_t> size
        memcpy(self._words + self._size + 1, text, size)
        self._size += 1 + size
        self._count += 1

    cdef bint is_next(self, const uint8_t *text, Py_ssize_t size) noexcept nogil:
        cdef const uint8_t *last = self._words + self._last
        cdef int order = memcmp(text, last + 1, min(size, <Py_ssize_t> last[0]))
        return order > 0 or (order == 0 and size > last[0])

    cdef bytes last_word(self):
        return PyBytes_FromStringAndSize(<char *> self._words + self._last + 1, self._words[self._last])

    cdef int grow(self) except -1:
        cdef uint8_t *words = <uint8_t *> realloc(self._words, 2 * self._capacity)
        if words == NULL:
            raise MemoryError
        self._words = words
        self._capacity *= 2
        return 0

    def finish(self, uint32_t bucket, uint64_t version) -> bytes:
        """Return the content of the graph file; other threads run meanwhile.

        Args:
            bucket: id of the bucket whose words these are.
            version: of the lexicon; what `WordGraph.version` will be.

        Raises:
            GraphTooLarge: an automaton needs more bytes than allowed.
            ValueError: the builder is finished already.
        """
        cdef Automaton *forward = NULL
        cdef Automaton *backward = NULL
        cdef uint64_t seed = secrets.randbits(64) | 1  # unknown to clients, so that no words can be made to collide
        cdef int failed = NO_MEMORY
        if self._finished:
            raise ValueError("a builder is finished once")
        self._finished = True
        try:
            with nogil:
                forward = new_automaton(self._most, seed)
                backward = new_automaton(self._most, seed)
                if forward != NULL and backward != NULL:
                    failed = add_sorted(forward, self._words, self._size)
                    if not failed:
                        failed = add_reversed(backward, self._words, self._size, self._count)
            if failed == TOO_LARGE:
                raise GraphTooLarge(f"{self._count} words need more than {self._most} bytes")
            if failed:
                raise MemoryError
            return self.pack(bucket, version, forward, backward)
        finally:
            free_automaton(forward)
            free_automaton(backward)

    cdef bytes pack(self, uint32_t bucket, uint64_t version, const Automaton *forward, const Automaton *backward):
        cdef uint64_t signs = self._count // SIGN_WORDS * SIGN_BYTES
        cdef uint64_t size = HEADER_BYTES + forward.size + backward.size + signs + ZERO_BYTES + CRC_BYTES
        cdef bytes content = PyBytes_FromStringAndSize(NULL, size)
        cdef uint8_t *out = <uint8_t *> <char *> content
        memcpy(out, MAGIC, 8)
        write_u32(out + 8, FORMAT)
        write_u32(out + 12, bucket)
        write_u64(out + 16, version)
        write_u64(out + 24, self._count)
        write_u32(out + 32, <uint32_t> forward.size)
        write_u32(out + 36, forward.root)
        write_u32(out + 40, <uint32_t> backward.size)
        write_u32(out + 44, backward.root)
        out += HEADER_BYTES
        memcpy(out, forward.nodes, forward.size)
        memcpy(out + forward.size, backward.nodes, backward.size)
        out += forward.size + backward.size
        memset(out, 0, signs + ZERO_BYTES)
        write_signs(out, self._words, self._count)
        write_u32(out + signs + ZERO_BYTES, zlib.crc32(memoryview(content)[:-CRC_BYTES]))
        return content


cdef void write_signs(uint8_t *out, const uint8_t *words, uint64_t count) noexcept nogil:
    """Write the last of every 256 words of a run of (length, bytes); the bytes behind them are zero already."""
    cdef uint64_t number
    for number in range(1, count + 1):
        if number % SIGN_WORDS == 0:
            memcpy(out, words, 1 + words[0])
            out += SIGN_BYTES
        words += 1 + words[0]


# -- opening ------------------------------------------------------------------------------------------------------

cdef class MappedFile:
    """A whole file in memory, read-only, for as long as this object lives; its descriptor is closed at once.

    The file must not be written or cut off in place meanwhile; replacing and deleting it do no harm.

    Args:
        path: of the file, as bytes.

    Raises:
        OSError: it cannot be opened or mapped.
    """
    cdef const uint8_t *_start
    cdef size_t _size

    def __cinit__(self, bytes path not None):
        cdef const char *name = path
        cdef int file, failed = 0
        cdef off_t size = 0
        cdef void *start = NULL
        with nogil:
            file = open_file(name, O_RDONLY | O_CLOEXEC)
            if file < 0:
                failed = errno
            else:
                size = lseek(file, 0, SEEK_END)
                if size > 0:
                    start = mmap(NULL, size, PROT_READ, MAP_SHARED, file, 0)
                if size < 0 or start == MAP_FAILED:
                    failed = errno
                close_file(file)
        if failed:
            raise OSError(failed, os.strerror(failed), path)
        self._start = <const uint8_t *> start
        self._size = size

    def __dealloc__(self):
        if self._size:
            munmap(<void *> self._start, self._size)


cdef class WordGraph:
    """The words of one bucket, read-only; any number of threads may use it.

    Args:
        content: a MappedFile of a graph file, or its bytes.

    Raises:
        DamagedGraph: this is not a graph, not a whole one, or not what was written.
    """
    cdef object _owner
    cdef const uint8_t *_forward
    cdef const uint8_t *_backward
    cdef const uint8_t *_signs
    cdef uint32_t _forward_root, _backward_root
    cdef readonly uint32_t bucket
    cdef readonly uint64_t version
    cdef uint64_t _count

    def __cinit__(self, content):
        cdef const uint8_t *start
        cdef size_t size
        if isinstance(content, MappedFile):
            start = (<MappedFile> content)._start
            size = (<MappedFile> content)._size
        elif isinstance(content, bytes):
            start = <const uint8_t *> <bytes> content
            size = len(<bytes> content)
        else:
            raise TypeError(f"a graph is a MappedFile or bytes, not {type(content).__name__}")
        check_frame(start, size)
        self._owner = content
        self.bucket = read_u32(start + 12)
        self.version = read_u64(start + 16)
        self._count = read_u64(start + 24)
        self._forward = start + HEADER_BYTES
        self._forward_root = read_u32(start + 36)
        self._backward = self._forward + read_u32(start + 32)
        self._backward_root = read_u32(start + 44)
        self._signs = self._backward + read_u32(start + 40)
        check_automaton(self._forward, read_u32(start + 32), self._forward_root)
        check_automaton(self._backward, read_u32(start + 40), self._backward_root)

    def __len__(self) -> int:
        return self._count

    def contains(self, bytes word not None) -> bool:
        """Return whether `word` is in the graph."""
        return has_word(self._forward, self._forward_root, <const uint8_t *> word, len(word))

    def complete(self, bytes prefix not None, Py_ssize_t limit, bytes after=None) -> list:
        """Return the words that begin with `prefix`, itself included, in byte order, at most `limit`.

        Args:
            prefix: may be empty, or end inside a character.
            limit: negative for no limit.
            after: only words greater than this; the last word of a page gives the next page.
        """
        cdef Completions words = self.completions(prefix, after)
        cdef list found = []
        while limit != 0 and next_word(&words._cursor):
            found.append(words.word())
            limit -= 1
        return found

    def completions(self, bytes prefix not None, bytes after=None) -> Completions:
        """Return an iterator over what `complete` lists, which finds each word when it is asked for."""
        cdef Completions words = Completions.__new__(Completions)
        cdef const uint8_t *bound = NULL
        cdef Py_ssize_t bound_size = 0
        if after is not None:
            bound = <const uint8_t *> after
            bound_size = len(after)
        words._graph = self
        words._cursor.nodes = self._forward
        words._cursor.root = self._forward_root
        start_cursor(&words._cursor, <const uint8_t *> prefix, len(prefix), bound, bound_size)
        return words

    def words(self, uint64_t offset, Py_ssize_t limit) -> list:
        """Return the words from place `offset` on, in byte order, at most `limit` (negative: all)."""
        cdef Completions words
        cdef uint64_t sign = offset // SIGN_WORDS
        cdef list found = []
        if offset >= self._count:
            return found
        words = self.completions(b"")
        if sign:
            go_behind(&words._cursor, self._signs + (sign - 1) * SIGN_BYTES)
        offset -= sign * SIGN_WORDS
        while limit != 0 and next_word(&words._cursor):
            if offset:
                offset -= 1
            else:
                found.append(words.word())
                limit -= 1
        return found

    def correct(
        self, bytes word not None, int distance, *, bint transpositions, limit=None, int64_t edge_budget=EDGE_BUDGET
    ) -> Corrections:
        """Return the words within an edit distance, nearest first, in byte order among equals.

        Distances count characters: those inserted, deleted and replaced. The word itself is included at distance 0.
        Other threads run meanwhile if the distance is 2 or 3.

        Args:
            word: UTF-8; more than 60 characters have no correction.
            distance: 0 to 3.
            transpositions: two neighbours that changed places count one, if nothing else is edited there
                (optimal string alignment), else two (Levenshtein).
            limit: how many words to return at the most; None for all.
            edge_budget: how many edges may be looked at, so that no word takes long; a match counts as 50.

        Raises:
            ValueError: the distance is out of range or the word is not UTF-8.
        """
        cdef Search search
        cdef const uint8_t *text = <const uint8_t *> word
        cdef Py_ssize_t size = len(word), most = -1 if limit is None else limit
        if not 0 <= distance <= DISTANCE_MAX:
            raise ValueError(f"a distance is 0 to {DISTANCE_MAX}, not {distance}")
        if not is_utf8(text, size):
            raise ValueError(f"a word is UTF-8, not {word!r}")
        memset(&search, 0, sizeof(Search))
        search.budget = edge_budget
        try:
            if distance < 2:
                search_all(&search, self, text, size, distance, transpositions)
            else:
                with nogil:
                    search_all(&search, self, text, size, distance, transpositions)
            if search.failed:
                raise MemoryError
            return corrections(&search, distance, most)
        finally:
            free(search.found)


cdef int check_frame(const uint8_t *start, size_t size) except -1:
    """Verify magic, format, size and checksum."""
    cdef uint64_t expected
    if size < HEADER_BYTES + ZERO_BYTES + CRC_BYTES:
        raise DamagedGraph(f"{size} bytes are too few")
    if memcmp(start, MAGIC, 8):
        raise DamagedGraph("it does not begin as a word graph does")
    if read_u32(start + 8) != FORMAT:
        raise DamagedGraph(f"its format is {read_u32(start + 8)}, not {FORMAT}")
    expected = HEADER_BYTES + <uint64_t> read_u32(start + 32) + read_u32(start + 40) + ZERO_BYTES + CRC_BYTES
    expected += read_u64(start + 24) // SIGN_WORDS * SIGN_BYTES
    if size != expected:
        raise DamagedGraph(f"it has {size} bytes, not {expected}")
    content = PyMemoryView_FromMemory(<char *> start, size - CRC_BYTES, PyBUF_READ)
    if zlib.crc32(content) != read_u32(start + size - CRC_BYTES):
        raise DamagedGraph("its checksum is wrong")
    return 0


cdef int check_automaton(const uint8_t *nodes, uint32_t size, uint32_t root) except -1:
    """Verify that every edge leads to a node that stands before its own, and every node lies inside."""
    cdef uint8_t *begins = <uint8_t *> calloc(<size_t> size // 8 + 1, 1)  # a bit for each byte: a node begins here
    cdef bint sound
    if begins == NULL:
        raise MemoryError
    with nogil:
        sound = mark_nodes(nodes, size, begins) and (root == 0 or is_marked(begins, size, root))
    free(begins)
    if not sound:
        raise DamagedGraph("an edge leads to where no node is")
    return 0


cdef bint mark_nodes(const uint8_t *nodes, uint32_t size, uint8_t *begins) noexcept nogil:
    cdef uint64_t place = 1, end
    cdef uint32_t target
    cdef int step
    while place < size:
        end = place + 1 + nodes[place] * (1 + EDGE_BYTES)
        if nodes[place] == 0 or end > size:
            return False
        for step in range(nodes[place]):
            target = target_of(edge_of(nodes + place, step))
            if target and not is_marked(begins, size, target):
                return False
        begins[place >> 3] |= <uint8_t> (1 << (place & 7))
        place = end
    return True


cdef inline bint is_marked(const uint8_t *begins, uint32_t size, uint32_t place) noexcept nogil:
    return place < size and begins[place >> 3] >> (place & 7) & 1


cdef bint has_word(const uint8_t *nodes, uint32_t place, const uint8_t *text, Py_ssize_t size) noexcept nogil:
    cdef uint32_t edge = 0
    cdef Py_ssize_t step
    cdef int found
    for step in range(size):
        found = find_label(nodes + place, text[step]) if place else -1
        if found < 0:
            return False
        edge = edge_of(nodes + place, found)
        place = target_of(edge)
    return edge & WORD


# -- listing ------------------------------------------------------------------------------------------------------

cdef struct Cursor:
    # The way to the last word given, or to where the first one is looked for.
    const uint8_t *nodes
    uint32_t root
    uint32_t way[WORD_MAX]  # the nodes on the way,
    uint8_t taken[WORD_MAX]  # the place of the edge taken in each,
    uint8_t word[WORD_MAX]  # and its label
    int depth  # how many they are
    int floor  # the length of the prefix: the way never gets shorter
    bint given_next  # the way itself is the next word
    bint ended


cdef void start_cursor(
    Cursor *self, const uint8_t *prefix, Py_ssize_t prefix_size, const uint8_t *after, Py_ssize_t after_size
) noexcept nogil:
    """Stand before the first word that begins with `prefix` and is greater than `after` (NULL: no such bound)."""
    cdef Py_ssize_t step
    cdef int found
    cdef int order = memcmp(prefix, after, min(prefix_size, after_size)) if after != NULL else 1
    self.depth = 0
    self.given_next = False
    self.ended = True
    if prefix_size > WORD_MAX or order < 0:
        return
    for step in range(prefix_size):
        found = find_label(self.nodes + node_below(self), prefix[step]) if node_below(self) else -1
        if found < 0:
            return
        push(self, node_below(self), found)
    self.floor = <int> prefix_size
    self.ended = False
    if order > 0 or after_size < prefix_size:
        self.given_next = ends_word(self)
    else:
        pass_over(self, after, after_size)


cdef void pass_over(Cursor *self, const uint8_t *after, Py_ssize_t size) noexcept nogil:
    """Follow `after`, which begins with the prefix, as far as words do, and stand before the first greater word."""
    cdef const uint8_t *node
    cdef uint8_t label
    cdef int step
    while self.depth < size and node_below(self):
        label = after[self.depth]
        node = self.nodes + node_below(self)
        step = 0
        while step < node[0] - 1 and node[1 + step] < label:
            step += 1
        push(self, node_below(self), step)
        if node[1 + step] != label:
            self.ended = node[1 + step] < label and not climb(self)
            self.given_next = not self.ended and ends_word(self)
            return


cdef void go_behind(Cursor *self, const uint8_t *sign) noexcept nogil:
    """Stand before the first word greater than a length and bytes."""
    start_cursor(self, sign, 0, sign + 1, min(sign[0], WORD_MAX))


cdef bint next_word(Cursor *self) noexcept nogil:
    """Go to the next word; False: there is none."""
    if self.given_next:
        self.given_next = False
        return True
    while not self.ended:
        if node_below(self):
            push(self, node_below(self), 0)
        elif not climb(self):
            self.ended = True
            return False
        if ends_word(self):
            return True
    return False


cdef inline uint32_t edge_taken(const Cursor *self) noexcept nogil:
    return edge_of(self.nodes + self.way[self.depth - 1], self.taken[self.depth - 1])


cdef inline uint32_t node_below(const Cursor *self) noexcept nogil:
    """The node that the way leads to; 0: no words go on here."""
    if self.depth == 0:
        return self.root
    return target_of(edge_taken(self)) if self.depth < WORD_MAX else 0


cdef inline bint ends_word(const Cursor *self) noexcept nogil:
    return self.depth > 0 and edge_taken(self) & WORD


cdef inline void push(Cursor *self, uint32_t place, int step) noexcept nogil:
    self.way[self.depth] = place
    self.taken[self.depth] = <uint8_t> step
    self.word[self.depth] = self.nodes[place + 1 + step]
    self.depth += 1


cdef bint climb(Cursor *self) noexcept nogil:
    """Go to the next edge that is not below the way; False: the prefix has no further one."""
    while self.depth > self.floor:
        self.depth -= 1
        if self.taken[self.depth] + 1 < self.nodes[self.way[self.depth]]:
            push(self, self.way[self.depth], self.taken[self.depth] + 1)
            return True
    return False


cdef class Completions:
    """An iterator over words in byte order."""
    cdef WordGraph _graph
    cdef Cursor _cursor

    def __iter__(self) -> Completions:
        return self

    def __next__(self) -> bytes:
        if not next_word(&self._cursor):
            raise StopIteration
        return self.word()

    cdef inline bytes word(self):
        return PyBytes_FromStringAndSize(<char *> self._cursor.word, self._cursor.depth)


# -- correcting ---------------------------------------------------------------------------------------------------

cdef struct Pattern:
    # Bit j of a mask: the character stands at place j of the pattern.
    uint64_t first[256]  # of an ASCII character; of a lead byte: of all characters that begin with it
    uint64_t wide[WIDE_SLOTS]  # hash table over the others
    uint32_t points[WIDE_SLOTS]  # 0 is an empty slot
    uint8_t leads[PATTERN_MAX]  # the first byte of each character
    int size
    uint32_t main_width  # the width that most characters have
    uint64_t few[DISTANCE_MAX + 1]  # bit j of few[e]: at most e characters of that width from place j on


cdef bint read_pattern(Pattern *self, const uint8_t *text, Py_ssize_t size, bint backward) noexcept nogil:
    """Read valid UTF-8; False: these are too many characters."""
    cdef uint32_t points[PATTERN_MAX]
    cdef uint32_t slot
    cdef int number, place, count = 0
    memset(self, 0, sizeof(Pattern))
    while size > 0:
        if count == PATTERN_MAX:
            return False
        number = read_character(text, size, &points[count])
        text += number
        size -= number
        count += 1
    self.size = count
    for number in range(count):
        place = count - 1 - number if backward else number
        self.leads[place] = lead_of(points[number])
        self.first[self.leads[place]] |= <uint64_t> 1 << place
        if points[number] >= 0x80:
            slot = wide_slot(self, points[number])
            self.points[slot] = points[number]
            self.wide[slot] |= <uint64_t> 1 << place
    count_widths(self)
    return True


cdef inline uint32_t wide_slot(const Pattern *self, uint32_t point) noexcept nogil:
    cdef uint32_t slot = point & (WIDE_SLOTS - 1)
    while self.points[slot] and self.points[slot] != point:
        slot = (slot + 1) & (WIDE_SLOTS - 1)
    return slot


cdef void count_widths(Pattern *self) noexcept nogil:
    cdef int counts[WIDTH_MORE + 1]
    cdef int place, errors, left
    memset(counts, 0, sizeof(counts))
    for place in range(self.size):
        counts[width_of(self.leads[place])] += 1
    self.main_width = WIDTH_1 if counts[WIDTH_1] >= counts[WIDTH_2] else WIDTH_2
    if counts[WIDTH_MORE] > counts[self.main_width]:
        self.main_width = WIDTH_MORE
    left = counts[self.main_width]
    for place in range(self.size + 1):
        for errors in range(left, DISTANCE_MAX + 1):
            self.few[errors] |= <uint64_t> 1 << place
        if place < self.size:
            left -= width_of(self.leads[place]) == self.main_width


cdef struct State:
    # Bit j of row[d]: the characters read so far are the first j of the pattern but for d errors.
    # Bit j of swap[d]: all but the last of them are, but for d - 1 errors, and the last one is that at place j + 1 of
    # the pattern; if that at place j comes next, the two have been swapped.
    uint64_t row[DISTANCE_MAX + 1]
    uint64_t swap[DISTANCE_MAX + 1]


cdef struct Front:
    # A state, and what follows from it for any node that is reached with it.
    State state
    uint64_t wanted  # places of the pattern whose characters make a difference
    bint is_open  # any other character leads on, too
    bint is_far  # more characters of the main width are to come than errors are left


cdef struct Found:
    uint8_t word[WORD_MAX]
    uint8_t size
    uint8_t distance


cdef struct Search:
    const Pattern *pattern
    const uint8_t *nodes
    bint backward
    int distance
    uint64_t enter[DISTANCE_MAX + 1]  # the places that may be reached with so many errors by going on in the pattern,
    uint64_t stay[DISTANCE_MAX + 1]  # by an insertion there,
    uint64_t begin[DISTANCE_MAX + 1]  # and where a swap may begin that makes them so many
    uint64_t near[DISTANCE_MAX + 1]  # the places with no more characters of the main width to come than errors left
    int64_t budget
    bint failed
    uint8_t word[WORD_MAX]
    Found *found
    size_t count, capacity


cdef void search_all(
    Search *self, WordGraph graph, const uint8_t *word, Py_ssize_t size, int distance, bint swaps
) noexcept nogil:
    """Collect the words within the distance, each once, in byte order.

    Of n errors, either at most n // 2 stand in the first part of the word, or at most (n - 1) // 2 in the second.
    So a walk over the words that allows no more than that in the first part, and one over the reversed words that
    allows no more than this in what is then the first part, find everything together; and both stay narrow near the
    root, where the automata are wide. With two errors the parts are not treated alike, and a first part a little
    longer than half was found the fastest.
    """
    cdef Pattern pattern
    cdef int part
    if not read_pattern(&pattern, word, size, False):
        return
    part = min(pattern.size // 2 + (distance == 2), pattern.size)
    self.distance = distance
    set_bounds(self, pattern.size, distance // 2, part, False, swaps)
    walk(self, &pattern, graph._forward, graph._forward_root)
    if distance > 0:
        read_pattern(&pattern, word, size, True)
        set_bounds(self, pattern.size, (distance - 1) // 2, pattern.size - part, True, swaps)
        self.backward = True
        walk(self, &pattern, graph._backward, graph._backward_root)
        merge_found(self)


cdef void set_bounds(Search *self, int size, int allowed, int part, bint has_border, bint swaps) noexcept nogil:
    """Allow only `allowed` errors in the first `part` of `size` characters.

    Each error counts for one part: an insertion between the parts and a swap across their border for the first one
    if it `has_border`, else for the second.
    """
    cdef int errors, limited
    for errors in range(1, DISTANCE_MAX + 1):
        limited = part if errors > allowed else -2
        self.enter[errors] = from_place(limited + 1, size)
        self.stay[errors] = from_place(limited + has_border, size)
        self.begin[errors] = from_place(limited + 1 + has_border, size) >> 2 if swaps else 0
        if errors > self.distance:
            self.enter[errors] = self.stay[errors] = self.begin[errors] = 0


cdef inline uint64_t from_place(int first, int size) noexcept nogil:
    """The places of a pattern from one on, its end included."""
    return ((<uint64_t> 2 << size) - 1) & ~((<uint64_t> 1 << max(first, 0)) - 1)


cdef void walk(Search *self, const Pattern *pattern, const uint8_t *nodes, uint32_t root) noexcept nogil:
    cdef Front front
    cdef int errors
    self.pattern = pattern
    self.nodes = nodes
    memset(&front, 0, sizeof(Front))
    for errors in range(DISTANCE_MAX + 1):
        self.near[errors] = pattern.few[self.distance - errors] if errors <= self.distance else 0
    front.state.row[0] = 1
    for errors in range(1, DISTANCE_MAX + 1):
        front.state.row[errors] = front.state.row[errors - 1] << 1 & self.enter[errors]
    look_ahead(self, &front)
    if root:
        visit(self, root, &front, 0)


cdef inline void step_over(const Search *self, const State *old, uint64_t mask, State *new) noexcept nogil:
    """Read one more character, which the pattern has at the places of `mask`."""
    cdef uint64_t reached
    cdef int errors
    new.row[0] = (old.row[0] & mask) << 1
    new.swap[0] = 0
    for errors in range(1, DISTANCE_MAX + 1):
        reached = ((old.row[errors] & mask) | old.row[errors - 1] | new.row[errors - 1]) << 1
        reached |= (old.swap[errors] & mask) << 2
        new.row[errors] = reached & self.enter[errors] | old.row[errors - 1] & self.stay[errors]
        new.swap[errors] = old.row[errors - 1] & mask >> 1 & self.begin[errors]


cdef inline void look_ahead(const Search *self, Front *front) noexcept nogil:
    """Fill in what follows from the state."""
    cdef const State *state = &front.state
    cdef uint64_t wanted = state.row[0], open_at = 0, near = state.row[0] & self.near[0]
    cdef int errors
    for errors in range(1, DISTANCE_MAX + 1):
        wanted |= state.row[errors] | state.swap[errors] | (state.row[errors - 1] & self.begin[errors]) << 1
        open_at |= state.row[errors - 1] & (self.stay[errors] | self.enter[errors] >> 1)
        near |= (state.row[errors] | state.swap[errors] << 2) & self.near[errors]
    front.wanted = wanted & ((<uint64_t> 1 << self.pattern.size) - 1)
    front.is_open = open_at != 0
    front.is_far = near == 0


cdef void visit(Search *self, uint32_t place, const Front *front, int depth) noexcept nogil:
    """Look at what is below a node that is reached with a whole character."""
    cdef const uint8_t *node = self.nodes + place
    cdef uint64_t wanted = front.wanted, mask
    cdef uint8_t label
    cdef int step
    self.budget -= node[0]
    if self.budget < 0:
        return
    if front.is_open:
        visit_all(self, node, front, depth)
        return
    while wanted:
        label = self.pattern.leads[lowest_bit(wanted)]
        mask = self.pattern.first[label]
        wanted &= ~mask
        step = find_label(node, label)
        if step >= 0:
            if label < 0x80:
                follow(self, front, mask, label, edge_of(node, step), depth)
            else:
                spell(self, front, NULL, bits_of_lead(label), bytes_behind(label), label, edge_of(node, step), depth)


cdef void visit_all(Search *self, const uint8_t *node, const Front *front, int depth) noexcept nogil:
    """Look at every edge of a node."""
    cdef Front other  # behind all characters that make no difference
    cdef uint8_t label
    cdef uint64_t mask
    cdef int step
    step_over(self, &front.state, 0, &other.state)
    look_ahead(self, &other)
    for step in range(node[0]):
        label = node[1 + step]
        mask = self.pattern.first[label]
        if label >= 0x80:
            spell(self, front, &other, bits_of_lead(label), bytes_behind(label), label, edge_of(node, step), depth)
        elif mask & front.wanted:
            follow(self, front, mask, label, edge_of(node, step), depth)
        else:
            arrive(self, &other, label, edge_of(node, step), depth)


cdef void spell(
    Search *self, const Front *front, const Front *other, uint32_t begun, int missing, uint8_t label, uint32_t edge,
    int depth,
) noexcept nogil:
    """Read the bytes of a character that are still missing behind an edge inside of it; `begun` are its bits so far."""
    cdef const uint8_t *node = self.nodes + target_of(edge)
    cdef uint32_t point
    cdef uint64_t mask
    cdef int step
    if target_of(edge) == 0 or depth + 1 == WORD_MAX:
        return
    if label >= 0xC0 and front.is_far and not (edge | width_of(label)) & self.pattern.main_width:
        return
    self.word[depth] = label
    self.budget -= node[0]
    if self.budget < 0:
        return
    for step in range(node[0]):
        label = node[1 + step]
        point = begun << 6 | (label & 0x3F)
        if missing > 1:
            spell(self, front, other, point, missing - 1, label, edge_of(node, step), depth + 1)
            continue
        mask = self.pattern.wide[wide_slot(self.pattern, point)]
        if mask & front.wanted:
            follow(self, front, mask, label, edge_of(node, step), depth + 1)
        elif other != NULL:
            arrive(self, other, label, edge_of(node, step), depth + 1)


cdef inline void follow(
    Search *self, const Front *old, uint64_t mask, uint8_t label, uint32_t edge, int depth
) noexcept nogil:
    cdef Front front
    step_over(self, &old.state, mask, &front.state)
    look_ahead(self, &front)
    arrive(self, &front, label, edge, depth)


cdef inline void arrive(Search *self, const Front *front, uint8_t label, uint32_t edge, int depth) noexcept nogil:
    """Take an edge: note the word that ends with it, if it is near enough, and go on if any below it can be."""
    self.word[depth] = label
    if edge & WORD:
        note(self, &front.state, depth + 1)
    if (
        target_of(edge) and depth + 1 < WORD_MAX and (front.wanted or front.is_open)
        and (edge & self.pattern.main_width or not front.is_far)
    ):
        visit(self, target_of(edge), front, depth + 1)


cdef inline void note(Search *self, const State *state, int size) noexcept nogil:
    cdef int errors
    for errors in range(DISTANCE_MAX + 1):
        if state.row[errors] >> self.pattern.size & 1:
            keep(self, size, errors)
            return


cdef void keep(Search *self, int size, int distance) noexcept nogil:
    cdef Found *found
    self.budget -= MATCH_COST
    if self.count == self.capacity:
        found = <Found *> realloc(self.found, (2 * self.capacity + 16) * sizeof(Found))
        if found == NULL:
            self.failed = True
            self.budget = -1
            return
        self.found = found
        self.capacity = 2 * self.capacity + 16
    found = &self.found[self.count]
    if self.backward:
        reverse(self.word, size, found.word)
    else:
        memcpy(found.word, self.word, size)
    found.size = <uint8_t> size
    found.distance = <uint8_t> distance
    self.count += 1


cdef int compare_found(const void *left, const void *right) noexcept nogil:
    cdef const Found *one = <const Found *> left
    cdef const Found *other = <const Found *> right
    cdef int order = memcmp(one.word, other.word, min(one.size, other.size))
    if order == 0:
        order = <int> one.size - <int> other.size
    return order if order else <int> one.distance - <int> other.distance


cdef void merge_found(Search *self) noexcept nogil:
    """Sort what both walks found by words, and keep each word once, with its smaller distance."""
    cdef size_t number, kept = 0
    cdef const Found *before
    if self.count:
        qsort(self.found, self.count, sizeof(Found), compare_found)
    for number in range(self.count):
        if kept:
            before = &self.found[kept - 1]
            if before.size == self.found[number].size and not memcmp(before.word, self.found[number].word, before.size):
                continue
        self.found[kept] = self.found[number]
        kept += 1
    self.count = kept


cdef class Corrections:
    """What `correct` found: `matches` are pairs of word and distance; `whole`: the edge budget was enough.

    If it was not, words are missing, and a word may be given a greater distance than it has.
    """
    cdef readonly list matches
    cdef readonly bint whole

    def __repr__(self) -> str:
        return f"Corrections({self.matches!r}, whole={self.whole})"


cdef Corrections corrections(const Search *search, int distance, Py_ssize_t limit):
    cdef Corrections result = Corrections.__new__(Corrections)
    cdef list matches = []
    cdef const Found *found
    cdef int wanted
    cdef size_t number
    for wanted in range(distance + 1):
        for number in range(search.count):
            found = &search.found[number]
            if found.distance == wanted:
                if limit == 0:
                    break
                matches.append((PyBytes_FromStringAndSize(<const char *> found.word, found.size), wanted))
                limit -= 1
    result.matches = matches
    result.whole = search.budget >= 0
    return result


# -- which of two words at one distance is the likelier one -------------------------------------------------------

def dissimilarity(bytes typed not None, list words not None) -> list:
    """Return for each word how little it resembles what was typed: twice the number of bytes that only one of the two
    has, and one more if their first bytes differ.

    Who mistypes mostly swaps, drops or doubles letters the word has, and seldom its first.
    """
    cdef uint64_t wanted[4]
    cdef uint64_t held[4]
    cdef bytes word
    cdef int part, apart
    cdef list out = []
    collect_bytes(typed, wanted)
    for word in words:
        collect_bytes(word, held)
        apart = 0
        for part in range(4):
            apart += count_bits(wanted[part] ^ held[part])
        out.append(2 * apart + (typed[:1] != word[:1]))
    return out


cdef void collect_bytes(bytes word, uint64_t *held) noexcept:
    cdef const uint8_t *at = word
    cdef Py_ssize_t place
    memset(held, 0, 4 * sizeof(uint64_t))
    for place in range(len(word)):
        held[at[place] >> 6] |= <uint64_t> 1 << (at[place] & 63)
