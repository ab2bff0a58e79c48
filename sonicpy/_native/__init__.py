"""Compiled modules: their sources are under ext/, their types in the .pyi files beside this one.

One library holds them all: a library of its own for each would take twice as long to open.
"""

import sys
from collections.abc import Sequence
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec
from pathlib import Path
from types import ModuleType

LIBRARY = str(Path(__file__).with_name(f"compiled{EXTENSION_SUFFIXES[0]}"))


class Compiled:
    """Finds the modules of the library."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the spec with which Python imports a module of this package; None: the module belongs to another
        package.

        Args:
            name: the full name of the module.
            path, target: not used; Python passes them.
        """
        if not name.startswith("sonicpy._native."):
            return None
        spec = ModuleSpec(name, ExtensionFileLoader(name, LIBRARY), origin=LIBRARY)
        spec.has_location = True
        return spec


sys.meta_path.insert(0, Compiled)
