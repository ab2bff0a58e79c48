"""Blocks of memory, zeroed or growing; the only code that calls realloc for a growing array."""

from libc.stdlib cimport calloc, realloc

cdef extern from *:
    void prefetch "__builtin_prefetch"(const void *address) noexcept nogil


cdef inline void *zeroed(Py_ssize_t count, size_t item_bytes) except NULL:
    """Return room for `count` items of zero bytes, at least one.

    Raises:
        MemoryError: there is no memory.
    """
    cdef void *block = calloc(count if count else 1, item_bytes)
    if block == NULL:
        raise MemoryError
    return block


cdef inline bint reserve(void **block, Py_ssize_t *capacity, Py_ssize_t needed, size_t item_bytes) noexcept nogil:
    """Make room for `needed` items; if there is too little, or the block is NULL, the capacity at least doubles.

    Returns False if there is no memory; then nothing has changed.
    """
    cdef Py_ssize_t wanted
    cdef void *larger
    if needed <= capacity[0] and block[0] != NULL:
        return True
    wanted = max(max(needed, 2 * capacity[0]), 1)
    larger = realloc(block[0], wanted * item_bytes)
    if larger == NULL:
        return False
    block[0] = larger
    capacity[0] = wanted
    return True


cdef inline void *grown(void *block, Py_ssize_t *capacity, Py_ssize_t needed, size_t item_bytes) except NULL nogil:
    """Return the block with room for `needed` items; see `reserve`.

    Raises:
        MemoryError: there is no memory; the block stays valid.
    """
    if not reserve(&block, capacity, needed, item_bytes):
        with gil:
            raise MemoryError
    return block


cdef inline void *resized(void *block, size_t size_bytes) except NULL nogil:
    """Return the block with another size.

    Raises:
        MemoryError: there is no memory; the block stays valid.
    """
    cdef void *other = realloc(block, size_bytes)
    if other == NULL:
        with gil:
            raise MemoryError
    return other
