"""The attacks by name: each module of this package with a function `attack`."""

import importlib
import pkgutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import tests.attacks as package
from tests.attacks.outcome import Outcome


class Attack(NamedTuple):
    """An attack.

    Attributes:
        name: the name of its module.
        title: the first line of the docstring of the module.
        run: called with a scale (1: the full set; at most 1), a seed, and an empty folder of its own.
    """

    name: str
    title: str
    run: Callable[[float, int, Path], Outcome]


def attacks() -> list[Attack]:
    """Return all attacks, sorted by name."""
    found: list[Attack] = []
    for entry in pkgutil.iter_modules(package.__path__):
        if entry.name.startswith(("test_", "__")):
            continue
        module = importlib.import_module(f"tests.attacks.{entry.name}")
        if hasattr(module, "attack"):
            title = (module.__doc__ or "").partition("\n")[0].rstrip(".")
            found.append(Attack(entry.name, title, module.attack))
    return sorted(found)
