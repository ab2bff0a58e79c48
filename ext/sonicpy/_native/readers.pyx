"""Which threads have transactions open, and the read transactions that wait for the next reader.

No call lets another thread in between a look and what follows from it, so that who reads again and again needs no lock.
"""

from cpython.dict cimport PyDict_DelItem, PyDict_GetItem, PyDict_SetItem
from cpython.object cimport PyObject
from cpython.pythread cimport PyThread_get_thread_ident
from libc.stdint cimport uint64_t


cdef class OpenTransactions:
    """Counts the transactions of each thread.

    Attributes:
        commits: how many this process has made.
        growing: nobody may begin a transaction.
        awaited: how many wait for transactions to end; nothing is kept for the next reader then.

    Args:
        most_kept: so many read transactions are kept for the next readers.
    """
    cdef readonly uint64_t commits
    cdef public bint growing
    cdef public Py_ssize_t awaited
    cdef dict _counts  # by thread; no thread stands at 0
    cdef list _idle  # that show the last commit
    cdef Py_ssize_t _most_kept

    def __init__(self, Py_ssize_t most_kept):
        self._counts = {}
        self._idle = []
        self._most_kept = most_kept

    @property
    def is_here(self) -> bool:
        """Whether this thread has a transaction open."""
        return PyThread_get_thread_ident() in self._counts

    def is_elsewhere(self, besides=None) -> bool:
        """Return whether a thread other than `besides` has a transaction open."""
        return len(self._counts) > (besides in self._counts)

    def begin(self) -> None:
        """Count a transaction of this thread."""
        self.count_up()

    def end(self) -> None:
        """Count a transaction of this thread no longer."""
        self.count_down()

    cdef int count_up(self) except -1:
        cdef object thread = PyThread_get_thread_ident()
        cdef PyObject *count = PyDict_GetItem(self._counts, thread)
        PyDict_SetItem(self._counts, thread, 1 if count == NULL else <object> count + 1)
        return 0

    cdef int count_down(self) except -1:
        cdef object thread = PyThread_get_thread_ident()
        cdef object left = self._counts[thread] - 1
        if left:
            PyDict_SetItem(self._counts, thread, left)
        else:
            PyDict_DelItem(self._counts, thread)
        return 0

    def take(self):
        """Return a transaction that was kept, which this thread has open now; None: there is none, or none may be
        begun."""
        if self.growing or not self._idle:
            return None
        self.count_up()
        return self._idle.pop()

    def keep(self, transaction, uint64_t commits) -> bool:
        """Keep a read transaction that this thread has no longer open, if the next reader may go on with it.

        Args:
            commits: how many there were when it began.
        """
        if self.awaited or commits != self.commits or len(self._idle) >= self._most_kept:
            return False
        self._idle.append(transaction)
        self.count_down()
        return True

    def note_commit(self) -> list:
        """Count a commit; return the transactions that were kept, which show an older one now."""
        self.commits += 1
        return self.drop()

    def drop(self) -> list:
        """Return the transactions that were kept; they are no longer."""
        idle, self._idle = self._idle, []
        return idle
