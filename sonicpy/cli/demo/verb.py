"""`sonicpy demo`: a search over the standard library of Python, from nothing to a page in a browser."""

import argparse
import json
import os
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from sonicpy.cli.arguments import Verbs
from sonicpy.cli.demo.corpus import PythonName, entries, source_files
from sonicpy.cli.importing.progress import ProgressBar
from sonicpy.cli.output import remark
from sonicpy.config import load
from sonicpy.errors import SonicError
from sonicpy.index.index import Index
from sonicpy.server import server

COLLECTION, BUCKET = "python", "default"
FREE_PORT = "127.0.0.1:0"
FILES_AT_ONCE = 16
DESCRIPTION = """\
Index the modules, classes and functions of the Python that runs this, with their docstrings, and serve the index: a
page in the browser, the channel for clients. The files are read, not run, and nothing leaves this machine. Ctrl-C ends
it; the index is deleted then, except with --data."""

TRIALS = (
    ("a typing error", "tempfiel"),
    ("an unfinished word", "threadpo"),
    ("a part of a name", "splitext"),
)
"""(kind of query to try, the query)."""


def add_verbs(verbs: Verbs) -> None:
    """Add `demo` and its arguments to the command line."""
    parser = verbs.add_parser("demo", description=DESCRIPTION, epilog="example: sonicpy demo --no-open")
    parser.add_argument(
        "--data", metavar="DIR", type=Path, help="keep the index in this folder (default: a temporary one)"
    )
    parser.add_argument("--no-open", action="store_true", help="do not start a browser")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Index, then serve until the process is interrupted; return the exit status.

    Raises:
        SonicError: Python has no source files here, the folder cannot be used, or no port is free.
    """
    with ExitStack() as stack:
        folder = arguments.data
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sonicpy-demo-"))) / "store"
        elif folder.exists() and any(folder.iterdir()):
            raise SonicError(f"{folder} is not empty; --data takes a folder that is empty or does not exist yet")
        rows = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sonicpy-demo-"))) / "names.jsonl"
        fill(folder, rows)
        flags = {"channel.inet": FREE_PORT, "http.inet": FREE_PORT, "store.kv.path": str(folder)}
        flags |= {"http.hits": str(rows), "server.log_level": "warn"}
        loaded = load(Path(os.devnull), {}, flags)
        return server.serve(loaded, _Announcing(opens=not arguments.no_open))


def fill(folder: Path, shown: Path) -> int:
    """Index the standard library in a folder that has no index yet; return the number of names.

    Args:
        shown: the file that gets a row for each name, for `http.hits`.
    """
    files = source_files()
    names = 0
    with (
        Index(folder) as index,
        open(shown, "w", encoding="utf-8") as file,
        ProgressBar(len(files), "files", shown=sys.stderr.isatty()) as progress,
    ):
        bucket = index.bucket(COLLECTION, BUCKET)
        for start in range(0, len(files), FILES_AT_ONCE):
            some = files[start : start + FILES_AT_ONCE]
            found = [entry for each in some for entry in entries(*each)]
            bucket.push_many([(entry.name, entry.indexed) for entry in found])
            file.writelines(json.dumps(_row(entry)) + "\n" for entry in found)
            names += len(found)
            progress.advance(start + len(some), len(found))
        index.consolidate()
    remark(f"{names:,} names of {len(files)} files are indexed")
    return names


def _row(entry: PythonName) -> dict[str, str]:
    return {"id": entry.name, "title": f"{entry.name} ({entry.kind})", "text": entry.text, "link": entry.link}


@dataclass(frozen=True, slots=True)
class _Announcing:
    """Prints the address of the server and queries to try, and opens the page."""

    opens: bool

    def __call__(self, announcement: server.Announcement) -> None:
        page = f"http://{announcement.http}/"
        print("\n".join(_lines(page, announcement.channel[0])), flush=True)
        if self.opens:
            # A browser in the terminal waits for the server, which waits for this call.
            threading.Thread(target=webbrowser.open, args=(page,), daemon=True).start()


def _lines(page: str, channel: str) -> Iterator[str]:
    """Yield the lines to print: the page, queries to try, and commands and code for the same queries."""
    (_, typo), (_, unfinished), (_, part) = TRIALS
    width = max(len(query) for _, query in TRIALS)
    host, _, port = channel.rpartition(":")
    url = f"sonic://{channel}"
    yield f"\n  Search in a browser: {page}\n\n  Try"
    for shown, query in TRIALS:
        yield f"    {query:{width}}   {shown}"
    yield "\n  The same from elsewhere"
    yield f"    sonicpy query {COLLECTION} {typo} --server {url}"
    yield f"    curl '{page}v1/query?collection={COLLECTION}&bucket={BUCKET}&text={unfinished}'"
    yield f'    nc {host} {port}     then: START search, QUERY {COLLECTION} {BUCKET} "{part}", QUIT'
    asked = f'sonicpy.connect("{url}").query("{COLLECTION}", "{BUCKET}", "{typo}")'
    yield f"    python -c 'import sonicpy; print({asked})'"
    yield "\n  Ctrl-C ends it"
