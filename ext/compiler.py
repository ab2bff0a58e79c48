"""Messages of the build before it compiles: the reason why this Python is refused, or the missing tools."""

import math
import os
import shlex
import shutil
import sys
import sysconfig
from pathlib import Path

HOW = (
    "Debian and Ubuntu: apt install gcc python3-dev; Fedora: dnf install gcc python3-devel; "
    "macOS: xcode-select --install"
)
WRAPPERS = {"ccache", "sccache"}
"""Programs that may precede the compiler in CC."""


def plan(modules: int, seconds_each: float) -> str:
    """Return a sentence about the work of a build.

    Args:
        modules: the number of modules.
        seconds_each: the time in which one core translates and compiles a module.
    """
    cores = os.cpu_count() or 1
    minutes = math.ceil(modules * seconds_each / cores / 60)
    return (
        f"sonicpy: translating {modules} modules from Cython to C and compiling them: about "
        f"{minutes} minute{'s' * (minutes > 1)} with {cores} core{'s' * (cores > 1)}; later builds compile what changed"
    )


def write_to_terminal(sentence: str) -> bool:
    """Write a sentence to the terminal that controls the process; return whether there is one."""
    try:
        with open(os.ctermid(), "w") as terminal:
            terminal.write(f"\n  {sentence}\n")
    except OSError:
        return False
    return True


def compiler() -> str:
    """Return the name of the C compiler: from the variable CC, else the compiler of Python."""
    words = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    return next((word for word in words if Path(word).name not in WRAPPERS), "cc")


def headers() -> Path:
    """Return the folder of the header files of this Python."""
    return Path(sysconfig.get_paths()["include"])


def refused(is_free_threaded: bool) -> str | None:
    """Return a sentence with the reason why sonicpy does not run in this Python; None: it runs."""
    if not is_free_threaded:
        return None
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return (
        f"sonicpy relies on the GIL, and this is the free-threaded Python {version}t, which has none. "
        f"Install sonicpy with python{version}"
    )


def missing(program: str, include: Path) -> str | None:
    """Return a sentence about missing packages of this machine; None: no package is missing.

    Args:
        program: the C compiler.
        include: the folder of Python's header files.
    """
    if shutil.which(program) is None:
        return f'sonicpy compiles its hot paths, and there is no C compiler "{program}" on this machine. {HOW}'
    if not (include / "Python.h").exists():
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        return f"sonicpy compiles its hot paths, and Python {version} lacks its header Python.h in {include}. {HOW}"
    return None
