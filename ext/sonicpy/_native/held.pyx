"""Holds locks and other resources for a `with` block, and releases them after any exception at any moment.

An exception of a signal handler, or one set by another thread, is raised when a call returns to Python, when a Python
function begins, or when a loop jumps back: never inside native code. So a native call that takes and records a resource
always does both, and a native call that releases one is always complete. In Python 3.14 such an exception may also be
raised between `__enter__` and the block, so that `__exit__` is not called: these objects are made for one block each,
and their deallocation then releases the resource.
"""

from cpython.ref cimport Py_INCREF

cimport cython

from os import close as close_number

cdef enum:
    TRIES = 3  # only a person or a test interrupts twice


@cython.freelist(16)
@cython.no_gc  # it refers to a lock of Python: no cycle begins here
cdef class Held:
    """Holds a lock of `threading` during a `with` block; the block gets whether the lock is held.

    Args:
        lock: a Lock or an RLock.
        wait: whether to wait for the lock; if not, the block may begin without it.
    """
    cdef object _lock
    cdef bint _wait, _is_held

    def __init__(self, lock, *, bint wait=True):
        self._lock = lock
        self._wait = wait

    def __enter__(self) -> bool:
        self._is_held = self._lock.acquire(self._wait)
        return self._is_held

    def __exit__(self, kind, error, trace) -> None:
        self.leave()

    def __dealloc__(self):
        self.leave()

    cdef int leave(self) except -1:
        if self._is_held:
            self._is_held = False
            self._lock.release()
        return 0


cdef class Opened:
    """Opens an object for a `with` block, and closes it at the end.

    Args:
        opening: a function that returns an object with a method `close`, which may be called again if it was
            interrupted.
        args: the arguments of `opening`.
    """
    cdef object _opening, _args, _opened

    def __init__(self, opening, *args):
        self._opening, self._args = opening, args

    def __enter__(self):
        self._opened = self._opening(*self._args)
        return self._opened

    def __exit__(self, kind, error, trace) -> None:
        self.close()

    def __dealloc__(self):
        self.close()

    cdef int close(self) except -1:
        opened, self._opened = self._opened, None
        if opened is not None:
            insist(opened.close)
        return 0


cdef class Kept:
    """Keeps an opened object, from the moment at which opening has ended.

    Attributes:
        held: the result of `open`; None: `open` was not called.
    """
    cdef readonly object held

    def open(self, opening, *args, **kwargs):
        """Call `opening`, and keep and return its result."""
        self.held = opening(*args, **kwargs)
        return self.held


@cython.no_gc
cdef class Descriptor:
    """The descriptor of an open file, which is closed at the latest when this object is freed.

    Args:
        opening: a function that returns a descriptor, such as `os.open`.
        args: the arguments of `opening`.

    Raises:
        OSError: the file cannot be opened.
    """
    cdef readonly int number
    """The descriptor; -1 after `close`."""

    def __cinit__(self):
        self.number = -1

    def __init__(self, opening, *args):
        self.number = opening(*args)

    def fileno(self) -> int:
        """Return the descriptor, for functions that take files."""
        return self.number

    def close(self) -> None:
        """Close the file; do nothing if it is closed. Raises OSError if the system reports an error."""
        cdef int number = self.number
        self.number = -1
        if number >= 0:
            close_number(number)

    def __dealloc__(self):
        if self.number >= 0:
            close_number(self.number)


def keep_for_ever(it) -> None:
    """Keep an object from being freed, even at the end of the interpreter."""
    Py_INCREF(it)


cpdef insist(work):
    """Call a function without arguments; if it raises, call it again, at most TRIES times in all.

    This is for functions that release resources: a signal handler may interrupt them at any moment, and the next call
    finishes the work.

    Raises:
        BaseException: the first error, once a later call has succeeded or the last one has failed.
    """
    cdef int left = TRIES
    cdef object first = None
    while left:
        left -= 1
        try:
            work()
            break
        except BaseException as error:
            if first is None:
                first = error
    if first is not None:
        raise first
