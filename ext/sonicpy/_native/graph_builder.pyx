"""Builds the content of a graph file from sorted words; graph.pyx describes the file.

Each automaton is built by the incremental minimisation of sorted words of Daciuk, Mihov, Watson and Watson (2000): the
nodes on the path of the last word are open, all others are finished, and a hash table over the finished nodes finds the
one that equals a node about to be finished. When an automaton is complete, short_nodes.pxd converts its nodes to those
of the file.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy, memset

from sonicpy._native.automaton cimport (
    ALIAS_MAX,
    CRC_BYTES,
    ENDS_WORD,
    FORMAT,
    HEADER_BYTES,
    MAGIC,
    SIGN_BYTES,
    SIGN_HEAD,
    SIGN_SKIP_MAX,
    SIGN_WORDS,
    TARGET_SHIFT,
    WIDTHS,
    WORD_MAX,
    ZERO_BYTES,
    read_u64,
    reverse,
    width_flag,
    write_sign,
    write_u32,
    write_u64,
)
from sonicpy._native.hash_table cimport (
    GOLDEN_RATIO_64,
    HashTable,
    begin_table,
    double_table,
    end_table,
    home_slot,
    next_match,
    set_slot,
)
from sonicpy._native.memory cimport grown
from sonicpy._native.parts cimport Parts, Span, begins_plainly, find_parts, without_camels, write_alias
from sonicpy._native.short_nodes cimport FINISHED_EDGE_BYTES, short_nodes
from sonicpy._native.utf8 cimport is_utf8
from sonicpy._native.word_sort cimport Headed, compare_words, head_of, sort_words

import os
import zlib

cdef enum:
    NODE_EDGES_MAX = 179  # bytes that begin a character: 128 of ASCII (the zero of an alias is one of them), 51 leads
    NODE_BYTES_MAX = 1 + NODE_EDGES_MAX * (1 + FINISHED_EDGE_BYTES)
    NODES_BYTES = 16384  # room for finished nodes at first
    NODE_SLOTS = 4096  # of the hash table at first
    WORDS_BYTES = 4096  # room for words at first

WORD_BYTES_MAX = WORD_MAX

AUTOMATON_MAX_BYTES = 1 << (32 - TARGET_SHIFT)
"""The most bytes that targets can address: enough for some 30 million words."""


class GraphTooLarge(ValueError):
    """The words need more bytes than are allowed."""


# -- an automaton -------------------------------------------------------------------------------------------------

cdef struct OpenNode:
    int count
    uint8_t labels[NODE_EDGES_MAX]
    uint32_t edges[NODE_EDGES_MAX]


cdef struct Automaton:
    # The finished nodes, each once, are in `nodes`; those on the path of the last word are still in `open`.
    uint8_t *nodes
    Py_ssize_t size, capacity, size_max
    HashTable places  # of the finished nodes
    uint64_t count, seed
    OpenNode open[ALIAS_MAX]
    uint8_t last[ALIAS_MAX]
    int last_size
    uint32_t root


cdef Automaton *new_automaton(Py_ssize_t size_max, uint64_t seed) except NULL nogil:
    cdef Automaton *self = <Automaton *> calloc(1, sizeof(Automaton))
    if self != NULL:
        self.capacity = NODES_BYTES
        self.size_max = size_max
        self.seed = seed
        self.nodes = <uint8_t *> calloc(self.capacity, 1)
        self.size = 1
        if self.nodes != NULL and begin_table(&self.places, NODE_SLOTS):
            return self
    free_automaton(self)
    with gil:
        raise MemoryError


cdef void free_automaton(Automaton *self) noexcept nogil:
    if self != NULL:
        free(self.nodes)
        end_table(&self.places)
        free(self)


cdef int add_word(Automaton *self, const uint8_t *word, int size) except -1 nogil:
    """Add a word greater than the last one."""
    cdef int common = 0, depth
    cdef OpenNode *node
    while common < self.last_size and common < size and word[common] == self.last[common]:
        common += 1
    finish_below(self, common)
    for depth in range(common, size):
        node = &self.open[depth]
        node.labels[node.count] = word[depth]
        node.edges[node.count] = ENDS_WORD if depth == size - 1 else 0
        node.count += 1
    memcpy(self.last, word, size)
    self.last_size = size
    return 0


cdef int finish_automaton(Automaton *self) except -1 nogil:
    finish_below(self, 0)
    if self.last_size:
        self.root = finish_node(self, &self.open[0])
    return 0


cdef int shorten(Automaton *self) except -1 nogil:
    """Convert the finished nodes to the form in the file."""
    cdef uint8_t *nodes = short_nodes(self.nodes, self.size, &self.root, &self.size)
    free(self.nodes)
    self.nodes = nodes
    return 0


cdef int finish_below(Automaton *self, int common) except -1 nogil:
    """Finish the open nodes deeper than `common`: no later word passes through them."""
    cdef int depth
    cdef uint32_t widths
    cdef OpenNode *parent
    for depth in range(self.last_size - 1, common, -1):
        widths = widths_behind(&self.open[depth])
        parent = &self.open[depth - 1]
        parent.edges[parent.count - 1] |= finish_node(self, &self.open[depth]) << TARGET_SHIFT | widths
    return 0


cdef uint32_t widths_behind(const OpenNode *node) noexcept nogil:
    cdef uint32_t widths = 0
    cdef int step
    for step in range(node.count):
        widths |= node.edges[step] | width_flag(node.labels[step])
    return widths & WIDTHS


cdef uint32_t finish_node(Automaton *self, OpenNode *node) except 0 nogil:
    """Finish an open node: return the place of an equal finished node, or append one; the open node becomes empty.

    Raises:
        GraphTooLarge: the automaton would need more bytes than allowed.
    """
    cdef uint8_t packed[NODE_BYTES_MAX + 8]
    cdef Py_ssize_t size = pack_node(node, packed)
    cdef uint32_t hash = hash_node(self.seed, packed, size)
    cdef uint32_t slot = home_slot(&self.places, hash)
    cdef int64_t place
    node.count = 0
    while True:
        place = next_match(&self.places, hash, &slot)
        if place < 0:
            break
        if place + size <= self.size and memcmp(self.nodes + place, packed, size) == 0:
            return <uint32_t> place
    if self.size + size > self.size_max:
        with gil:
            raise GraphTooLarge
    self.nodes = <uint8_t *> grown(self.nodes, &self.capacity, self.size + size, 1)
    place = self.size
    memcpy(self.nodes + place, packed, size)
    self.size += size
    set_slot(&self.places, slot, hash, <uint32_t> place)
    self.count += 1
    if 2 * self.count > self.places.mask and not double_table(&self.places):
        with gil:
            raise MemoryError
    return <uint32_t> place


cdef Py_ssize_t pack_node(const OpenNode *node, uint8_t *out) noexcept nogil:
    """Write the bytes of a node and return their number."""
    cdef int step
    out[0] = <uint8_t> node.count
    memcpy(out + 1, node.labels, node.count)
    for step in range(node.count):
        write_u32(out + 1 + node.count + FINISHED_EDGE_BYTES * step, node.edges[step])
    return 1 + node.count * (1 + FINISHED_EDGE_BYTES)


cdef uint32_t hash_node(uint64_t seed, uint8_t *packed, Py_ssize_t size) noexcept nogil:
    """Return the hash of a packed node, computed eight bytes at a time; sets the eight bytes behind the node to
    zero."""
    cdef uint64_t value = seed
    cdef Py_ssize_t at
    memset(packed + size, 0, 8)
    for at in range(0, size, 8):
        value = (value ^ read_u64(packed + at)) * GOLDEN_RATIO_64
        value ^= value >> 29
    return <uint32_t> (value >> 16)


# -- all words, forward and reversed ------------------------------------------------------------------------------

cdef int add_sorted(Automaton *self, const uint8_t *words, Py_ssize_t size) except -1 nogil:
    """Add every word of a run of (length, bytes), which are in byte order, and finish the automaton."""
    cdef Py_ssize_t at = 0
    while at < size:
        add_word(self, words + at + 1, words[at])
        at += 1 + words[at]
    return finish_automaton(self)


cdef int add_unsorted(Automaton *self, const uint8_t *words, uint64_t count) except -1 nogil:
    """Add every word of a run of (length, bytes), which are in no order, each once, and finish the automaton.

    Eight bytes behind the run must be readable.
    """
    cdef Headed *sorted_words = <Headed *> malloc((2 * count + 1) * sizeof(Headed))  # the second half is room to sort
    cdef uint64_t number
    if sorted_words == NULL:
        with gil:
            raise MemoryError
    try:
        for number in range(count):
            sorted_words[number] = Headed(head_of(words), words)
            words += 1 + words[0]
        sort_words(sorted_words, sorted_words + count, count)
        for number in range(count):
            if number == 0 or compare_words(&sorted_words[number - 1], &sorted_words[number]):
                add_word(self, sorted_words[number].word + 1, sorted_words[number].word[0])
    finally:
        free(sorted_words)
    return finish_automaton(self)


cdef int add_reversed(Automaton *self, const uint8_t *words, Py_ssize_t size, uint64_t count) except -1 nogil:
    """Add every word of a run of (length, bytes), reversed, and finish the automaton."""
    cdef uint8_t *reversed_words = <uint8_t *> malloc(size + 8)
    if reversed_words == NULL:
        with gil:
            raise MemoryError
    try:
        reverse_words(words, count, reversed_words)
        return add_unsorted(self, reversed_words, count)
    finally:
        free(reversed_words)


cdef void reverse_words(const uint8_t *words, uint64_t count, uint8_t *out) noexcept nogil:
    """Reverse every word of a run of (length, bytes) into another run."""
    cdef uint64_t number
    for number in range(count):
        out[0] = words[0]
        reverse(words + 1, words[0], out + 1)
        out += 1 + words[0]
        words += 1 + words[0]


# -- parts of words -----------------------------------------------------------------------------------------------

cdef struct Run:  # of (length, bytes)
    uint8_t *words
    Py_ssize_t size, capacity
    uint64_t count


cdef int add_aliases(Run *aliases, const uint8_t *words, Py_ssize_t size) except -1 nogil:
    """Add an alias, in the form of parts.pyx, for each part of a word except parts that begin the word."""
    cdef Parts parts
    cdef Py_ssize_t at = 0
    cdef int number
    while at < size:
        find_parts(words + at + 1, words[at], &parts)
        for number in range(parts.count):
            if not begins_plainly(words + at + 1, &parts, number):
                aliases.words = <uint8_t *> grown(
                    aliases.words, &aliases.capacity, aliases.size + 1 + 2 * <Py_ssize_t> words[at] + 2 + 8, 1
                )
                add_alias(aliases, words + at + 1, words[at], &parts.spans[number])
        at += 1 + words[at]
    return 0


cdef void add_alias(Run *aliases, const uint8_t *word, Py_ssize_t size, const Span *part) noexcept nogil:
    """Add an alias; there must be room for it."""
    cdef uint8_t *out = aliases.words + aliases.size + 1
    cdef Py_ssize_t written = write_alias(word, size, part, out)
    if written <= ALIAS_MAX:
        out[-1] = <uint8_t> written
        aliases.size += 1 + written
        aliases.count += 1


# -- the builder --------------------------------------------------------------------------------------------------

cdef class PackedGraphBuilder:
    """Builds a graph: takes its words, then returns the content of the graph file.

    Args:
        automaton_max_bytes: the most bytes of each of the three automata.
    """
    cdef uint8_t *_words  # length and bytes of each, in order
    cdef Run _humped  # hidden terms
    cdef Py_ssize_t _size, _capacity, _last
    cdef uint64_t _count
    cdef Py_ssize_t _automaton_max
    cdef bint _finished

    def __cinit__(self, uint64_t automaton_max_bytes=AUTOMATON_MAX_BYTES):
        self._automaton_max = <Py_ssize_t> min(automaton_max_bytes, <uint64_t> AUTOMATON_MAX_BYTES)
        self._words = <uint8_t *> grown(NULL, &self._capacity, WORDS_BYTES, 1)

    def __dealloc__(self):
        free(self._words)
        free(self._humped.words)

    def __len__(self) -> int:
        return self._count

    def add(self, bytes word not None) -> None:
        """Add a word of 1 to 160 bytes of UTF-8 that is greater, byte by byte, than the one added before it.

        Raises:
            ValueError: the word is not of this kind, or the builder is finished.
        """
        self.take(word)

    def add_all(self, list words not None) -> None:
        """Add words one after the other, as `add` does. Other threads wait meanwhile."""
        for word in words:
            self.take(word)

    cdef int take(self, bytes word) except -1:
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
        self._words = <uint8_t *> grown(self._words, &self._capacity, self._size + 1 + size, 1)
        self._last = self._size
        self._words[self._size] = <uint8_t> size
        memcpy(self._words + self._size + 1, text, size)
        self._size += 1 + size
        self._count += 1

    def add_joints(self, bytes term not None) -> None:
        """Add a hidden term: a word with a byte 2 wherever a small letter met a capital one when it was typed.

        A look-up of the parts between these joints then finds the word. Words that are too long for graphs are ignored.

        Raises:
            ValueError: the builder is finished, or the term is not UTF-8.
        """
        cdef Py_ssize_t size = len(term), plain_size
        cdef uint8_t plain[255]
        if self._finished:
            raise ValueError("a finished builder takes no further word")
        if not is_utf8(<const uint8_t *> term, size):
            raise ValueError(f"a hidden term is UTF-8, not {term!r}")
        if size > 255:
            return
        plain_size = without_camels(<const uint8_t *> term, size, plain)
        if not 0 < plain_size <= WORD_MAX or plain_size == size:
            return
        self._humped.words = <uint8_t *> grown(
            self._humped.words, &self._humped.capacity, self._humped.size + 1 + size, 1
        )
        self._humped.words[self._humped.size] = <uint8_t> size
        memcpy(self._humped.words + self._humped.size + 1, <const uint8_t *> term, size)
        self._humped.size += 1 + size

    cdef bint is_next(self, const uint8_t *text, Py_ssize_t size) noexcept nogil:
        cdef const uint8_t *last = self._words + self._last
        cdef int order = memcmp(text, last + 1, min(size, <Py_ssize_t> last[0]))
        return order > 0 or (order == 0 and size > last[0])

    cdef bytes last_word(self):
        return PyBytes_FromStringAndSize(<char *> self._words + self._last + 1, self._words[self._last])

    def finish(self, uint32_t bucket, uint64_t version) -> bytes:
        """Return the content of the graph file. Other threads can run meanwhile.

        Args:
            bucket: the id of the bucket.
            version: the version of the lexicon; it becomes `PackedGraph.version`.

        Raises:
            GraphTooLarge: an automaton needs more bytes than allowed.
            ValueError: the builder is finished already.
        """
        cdef Automaton *forward = NULL, *backward = NULL, *parted = NULL
        cdef Run aliases
        cdef uint64_t seed = int.from_bytes(os.urandom(8), "little") | 1  # unknown to clients, so that no words can be made to collide
        if self._finished:
            raise ValueError("a builder is finished once")
        self._finished = True
        memset(&aliases, 0, sizeof(Run))
        try:
            with nogil:
                forward = new_automaton(self._automaton_max, seed)
                backward = new_automaton(self._automaton_max, seed)
                add_sorted(forward, self._words, self._size)
                add_reversed(backward, self._words, self._size, self._count)
                add_aliases(&aliases, self._words, self._size)
                add_aliases(&aliases, self._humped.words, self._humped.size)
                parted = new_automaton(self._automaton_max, seed)
                add_unsorted(parted, aliases.words, aliases.count)
                shorten(forward)
                shorten(backward)
                shorten(parted)
            return self.pack(bucket, version, forward, backward, parted)
        except GraphTooLarge:
            raise GraphTooLarge(f"{self._count} words need more than {self._automaton_max} bytes") from None
        finally:
            free_automaton(forward)
            free_automaton(backward)
            free_automaton(parted)
            free(aliases.words)

    cdef bytes pack(
        self, uint32_t bucket, uint64_t version, const Automaton *forward, const Automaton *backward, const Automaton *aliases
    ):
        cdef Py_ssize_t signs = <Py_ssize_t> (self._count // SIGN_WORDS * SIGN_BYTES)
        cdef Py_ssize_t size = HEADER_BYTES + forward.size + backward.size + aliases.size + signs + ZERO_BYTES + CRC_BYTES
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
        write_u32(out + 48, <uint32_t> aliases.size)
        write_u32(out + 52, aliases.root)
        out += HEADER_BYTES
        memcpy(out, forward.nodes, forward.size)
        memcpy(out + forward.size, backward.nodes, backward.size)
        memcpy(out + forward.size + backward.size, aliases.nodes, aliases.size)
        out += forward.size + backward.size + aliases.size
        memset(out, 0, signs + ZERO_BYTES)
        write_signs(out, self._words, self._count)
        write_u32(out + signs + ZERO_BYTES, zlib.crc32(memoryview(content)[:-CRC_BYTES]))
        return content


cdef void write_signs(uint8_t *out, const uint8_t *words, uint64_t count) noexcept nogil:
    """Write the sign of every 256th word of a run of (length, bytes) into bytes that are zero."""
    cdef uint64_t number
    cdef int before = 0  # how many longer words end the run before a word with the same first SIGN_HEAD bytes
    cdef const uint8_t *last = NULL
    for number in range(1, count + 1):
        if last != NULL and last[0] > SIGN_HEAD and words[0] > SIGN_HEAD and not memcmp(last + 1, words + 1, SIGN_HEAD):
            before = min(before + 1, <int> SIGN_SKIP_MAX - 1)
        else:
            before = 0
        last = words
        if number % SIGN_WORDS == 0:
            write_sign(out, words, before)
            out += SIGN_BYTES
        words += 1 + words[0]
