"""The nodes and edges of a word graph as bytes, for its builder, its reader and the corrector; graph.pyx describes the
file."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from sonicpy._native.bits cimport lowest_bit
from sonicpy._native.memory cimport prefetch
from sonicpy._native.utf8 cimport character_bytes

cdef extern from *:
    """
    #define MAGIC "SPYGRAPH"
    #define swap_bytes(bytes) __builtin_bswap64(bytes)

    /* By the first byte of a node: the stored edge of a link, 0 for other nodes. The four last bytes are read behind it. */
    #define SIXTEEN(edge) edge, edge, edge, edge, edge, edge, edge, edge, edge, edge, edge, edge, edge, edge, edge, edge
    static const uint8_t LINKS[256 + 4] = {
        SIXTEEN(0x12), SIXTEEN(0x12), SIXTEEN(0x12), SIXTEEN(0x12), SIXTEEN(0), SIXTEEN(0), SIXTEEN(0x12), SIXTEEN(0x12),
        SIXTEEN(0), SIXTEEN(0), SIXTEEN(0), 0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28, 0x29, 0x2A, 0x2B, 0x2C,
        0x2D, 0x2E, 0x2F
    };
    """
    const char *MAGIC
    const uint8_t *LINKS
    uint64_t swap_bytes(uint64_t bytes) noexcept nogil


cdef enum:
    FORMAT = 4
    HEADER_BYTES = 56

    # The first byte of a node
    NODE_WIDTH_SHIFT = 6
    NODE_EDGES = 63
    WIDE_NODE = 0x40
    LONG_LINK = 0xB0  # with the flags of its edge
    LINK_DISTANCE_SHIFT = 5  # of the stored edge of a link, which gives the number of bytes before its label
    WIDEST_EDGE = 4
    ZERO_BYTES = 8
    CRC_BYTES = 4

    # An edge: flags, and the target above them. A width is the number of bytes of a character.
    ENDS_WORD = 1
    WIDTH_1 = 1 << 1
    WIDTH_2 = 1 << 2
    WIDTH_MORE = 1 << 3
    WIDTHS = WIDTH_1 | WIDTH_2 | WIDTH_MORE
    TARGET_SHIFT = 4
    FLAGS = (1 << TARGET_SHIFT) - 1

    WORD_MAX = 160  # bytes: 40 letters
    ALIAS_MAX = 240  # bytes of an alias of a word (parts.pyx); longer ones are left out
    SIGN_WORD_MAX = 40  # bytes of a word that a sign holds whole
    SIGN_BYTES = 1 + SIGN_WORD_MAX
    SIGN_LONG = 255  # instead of the length of a longer word: its first bytes, and how many words from there on it is
    SIGN_HEAD = SIGN_WORD_MAX - 2
    SIGN_SKIP_MAX = 0xFFFF
    SIGN_WORDS = 256


cdef struct Automata:  # of an open graph
    const uint8_t *forward
    const uint8_t *backward
    uint32_t forward_root, backward_root


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


cdef inline uint32_t target_of(uint32_t edge) noexcept nogil:
    return edge >> TARGET_SHIFT


cdef struct Node:  # a node of an automaton, opened
    const uint8_t *labels
    const uint8_t *edges
    int count
    int width  # bytes of an edge
    uint32_t mask
    uint32_t place  # as a target above flags


cdef inline void open_node(Node *node, const uint8_t *nodes, uint32_t place) noexcept nogil:
    cdef const uint8_t *at = nodes + place
    cdef const uint8_t *link = LINKS + at[0]
    node.place = place << TARGET_SHIFT
    if link[0]:
        node.count = node.width = 1
        node.labels, node.edges = at + (link[0] >> LINK_DISTANCE_SHIFT), link
    else:
        if at[0] != WIDE_NODE:
            node.count, node.width = at[0] & NODE_EDGES, at[0] >> NODE_WIDTH_SHIFT
            node.labels = at + 1
        else:
            node.count, node.width = at[1], WIDEST_EDGE
            node.labels = at + 2
        node.edges = node.labels + node.count
    node.mask = <uint32_t> -1 >> (32 - 8 * node.width & 31)


cdef inline bint is_link(const Node *node) noexcept nogil:
    return node.edges != node.labels + node.count


cdef inline uint32_t stored_edge(const Node *node, int step) noexcept nogil:
    """Return an edge in stored form: with the distance to its target instead of the target."""
    return read_u32(node.edges + node.width * step) & node.mask


cdef inline uint32_t edge_of(const Node *node, int step) noexcept nogil:
    cdef uint32_t edge = stored_edge(node, step)
    return edge if target_of(edge) == 0 else node.place + edge


cdef inline void prefetch_target(const Node *node, const uint8_t *nodes, int step) noexcept nogil:
    """Begin to load the node to which an edge leads: a walk waits longer for memory than it computes."""
    prefetch(nodes + target_of(edge_of(node, step)))


cdef inline int find_label(const Node *node, uint8_t label) noexcept nogil:
    """Return the place of a label in its node, or -1.

    Eight labels are compared at once: equal labels become zero. So eight bytes behind the last label must be readable;
    files end with ZERO_BYTES zeros for this.
    """
    cdef uint64_t ones = <uint64_t> 0x0101010101010101, found
    cdef int place = 0
    while place < node.count:
        found = read_u64(node.labels + place) ^ ones * label
        found = (found - ones) & ~found & ones << 7
        if found:
            place += lowest_bit(found) >> 3
            return place if place < node.count else -1
        place += 8
    return -1


cdef inline uint32_t width_flag(uint8_t label) noexcept nogil:
    """Return the flag of the width of the characters that begin with this byte; 0: no character does."""
    return WIDTH_1 if label < 0x80 else 0 if label < 0xC0 else WIDTH_2 if label < 0xE0 else WIDTH_MORE


cdef inline void reverse(const uint8_t *word, int size, uint8_t *out) noexcept nogil:
    """Write the characters of a word in reverse order, the bytes of each in order; every byte lands inside `out`."""
    cdef int at = 0, width
    while at < size:
        width = min(character_bytes(word[at]), size - at)
        memcpy(out + size - at - width, word + at, width)
        at += width


cdef inline void write_sign(uint8_t *out, const uint8_t *word, int before) noexcept nogil:
    """Write the sign of a word (length and bytes); `before` is the number of words before it with the same first
    SIGN_HEAD bytes."""
    if word[0] <= SIGN_WORD_MAX:
        memcpy(out, word, 1 + word[0])
        return
    out[0] = SIGN_LONG
    memcpy(out + 1, word + 1, SIGN_HEAD)
    out[1 + SIGN_HEAD] = <uint8_t> (before + 1)
    out[2 + SIGN_HEAD] = <uint8_t> ((before + 1) >> 8)
