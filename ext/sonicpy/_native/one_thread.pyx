"""A thread that carries out calls of other threads, for objects that must be used on one thread.

A caller waits in native code, where no signal handler runs and raises an exception. So a call is always carried out
completely, as a native call is (see `held.pyx`).
"""

from cpython.pythread cimport (
    PyThread_acquire_lock,
    PyThread_allocate_lock,
    PyThread_free_lock,
    PyThread_get_thread_ident,
    PyThread_release_lock,
    PyThread_type_lock,
    WAIT_LOCK,
)

from _thread import start_new_thread


cdef class OneThread:
    """A thread that starts with the first call, and sleeps until the next one."""
    cdef PyThread_type_lock _calling  # held by the one caller
    cdef PyThread_type_lock _asked, _done  # released for each call, and for each answer
    cdef object _work, _answer, _error
    cdef bint _is_started, _is_over
    cdef unsigned long _ident  # of the thread while it runs, else 0
    cdef readonly object thread
    """The identity of the thread; None: the thread has not started."""

    def __cinit__(self):
        self._calling, self._asked, self._done = (
            PyThread_allocate_lock(), PyThread_allocate_lock(), PyThread_allocate_lock()
        )
        if self._calling == NULL or self._asked == NULL or self._done == NULL:
            raise MemoryError("there is no room for a lock")
        PyThread_acquire_lock(self._asked, WAIT_LOCK)
        PyThread_acquire_lock(self._done, WAIT_LOCK)

    def __dealloc__(self):
        if self._calling != NULL:
            PyThread_free_lock(self._calling)
        if self._asked != NULL:
            PyThread_free_lock(self._asked)
        if self._done != NULL:
            PyThread_free_lock(self._done)

    def do(self, work):
        """Call a function without arguments on the thread, after the calls of other threads, and return its result.

        On the thread itself, for example when an object is freed during a call, the function is called at once.

        Raises:
            BaseException: the exception of `work`.
            RuntimeError: the thread has ended, or the system allows no more threads.
        """
        if self._ident and self._ident == PyThread_get_thread_ident():
            return work()
        self.wait_for(self._calling)
        try:
            if self._is_over:
                raise RuntimeError("the thread has ended")
            if not self._is_started:
                start_new_thread(self.run, ())
                self._is_started = True
            self._work = work
            PyThread_release_lock(self._asked)
            self.wait_for(self._done)
            answer, self._answer = self._answer, None
            error, self._error = self._error, None
        finally:
            PyThread_release_lock(self._calling)
        if error is not None:
            raise error
        return answer

    def end(self) -> None:
        """End the thread, once its call is over; a second call does nothing."""
        self.wait_for(self._calling)
        if self._is_started and not self._is_over:
            PyThread_release_lock(self._asked)  # without work
        self._is_over = True
        PyThread_release_lock(self._calling)

    cdef int wait_for(self, PyThread_type_lock lock) except -1:
        with nogil:
            PyThread_acquire_lock(lock, WAIT_LOCK)
        return 0

    def run(self):
        """Carry out calls until the end."""
        self.thread = self._ident = PyThread_get_thread_ident()
        while True:
            self.wait_for(self._asked)
            work, self._work = self._work, None
            if work is None:
                self._ident = 0
                return
            try:
                self._answer = work()
            except BaseException as error:
                self._error = error
            work = None
            PyThread_release_lock(self._done)
