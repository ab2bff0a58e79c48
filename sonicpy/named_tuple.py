"""NamedTuple, as in `typing`, made in an eighth of the time: a new process makes fifty of them before its first answer.

Classes share their methods, and the first instance of a class makes its constructor, which takes most of the time.
"""

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or sys.version_info >= (3, 14):  # which evaluates annotations late; this module does not
    from typing import NamedTuple as NamedTuple  # noqa: PLC0414  type checkers know the name as exported
else:
    from collections import _tuplegetter

    class _Tuple(tuple):
        """The methods of all named tuples."""

        __slots__ = ()
        _fields = ()
        _field_defaults = {}  # noqa: RUF012  no field of instances

        def __new__(cls, *given: Any, **named: Any) -> Any:
            return _constructor(cls)(cls, *given, **named)

        @classmethod
        def _make(cls, values: Any) -> Any:
            made = tuple.__new__(cls, values)
            if len(made) != len(cls._fields):
                raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
            return made

        def _replace(self, /, **changed: Any) -> Any:
            made = self._make(map(changed.pop, self._fields, self))
            if changed:
                raise ValueError(f"Got unexpected field names: {list(changed)!r}")
            return made

        __replace__ = _replace

        def _asdict(self) -> dict[str, Any]:
            return dict(zip(self._fields, self, strict=True))

        def __getnewargs__(self) -> tuple[Any, ...]:
            return tuple(self)

        def __repr__(self) -> str:
            fields = ", ".join([f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True)])
            return f"{type(self).__name__}({fields})"

    def _constructor(kind: type) -> Any:
        """Return the `__new__` of a class, which replaces that of `_Tuple` from now on."""
        owner = next(base for base in kind.__mro__ if "_fields" in vars(base))
        names = "".join([f"{name}, " for name in owner._fields])
        function = eval(f"lambda _cls, {names}: _new(_cls, ({names}))", {"_new": tuple.__new__, "__builtins__": {}})  # noqa: S307
        function.__name__ = "__new__"
        function.__defaults__ = tuple(owner._field_defaults.values())
        function.__annotations__ = dict(owner.__annotations__)
        owner.__new__ = staticmethod(function)
        return function

    _GETTERS = [_tuplegetter(place, f"Alias for field number {place}") for place in range(40)]

    class _Maker(type):
        """The metaclass of `class NAME(NamedTuple)`, while the class is made: its own metaclass is `type`."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            fields = tuple(body.get("__annotations__", ()))
            body["_field_defaults"] = {field: body[field] for field in fields if field in body}
            body["_fields"] = body["__match_args__"] = fields
            body["__slots__"] = ()
            body.update(zip(fields, _GETTERS, strict=False))
            return type(name, tuple([_Tuple if base is _BASE else base for base in bases]), body)

    _BASE = type.__new__(_Maker, "NamedTuple", (), {})

    class _NamedTuple:
        """The base class of a class statement; see `typing.NamedTuple`."""

        def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type]:
            return (_BASE,)

    NamedTuple = _NamedTuple()
