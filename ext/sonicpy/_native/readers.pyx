"""The open transactions of each thread, and the idle read transactions that wait for the next reader.

No call lets another thread in between a check and the step that depends on it, so readers need no lock.
"""

from cpython.dict cimport PyDict_DelItem, PyDict_GetItem, PyDict_SetItem
from cpython.object cimport PyObject
from cpython.pythread cimport PyThread_get_thread_ident
from libc.stdint cimport uint64_t


cdef class OpenTransactions:
    """Counts the transactions of each thread.

    Attributes:
        commits: how many this process has made.
        growing: no thread may begin a transaction.
        awaited: how many threads wait for transactions to end; if any, no transaction stays idle.

    Args:
        idle_max: how many read transactions may wait for the next readers.
    """
    cdef readonly uint64_t commits
    cdef public bint growing
    cdef public Py_ssize_t awaited
    cdef dict _counts  # by thread, never 0
    cdef list _idle  # that show the last commit
    cdef Py_ssize_t _idle_max

    def __init__(self, Py_ssize_t idle_max):
        self._counts = {}
        self._idle = []
        self._idle_max = idle_max

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
        """Stop counting a transaction of this thread."""
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
        """Return an idle transaction, which now counts as this thread's; None: there is none, or none may begin."""
        if self.growing or not self._idle:
            return None
        self.count_up()
        return self._idle.pop()

    def keep(self, transaction, uint64_t commits) -> bool:
        """Let a read transaction of this thread wait for the next reader; return False if it must end instead.

        Args:
            commits: how many this process had made when it began.
        """
        if self.awaited or commits != self.commits or len(self._idle) >= self._idle_max:
            return False
        self._idle.append(transaction)
        self.count_down()
        return True

    def note_commit(self) -> list:
        """Count a commit; return the idle transactions, which show an older one now."""
        self.commits += 1
        return self.drop()

    def drop(self) -> list:
        """Return the idle transactions and forget them."""
        idle, self._idle = self._idle, []
        return idle
