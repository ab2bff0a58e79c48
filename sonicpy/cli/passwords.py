"""The password for a server: from a variable or a file, because every user who lists processes sees command lines.

SONICPY_PASSWORD holds it; without it, SONICPY_PASSWORD_FILE names a file that holds it. A password in `--password` or
in a URL has precedence.
"""

import argparse
import os
import re
import sys
from pathlib import Path

from sonicpy.cli.output import remark
from sonicpy.errors import ConfigError

PASSWORD_VARIABLE = "SONICPY_PASSWORD"
PASSWORD_FILE_VARIABLE = "SONICPY_PASSWORD_FILE"
"""The name of the variable with a file; like SONICPY_PASSWORD it does not begin with SONIC_, unlike those of
settings.
"""

_IN_URL = re.compile(r"://[^/?#]*:[^/?#@]+@|[?&]password=.")


def password_given() -> str | None:
    """Return the password of the variable or of the file, or None. Raises ConfigError if the file cannot be read."""
    password = os.environ.get(PASSWORD_VARIABLE)
    path = os.environ.get(PASSWORD_FILE_VARIABLE)
    if not password and path:
        try:
            password = Path(path).read_text(encoding="utf-8", errors="surrogateescape").rstrip("\r\n")
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise ConfigError(f"the file {path} of {PASSWORD_FILE_VARIABLE} cannot be read: {reason}.") from error
    return password or None


def remark_visible(arguments: argparse.Namespace) -> None:
    """Print a warning to stderr, if it is a terminal, that a password is on the command line."""
    given = [vars(arguments).get(name) for name in ("server", "where")]
    is_visible = vars(arguments).get("password") or any(isinstance(url, str) and _IN_URL.search(url) for url in given)
    source = vars(arguments).get("source")
    is_of_database = isinstance(source, str) and _IN_URL.search(source)
    if (is_visible or is_of_database) and sys.stderr.isatty():
        way = (
            f"{PASSWORD_VARIABLE} or {PASSWORD_FILE_VARIABLE} hides it"
            if is_visible
            else ("most databases read it from a file, as PostgreSQL does from ~/.pgpass")
        )
        remark(f"everyone who can list processes reads the password on this command line; {way}")
