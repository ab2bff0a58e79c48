"""Replaces a source folder without compiled modules by the installed package.

Python started in a checkout finds the folder `sonicpy` there before the package that `pip install .` has installed.
That folder has no compiled modules, unless they were built in place. Mixing the two would run new Python code with
old compiled code after the next change, so the installed package replaces the source folder as a whole.
"""

import importlib
import sys
from collections.abc import Iterator
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec, PathFinder
from pathlib import Path

COMPILED = "_native/compiled"
"""The path of the library of the compiled modules."""


def give_way(package: str, file: str) -> None:
    """Replace a package without compiled modules by an installed one that has them. A package with them stays.

    Args:
        package: the name of the package.
        file: the `__init__.py` that is being imported.

    Raises:
        ImportError: no installed package has compiled modules for this Python.
    """
    folder = Path(file).parent
    if _is_compiled(folder):
        return
    for spec in _installed(package):
        if spec.origin is not None and _is_compiled(Path(spec.origin).parent):
            _load(spec)
            return
    raise ImportError(
        f"{folder} has no modules compiled for this Python {sys.version_info.major}.{sys.version_info.minor}, and no "
        f'package that has them is installed: run "pip install ." in {folder.parent}'
    )


def _is_compiled(folder: Path) -> bool:
    return any((folder / f"{COMPILED}{suffix}").exists() for suffix in EXTENSION_SUFFIXES)


def _installed(package: str) -> Iterator[ModuleSpec]:
    for entry in sys.path:
        spec = PathFinder.find_spec(package, [entry or "."])
        if spec is not None:
            yield spec


def _load(spec: ModuleSpec) -> None:
    assert spec.loader is not None
    module = importlib.import_module("importlib.util").module_from_spec(spec)  # needed here alone
    sys.modules[spec.name] = module  # the import that is under way returns the module that is here at its end
    spec.loader.exec_module(module)
