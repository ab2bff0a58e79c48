"""WordLists: a cache of lists of words, bounded by the number of words in all of them."""

cdef enum:
    LISTS = 10_000  # the most in one cache


cdef class WordLists:
    """Values by key, each of which holds a list of words; it drops all of them before it has too many.

    Args:
        most: the most words in all values.
    """

    def __init__(self, Py_ssize_t most) -> None:
        self._values = {}
        self._most, self._words = most, 0

    cdef tuple get(self, tuple key):
        """Return the value of a key; None: it has none."""
        return self._values.get(key)

    cdef int keep(self, tuple key, tuple value, Py_ssize_t words) except -1:
        """Put a value into the cache.

        Args:
            words: the number of words of the value.
        """
        if len(self._values) >= LISTS or self._words + words > self._most:
            self.clear()
        self._values[key] = value
        self._words += words  # also those of a value that this one replaces: an upper bound
        return 0

    def clear(self) -> None:
        """Drop all values."""
        self._values.clear()
        self._words = 0

    cdef int drop(self, tuple key) except -1:
        """Remove the value of a key, if it has one."""
        self._values.pop(key, None)
        return 0
