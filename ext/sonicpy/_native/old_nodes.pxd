"""Converts the nodes of older graph files: those of format 1, before 1.0, are finished nodes (short_nodes.pxd), those of
format 2, of 1.0, old nodes.

    old node    u8 bytes of an edge << 6 | number of edges, their labels, their edges; or u8 zero, u8 number of edges,
                labels, edges of four bytes. An edge has the distance back to its target; targets are before their edges
"""

from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

from sonicpy._native.automaton cimport (
    FLAGS, NODE_EDGES, NODE_WIDTH_SHIFT, TARGET_SHIFT, WIDEST_EDGE, read_u32, write_u32,
)
from sonicpy._native.short_nodes cimport FINISHED_EDGE_BYTES, short_nodes

cdef enum:
    OLD_FORMAT = 1
    PLAIN_FORMAT = 2


cdef inline uint8_t *in_this_format(
    const uint8_t *nodes, Py_ssize_t size, uint32_t format, uint32_t *root, Py_ssize_t *new_size
) except NULL nogil:
    """Return the nodes of an automaton of format 1 or 2 in the form of a new file; see `short_nodes`."""
    cdef uint8_t *finished
    if format == OLD_FORMAT:
        return short_nodes(nodes, size, root, new_size)
    finished = finished_nodes(nodes, size, root, &size)
    try:
        return short_nodes(finished, size, root, new_size)
    finally:
        free(finished)


cdef inline uint8_t *finished_nodes(
    const uint8_t *nodes, Py_ssize_t size, uint32_t *root, Py_ssize_t *finished_size
) except NULL nogil:
    """Return the finished nodes of an automaton, which the caller has to free; replace `root` by the root of these.

    The four bytes behind the nodes must be readable.

    Raises:
        ValueError: the input does not consist of old nodes.
        MemoryError: there is no memory.
    """
    cdef uint32_t *moved = <uint32_t *> calloc(size, sizeof(uint32_t))  # where a node goes, by its place
    cdef uint8_t *room = <uint8_t *> malloc(5 * size // 2 + 1)  # an edge of one byte, with its label, grows most: from two bytes to five
    cdef uint8_t *out
    cdef Py_ssize_t at = 1
    cdef bint has_room = moved != NULL and room != NULL
    if has_room:
        room[0] = 0
        out = room + 1
        while 0 < at < size:
            moved[at] = <uint32_t> (out - room)
            out = put_finished_node(out, nodes, &at, size, moved)
        if at == size and root[0] < size and (root[0] == 0 or moved[root[0]]):
            root[0] = moved[root[0]]
            finished_size[0] = out - room
            free(moved)
            return room
    free(moved)
    free(room)
    with gil:
        if has_room:
            raise ValueError("these are no nodes of an automaton")
        raise MemoryError


cdef inline uint8_t *put_finished_node(
    uint8_t *out, const uint8_t *nodes, Py_ssize_t *at, Py_ssize_t size, const uint32_t *moved
) noexcept nogil:
    """Convert the old node at a place, and go to the next place, or to 0 if there is no old node; return the place for
    the next finished node."""
    cdef const uint8_t *node = nodes + at[0]
    cdef int count = node[0] & NODE_EDGES, width = node[0] >> NODE_WIDTH_SHIFT, step
    cdef uint32_t edge, back
    cdef Py_ssize_t place = at[0]
    if not node[0]:
        node += 1
        count, width = node[0], WIDEST_EDGE
    at[0] = node + 1 + count * (1 + width) - nodes
    if count == 0 or width == 0 or at[0] > size:
        at[0] = 0
        return out
    memcpy(out, node, 1 + count)
    out[0] = <uint8_t> count
    out += 1 + count
    node += 1 + count
    for step in range(count):
        edge = read_u32(node + width * step) & <uint32_t> -1 >> (32 - 8 * width)
        back = edge >> TARGET_SHIFT
        if back:
            if back >= place or not moved[place - back]:
                at[0] = 0
                return out
            edge = moved[place - back] << TARGET_SHIFT | edge & FLAGS
        write_u32(out + FINISHED_EDGE_BYTES * step, edge)
    return out + FINISHED_EDGE_BYTES * count
