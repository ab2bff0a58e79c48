"""Makes hits from names and scores: a hit is a str of a class that the caller gives, with its score in an attribute."""

from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.object cimport PyObject, PyObject_SetAttr, PyTypeObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_Check, PyTuple_GET_ITEM, PyTuple_GET_SIZE
from cpython.unicode cimport PyUnicode_CheckExact

cdef extern from "Python.h":
    PyTypeObject PyUnicode_Type


def made_hits(type kind not None, str attribute not None, names, tuple scores) -> list:
    """Return a hit for each name.

    Args:
        kind: the class of a hit: a subclass of str that only adds attributes.
        attribute: the attribute that takes the score.
        names: the names, a tuple of str; of a subclass of `tuple`, its items.
        scores: the score of each name; None: every score is None.

    Raises:
        TypeError: the class is no subclass of str, or the names are no tuple.
        ValueError: the numbers of scores and names differ.
    """
    cdef Py_ssize_t at, count
    cdef list found
    cdef object name, hit
    cdef tuple arguments
    if not issubclass(kind, str):
        raise TypeError(f"hits are a class of str, not {kind.__name__}")
    if not PyTuple_Check(names):
        raise TypeError(f"names are a tuple, not {type(names).__name__}")
    count = PyTuple_GET_SIZE(names)
    if scores is not None and PyTuple_GET_SIZE(scores) != count:
        raise ValueError(f"{count} names need as many scores, not {PyTuple_GET_SIZE(scores)}")
    found = PyList_New(count)
    for at in range(count):
        name = <object> PyTuple_GET_ITEM(names, at)
        if not PyUnicode_CheckExact(name):
            name = str.__str__(name)
        arguments = (name,)
        hit = PyUnicode_Type.tp_new(kind, <PyObject *> arguments, NULL)
        PyObject_SetAttr(hit, attribute, None if scores is None else <object> PyTuple_GET_ITEM(scores, at))
        Py_INCREF(hit)
        PyList_SET_ITEM(found, at, hit)
    return found
