"""Instances of named tuples, made without a call of their constructors, which would take several times as long; and
comparisons of several of their fields at once.
"""

from cpython.object cimport PyObject, PyTypeObject
from cpython.tuple cimport PyTuple_Check, PyTuple_GET_ITEM, PyTuple_GET_SIZE

cdef extern from *:
    """
    /* Return a new instance of a class of tuples, without items. */
    static inline PyObject *sonicpy_without_items(PyObject *kind, Py_ssize_t count) {
        return ((PyTypeObject *) kind)->tp_alloc((PyTypeObject *) kind, count);
    }
    /* Store an item in an instance that no other code has seen yet. */
    static inline void sonicpy_put_item(PyObject *made, Py_ssize_t place, PyObject *item) {
        PyObject *before = PyTuple_GET_ITEM(made, place);
        PyTuple_SET_ITEM(made, place, Py_NewRef(item));
        Py_XDECREF(before);
    }
    """
    object without_items "sonicpy_without_items"(object kind, Py_ssize_t count)
    void put_item "sonicpy_put_item"(object made, Py_ssize_t place, object item)

cdef extern from "Python.h":
    PyTypeObject PyTuple_Type


cdef enum:
    PLACES_MAX = 16  # fields to compare


cdef object made(type kind, tuple values):
    """Return an instance of a named tuple with these fields."""
    cdef tuple arguments = (values,)
    return PyTuple_Type.tp_new(kind, <PyObject *> arguments, NULL)


cdef class HasUsual:
    """Tells whether some fields of a tuple are equal to those of a usual one; it is called with the tuple.

    Args:
        usual: the usual tuple.
        places: the places of the fields to compare.

    Raises (the call):
        IndexError: the tuple has fewer fields.
    """
    cdef tuple _usual
    cdef Py_ssize_t[PLACES_MAX] _places
    cdef Py_ssize_t _count

    def __init__(self, usual not None, places not None):
        if len(places) > PLACES_MAX:
            raise ValueError(f"{len(places)} fields are more than {PLACES_MAX}")
        self._usual, self._count = tuple(usual), len(places)
        for at, place in enumerate(places):
            if not 0 <= place < len(self._usual):
                raise ValueError(f"there is no field {place} of {len(self._usual)}")
            self._places[at] = place

    def __call__(self, found not None) -> bool:
        """Return whether all of the fields are usual."""
        cdef Py_ssize_t at, place
        cdef object own, usual
        if not PyTuple_Check(found):
            raise TypeError(f"fields are compared in tuples, not in {type(found).__name__}")
        for at in range(self._count):
            place = self._places[at]
            if place >= PyTuple_GET_SIZE(found):
                raise IndexError(f"there is no field {place} of {PyTuple_GET_SIZE(found)}")
            own, usual = <object> PyTuple_GET_ITEM(found, place), <object> PyTuple_GET_ITEM(self._usual, place)
            if own is not usual and own != usual:
                return False
        return True


cdef class Check:
    """The check of a field; see `Maker`."""
    cdef Py_ssize_t place
    cdef object check, unchecked
    cdef object kind, values  # of values that are stored as they are, once `unchecked` was called; None: of none

    def __init__(self, Py_ssize_t place, check not None, unchecked):
        self.place, self.check, self.unchecked = place, check, unchecked

    cdef object checked(self, name, value):
        if type(value) is self.kind and value in self.values:
            return value
        value = self.check(name, value)
        if self.unchecked is not None and value is not None:
            kind, self.values = self.unchecked()
            self.kind, self.unchecked = kind, None
        return value


cdef class Maker:
    """Makes instances of a named tuple from some of their fields.

    Args:
        kind: the class of the instances.
        usual: the values of all fields that are not given.
        checks: for each field that may be given by name, its place and a function that returns the value to store for
            a name and a value; also a function that returns a class, and a container of objects of this class which
            the check returns as they are: it is called behind the first check of a value. None: there is none.
        unknown: a function that is called with another name and its value, and raises an error.
    """
    cdef type _kind
    cdef tuple _usual
    cdef dict _checks
    cdef object _unknown

    def __init__(self, type kind not None, tuple usual not None, checks not None, unknown not None):
        if not issubclass(kind, tuple):
            raise TypeError(f"{kind.__name__} is no class of tuples")
        for place, _, _ in checks.values():
            if not 0 <= place < len(usual):
                raise ValueError(f"there is no field {place} of {len(usual)}")
        self._kind, self._usual, self._unknown = kind, usual, unknown
        self._checks = {name: Check(*check) for name, check in checks.items()}

    def make(self, tuple first not None, named not None):
        """Return an instance.

        Args:
            first: the values of the first fields.
            named: values of other fields, by name.

        Raises:
            ValueError: `first` has more values than an instance has fields.
            Exception: the errors of the checks, and of `unknown`.
        """
        cdef Py_ssize_t at, given = PyTuple_GET_SIZE(first), count = PyTuple_GET_SIZE(self._usual)
        cdef object found
        cdef Check check
        if given > count:
            raise ValueError(f"{given} values are more than the {count} fields")
        found = without_items(self._kind, count)
        for at in range(count):
            put_item(found, at, <object> PyTuple_GET_ITEM(first if at < given else self._usual, at))
        for name, value in named.items():
            check = self._checks.get(name)
            if check is None:
                self._unknown(name, value)
            else:
                put_item(found, check.place, check.checked(name, value))
        return found
