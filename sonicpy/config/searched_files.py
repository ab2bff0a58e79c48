"""The places where settings files are looked for. Nothing here reads a file, so a verb without settings starts
quickly."""

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
"""The paths that Sonic searches; in each folder, sonicpy's own names come first."""

ENVIRONMENT_PREFIX = "SONIC_"


def find_file() -> Path | None:
    """Return the first of SEARCHED_FILES that exists; None: none does.

    A folder of such a name counts as found, and reading it fails. Docker makes a folder where a mounted file is
    missing, and a refused start is better than a start without the password in that file.
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
