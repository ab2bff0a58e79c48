"""The word graph: the words of one bucket as two minimal automata; built, verified, listed, completed and corrected.

One automaton holds the words, the other the same words reversed by characters. The file (little-endian):

    magic       8 bytes "SPYGRAPH"
    format      u16, and u16 zero
    bucket      u32
    version     u64, of the lexicon
    words       u64
    forward     u32 number of edges, u32 root
    backward    u32 number of edges, u32 root
    edges       5 bytes each: forward, then backward
    zeros       4 bytes, so that an edge can be read as 8 bytes
    crc         u32, CRC-32 of everything before it

    edge        bits 0-7 label (a byte of UTF-8), 8 last edge of its node, 9 a word ends here,
                10-12 characters of one byte, of two, of more begin behind it, 13-39 target

A node is a run of edges by rising label and goes by the index of its first edge; target 0 is the node without edges
(edge 0 of each automaton is never used). A target is always smaller than the index of the edge that points to it, so
an automaton has no circle and every walk ends.

Building is the incremental minimisation of sorted words of Daciuk, Mihov, Watson and Watson (2000). Correction walks
the automaton with the bit-parallel NFA of Wu and Manber (1992).
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.buffer cimport PyBUF_READ
from cpython.memoryview cimport PyMemoryView_FromMemory
from libc.errno cimport errno
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, qsort, realloc
from libc.string cimport memcmp, memcpy, memset, strerror

import secrets
import zlib

cdef extern from "<fcntl.h>" nogil:
    int c_open "open"(const char *path, int flags, ...)
    int O_RDONLY
    int O_CLOEXEC

cdef extern from "<sys/mman.h>" nogil:
    void *mmap(void *start, size_t size, int protection, int flags, int file, long offset)
    int munmap(void *start, size_t size)
    int PROT_READ
    int MAP_SHARED
    void *MAP_FAILED

cdef extern from "<unistd.h>" nogil:
    int c_close "close"(int file)
    long lseek(int file, long offset, int whence)
    int SEEK_END

cdef enum:
    FORMAT = 1
    HEADER_BYTES = 48
    EDGE_BYTES = 5
    ZERO_BYTES = 4
    CRC_BYTES = 4

    LAST = 1 << 8
    WORD = 1 << 9
    WIDTH_1 = 1 << 10
    WIDTH_2 = 1 << 11
    WIDTH_MORE = 1 << 12
    WIDTHS = WIDTH_1 | WIDTH_2 | WIDTH_MORE
    TARGET_SHIFT = 13
    TARGET_MAX = (1 << 27) - 1

    WORD_MAX = 40  # bytes
    DISTANCE_MAX = 3
    PATTERN_MAX = 60  # characters: one bit each and one for the end, in 64
    WIDE_SLOTS = 128

    NO_MEMORY = -1
    TOO_LARGE = -2

cdef const char *MAGIC = b"SPYGRAPH"

WORD_BYTES_MAX = WORD_MAX
EDGES_MAX = TARGET_MAX

EDGE_BUDGET = 200_000
"""Edges one correction looks at by default: about a millisecond, several times what a real word needs."""


class DamagedGraph(ValueError):
    """The bytes are not a word graph."""


class GraphTooLarge(ValueError):
    """The words need more edges than are allowed."""


# -- edges --------------------------------------------------------------------------------------------------------

cdef inline uint64_t edge_at(const uint8_t *edges, uint32_t index) noexcept nogil:
    """Read an edge; the bits above the 40 of the edge are not its own."""
    cdef const uint8_t *at = edges + EDGE_BYTES * <size_t> index
    return (
        <uint64_t> at[0] | <uint64_t> at[1] << 8 | <uint64_t> at[2] << 16 | <uint64_t> at[3] << 24
        | <uint64_t> at[4] << 32 | <uint64_t> at[5] << 40 | <uint64_t> at[6] << 48 | <uint64_t> at[7] << 56
    )


cdef inline uint32_t target_of(uint64_t edge) noexcept nogil:
    return <uint32_t> (edge >> TARGET_SHIFT) & TARGET_MAX


cdef inline void put_little_endian(uint8_t *out, uint64_t value, int size) noexcept nogil:
    cdef int step
    for step in range(size):
        out[step] = <uint8_t> (value >> (8 * step))


cdef inline uint64_t get_little_endian(const uint8_t *at, int size) noexcept nogil:
    cdef uint64_t value = 0
    cdef int step
    for step in range(size):
        value |= <uint64_t> at[step] << (8 * step)
    return value


# -- characters ---------------------------------------------------------------------------------------------------

cdef inline int bytes_behind(uint8_t lead) noexcept nogil:
    """How many bytes follow `lead` in its character."""
    return 0 if lead < 0xC0 else 1 if lead < 0xE0 else 2 if lead < 0xF0 else 3


cdef inline uint64_t width_of(uint8_t label) noexcept nogil:
    """The flag of the characters that begin with this byte; 0: none does."""
    return WIDTH_1 if label < 0x80 else 0 if label < 0xC0 else WIDTH_2 if label < 0xE0 else WIDTH_MORE


cdef inline uint32_t bits_of_lead(uint8_t lead) noexcept nogil:
    return lead & (0x7F if lead < 0xC0 else 0x1F if lead < 0xE0 else 0x0F if lead < 0xF0 else 0x07)


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
    uint64_t edges[256]


cdef struct Automaton:
    # Nodes already minimised stand in `edges`; those on the way of the last word are still open.
    uint8_t *edges
    uint64_t count, capacity, most
    uint32_t *slots  # hash table over the nodes in `edges`; 0 is an empty slot
    uint64_t slot_mask, nodes
    uint64_t seed
    OpenNode open[WORD_MAX]
    uint8_t last[WORD_MAX]
    int last_size
    uint32_t root


cdef Automaton *new_automaton(uint64_t most, uint64_t seed) noexcept nogil:
    cdef Automaton *self = <Automaton *> calloc(1, sizeof(Automaton))
    if self == NULL:
        return NULL
    self.capacity = 4096
    self.slot_mask = 4095
    self.most = most
    self.seed = seed
    self.edges = <uint8_t *> calloc(self.capacity, EDGE_BYTES)
    self.slots = <uint32_t *> calloc(self.slot_mask + 1, sizeof(uint32_t))
    self.count = 1  # edge 0 is never used
    if self.edges == NULL or self.slots == NULL:
        free_automaton(self)
        return NULL
    self.edges[1] = LAST >> 8
    return self


cdef void free_automaton(Automaton *self) noexcept nogil:
    if self != NULL:
        free(self.edges)
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
        node.edges[node.count] = word[depth]
        node.count += 1
    self.open[size - 1].edges[self.open[size - 1].count - 1] |= WORD
    memcpy(self.last, word, size)
    self.last_size = size
    return 0


cdef int close_below(Automaton *self, int kept) noexcept nogil:
    """Minimise the open nodes deeper than `kept`: no further word passes through them."""
    cdef int depth, failed
    cdef uint32_t index = 0
    cdef uint64_t widths
    cdef OpenNode *parent
    for depth in range(self.last_size - 1, kept, -1):
        widths = widths_behind(&self.open[depth])
        failed = freeze(self, &self.open[depth], &index)
        if failed:
            return failed
        parent = &self.open[depth - 1]
        parent.edges[parent.count - 1] |= <uint64_t> index << TARGET_SHIFT | widths
    return 0


cdef inline uint64_t widths_behind(const OpenNode *node) noexcept nogil:
    cdef uint64_t widths = 0
    cdef int step
    for step in range(node.count):
        widths |= node.edges[step] | width_of(<uint8_t> node.edges[step])
    return widths & WIDTHS


cdef int finish_automaton(Automaton *self) noexcept nogil:
    cdef int failed = close_below(self, 0)
    if failed == 0 and self.last_size:
        failed = freeze(self, &self.open[0], &self.root)
    return failed


cdef int freeze(Automaton *self, OpenNode *node, uint32_t *index) noexcept nogil:
    """Find the equal of a finished node among those already written, or write it; the open node is empty then."""
    cdef uint64_t slot
    cdef int failed
    node.edges[node.count - 1] |= LAST
    slot = hash_edges(self.seed, node.edges, node.count) & self.slot_mask
    while self.slots[slot] and not is_same(self, self.slots[slot], node):
        slot = (slot + 1) & self.slot_mask
    if self.slots[slot] == 0:
        failed = write_node(self, node)
        if failed:
            return failed
        self.slots[slot] = <uint32_t> (self.count - node.count)
        self.nodes += 1
    index[0] = self.slots[slot]
    node.count = 0
    return grow_slots(self) if 2 * self.nodes > self.slot_mask else 0


cdef bint is_same(const Automaton *self, uint32_t index, const OpenNode *node) noexcept nogil:
    cdef int step
    if index + <uint64_t> node.count > self.count:
        return False
    for step in range(node.count):
        if stored_edge(self, index + step) != node.edges[step]:
            return False
    return True


cdef inline uint64_t stored_edge(const Automaton *self, uint32_t index) noexcept nogil:
    return get_little_endian(self.edges + EDGE_BYTES * <size_t> index, EDGE_BYTES)


cdef int write_node(Automaton *self, const OpenNode *node) noexcept nogil:
    cdef uint8_t *edges
    cdef int step
    if self.count + node.count > self.most:
        return TOO_LARGE
    if self.count + node.count > self.capacity:
        edges = <uint8_t *> realloc(self.edges, 2 * self.capacity * EDGE_BYTES)
        if edges == NULL:
            return NO_MEMORY
        self.edges = edges
        self.capacity *= 2
    for step in range(node.count):
        put_little_endian(self.edges + EDGE_BYTES * self.count, node.edges[step], EDGE_BYTES)
        self.count += 1
    return 0


cdef int grow_slots(Automaton *self) noexcept nogil:
    cdef uint64_t mask = 2 * self.slot_mask + 1, number, slot
    cdef uint32_t *slots = <uint32_t *> calloc(mask + 1, sizeof(uint32_t))
    cdef uint64_t edges[256]
    cdef int count
    if slots == NULL:
        return NO_MEMORY
    for number in range(self.slot_mask + 1):
        if self.slots[number]:
            count = 0
            while count == 0 or not edges[count - 1] & LAST:
                edges[count] = stored_edge(self, self.slots[number] + count)
                count += 1
            slot = hash_edges(self.seed, edges, count) & mask
            while slots[slot]:
                slot = (slot + 1) & mask
            slots[slot] = self.slots[number]
    free(self.slots)
    self.slots = slots
    self.slot_mask = mask
    return 0


cdef inline uint64_t hash_edges(uint64_t seed, const uint64_t *edges, int count) noexcept nogil:
    cdef uint64_t value = seed
    cdef int step
    for step in range(count):
        value = (value ^ edges[step]) * <uint64_t> 0x9E3779B97F4A7C15
        value ^= value >> 29
    return value


cdef struct Ending:
    # A reversed word to be sorted: its first eight bytes as a number, and where it stands.
    uint64_t head
    const uint8_t *word  # its length, then its bytes


cdef int compare_endings(const void *left, const void *right) noexcept nogil:
    cdef const Ending *one = <const Ending *> left
    cdef const Ending *other = <const Ending *> right
    cdef int order
    if one.head != other.head:
        return -1 if one.head < other.head else 1
    order = memcmp(one.word + 1, other.word + 1, min(one.word[0], other.word[0]))
    return order if order else <int> one.word[0] - <int> other.word[0]


cdef int add_reversed(Automaton *self, const uint8_t *words, uint64_t size, uint64_t count) noexcept nogil:
    """Add every word of a run of (length, bytes), reversed, in byte order."""
    cdef uint8_t *reversed_words = <uint8_t *> malloc(size + 1)
    cdef Ending *endings = <Ending *> malloc((count + 1) * sizeof(Ending))
    cdef uint64_t number, at = 0
    cdef int failed = NO_MEMORY, step
    if reversed_words != NULL and endings != NULL:
        failed = 0
        for number in range(count):
            reversed_words[at] = words[at]
            reverse(words + at + 1, words[at], reversed_words + at + 1)
            endings[number].word = reversed_words + at
            endings[number].head = 0
            for step in range(8):
                endings[number].head = endings[number].head << 8
                if step < words[at]:
                    endings[number].head |= reversed_words[at + 1 + step]
            at += 1 + words[at]
        qsort(endings, count, sizeof(Ending), compare_endings)
        number = 0
        while number < count and not failed:
            failed = add_word(self, endings[number].word + 1, endings[number].word[0])
            number += 1
        if not failed:
            failed = finish_automaton(self)
    free(reversed_words)
    free(endings)
    return failed


cdef int add_sorted(Automaton *self, const uint8_t *words, uint64_t size) noexcept nogil:
    cdef uint64_t at = 0
    cdef int failed = 0
    while at < size and not failed:
        failed = add_word(self, words + at + 1, words[at])
        at += 1 + words[at]
    return failed if failed else finish_automaton(self)


cdef class WordGraphBuilder:
    """Words in, the content of a graph file out.

    Args:
        edges_max: the most edges that each of the two automata may have.
    """
    cdef uint8_t *_words  # length and bytes of each, in order
    cdef uint64_t _size, _capacity, _count, _last
    cdef uint64_t _edges_max
    cdef bint _finished

    def __cinit__(self, uint64_t edges_max=EDGES_MAX):
        self._edges_max = min(edges_max, <uint64_t> TARGET_MAX)
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
            GraphTooLarge: an automaton needs more edges than allowed.
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
                forward = new_automaton(self._edges_max, seed)
                backward = new_automaton(self._edges_max, seed)
                if forward != NULL and backward != NULL:
                    failed = add_sorted(forward, self._words, self._size)
                    if not failed:
                        failed = add_reversed(backward, self._words, self._size, self._count)
            if failed == TOO_LARGE:
                raise GraphTooLarge(f"{self._count} words need more than {self._edges_max} edges")
            if failed:
                raise MemoryError
            return pack_graph(bucket, version, self._count, forward, backward)
        finally:
            free_automaton(forward)
            free_automaton(backward)


cdef bytes pack_graph(
    uint32_t bucket, uint64_t version, uint64_t words, const Automaton *forward, const Automaton *backward
):
    cdef uint64_t sizes[2]
    cdef uint8_t *out
    cdef bytes content
    sizes[0] = forward.count * EDGE_BYTES
    sizes[1] = backward.count * EDGE_BYTES
    content = PyBytes_FromStringAndSize(NULL, HEADER_BYTES + sizes[0] + sizes[1] + ZERO_BYTES + CRC_BYTES)
    out = <uint8_t *> <char *> content
    memcpy(out, MAGIC, 8)
    put_little_endian(out + 8, FORMAT, 4)
    put_little_endian(out + 12, bucket, 4)
    put_little_endian(out + 16, version, 8)
    put_little_endian(out + 24, words, 8)
    put_little_endian(out + 32, forward.count, 4)
    put_little_endian(out + 36, forward.root, 4)
    put_little_endian(out + 40, backward.count, 4)
    put_little_endian(out + 44, backward.root, 4)
    out += HEADER_BYTES
    memcpy(out, forward.edges, sizes[0])
    memcpy(out + sizes[0], backward.edges, sizes[1])
    out += sizes[0] + sizes[1]
    memset(out, 0, ZERO_BYTES)
    put_little_endian(out + ZERO_BYTES, zlib.crc32(memoryview(content)[:-CRC_BYTES]), CRC_BYTES)
    return content


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
        cdef long size = 0
        cdef void *start = NULL
        with nogil:
            file = c_open(name, O_RDONLY | O_CLOEXEC)
            if file < 0:
                failed = errno
            else:
                size = lseek(file, 0, SEEK_END)
                if size > 0:
                    start = mmap(NULL, size, PROT_READ, MAP_SHARED, file, 0)
                if size < 0 or start == MAP_FAILED:
                    failed = errno
                c_close(file)
        if failed:
            raise OSError(failed, strerror(failed).decode(), path)
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
    cdef uint32_t _forward_root, _backward_root
    cdef readonly uint32_t bucket
    cdef readonly uint64_t version
    cdef uint64_t _count

    def __cinit__(self, content):
        cdef const uint8_t *start
        cdef size_t size
        cdef uint32_t forward, backward
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
        self.bucket = <uint32_t> get_little_endian(start + 12, 4)
        self.version = get_little_endian(start + 16, 8)
        self._count = get_little_endian(start + 24, 8)
        forward = <uint32_t> get_little_endian(start + 32, 4)
        backward = <uint32_t> get_little_endian(start + 40, 4)
        self._forward_root = <uint32_t> get_little_endian(start + 36, 4)
        self._backward_root = <uint32_t> get_little_endian(start + 44, 4)
        self._forward = start + HEADER_BYTES
        self._backward = self._forward + EDGE_BYTES * <size_t> forward
        if not (
            is_sound(self._forward, forward, self._forward_root)
            and is_sound(self._backward, backward, self._backward_root)
        ):
            raise DamagedGraph("an edge points to where none can be")

    def __len__(self) -> int:
        return self._count

    def contains(self, bytes word not None) -> bool:
        """Return whether `word` is in the graph."""
        cdef uint32_t index = find_edge(self._forward, self._forward_root, <const uint8_t *> word, len(word))
        return index > 0 and (edge_at(self._forward, index) & WORD) != 0

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
        words._graph = self
        start_cursor(
            &words._cursor, self._forward, self._forward_root, <const uint8_t *> prefix, len(prefix),
            NULL if after is None else <const uint8_t *> after, 0 if after is None else len(after),
        )
        return words

    def words(self, uint64_t offset, Py_ssize_t limit) -> list:
        """Return the words from place `offset` on, in byte order, at most `limit` (negative: all).

        Every word before that place is passed over one by one: 10 ns each.
        """
        cdef Completions words = self.completions(b"")
        cdef list found = []
        cdef bint more = True
        with nogil:
            while more and offset > 0:
                more = next_word(&words._cursor)
                offset -= 1
        while more and limit != 0 and next_word(&words._cursor):
            found.append(words.word())
            limit -= 1
        return found

    def correct(
        self, bytes word not None, int distance, *, bint transpositions, limit=None, int64_t edge_budget=EDGE_BUDGET
    ) -> Corrections:
        """Return the words within an edit distance, nearest first, in byte order among equals.

        Distances count characters: those inserted, deleted and replaced. The word itself is included at distance 0.

        Args:
            word: UTF-8; more than 60 characters have no correction.
            distance: 0 to 3.
            transpositions: two neighbours that changed places count one, if nothing else is edited there
                (optimal string alignment), else two (Levenshtein).
            limit: how many words to return at the most; None for all.
            edge_budget: how many edges may be looked at.

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
                self.search(&search, text, size, distance, transpositions)
            else:
                with nogil:
                    self.search(&search, text, size, distance, transpositions)
            if search.failed:
                raise MemoryError
            return corrections(&search, distance, most)
        finally:
            free(search.found)

    cdef void search(
        self, Search *search, const uint8_t *word, Py_ssize_t size, int distance, bint swaps
    ) noexcept nogil:
        """Collect what is within the distance, each word once with its distance, in byte order.

        Of two or three errors, either the first half of the word holds at most one, or the second half at most one
        (of three) or none (of two). So a walk over the words, with the first half kept to one error, and one over
        the reversed words, with what is then the first half kept to that, find everything, and both stay narrow
        where the automaton is widest.
        """
        cdef Pattern pattern
        cdef int half
        if not read_pattern(&pattern, word, size, False):
            return
        half = pattern.size // 2
        if distance < 2:
            set_bounds(search, pattern.size, distance, distance, 0, swaps)
            walk(search, &pattern, self._forward, self._forward_root)
            return
        set_bounds(search, pattern.size, distance, 1, half, swaps)
        walk(search, &pattern, self._forward, self._forward_root)
        read_pattern(&pattern, word, size, True)
        set_bounds(search, pattern.size, distance, distance - 2, pattern.size - half, swaps)
        search.backward = True
        walk(search, &pattern, self._backward, self._backward_root)
        merge_found(search)


cdef int check_frame(const uint8_t *start, size_t size) except -1:
    """Verify magic, format, size and checksum."""
    cdef uint64_t edges
    if size < HEADER_BYTES + ZERO_BYTES + CRC_BYTES:
        raise DamagedGraph(f"{size} bytes are too few")
    if memcmp(start, MAGIC, 8):
        raise DamagedGraph("it does not begin as a word graph does")
    if get_little_endian(start + 8, 2) != FORMAT:
        raise DamagedGraph(f"its format is {get_little_endian(start + 8, 2)}, not {FORMAT}")
    edges = get_little_endian(start + 32, 4) + get_little_endian(start + 40, 4)
    if size != HEADER_BYTES + EDGE_BYTES * edges + ZERO_BYTES + CRC_BYTES:
        raise DamagedGraph(f"{size} bytes are not what {edges} edges take")
    content = PyMemoryView_FromMemory(<char *> start, size - CRC_BYTES, PyBUF_READ)
    if zlib.crc32(content) != get_little_endian(start + size - CRC_BYTES, CRC_BYTES):
        raise DamagedGraph("its checksum is wrong")
    return 0


cdef bint is_sound(const uint8_t *edges, uint32_t count, uint32_t root) noexcept nogil:
    """Return whether every walk from the root stays among the edges and ends."""
    cdef uint32_t index
    for index in range(count):
        if target_of(edge_at(edges, index)) >= index + (index == 0):
            return False
    return root < count and (edge_at(edges, count - 1) & LAST) != 0


cdef inline bint seek_edge(const uint8_t *edges, uint32_t node, uint8_t label, uint32_t *index) noexcept nogil:
    """Find the first edge of a node with at least this label; False: there is none, and `index` is the last edge."""
    cdef uint64_t edge = edge_at(edges, node)
    while <uint8_t> edge < label and not edge & LAST:
        node += 1
        edge = edge_at(edges, node)
    index[0] = node
    return <uint8_t> edge >= label


cdef uint32_t find_edge(const uint8_t *edges, uint32_t node, const uint8_t *text, Py_ssize_t size) noexcept nogil:
    """Return the edge that `size` bytes lead over last, or 0: they lead nowhere."""
    cdef uint32_t index = 0
    cdef Py_ssize_t step
    for step in range(size):
        if node == 0 or not seek_edge(edges, node, text[step], &index):
            return 0
        if <uint8_t> edge_at(edges, index) != text[step]:
            return 0
        node = target_of(edge_at(edges, index))
    return index


# -- listing ------------------------------------------------------------------------------------------------------

cdef struct Cursor:
    # The way to the last word given, or to where the first one is looked for.
    const uint8_t *edges
    uint32_t root
    uint32_t way[WORD_MAX]  # the edges
    uint8_t word[WORD_MAX]  # and their labels
    int depth  # how many they are
    int floor  # the length of the prefix: the way never gets shorter
    bint given_next  # the way itself is the next word
    bint ended


cdef void start_cursor(
    Cursor *self, const uint8_t *edges, uint32_t root,
    const uint8_t *prefix, Py_ssize_t prefix_size, const uint8_t *after, Py_ssize_t after_size,
) noexcept nogil:
    """Stand before the first word that begins with `prefix` and is greater than `after` (NULL: no such bound)."""
    cdef Py_ssize_t step
    cdef uint32_t node = root, index
    cdef int order = memcmp(prefix, after, min(prefix_size, after_size)) if after != NULL else 1
    self.edges = edges
    self.root = root
    self.depth = 0
    self.given_next = False
    self.ended = True
    if prefix_size > WORD_MAX or order < 0:
        return
    for step in range(prefix_size):
        if node == 0 or not seek_edge(edges, node, prefix[step], &index):
            return
        push(self, index)
        if self.word[step] != prefix[step]:
            return
        node = target_of(edge_at(edges, index))
    self.floor = <int> prefix_size
    self.ended = False
    if order > 0 or after_size < prefix_size:
        self.given_next = ends_word(self)
    else:
        pass_over(self, after, after_size)


cdef void pass_over(Cursor *self, const uint8_t *after, Py_ssize_t size) noexcept nogil:
    """Follow `after`, which begins with the prefix, as far as words do, and stand before the first greater one."""
    cdef uint32_t index
    cdef bint greater
    while self.depth < size and node_below(self):
        greater = seek_edge(self.edges, node_below(self), after[self.depth], &index)
        push(self, index)
        if greater and self.word[self.depth - 1] == after[self.depth - 1]:
            continue
        self.ended = not greater and not climb(self)
        self.given_next = not self.ended and ends_word(self)
        return


cdef bint next_word(Cursor *self) noexcept nogil:
    """Go to the next word; False: there is none."""
    if self.given_next:
        self.given_next = False
        return True
    while not self.ended:
        if node_below(self):
            push(self, node_below(self))
        elif not climb(self):
            self.ended = True
            return False
        if ends_word(self):
            return True
    return False


cdef inline uint32_t node_below(const Cursor *self) noexcept nogil:
    if self.depth == 0:
        return self.root
    return target_of(edge_at(self.edges, self.way[self.depth - 1])) if self.depth < WORD_MAX else 0


cdef inline bint ends_word(const Cursor *self) noexcept nogil:
    return self.depth > 0 and (edge_at(self.edges, self.way[self.depth - 1]) & WORD) != 0


cdef inline void push(Cursor *self, uint32_t index) noexcept nogil:
    self.way[self.depth] = index
    self.word[self.depth] = <uint8_t> edge_at(self.edges, index)
    self.depth += 1


cdef bint climb(Cursor *self) noexcept nogil:
    """Go to the next edge that is not below the way; False: the prefix has no further one."""
    cdef uint32_t index
    while self.depth > self.floor:
        self.depth -= 1
        index = self.way[self.depth]
        if not edge_at(self.edges, index) & LAST:
            push(self, index + 1)
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
    # Bit j of a character's mask: it is the j-th of the pattern.
    uint64_t first[256]  # of ASCII; of a lead byte: of all characters that begin with it
    uint64_t wide[WIDE_SLOTS]  # hash table over the others
    uint32_t points[WIDE_SLOTS]  # 0 is an empty slot
    int size
    uint64_t main_width  # the width that most characters have
    uint64_t few[DISTANCE_MAX + 1]  # bit j of few[e]: at most e characters of that width from place j on


cdef bint read_pattern(Pattern *self, const uint8_t *text, Py_ssize_t size, bint backward) noexcept nogil:
    """Read valid UTF-8; False: these are too many characters."""
    cdef uint32_t points[PATTERN_MAX]
    cdef uint32_t slot
    cdef int number, place
    memset(self, 0, sizeof(Pattern))
    while size > 0:
        if self.size == PATTERN_MAX:
            return False
        number = read_character(text, size, &points[self.size])
        text += number
        size -= number
        self.size += 1
    for number in range(self.size):
        place = self.size - 1 - number if backward else number
        if points[number] < 128:
            self.first[points[number]] |= <uint64_t> 1 << place
        else:
            self.first[lead_of(points[number])] |= <uint64_t> 1 << place
            slot = wide_slot(self, points[number])
            self.points[slot] = points[number]
            self.wide[slot] |= <uint64_t> 1 << place
    count_widths(self, points, backward)
    return True


cdef inline uint8_t lead_of(uint32_t point) noexcept nogil:
    return 0xC0 | point >> 6 if point < 0x800 else 0xE0 | point >> 12 if point < 0x10000 else 0xF0 | point >> 18


cdef void count_widths(Pattern *self, const uint32_t *points, bint backward) noexcept nogil:
    cdef int counts[3]
    cdef int number, place, left = 0, kind
    counts[0] = counts[1] = counts[2] = 0
    for number in range(self.size):
        counts[kind_of(points[number])] += 1
    kind = 0
    if counts[1] > counts[kind]:
        kind = 1
    if counts[2] > counts[kind]:
        kind = 2
    self.main_width = <uint64_t> WIDTH_1 << kind
    for place in range(self.size, -1, -1):
        if place < self.size:
            number = self.size - 1 - place if backward else place
            left += kind_of(points[number]) == kind
        for number in range(left, DISTANCE_MAX + 1):
            self.few[number] |= <uint64_t> 1 << place


cdef inline int kind_of(uint32_t point) noexcept nogil:
    return 0 if point < 0x80 else 1 if point < 0x800 else 2


cdef inline uint32_t wide_slot(const Pattern *self, uint32_t point) noexcept nogil:
    cdef uint32_t slot = point & (WIDE_SLOTS - 1)
    while self.points[slot] and self.points[slot] != point:
        slot = (slot + 1) & (WIDE_SLOTS - 1)
    return slot


cdef struct State:
    # Bit j of row d: the characters read so far are the first j of the pattern with at most d errors.
    # Bit j of swap d: all but the last of them are, with at most d - 1 errors, and the last is the character behind
    # those j + 1 of the pattern, so that the one before it, if it comes next, completes a swap.
    uint64_t row0, row1, row2, row3
    uint64_t swap1, swap2, swap3


cdef struct Found:
    uint8_t word[WORD_MAX]
    uint8_t size
    uint8_t distance


cdef struct Search:
    const Pattern *pattern
    const uint8_t *edges
    bint backward
    int distance
    uint64_t keep1, keep2, keep3  # which bits of the rows may be set
    uint64_t begin1, begin2, begin3  # and of the swaps
    int64_t budget
    bint failed
    uint8_t word[WORD_MAX]
    Found *found
    size_t count, capacity


cdef void set_bounds(Search *self, int size, int distance, int allowed, int half, bint swaps) noexcept nogil:
    """Allow `distance` errors over a pattern of `size` characters, `allowed` of them before its character `half`.

    Bit `half` itself stays open: what is inserted there may count as either half's. So do the swaps that begin
    before it and end there or behind it.
    """
    cdef uint64_t all_bits = (<uint64_t> 2 << size) - 1
    cdef uint64_t late_bits = all_bits & ~((<uint64_t> 1 << half) - 1)
    self.distance = distance
    self.keep1 = 0 if distance < 1 else all_bits if allowed >= 1 else late_bits
    self.keep2 = 0 if distance < 2 else all_bits if allowed >= 2 else late_bits
    self.keep3 = 0 if distance < 3 else all_bits if allowed >= 3 else late_bits
    self.begin1 = self.keep1 >> 2 if swaps else 0
    self.begin2 = self.keep2 >> 2 if swaps else 0
    self.begin3 = self.keep3 >> 2 if swaps else 0


cdef void walk(Search *self, const Pattern *pattern, const uint8_t *edges, uint32_t root) noexcept nogil:
    cdef State start
    memset(&start, 0, sizeof(State))
    self.pattern = pattern
    self.edges = edges
    start.row0 = 1
    start.row1 = (start.row0 | start.row0 << 1) & self.keep1
    start.row2 = (start.row1 | start.row1 << 1) & self.keep2
    start.row3 = (start.row2 | start.row2 << 1) & self.keep3
    if root:
        visit(self, root, &start, 0)


cdef struct Fork:
    # What is the same for all edges of a node.
    const State *state
    State other  # the state behind every character that the pattern does not have where it matters
    uint64_t places  # of the pattern that are reached
    bint is_open  # `other` leads on


cdef void visit(Search *self, uint32_t node, const State *state, int depth) noexcept nogil:
    """Look at what lies below `node`, which is reached with a whole character."""
    cdef Fork fork
    fork.state = state
    step_over(self, state, 0, &fork.other)
    fork.is_open = (fork.other.row1 | fork.other.row2 | fork.other.row3) != 0
    fork.places = (
        state.row0 | state.row1 | state.row2 | state.row3 | state.swap1 | state.swap2 | state.swap3
    )
    branch(self, node, &fork, depth, 0, 0)


cdef void branch(
    Search *self, uint32_t node, const Fork *fork, int depth, uint32_t begun, int missing
) noexcept nogil:
    """Look at the edges of a node inside a character: `begun` are its bits so far, `missing` bytes are to come."""
    cdef uint64_t edge = 0, mask
    cdef uint32_t point
    cdef int behind
    cdef State state
    while not edge & LAST:
        edge = edge_at(self.edges, node)
        node += 1
        self.budget -= 1
        if self.budget < 0:
            return
        if missing:
            behind = missing - 1
            point = begun << 6 | (<uint8_t> edge & 0x3F)
        else:
            mask = self.pattern.first[<uint8_t> edge]
            if (mask | mask >> 1) & fork.places == 0:
                if not fork.is_open:
                    continue
                if <uint8_t> edge < 0x80:
                    arrive(self, edge, &fork.other, depth)
                    continue
            elif <uint8_t> edge < 0x80:
                step_over(self, fork.state, mask, &state)
                arrive(self, edge, &state, depth)
                continue
            behind = bytes_behind(<uint8_t> edge)
            point = bits_of_lead(<uint8_t> edge)
        if behind:
            if not edge & self.pattern.main_width and not missing and width_of(<uint8_t> edge) != self.pattern.main_width and is_far(self, fork.state):
                continue
            if target_of(edge) and depth + 1 < WORD_MAX:
                self.word[depth] = <uint8_t> edge
                branch(self, target_of(edge), fork, depth + 1, point, behind)
            continue
        mask = self.pattern.wide[wide_slot(self.pattern, point)]
        if (mask | mask >> 1) & fork.places:
            step_over(self, fork.state, mask, &state)
            arrive(self, edge, &state, depth)
        elif fork.is_open:
            arrive(self, edge, &fork.other, depth)


cdef inline void step_over(const Search *self, const State *old, uint64_t mask, State *new) noexcept nogil:
    """Read one more character, which the pattern has at the places of `mask`."""
    new.row0 = (old.row0 & mask) << 1
    new.row1 = (
        ((old.row1 & mask) | old.row0 | new.row0) << 1 | old.row0 | (old.swap1 & mask) << 2
    ) & self.keep1
    new.row2 = (
        ((old.row2 & mask) | old.row1 | new.row1) << 1 | old.row1 | (old.swap2 & mask) << 2
    ) & self.keep2
    new.row3 = (
        ((old.row3 & mask) | old.row2 | new.row2) << 1 | old.row2 | (old.swap3 & mask) << 2
    ) & self.keep3
    new.swap1 = old.row0 & mask >> 1 & self.begin1
    new.swap2 = old.row1 & mask >> 1 & self.begin2
    new.swap3 = old.row2 & mask >> 1 & self.begin3


cdef inline void arrive(Search *self, uint64_t edge, const State *state, int depth) noexcept nogil:
    """Note the word that ends with this edge, if it is near enough, and go on if any can be."""
    cdef uint32_t target = target_of(edge)
    self.word[depth] = <uint8_t> edge
    if edge & WORD:
        note(self, state, depth + 1)
    if target and depth + 1 < WORD_MAX and (
        state.row0 | state.row1 | state.row2 | state.row3 | state.swap1 | state.swap2 | state.swap3
    ):
        if not edge & self.pattern.main_width and is_far(self, state):
            return
        visit(self, target, state, depth + 1)


cdef inline bint is_far(const Search *self, const State *state) noexcept nogil:
    cdef const uint64_t *few = self.pattern.few + self.distance
    cdef uint64_t near = state.row0 & few[0]
    if self.distance >= 1:
        near |= (state.row1 | state.swap1 << 2) & few[-1]
    if self.distance >= 2:
        near |= (state.row2 | state.swap2 << 2) & few[-2]
    if self.distance >= 3:
        near |= (state.row3 | state.swap3 << 2) & few[-3]
    return near == 0


cdef inline void note(Search *self, const State *state, int size) noexcept nogil:
    cdef uint64_t end = <uint64_t> 1 << self.pattern.size
    if state.row0 & end:
        keep(self, size, 0)
    elif state.row1 & end:
        keep(self, size, 1)
    elif state.row2 & end:
        keep(self, size, 2)
    elif state.row3 & end:
        keep(self, size, 3)


cdef void keep(Search *self, int size, int distance) noexcept nogil:
    cdef Found *found
    if self.count == self.capacity:
        found = <Found *> realloc(self.found, (2 * self.capacity + 16) * sizeof(Found))
        if found == NULL:
            self.failed = True
            self.budget = 0
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
    """What `correct` found: `matches` are pairs of word and distance; `whole`: the edge budget was enough for all."""
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
