"""The word graph: the words of one bucket as minimal automata. Opens, verifies, lists and completes.

One automaton holds the words, another one the same words reversed by characters, the third one aliases of
joined words, which begin with a part of the word (parts.pyx). Parts that begin a word have no alias: the words with
them are among those with this beginning. The file (little-endian):

    magic       8 bytes "SPYGRAPH"
    format      u16, and u16 zero
    bucket      u32
    version     u64, the version of the lexicon
    words       u64
    forward     u32 bytes of the automaton, u32 its root
    backward    u32 bytes of the automaton, u32 its root
    aliases     u32 bytes of the automaton, u32 its root; files of formats 1 and 2 have none
    automata    forward, backward, aliases: a zero byte, then the nodes
    signs       41 bytes each: length and bytes of every 256th word in byte order, so that places are found by number;
                of a word of more than 40 bytes 255, its first 38 bytes, and u16 how many words there are from them on
                up to it
    zeros       8 bytes, so that labels can be read eight at a time
    crc         u32, CRC-32 of everything before it

    node        u8 bytes of an edge << 6 | number of edges, their labels by rising value, their edges; identified by its
                place in the automaton. If that u8 has another meaning, or is too small: u8 0x40, u8 number of edges,
                labels, edges of four bytes
    link        a node of one edge, to the next node, takes the place of its label alone below 0x40 or 0x60 to 0x7F, if
                bit 1 alone is set; else u8 0xB0 + bits 0 to 3 of the edge, label
    label       a byte of UTF-8
    edge        1 to 4 bytes: bit 0 a word ends here; bits 1 to 3 a character of one byte, of two, of more begins
                somewhere behind it; the other bits are its target less the place of its node, or 0: nothing is behind it

Invariant: a target is always a node behind the one that points to it, so an automaton has no cycle and every walk ends.
Labels are adjacent so that a walk in search of a label rejects most nodes by comparing eight bytes. More than half of all
nodes are links.

graph_builder.pyx builds the automata by the incremental minimisation of sorted words of Daciuk, Mihov, Watson and
Watson (2000); corrector.pyx walks them with the bit-parallel NFA of Wu and Manber (1992).
"""

from cpython.buffer cimport PyBUF_READ
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.memoryview cimport PyMemoryView_FromMemory
from libc.errno cimport errno
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy
from posix.fcntl cimport O_CLOEXEC, O_RDONLY, open as open_file
from posix.mman cimport MAP_FAILED, MAP_SHARED, PROT_READ, mmap, munmap
from posix.types cimport off_t
from posix.unistd cimport SEEK_END, close as close_file, lseek

from sonicpy._native.automaton cimport (
    CRC_BYTES,
    ENDS_WORD,
    FORMAT,
    HEADER_BYTES,
    MAGIC,
    SIGN_BYTES,
    SIGN_WORDS,
    ZERO_BYTES,
    Automata,
    Node,
    edge_of,
    find_label,
    is_link,
    open_node,
    read_u32,
    read_u64,
    stored_edge,
    target_of,
    write_u32,
)
from sonicpy._native.characters cimport BYTE_KINDS, IN_DIGITS, IN_LETTERS
from sonicpy._native.corrector cimport Corrections, correct
from sonicpy._native.graph_cursor cimport Cursor, go_behind, next_word, node_below, start_cursor
from sonicpy._native.memory cimport grown
from sonicpy._native.old_nodes cimport OLD_FORMAT, PLAIN_FORMAT, in_this_format
from sonicpy._native.parts cimport Parts, find_parts
from sonicpy._native.word_source cimport WordSource

import os
import zlib

from sonicpy._native.corrector import EDGE_BUDGET


cdef enum:
    PLAIN_HEADER_BYTES = 48  # of formats 1 and 2, which have no aliases


class DamagedGraph(ValueError):
    """The bytes are not a word graph."""


# -- opening ------------------------------------------------------------------------------------------------------

cdef class MappedFile:
    """A whole file mapped read-only for as long as this object lives; its descriptor is closed at once.

    The file must not be written or truncated in place meanwhile; replacing and deleting it are safe.

    Args:
        path: the path of the file, as bytes.

    Raises:
        OSError: the file cannot be opened or mapped.
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


cdef class PackedGraph:
    """The words of one bucket, read-only; any number of threads may use it.

    Args:
        content: a MappedFile of a graph file, or its bytes.

    Raises:
        DamagedGraph: the content is no graph, or it is incomplete or damaged.

    Attributes:
        source: the words, for the walks of `word_walks`.
        aliases: the aliases of joined words, for the same walks.
    """
    cdef object _owner
    cdef readonly WordSource source, aliases
    cdef Automata _automata
    cdef const uint8_t *_signs
    cdef readonly uint32_t bucket
    cdef readonly uint64_t version
    cdef readonly bint has_aliases  # else the file is of an older format
    cdef uint64_t _count

    def __cinit__(self, content):
        cdef const uint8_t *start
        cdef size_t size
        cdef const uint8_t *aliases
        cdef uint32_t format, header = PLAIN_HEADER_BYTES, aliases_bytes = 0, aliases_root = 0
        if isinstance(content, MappedFile):
            start = (<MappedFile> content)._start
            size = (<MappedFile> content)._size
        elif isinstance(content, bytes):
            start = <const uint8_t *> <bytes> content
            size = len(<bytes> content)
        else:
            raise TypeError(f"a graph is a MappedFile or bytes, not {type(content).__name__}")
        format = format_of(start, size)
        if format == OLD_FORMAT or format == PLAIN_FORMAT:
            content = in_short_nodes(start, size, format)
            start = <const uint8_t *> <bytes> content
        else:
            check_frame(start, size, FORMAT)
        self.has_aliases = format == FORMAT
        if self.has_aliases:
            header, aliases_bytes, aliases_root = HEADER_BYTES, read_u32(start + 48), read_u32(start + 52)
        self._owner = content
        self.bucket = read_u32(start + 12)
        self.version = read_u64(start + 16)
        self._count = read_u64(start + 24)
        self._automata.forward = start + header
        self._automata.forward_root = read_u32(start + 36)
        self._automata.backward = self._automata.forward + read_u32(start + 32)
        self._automata.backward_root = read_u32(start + 44)
        aliases = self._automata.backward + read_u32(start + 40)
        self._signs = aliases + aliases_bytes
        check_automaton(self._automata.forward, read_u32(start + 32), self._automata.forward_root)
        check_automaton(self._automata.backward, read_u32(start + 40), self._automata.backward_root)
        if self.has_aliases:
            check_automaton(aliases, aliases_bytes, aliases_root)
        self.source = source_of(content, self._automata.forward, self._automata.forward_root)
        self.aliases = source_of(content, aliases if aliases_root else NULL, aliases_root)

    def __len__(self) -> int:
        return self._count

    def contains(self, bytes word not None) -> bool:
        """Return whether `word` is in the graph."""
        return has_word(self._automata.forward, self._automata.forward_root, <const uint8_t *> word, len(word))

    def complete(self, bytes prefix not None, Py_ssize_t limit, bytes after=None) -> list:
        """Return at most `limit` words that begin with `prefix`, in byte order, `prefix` itself included.

        Args:
            prefix: the prefix, which may be empty, or end inside a character.
            limit: the most words; negative: no limit.
            after: only words greater than this one; with the last word of a page, the next page is returned.
        """
        cdef Cursor cursor
        cdef list found = []
        self.start(&cursor, prefix, after)
        while limit != 0 and next_word(&cursor):
            found.append(PyBytes_FromStringAndSize(<char *> cursor.word, cursor.depth))
            limit -= 1
        return found

    def completions(self, bytes prefix not None, bytes after=None) -> Completions:
        """Return an iterator over the words that `complete` would return, which finds each word on demand; the
        arguments are those of `complete`."""
        cdef Completions words = Completions.__new__(Completions)
        words._graph = self
        self.start(&words._cursor, prefix, after)
        return words

    cdef void start(self, Cursor *cursor, bytes prefix, bytes after) noexcept:
        """Move a cursor before the first word of `complete`. The graph has to outlive the cursor."""
        cdef const uint8_t *bound = NULL
        cdef Py_ssize_t bound_size = 0
        if after is not None:
            bound = <const uint8_t *> after
            bound_size = len(after)
        cursor.nodes = self._automata.forward
        cursor.root = self._automata.forward_root
        start_cursor(cursor, <const uint8_t *> prefix, len(prefix), bound, bound_size)

    def begun(self, bytes part not None, Py_ssize_t most, int64_t letters) -> list:
        """Return the words that begin with a part, followed by a joint and more: the first ones in byte order.

        Args:
            most: the most words to return.
            letters: the most bytes behind the part to examine, of all words together.
        """
        cdef Completions words = self.completions(part)
        cdef Parts parts
        cdef list found = []
        cdef Py_ssize_t size = len(part)
        cdef uint8_t label
        cdef Node node
        cdef int step
        if size == 0 or words._cursor.has_ended or not node_below(&words._cursor):
            return found
        open_node(&node, words._cursor.nodes, node_below(&words._cursor))
        for step in range(node.count):
            label = node.labels[step]
            if may_join((<const uint8_t *> part)[size - 1], label):
                start = part + PyBytes_FromStringAndSize(<const char *> &label, 1)
                start_cursor(&words._cursor, <const uint8_t *> <bytes> start, size + 1, NULL, 0)
                while len(found) < most and letters > 0 and next_word(&words._cursor):
                    letters -= words._cursor.depth - size
                    find_parts(words._cursor.word, words._cursor.depth, &parts)
                    if begins_with_part(&parts, size):
                        found.append(words.word())
        return found

    def words(self, uint64_t offset, Py_ssize_t limit) -> list:
        """Return at most `limit` words (negative: all) from place `offset` on, in byte order."""
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

    def made_text(self) -> bytes:
        """Return all words in byte order, each with a line feed behind it. Other threads run meanwhile."""
        cdef Completions words = self.completions(b"")
        cdef Cursor *cursor = &words._cursor
        cdef uint8_t *letters = NULL
        cdef Py_ssize_t room = 0, used = 0
        try:
            with nogil:
                while next_word(cursor):
                    letters = <uint8_t *> grown(letters, &room, used + cursor.depth + 1, 1)
                    memcpy(letters + used, cursor.word, cursor.depth)
                    used += cursor.depth + 1
                    letters[used - 1] = c'\n'
            return PyBytes_FromStringAndSize(<char *> letters, used)
        finally:
            free(letters)

    def correct(
        self, bytes word not None, int distance, *, bint transpositions, limit=None, int64_t edge_budget=EDGE_BUDGET
    ) -> Corrections:
        """Return the words within an edit distance, nearest first, in byte order among equals.

        The distance is the number of characters inserted, deleted or replaced. The word itself has distance 0.
        Other threads run meanwhile if `distance` is 2 or 3.

        Args:
            word: a word in UTF-8; with more than 60 characters it has no correction.
            distance: the largest edit distance, 0 to 3.
            transpositions: True: a swap of two neighbours counts as one error, if nothing else is edited there (optimal
                string alignment). False: it counts as two (Levenshtein).
            limit: the most words to return; None: all.
            edge_budget: the most edges to visit, so that no word takes long; a match counts as 50 edges.

        Raises:
            ValueError: the distance is out of range or the word is not UTF-8.
        """
        return correct(&self._automata, word, distance, transpositions, -1 if limit is None else limit, edge_budget)


cdef WordSource source_of(object owner, const uint8_t *nodes, uint32_t root):
    """Return the words of an automaton as a source of walks."""
    cdef WordSource source = WordSource.__new__(WordSource)
    source._owner = owner
    source.words.nodes = nodes
    source.words.root = root
    return source


cdef inline bint may_join(uint8_t last, uint8_t label) noexcept nogil:
    """Return whether there may be a joint between two bytes."""
    return (BYTE_KINDS[last] & IN_LETTERS == 0 or BYTE_KINDS[label] & IN_LETTERS == 0) and (
        BYTE_KINDS[last] & IN_DIGITS == 0 or BYTE_KINDS[label] & IN_DIGITS == 0
    )


cdef bint begins_with_part(const Parts *parts, Py_ssize_t size) noexcept nogil:
    cdef int number
    for number in range(parts.count):
        if parts.spans[number].begin == 0 and parts.spans[number].end == size:
            return True
    return False


cdef uint32_t format_of(const uint8_t *start, size_t size) noexcept nogil:
    return read_u32(start + 8) if size >= PLAIN_HEADER_BYTES else 0


cdef bytes in_short_nodes(const uint8_t *start, size_t size, uint32_t format):
    """Return the content of a file of format 1 or 2 with its nodes in the form of the present format, without a
    checksum. Raises DamagedGraph."""
    cdef uint8_t *forward = NULL
    cdef uint8_t *backward = NULL
    cdef const uint8_t *nodes
    cdef uint32_t old_forward, old_backward, forward_root, backward_root
    cdef Py_ssize_t forward_size = 0, backward_size = 0, signs
    cdef uint8_t *out
    cdef bytes content
    check_frame(start, size, format)
    old_forward, old_backward = read_u32(start + 32), read_u32(start + 40)
    forward_root, backward_root = read_u32(start + 36), read_u32(start + 44)
    signs = size - PLAIN_HEADER_BYTES - old_forward - old_backward
    try:
        with nogil:
            nodes = start + PLAIN_HEADER_BYTES
            forward = in_this_format(nodes, old_forward, format, &forward_root, &forward_size)
            backward = in_this_format(nodes + old_forward, old_backward, format, &backward_root, &backward_size)
        content = PyBytes_FromStringAndSize(NULL, PLAIN_HEADER_BYTES + forward_size + backward_size + signs)
        out = <uint8_t *> <char *> content
        memcpy(out, start, PLAIN_HEADER_BYTES)
        write_u32(out + 32, <uint32_t> forward_size)
        write_u32(out + 36, forward_root)
        write_u32(out + 40, <uint32_t> backward_size)
        write_u32(out + 44, backward_root)
        out += PLAIN_HEADER_BYTES
        memcpy(out, forward, forward_size)
        memcpy(out + forward_size, backward, backward_size)
        memcpy(out + forward_size + backward_size, start + size - signs, signs)
        return content
    except ValueError as error:
        raise DamagedGraph("an edge leads to where no node is") from error
    finally:
        free(forward)
        free(backward)


cdef int check_frame(const uint8_t *start, size_t size, uint32_t format) except -1:
    """Verify magic, format, size and checksum. Raises DamagedGraph."""
    cdef uint64_t expected
    cdef uint32_t header = HEADER_BYTES if format == FORMAT else PLAIN_HEADER_BYTES
    if size < header + ZERO_BYTES + CRC_BYTES:
        raise DamagedGraph(f"{size} bytes are too few")
    if memcmp(start, MAGIC, 8):
        raise DamagedGraph("it does not begin as a word graph does")
    if read_u32(start + 8) != format:
        raise DamagedGraph(f"its format is {read_u32(start + 8)}, not {FORMAT}")
    expected = header + <uint64_t> read_u32(start + 32) + read_u32(start + 40) + ZERO_BYTES + CRC_BYTES
    if format == FORMAT:
        expected += read_u32(start + 48)
    expected += read_u64(start + 24) // SIGN_WORDS * SIGN_BYTES
    if size != expected:
        raise DamagedGraph(f"it has {size} bytes, not {expected}")
    content = PyMemoryView_FromMemory(<char *> start, size - CRC_BYTES, PyBUF_READ)
    if zlib.crc32(content) != read_u32(start + size - CRC_BYTES):
        raise DamagedGraph("its checksum is wrong")
    return 0


cdef int check_automaton(const uint8_t *nodes, uint32_t size, uint32_t root) except -1:
    """Verify that every node lies inside the automaton, every edge leads to a node behind its own, and the root is a
    node or 0. Raises DamagedGraph."""
    cdef uint32_t bitmap = size // 8 + 1
    cdef uint8_t *begins = <uint8_t *> calloc(2 * <size_t> bitmap, 1)  # a bit for each byte: a node begins here,
    cdef uint8_t *targets = begins + bitmap  # and an edge leads here
    cdef bint sound
    if begins == NULL:
        raise MemoryError
    with nogil:
        if root < size:
            mark(targets, root)
        sound = root < size and mark_nodes(nodes, size, begins, targets)
    free(begins)
    if not sound:
        raise DamagedGraph("an edge leads to where no node is")
    return 0


cdef bint mark_nodes(const uint8_t *nodes, uint32_t size, uint8_t *begins, uint8_t *targets) noexcept nogil:
    """Mark where nodes begin and where their edges lead; return whether there is a node wherever an edge leads, and all
    lie inside the automaton."""
    cdef uint32_t place = 1, distance
    cdef uint64_t end
    cdef Node node
    cdef int step
    mark(begins, 0)  # of edges that lead nowhere
    while place < size:
        mark(begins, place)
        open_node(&node, nodes, place)
        end = node.labels + node.count - nodes
        if not is_link(&node):
            end += node.count * node.width
        if node.count == 0 or node.width == 0 or end > size:
            return False
        for step in range(node.count):
            distance = target_of(stored_edge(&node, step))
            if distance >= size - place:
                return False
            if distance:
                mark(targets, place + distance)
        place = <uint32_t> end
    for place in range(size // 8 + 1):
        if targets[place] & ~begins[place]:
            return False
    return True


cdef inline void mark(uint8_t *bitmap, uint32_t place) noexcept nogil:
    bitmap[place >> 3] |= <uint8_t> (1 << (place & 7))


cdef bint has_word(const uint8_t *nodes, uint32_t place, const uint8_t *text, Py_ssize_t size) noexcept nogil:
    cdef uint32_t edge = 0
    cdef Py_ssize_t step
    cdef Node node
    cdef int found
    for step in range(size):
        if not place:
            return False
        open_node(&node, nodes, place)
        found = find_label(&node, text[step])
        if found < 0:
            return False
        edge = edge_of(&node, found)
        place = target_of(edge)
    return edge & ENDS_WORD


# -- listing ------------------------------------------------------------------------------------------------------

cdef class Completions:
    """An iterator over words in byte order."""
    cdef PackedGraph _graph
    cdef Cursor _cursor

    def __iter__(self) -> Completions:
        return self

    def __next__(self) -> bytes:
        if not next_word(&self._cursor):
            raise StopIteration
        return self.word()

    cdef inline bytes word(self):
        return PyBytes_FromStringAndSize(<char *> self._cursor.word, self._cursor.depth)
