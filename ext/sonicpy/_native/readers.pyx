"""The open transactions of a process: one for writing, those for reading, and idle ones kept for the next reader.

No other thread runs between a check and the step that depends on it, so readers need no lock. No exception comes in
between either (see `held.pyx`): the count is always that of the open transactions, and the lock of the writer is held
exactly while its transaction is open.
"""

from cpython.dict cimport PyDict_DelItem, PyDict_GetItemWithError, PyDict_SetItem
from cpython.object cimport PyObject
from cpython.pythread cimport PyThread_get_thread_ident
from libc.stdint cimport uint64_t

cimport cython

import threading
from functools import partial
from time import sleep

from sonicpy._native.one_thread import OneThread

cdef double PAUSE_S = 0.001
"""The pause between two checks whether the map has grown."""


class PutOff(Exception):
    """A read is to be repeated in steps; it has changed nothing."""


cdef class OpenTransactions:
    """The transactions of an environment.

    Attributes:
        commits: the number of commits of this process.
        growing: the number of threads that enlarge the map; while there is one, no thread may begin a transaction.
        awaited: the number of threads that wait for the end of transactions; while there is one, no transaction stays
            idle.
        changing: a lock that is held while a write transaction is open.
        writer: the write transaction; None: no write transaction is open. A shared one is here until its commit has
            ended.
        is_lost: whether a write transaction was given up, and has to be recovered.
        turn: the Turn by which threads share the write transaction; None: it belongs to the thread that began it.
        worker: the OneThread that begins, commits and aborts a write transaction that threads share, or that another
            thread may end; None: there has been none.

    Args:
        idle_max: the most idle read transactions kept for the next readers.
        begin: a function that begins a transaction of LMDB; its argument is whether it is for writing.
        wrap: a function that makes a Transaction from a transaction of LMDB; further arguments: whether it is for
            writing, and `commits`.
        resized: the error of `begin` after another process has enlarged the map.
        use_new_size: a function that is called with this object after that error.
    """
    cdef readonly uint64_t commits
    cdef public Py_ssize_t growing
    cdef public Py_ssize_t awaited
    cdef readonly object changing
    cdef readonly object writer
    cdef public bint is_lost
    cdef public object turn, worker
    cdef bint _is_left  # to the process that forked this one
    cdef unsigned long _owner  # thread for which `writer` is counted
    cdef object _holder  # the Turn of the thread that may end `writer`; None: as without, see `begin_write`
    cdef bint _is_worked  # `writer` began on `worker`
    cdef object _txn  # of LMDB, of `writer`
    cdef dict _counts  # by thread, never 0
    cdef list _idle  # that show the last commit
    cdef Py_ssize_t _idle_max
    cdef object _begin, _wrap, _resized, _use_new_size

    def __init__(self, Py_ssize_t idle_max, begin, wrap, resized, use_new_size):
        self._counts = {}
        self._idle = []
        self._idle_max = idle_max
        self._begin, self._wrap, self._resized, self._use_new_size = begin, wrap, resized, use_new_size
        self.changing = threading.Lock()

    @property
    def is_here(self) -> bool:
        """Whether this thread has a transaction open."""
        return PyThread_get_thread_ident() in self._counts

    def is_elsewhere(self, besides=None) -> bool:
        """Return whether a thread other than `besides` has a transaction open."""
        return len(self._counts) > (besides in self._counts)

    @property
    def own_writer(self):
        """The write transaction, if this thread may change and end it, or threads share it in turn; else None."""
        if self.turn is not None or self.writer is None:
            return self.writer
        if self._holder is not None:
            return self.writer if self._holder.is_mine else None
        return self.writer if self._owner == PyThread_get_thread_ident() else None

    @property
    def is_worked_here(self) -> bool:
        """Whether this thread is the worker."""
        return self.worker is not None and self.worker.thread == PyThread_get_thread_ident()

    cdef object count_up(self, object thread):
        """Count a transaction of a thread, and return the thread; None: no transaction may begin."""
        cdef PyObject *count = PyDict_GetItemWithError(self._counts, thread)
        if self.growing and count == NULL:
            return None  # a thread that already has one open may go on: the growth waits for it anyway
        PyDict_SetItem(self._counts, thread, 1 if count == NULL else <object> count + 1)
        return thread

    cdef int count_down(self, object thread) except -1:
        cdef object left = self._counts[thread] - 1
        if left:
            PyDict_SetItem(self._counts, thread, left)
        else:
            PyDict_DelItem(self._counts, thread)
        return 0

    cdef object begun(self, bint write):
        """Return a new transaction, to write if `write`, else to read; the caller counts it."""
        cdef uint64_t commits = self.commits  # read before: the transaction may not show a commit that comes meanwhile
        cdef object txn = self._begin(write)
        try:
            made = self._wrap(txn, write, commits)
        except BaseException:
            txn.abort()
            raise
        if write:
            self._txn = txn
        return made

    # -- reading ---------------------------------------------------------------------------------------------------

    cdef tuple take(self):
        """Return an idle or a new read transaction, and the thread for which it is counted."""
        while True:
            thread = self.count_up(PyThread_get_thread_ident())
            if thread is None:
                sleep(PAUSE_S)
                continue
            if self._idle:
                return self._idle.pop(), thread
            try:
                return self.begun(False), thread
            except BaseException as error:
                self.count_down(thread)
                if not isinstance(error, self._resized):
                    raise
            self._use_new_size(self)

    cdef int keep(self, transaction, thread) except -1:
        """Keep a transaction idle for the next reader, or end it."""
        if self._is_left:
            return 0
        if self.awaited or transaction.began_after != self.commits or len(self._idle) >= self._idle_max:
            return self.end(transaction, thread)
        self._idle.append(transaction)
        return self.count_down(thread)

    cdef int end(self, transaction, thread) except -1:
        """End a read transaction."""
        transaction._txn.abort()
        self.count_down(thread)
        forget_view(transaction)
        return 0

    def look_up(self, table, key):
        """Return the value of a key in a table, as the write transaction of this thread or else the last commit shows
        it; None: there is no such key. A Reading of one row, in one call."""
        cdef object writer = self.own_writer, transaction, thread
        if writer is not None:
            return writer.get(table, key)
        transaction, thread = self.take()
        try:
            return transaction.get(table, key)
        finally:
            self.keep(transaction, thread)

    def drop(self) -> None:
        """End the idle transactions."""
        cdef list idle = self._idle
        self._idle = []
        for transaction in idle:
            transaction._txn.abort()
        for transaction in idle:
            forget_view(transaction)

    def note_commit(self) -> None:
        """Note a commit: end idle transactions, which show an older one."""
        self.commits += 1
        self.drop()

    def leave_to_parent(self) -> None:
        """In a forked process: forget the transactions without touching them."""
        self._is_left = True

    # -- changing --------------------------------------------------------------------------------------------------

    def begin_write(self, holder=None):
        """Begin a write transaction, once no other one is open, and return it.

        `commit` or `abort` has to follow, on the same thread unless threads share the transaction.

        Args:
            holder: the Turn, which this thread has, if another thread may have it when the transaction ends; None: this
                thread ends it.
        """
        if self.turn is not None:
            return self.worker.do(self.begin_here)
        if holder is None:
            return self.begin_here()
        if self.worker is None:
            self.worker = OneThread()
        return self.worker.do(partial(self.begin_here, PyThread_get_thread_ident(), holder))

    def begin_here(self, thread=None, holder=None):
        """Begin a write transaction on this thread, as `begin_write` does.

        Args:
            thread: the thread for which it is counted; None: this one.
        """
        if thread is None:
            thread = PyThread_get_thread_ident()
        while True:
            self.changing.acquire()
            if self.count_up(thread) is not None:
                break
            self.changing.release()
            sleep(PAUSE_S)
        self._holder, self._is_worked = holder, self.is_worked_here
        try:
            self.writer = self.begun(True)
            self._owner = thread
        except BaseException:
            self.count_down(thread)
            self.changing.release()
            raise
        return self.writer

    def commit(self) -> None:
        """Commit the write transaction, which ends even if this call raises."""
        if self._is_worked:
            self.worker.do(self.commit_here)
            return
        cdef object txn = self._txn
        self.finish_write(txn.commit)
        self.note_commit()

    def commit_here(self) -> None:
        """Commit the write transaction on this thread, the worker.

        `writer` is kept until readers can see the commit, because readers that find no writer read the last commit.
        """
        cdef object txn = self._txn, thread = self._owner
        self._txn = None
        try:
            txn.commit()
            self.note_commit()
        except BaseException:
            self.is_lost = True
            raise
        finally:
            self.writer = None
            self.count_down(thread)
            self.changing.release()

    def abort(self) -> None:
        """Abort the write transaction of this thread, or the shared one, if there is one."""
        if self._is_left or self._txn is None or (self.turn is None and self.own_writer is None):
            return
        if self._is_worked:
            self.worker.do(self.abort_here)
        else:
            self.abort_here()

    def abort_here(self) -> None:
        """Abort the write transaction on this thread, which began it."""
        self.finish_write(self._txn.abort)

    cdef int finish_write(self, finish) except -1:
        cdef object thread = self._owner
        self.writer = self._txn = None
        try:
            finish()
        finally:
            self.count_down(thread)
            self.changing.release()
        return 0


cdef int forget_view(transaction) except -1:
    view = transaction.cached_view
    if view is not None:
        transaction.cached_view = None
        view.end()
    return 0


@cython.freelist(16)
@cython.no_gc_clear  # its deallocation needs the objects to which it refers
cdef class Reading:
    """A context manager for a read transaction, or for an object made from it.

    Args:
        open: the OpenTransactions of the environment.
        store: a store, which makes the object for the block: `show(transaction)` for a new transaction, which keeps it
            as `cached_view`; while a write transaction is open or lost, `shown_now()`, which returns the view that this
            thread should see instead, or None. If a block with that view fails, `is_torn` is set, except for errors of
            the classes `store.harmless`. None: the block gets the transaction.
        of_now: whether to call `shown_now`; if threads share the write transaction, the turn is held until the block
        ends. then, args: if given, the block gets `then(object, *args)` instead. failure, failed: an error of class
        `failure`, or one of these classes, in the block is replaced by `failed(error)`.
    """
    cdef OpenTransactions _open
    cdef object _store, _then, _failure, _failed
    cdef tuple _args
    cdef bint _of_now
    cdef object _transaction, _thread  # to be given back
    cdef object _turn  # to be given back
    cdef bint _is_changing  # the block gets `shown_now()`, which reading changes, too: it writes rows before it reads them

    def __cinit__(self, OpenTransactions open not None, store=None, bint of_now=False, then=None, tuple args=(),
                  failure=None, failed=None):
        self._open, self._store, self._of_now = open, store, of_now
        self._then, self._args, self._failure, self._failed = then, args, failure, failed

    def __enter__(self):
        cdef OpenTransactions open = self._open
        cdef object shown = None
        try:
            if self._of_now and (open.writer is not None or open.is_lost):
                if open.turn is None:
                    shown = self._store.shown_now()
                elif open.turn.share(open):
                    self._turn = open.turn
                    shown = self._store.shown_now()
                    if shown is None:
                        self.give_turn_back()
            if shown is not None:
                self._is_changing = True
            else:
                self._transaction, self._thread = open.take()
                if self._store is None:
                    shown = self._transaction
                else:
                    shown = self._transaction.cached_view
                    if shown is None:
                        shown = self._transaction.cached_view = self._store.show(self._transaction)
            return shown if self._then is None else self._then(shown, *self._args)
        except BaseException as error:
            self.leave(error)
            raise

    def __exit__(self, kind, error, trace) -> None:
        self.leave(error)

    def __dealloc__(self):
        self.give_back()
        self.give_turn_back()

    cdef int leave(self, error) except -1:
        self.give_back()
        try:
            if error is None:
                return 0
            if self._failure is not None and isinstance(error, self._failure):
                raise self._failed(error) from error
            if self._is_changing and not isinstance(error, self._store.harmless):
                self._store.is_torn = True
        finally:
            self.give_turn_back()
        return 0

    cdef int give_back(self) except -1:
        transaction, self._transaction = self._transaction, None
        if transaction is not None:
            self._open.keep(transaction, self._thread)
        return 0

    cdef int give_turn_back(self) except -1:
        turn, self._turn = self._turn, None
        if turn is not None:
            turn.give_back()
        return 0
