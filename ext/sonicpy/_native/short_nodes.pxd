"""Converts the finished nodes of a builder to the nodes of a graph file (graph.pyx).

    finished node   u8 number of edges, their labels, their edges of four bytes, with their targets

Equal finished nodes have equal bytes, and are behind their targets. The nodes of a file are in the reverse order: most
targets are near, many the next node, so that a distance is a small number, or need not be stored.
"""

from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memmove

from sonicpy._native.automaton cimport (
    FLAGS,
    LINKS,
    LONG_LINK,
    NODE_EDGES,
    NODE_WIDTH_SHIFT,
    TARGET_SHIFT,
    WIDEST_EDGE,
    WIDE_NODE,
    read_u32,
)

cdef enum:
    FINISHED_EDGE_BYTES = 4
    FINISHED_NODE_BYTES_MIN = 1 + 1 + FINISHED_EDGE_BYTES


cdef inline uint8_t *short_nodes(
    const uint8_t *nodes, Py_ssize_t size, uint32_t *root, Py_ssize_t *short_size
) except NULL nogil:
    """Return the nodes of an automaton, which the caller has to free; replace `root` by the root of the new nodes.

    Raises:
        ValueError: the input does not consist of finished nodes.
        MemoryError: there is no memory.
    """
    cdef uint32_t *moved = <uint32_t *> calloc(size, sizeof(uint32_t))  # where a node goes, from the end, by its place
    cdef Py_ssize_t room_size = size + size // FINISHED_NODE_BYTES_MIN + 1  # one of many edges takes a byte more
    cdef uint8_t *room = <uint8_t *> malloc(room_size)
    cdef uint8_t *end = room + room_size
    cdef uint8_t *out = end
    cdef Py_ssize_t at = 1
    cdef bint has_room = moved != NULL and room != NULL
    if has_room:
        while at < size and out != NULL:
            out = put_short_node(out, end, nodes, at, size, moved)
            if out != NULL:
                moved[at] = <uint32_t> (end - out)
                at += 1 + nodes[at] * (1 + FINISHED_EDGE_BYTES)
        if out != NULL and root[0] < size and (root[0] == 0 or moved[root[0]]):
            short_size[0] = 1 + (end - out)
            root[0] = <uint32_t> short_size[0] - moved[root[0]] if root[0] else 0
            room[0] = 0
            memmove(room + 1, out, end - out)
            free(moved)
            return room
    free(moved)
    free(room)
    with gil:
        if has_room:
            raise ValueError("these are no nodes of an automaton")
        raise MemoryError


cdef inline uint8_t *put_short_node(
    uint8_t *before, const uint8_t *end, const uint8_t *nodes, Py_ssize_t at, Py_ssize_t size, const uint32_t *moved
) noexcept nogil:
    """Convert the finished node at a place, and write it just before the last new node; return the place of the new
    one; NULL: there is no finished node."""
    cdef const uint8_t *node = nodes + at
    cdef int count = node[0]
    cdef const uint8_t *edges = node + 1 + count
    cdef uint8_t *out
    cdef uint32_t stored[255]
    cdef uint32_t target
    cdef int step, byte, width = 1
    if not count or at + 1 + count * (1 + FINISHED_EDGE_BYTES) > size:
        return NULL
    for step in range(count):
        target = read_u32(edges + FINISHED_EDGE_BYTES * step) >> TARGET_SHIFT
        if target and (target >= at or not moved[target]):
            return NULL
    target = read_u32(edges) >> TARGET_SHIFT
    if count == 1 and target and moved[target] == end - before:
        return put_link(before, node[1], read_u32(edges) & FLAGS)
    while width < WIDEST_EDGE and not (
        has_head(count, width) and are_narrow(edges, count, end - before + node_bytes(count, width), moved, width, stored)
    ):
        width += 1
    out = before - node_bytes(count, width)
    before = out
    if width < WIDEST_EDGE:
        out[0] = <uint8_t> (width << NODE_WIDTH_SHIFT | count)
        out += 1
    else:
        are_narrow(edges, count, end - before, moved, width, stored)
        out[0], out[1] = WIDE_NODE, <uint8_t> count
        out += 2
    memcpy(out, node + 1, count)
    out += count
    for step in range(count):
        for byte in range(width):
            out[byte] = <uint8_t> (stored[step] >> 8 * byte)
        out += width
    return before


cdef inline uint8_t *put_link(uint8_t *before, uint8_t label, uint32_t flags) noexcept nogil:
    """Write a node with one edge to the next node."""
    before -= 1
    before[0] = label
    if LINKS[label] != (1 << TARGET_SHIFT | flags):
        before -= 1
        before[0] = <uint8_t> (LONG_LINK | flags)
    return before


cdef inline bint has_head(int count, int width) noexcept nogil:
    """Return whether a first byte means a node of this kind."""
    return count <= NODE_EDGES and LINKS[width << NODE_WIDTH_SHIFT | count] == 0


cdef inline Py_ssize_t node_bytes(int count, int width) noexcept nogil:
    return 1 + (width == WIDEST_EDGE) + count * (1 + width)


cdef inline bint are_narrow(
    const uint8_t *edges, int count, Py_ssize_t place, const uint32_t *moved, int width, uint32_t *stored
) noexcept nogil:
    """Write the stored edges of a node at a place from the end; return whether each has at most `width` bytes."""
    cdef uint32_t edge, all_edges = 0
    cdef int step
    for step in range(count):
        edge = read_u32(edges + FINISHED_EDGE_BYTES * step)
        if edge >> TARGET_SHIFT:
            edge = (<uint32_t> place - moved[edge >> TARGET_SHIFT]) << TARGET_SHIFT | edge & FLAGS
        stored[step] = edge
        all_edges |= edge
    return width == WIDEST_EDGE or all_edges >> 8 * width == 0
