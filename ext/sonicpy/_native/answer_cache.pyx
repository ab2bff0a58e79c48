"""A cache of answers; an answer is valid until its bucket changes.

Search-as-you-type sends the same few letters many times, and most queries repeat earlier ones.
"""

cdef extern from "Python.h":
    int PyUnicode_KIND(object text)
    Py_ssize_t PyUnicode_GET_LENGTH(object text)

cdef enum:
    ENTRIES = 60_000
    ENTRY = 100
    MORE = 4
    MOST = 100

ROOM = ENTRIES
"""The most entries of all answers together: about 6 MB."""
OVERHEAD = MORE
"""The size of a question and its list without hits, in entries."""
ENTRY_BYTES = ENTRY
"""The bytes of texts, in a question and its answer, that count as one more entry."""
LONGEST = MOST
"""The most hits of an answer that is kept."""


cdef Py_ssize_t text_bytes(object items) except -1:
    """Return the bytes of the texts in a list or a tuple, also of those in tuples in it."""
    cdef Py_ssize_t found = 0
    for item in items:
        if isinstance(item, str):
            found += PyUnicode_KIND(item) * PyUnicode_GET_LENGTH(item)
        elif isinstance(item, tuple):
            found += text_bytes(item)
    return found


cdef class AnswerCache:
    """Answers by question, each with the stamp of the store and the moment of the bucket at which it was computed.

    An answer is valid while either is the same: any change of the store changes the stamp, which is known without a
    read; only a change of the bucket changes the moment.
    """
    cdef dict _kept  # threads share it: each step is one call of a dict
    cdef Py_ssize_t _entries  # may count an answer twice

    def __init__(self):
        self._kept = {}

    def get(self, question):
        """Return the last answer to a question, which may be outdated, or None. A question that cannot be hashed has no
        answer: the search refuses it with a sentence."""
        try:
            return self._kept.get(question)
        except TypeError:
            return None

    def put(self, question, tuple kept not None) -> None:
        """Store `kept`, a tuple of stamp, moment and answer; forget all other answers if there are too many."""
        cdef Py_ssize_t entries = len(<list?> kept[2])
        if entries > MOST:
            return
        entries += MORE + text_bytes(kept[2]) // ENTRY
        if isinstance(question, tuple):
            entries += text_bytes(question) // ENTRY
        self._entries += entries
        if self._entries > ENTRIES:
            self._kept = {}
            self._entries = entries
        self._kept[question] = kept
