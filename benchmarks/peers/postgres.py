"""PostgreSQL in a temporary folder, on a Unix socket, if its programs are installed."""

import importlib
import importlib.util
import os
import pwd
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.accounting import cpu_s
from benchmarks.peers.kinds import BOTH, EITHER, LIMIT, PREFIX, TYPO, Item, NamePeer, Rows, TextPeer

USER = "postgres"
SCRIPTS_MAX = 128
"""The most scripts that pgbench takes."""
SETTINGS = "-c listen_addresses='' -c fsync=off -c synchronous_commit=off -c full_page_writes=off"
NAME = "PostgreSQL, Unix socket"
LONGER_MAX = 6
"""How often pgbench runs for twice the time, if no statement was answered."""


def missing() -> str | None:
    """Return the reason why PostgreSQL cannot be measured, or None."""
    if programs() is None:
        return "not installed: its server programs are missing"
    if importlib.util.find_spec("psycopg") is None:
        return "not installed: pip install psycopg"
    return None


def programs() -> Path | None:
    """Return the folder with initdb and pg_ctl, or None."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    path = str(found[-1]) if found else shutil.which("initdb")
    return Path(path).parent if path else None


@contextmanager
def open_postgres() -> Iterator[Any]:
    """Yield a connection to a new server inside a `with` block. No write waits for the disk.

    Its folder is a temporary one of its own: every parent must stay open to the user of its programs, and the path of
    its socket has at most 107 bytes.
    """
    place = programs()
    assert place is not None
    is_root = os.geteuid() == 0  # its programs refuse to run as root

    def call(*command: str) -> None:
        words = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", *command] if is_root else [*command]
        subprocess.run(words, check=True, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    with tempfile.TemporaryDirectory(prefix="pg-") as folder:
        if is_root:
            account = pwd.getpwnam(USER)
            os.chown(folder, account.pw_uid, account.pw_gid)
        data = f"{folder}/data"
        call(str(place / "initdb"), "-D", data, "-U", USER, "-A", "trust", "-N")
        call(str(place / "pg_ctl"), "-D", data, "-w", "-o", f"-k {folder} {SETTINGS}", "start")
        try:
            psycopg = importlib.import_module("psycopg")
            with psycopg.connect(host=folder, user=USER, dbname="postgres", autocommit=True) as connection:
                yield connection
        finally:
            call(str(place / "pg_ctl"), "-D", data, "-w", "-m", "immediate", "stop")


def asked_by_pgbench(
    connection: Any, folder: Path, statements: Sequence[str], connections: int, seconds: float
) -> tuple[float, float]:
    """Return the rate of prepared statements that pgbench asks over connections, and the CPU seconds of a statement.

    Args:
        connection: the connection that `open_postgres` yielded.
        folder: a new folder, for the scripts.
        statements: SQL without parameters, each asked at random; at most SCRIPTS_MAX.
        connections: the number of connections of pgbench.
        seconds: the time in seconds for which pgbench runs; at least a second, and longer if nothing was answered.
    """
    folder.mkdir(parents=True)
    scripts: list[str] = []
    for number, statement in enumerate(statements):
        (folder / f"{number}.sql").write_text(f"{statement};\n")
        scripts += ["-f", f"{folder / f'{number}.sql'}"]
    server = int(connection.execute("SELECT pg_read_file('postmaster.pid')").fetchone()[0].split()[0])
    place = programs()
    assert place is not None
    command = [str(place / "pgbench"), "-n", "-M", "prepared", "-c", f"{connections}", *scripts]
    command += ["-h", connection.info.host, "-U", USER, "postgres"]
    for whole in (max(1, round(seconds)) << longer for longer in range(LONGER_MAX)):
        before_s = cpu_s(server) + cpu_s(os.getpid())
        said = subprocess.run([*command, "-T", f"{whole}"], check=True, capture_output=True, text=True).stdout
        done = re.search(r"actually processed: (\d+)", said)
        rate = re.search(r"^tps = ([\d.]+)", said, re.MULTILINE)
        if done and rate:  # on a busy machine, it may connect for a second
            return float(rate[1]), (cpu_s(server) + cpu_s(os.getpid()) - before_s) / int(done[1])
    raise AssertionError(said)


class PostgresTexts(TextPeer):
    """Documents in a table with a GIN index over their words."""

    name, is_remote = NAME, True

    def __init__(self, connection: Any) -> None:
        self.pids = [connection.info.backend_pid]
        self._connection = connection
        connection.execute("CREATE TABLE items(id INT PRIMARY KEY, name TEXT, year INT, text TEXT, words TSVECTOR)")

    def load(self, items: Sequence[Item]) -> None:
        with self._connection.cursor().copy("COPY items(id, name, year, text) FROM STDIN") as copy:
            for item in items:
                copy.write_row(item)
        self._connection.execute("UPDATE items SET words = to_tsvector('simple', text)")
        self._connection.execute("CREATE INDEX found ON items USING GIN(words)")
        self._connection.execute("CREATE INDEX named ON items(name)")
        self._connection.execute("VACUUM ANALYZE items")

    def find(self, kind: str, words: Sequence[str]) -> list[int] | None:
        if kind == TYPO:
            return None
        sign = {BOTH: " & ", EITHER: " | "}.get(kind, " & ")
        asked = sign.join(f"'{word}'" + (":*" if kind == PREFIX else "") for word in words)
        rows = self._connection.execute(
            "SELECT id FROM items, to_tsquery('simple', %s) asked WHERE words @@ asked "
            "ORDER BY ts_rank(words, asked) DESC LIMIT %s",
            (asked, LIMIT), prepare=True,
        )  # fmt: skip
        return [number for (number,) in rows.fetchall()]

    def point(self, number: int) -> bool:
        rows = self._connection.execute("SELECT name, year FROM items WHERE id = %s", (number,), prepare=True)
        return rows.fetchone() is not None

    def update(self, number: int, text: str) -> None:
        self._connection.execute(
            "UPDATE items SET text = %s, words = to_tsvector('simple', %s) WHERE id = %s",
            (text, text, number),
            prepare=True,
        )


class PostgresNames(NamePeer):
    """Names in a table; existing ones are kept."""

    name, is_remote = NAME, True

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        connection.execute("CREATE TABLE names(name TEXT PRIMARY KEY, text TEXT)")

    def add(self, rows: Rows) -> None:
        with self._connection.transaction(), self._connection.cursor() as cursor:
            cursor.executemany("INSERT INTO names VALUES (%s, %s) ON CONFLICT DO NOTHING", rows)

    def has(self, name: str) -> bool:
        return (
            self._connection.execute("SELECT 1 FROM names WHERE name = %s", (name,), prepare=True).fetchone()
            is not None
        )
