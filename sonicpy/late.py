"""Functions whose modules are imported at their first call, so that a new process loads less before its first answer.

A module that uses one imports it for type checkers alone:

    if TYPE_CHECKING:
        from sonicpy.store.changing.sweep import sweep
    else:
        sweep = late("sonicpy.store.changing.sweep", "sweep", __name__)
"""

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

ANSWERING = ("sonicpy.index.search.planners.spacing", "sonicpy.index.search.planners.stand_ins")
"""Modules that are imported inside functions that many queries call."""

_modules = set(ANSWERING)


def late(module: str, name: str, owner: str | None = None) -> Callable[..., Any]:
    """Return a function that does as the function `name` of `module`, which the first call imports.

    Args:
        owner: a module that holds the result under the same name: the first call puts the function there.
    """
    found: Callable[..., Any] | None = None
    _modules.add(module)

    def call(*given: Any, **named: Any) -> Any:
        nonlocal found
        if found is None:
            found = getattr(import_module(module), name)
            if owner is not None:
                setattr(sys.modules[owner], name, found)
        return found(*given, **named)

    return call


def import_now() -> None:
    """Import the modules of all late functions that exist: a server imports nothing for its first answers, for which
    it may have no file descriptor left."""
    imported: set[str] = set()
    while missing := _modules - imported:  # a module may have late functions of its own
        for module in sorted(missing):
            import_module(module)
        imported |= missing
