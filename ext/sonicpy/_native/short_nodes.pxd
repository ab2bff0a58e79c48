"""Converts the finished nodes of a builder to the nodes of a graph file (graph.pyx).

    finished node   u8 number of edges, their labels, their edges of four bytes, with their targets

Equal finished nodes have equal bytes. Most targets are near, so that the distance back to them is a small number. Files
of format 1 hold finished nodes.
"""

from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

from sonicpy._native.automaton cimport FLAGS, NODE_EDGES, NODE_WIDTH_SHIFT, TARGET_SHIFT, WIDEST_EDGE, read_u32

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
    cdef uint32_t *moved = <uint32_t *> calloc(size, sizeof(uint32_t))  # where a node goes, by its place
    cdef uint8_t *room = <uint8_t *> malloc(size + size // FINISHED_NODE_BYTES_MIN + 1)  # one of many edges takes a byte more
    cdef uint8_t *out = room
    cdef Py_ssize_t at = 1
    cdef bint has_room = moved != NULL and room != NULL
    if has_room:
        out[0] = 0
        out += 1
        while at < size and out != NULL:
            moved[at] = <uint32_t> (out - room)
            out = put_short_node(out, nodes, at, size, moved)
            at += 1 + nodes[at] * (1 + FINISHED_EDGE_BYTES)
        if out != NULL and root[0] < size and (root[0] == 0 or moved[root[0]]):
            root[0] = moved[root[0]]
            short_size[0] = out - room
            free(moved)
            return room
    free(moved)
    free(room)
    with gil:
        if has_room:
            raise ValueError("these are no nodes of an automaton")
        raise MemoryError


cdef inline uint8_t *put_short_node(
    uint8_t *out, const uint8_t *nodes, Py_ssize_t at, Py_ssize_t size, const uint32_t *moved
) noexcept nogil:
    """Convert the finished node at a place; return the place for the next new node; NULL: there is no node at the
    place."""
    cdef const uint8_t *node = nodes + at
    cdef const uint8_t *edges = node + 1 + node[0]
    cdef uint32_t stored[255]
    cdef uint32_t edge, target, all_edges = 1
    cdef int step, byte, width = 1
    if not node[0] or at + 1 + node[0] * (1 + FINISHED_EDGE_BYTES) > size:
        return NULL
    for step in range(node[0]):
        edge = read_u32(edges + FINISHED_EDGE_BYTES * step)
        target = edge >> TARGET_SHIFT
        if target:
            if target >= at or not moved[target]:
                return NULL
            edge = (moved[at] - moved[target]) << TARGET_SHIFT | edge & FLAGS
        stored[step] = edge
        all_edges |= edge
    while width < WIDEST_EDGE and all_edges >> 8 * width:
        width += 1
    if width < WIDEST_EDGE and node[0] <= NODE_EDGES:
        out[0] = <uint8_t> (width << NODE_WIDTH_SHIFT | node[0])
    else:
        width = WIDEST_EDGE
        out[0], out[1] = 0, node[0]
        out += 1
    memcpy(out + 1, node + 1, node[0])
    out += 1 + node[0]
    for step in range(node[0]):
        for byte in range(width):
            out[byte] = <uint8_t> (stored[step] >> 8 * byte)
        out += width
    return out
