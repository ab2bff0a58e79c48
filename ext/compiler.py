"""The messages of the build before it compiles: why this Python is refused, or what this machine lacks for it."""

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
"""Programs that stand before the compiler in CC."""


def compiler() -> str:
    """Return the name of the C compiler: that of the variable CC, else the one that Python was built with."""
    words = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    return next((word for word in words if Path(word).name not in WRAPPERS), "cc")


def headers() -> Path:
    """Return the folder of the header files of the Python that runs."""
    return Path(sysconfig.get_paths()["include"])


def refused(is_free_threaded: bool) -> str | None:
    """Return a sentence that says why sonicpy does not run in this Python; None: it does."""
    if not is_free_threaded:
        return None
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return (
        f"sonicpy relies on the GIL, and this is the free-threaded Python {version}t, which has none. "
        f"Install sonicpy with python{version}"
    )


def missing(program: str, include: Path) -> str | None:
    """Return a sentence that says what this machine lacks; None: nothing.

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
