"""A thread that carries out calls of other threads, for objects that must be used on one thread.

An exception of a signal handler never ends the wait for a call: the caller raises it when the call is over. So a call
is always carried out as a whole, and its effects are there, as with a native call (see `held.pyx`).
"""

from _thread import allocate_lock, get_ident, start_new_thread


cdef class OneThread:
    """A thread that begins with the first call, and waits for the next one without waking up in between."""
    cdef object _asked, _done  # locks: released for each call, and for each answer
    cdef object _work, _answer, _error
    cdef bint _is_started, _is_busy, _is_over
    cdef readonly object thread
    """Its identity; None: it has not begun."""

    def __init__(self):
        self._asked, self._done = allocate_lock(), allocate_lock()
        self._asked.acquire()
        self._done.acquire()

    def do(self, work):
        """Call a function without arguments on the thread, and return its result. One call at a time.

        Raises:
            BaseException: of `work`, or of a signal handler that ran meanwhile: `work` is over then, too.
            RuntimeError: the thread is at a call or has ended, or the system allows no more threads.
        """
        if self._is_busy or self._is_over:
            raise RuntimeError("the thread is at a call of the code that this one has interrupted, or it has ended")
        if not self._is_started:
            start_new_thread(self.run, ())
            self._is_started = True
        self._is_busy = True
        self._work = work
        self._asked.release()
        first = self.wait()
        answer, self._answer = self._answer, None
        error, self._error = self._error, None
        self._is_busy = False
        if error is not None:
            raise error
        if first is not None:
            raise first
        return answer

    def end(self) -> None:
        """End the thread, once it has carried out what it was asked; a second call does nothing."""
        cdef bint was_over = self._is_over
        self._is_over = True
        if was_over or not self._is_started:
            return
        self._work = None
        self._asked.release()

    cdef object wait(self):
        """Wait for the answer; return the first exception of a signal handler that came meanwhile, or None."""
        first = None
        while True:
            try:
                self._done.acquire()
                return first
            except BaseException as error:
                if first is None:
                    first = error

    def run(self):
        """Carry out calls until the end."""
        self.thread = get_ident()
        while True:
            self._asked.acquire()
            work, self._work = self._work, None
            if work is None:
                return
            try:
                self._answer = work()
            except BaseException as error:
                self._error = error
            work = None
            self._done.release()
