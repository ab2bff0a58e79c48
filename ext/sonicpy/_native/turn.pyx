"""The turn of a thread to change a store: a lock, and the work at its release.

`held.pyx` lists the moments at which an exception of a signal handler may be raised: none is inside these methods,
except in Python functions that they call.

A block in a generator may end on a thread on which it did not begin: the one that frees the generator, which the
traceback of an interrupt may have kept. Its turn passes to that thread.
"""

from libc.stdint cimport uint64_t

cimport cython

import threading
from time import sleep

cdef extern from "Python.h":
    ctypedef struct PyThreadState:
        pass
    PyThreadState *PyThreadState_Get()
    uint64_t PyThreadState_GetID(PyThreadState *state)

cdef object NewLock = threading.Lock  # unlike an RLock, any thread may release it
cdef double LONG_S = 3600.0  # longer than a process takes to end
cdef double PAUSE_S = 0.005  # between two checks whether a reader still has to wait


cdef inline uint64_t this_thread() noexcept:
    """Return the number of this thread. Unlike the identity of a thread, it is never given to a later one."""
    return PyThreadState_GetID(PyThreadState_Get())


cdef class Turn:
    """The turn of a thread to change a store; the thread that has it may take it again.

    Attributes:
        open: the OpenTransactions in which no write transaction may stay open at the end of a turn; None: a write
            transaction may stay open.
        owner: an object with the attributes `is_torn`, whether it is in the middle of a change, and `view`, that of the
            open transaction; None: there is no such object.
        finish: a function without arguments that is called if a transaction is whole but still open at the end of a
            turn without an error; None: the transaction is given up.
        batches: the number of open batches, in which commits are rarer.
        apart: the number of long changes under way, during which, as during a batch, other threads read the last
            commit.
    """
    cdef object _lock, _acquire, _release
    cdef Py_ssize_t _depth
    cdef uint64_t _owner
    cdef uint64_t _last  # the thread that has it for ever, once `is_over`
    cdef bint _is_over
    cdef public object open, owner, finish
    cdef public Py_ssize_t batches, apart

    def __init__(self):
        self.take_new_lock()

    cdef int take_new_lock(self) except -1:
        self._lock = NewLock()
        self._acquire, self._release = self._lock.acquire, self._lock.release
        return 0

    @property
    def is_mine(self) -> bool:
        """Whether this thread has the turn."""
        return self.has_it()

    cdef bint has_it(self) noexcept:
        return self._depth > 0 and self._owner == this_thread()

    cdef bint take(self, double seconds) except -1:
        """Take the turn, if it is free within `seconds` (-1: wait for ever); return whether it was taken."""
        if not self.has_it():
            if not (self._acquire() if seconds < 0 else self._acquire(True, seconds)):
                return False
            self._owner = this_thread()
        self._depth += 1
        return True

    def hold(self, begin=None, end=None, Py_ssize_t batches=0, Py_ssize_t apart=0) -> Hold:
        """Return a context manager that takes the turn for a block, which gets the result of `begin`.

        Args:
            begin: a function without arguments that is called when the turn is taken, before the block.
            end: a function that is called with the error of the block, or None, before the turn is given back.
            batches, apart: numbers to add to these counts from the end of `begin` to the call of `end`.
        """
        cdef Hold block = Hold.__new__(Hold)
        block._turn, block._begin, block._end, block._batches, block._apart = self, begin, end, batches, apart
        return block

    def do(self, work, double seconds) -> bool:
        """Take the turn, if it is free within `seconds`, and call a function without arguments; return whether it was
        called.

        Raises:
            BaseException: the exception of `work`.
        """
        if not self.take(seconds):
            return False
        try:
            work()
        finally:
            self.give_back()
        return True

    cpdef give_back(self):
        """Give back the turn that `share` has taken; any thread may call it."""
        self._depth -= 1
        if not self._depth:
            self._release()

    def share(self, open) -> bool:
        """Take the turn to read the open write transaction that threads share; return whether it is taken.

        False: this thread should read the last commit, because no transaction is open, or another thread makes a long
            change in it, before which the changes of others were committed. While the map grows, no transaction is open
            either.

        Args:
            open: the OpenTransactions.
        """
        while not self.has_it():
            if self._is_over:
                self.wait_for_the_end()
            if self.batches or self.apart or open.growing or not (open.writer is not None or open.is_lost):
                return False
            if self.take(PAUSE_S):
                if open.writer is None and not open.is_lost:
                    self.give_back()
                    return False
                return True
        return self.take(0)

    cdef int wait_for_the_end(self) except -1:
        while not self.has_it() and self._last != this_thread():
            sleep(LONG_S)
        return 0

    def end(self, double seconds) -> bool:
        """Take the turn for ever: other threads that want it then wait until the process ends.

        Args:
            seconds: the time limit for the thread that has the turn.

        Returns:
            Whether this thread has taken the turn.
        """
        self._last, self._is_over = this_thread(), True
        return self.take(seconds)

    def renew(self) -> None:
        """Make a new lock: in a forked process, the thread that held the old one does not exist."""
        self.take_new_lock()
        self._depth = self.batches = self.apart = 0
        self._is_over = False
        self.open = self.owner = self.finish = None

    cdef int settle(self, bint failed) except -1:
        """Finish the write transaction at the end of a turn, or give it up if `failed`."""
        if self.open is None or not self.is_changing():
            return 0
        try:
            if self.finish is not None and not failed and not self.is_torn():
                self.finish()
        finally:
            if self.is_changing():
                self.open.is_lost = True
                if self.owner is not None:
                    self.owner.view = None
                    self.owner.is_torn = False
                self.open.abort()
        return 0

    cdef bint is_torn(self):
        return self.owner is not None and self.owner.is_torn

    cdef bint is_changing(self):
        return self.open.writer is not None or self.is_torn()


@cython.freelist(8)
@cython.no_gc_clear  # its deallocation needs the objects to which it refers
cdef class Hold:
    """A context manager that holds the turn during a block; made by `Turn.hold`."""
    cdef Turn _turn
    cdef object _begin, _end
    cdef object _lock  # that is held; None: none is
    cdef Py_ssize_t _batches, _apart
    cdef bint _is_counted

    def __enter__(self):
        cdef Turn turn = self._turn
        if turn is None:
            raise TypeError("a Hold that Turn.hold has not made has no turn")
        cdef object lock = turn._lock
        if turn._is_over:
            turn.wait_for_the_end()
        if self._lock is lock and turn.has_it():  # it would give back the turn once, but take it twice
            raise RuntimeError("the batch has begun already: call batch() again for one inside it")
        turn.take(-1)
        self._lock = lock
        if self._begin is None:
            self.count(1)
            return None
        try:
            begun = self._begin()
        except BaseException:
            self.leave(True)
            raise
        self.count(1)
        return begun

    cdef void count(self, int by) noexcept:
        """Add the counts of the block (`by` is 1) or subtract them (-1); a second call does nothing."""
        if self._is_counted != (by > 0):
            self._is_counted = by > 0
            self._turn.batches += by * self._batches
            self._turn.apart += by * self._apart

    def __exit__(self, kind, error, trace) -> None:
        if self._lock is None:
            return
        cdef bint failed = True
        if self._lock is self._turn._lock:  # else this is a forked process: see `Turn.renew`
            self.count(-1)
            self.pass_on()
        try:
            if self._end is not None:
                self._end(error)
            failed = error is not None
        finally:
            self.leave(failed)

    def __dealloc__(self):
        if self._lock is not None:
            self.leave(True)

    cdef int pass_on(self) except -1:
        """Pass the turn of the block to this thread, if another thread has taken it."""
        cdef Turn turn = self._turn
        cdef object lock = self._lock
        if turn.has_it():
            return 0
        if turn._depth == 1:  # for this block alone
            turn._owner = this_thread()
            return 0
        self._lock = None  # the other thread goes on in blocks of its own: this one ends behind them
        turn.give_back()
        turn.take(-1)
        self._lock = lock
        return 0

    cdef int leave(self, bint failed) except -1:
        cdef Turn turn = self._turn
        cdef object lock = self._lock
        if lock is not turn._lock:  # in a forked process
            self._lock = None
            return 0
        try:
            self.count(-1)
            if turn._depth == 1:
                turn._owner = this_thread()  # another thread may have taken it
                turn.settle(failed)
        finally:
            self._lock = None
            turn.give_back()
        return 0
