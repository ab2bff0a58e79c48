"""The places that settings are looked for in: nothing here reads them, so that a verb that needs none is quick."""

from pathlib import Path

SEARCHED_FILES = (
    Path("./sonicpy.cfg"),
    Path("./config.cfg"),
    Path("/etc/sonicpy.cfg"),
    Path("/etc/sonic.cfg"),
    Path("/etc/sonic/config.toml"),
    Path("/etc/sonic/sonic.cfg.toml"),
    Path("/etc/sonic/sonic.cfg"),
)
"""Sonic's list; in each folder, sonicpy's own names come first."""

ENVIRONMENT_PREFIX = "SONIC_"


def find_file() -> Path | None:
    """Return the first of SEARCHED_FILES that exists.

    A folder counts as found, and reading it fails. Docker makes a folder where a mounted file is missing, and not to
    start is better than to start without the password in that file.
    """
    return next((path for path in SEARCHED_FILES if _is_there(path)), None)


def _is_there(path: Path) -> bool:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True  # this process may not look there; reading the file then raises the reason
    return True
