"""The versions of the installed peers."""

import re
import sqlite3
import subprocess
from importlib import metadata

from benchmarks.peers import postgres
from benchmarks.peers.servers import find_redis
from sonicpy.version import VERSION
from tests.support.server_process import find_sonic

PACKAGES = {
    "tantivy": "tantivy",
    "Reindexer": "pyreindexer",
    "py-lmdb": "lmdb",
    "plyvel": "plyvel",
    "rocksdict": "rocksdict",
    "psycopg": "psycopg",
}
NUMBER = re.compile(r"\d+(?:\.\d+)+")


def versions() -> dict[str, str]:
    """Return the versions of the installed peers by name."""
    found = {"sonicpy": VERSION, "SQLite": sqlite3.sqlite_version}
    for name, package in PACKAGES.items():
        try:
            found[name] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    place = postgres.programs()
    programs = {"Sonic": find_sonic(), "Redis": find_redis(), "PostgreSQL": place and str(place / "postgres")}
    for name, program in programs.items():
        if program:
            said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
            if number := NUMBER.search(said):
                found[name] = number[0]
    return found
