"""The verbs that maintain an index: `sonicpy export`, `backup`, `restore`, `verify`, `consolidate` and `compact`."""

import argparse
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from sonicpy.cli.absent import remark_absent
from sonicpy.cli.arguments import Verbs, bucket_name, collection_name
from sonicpy.cli.output import remark, show
from sonicpy.cli.settings import load_settings
from sonicpy.cli.target import (
    WHERE,
    Purpose,
    add_target_flags,
    expect_index,
    open_folder,
    open_server,
    open_target,
    server_url,
)
from sonicpy.errors import ConfigError, NotOffered, SonicError
from sonicpy.index.compacting import compact_folder
from sonicpy.index.maintenance.verify import verify_in_child
from sonicpy.index.report.export import lines

FAULTS_FOUND = 1

EXPORT = f"""\
Write every object and its words as JSONL. Import makes the same index of it: the same hits in the same order. An index
does not hold texts, so there are none. Works while a server has the folder open, but not with --server. {WHERE}"""

BACKUP = f"""\
Write a backup of an index into the folder PATH, as the file sonicpy.backup. An older backup there is replaced when the
new one is complete. With --server, PATH is an absolute path on the machine of the server. {WHERE}"""

RESTORE = f"""\
Replace the collections that the backup in the folder PATH holds; other collections stay. The backup is checked first,
and all of it is restored or nothing. With --server, PATH is on the machine of the server. {WHERE}"""

VERIFY = f"""\
Check an index or a backup, and print its faults, one a line. Nothing is changed. While a server has the folder open,
this checks its last commit. {WHERE}
Exit status: 0 no fault, 1 there are faults."""

CONSOLIDATE = f"""\
Rebuild the word graphs, which corrections of typing errors are read from, with the words that were pushed since the
last time. A server does this by itself. {WHERE}"""


COMPACT = """\
Shrink the data file of an index to what it holds: a copy without free pages replaces it as a whole. The index must not
be open in any process, and the disk needs room for the copy. ls -l, and a copy of the folder, show the size of the
file; du shows less, because free pages take no disk. A server reuses free pages by itself."""


def add_verbs(verbs: Verbs) -> None:
    """Add the verbs and their arguments to the command line."""
    parser = verbs.add_parser(
        "export", description=EXPORT, epilog="example: sonicpy export messages --data ./data/store -o messages.jsonl"
    )
    parser.add_argument("collection", metavar="COLLECTION", type=collection_name, nargs="?", help="only this one")
    parser.add_argument("bucket", metavar="BUCKET", type=bucket_name, nargs="?", help="only this one")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="default: the standard output")
    add_target_flags(parser)
    parser.set_defaults(run=export, is_utf8=True)
    for name, description, run in (("backup", BACKUP, back_up), ("restore", RESTORE, restore)):
        parser = verbs.add_parser(
            name, description=description, epilog=f"example: sonicpy {name} /var/backups/monday --data ./data/store"
        )
        parser.add_argument("path", metavar="PATH", type=Path, help="folder of the backup")
        add_target_flags(parser)
        parser.set_defaults(run=run)
    parser = verbs.add_parser("verify", description=VERIFY, epilog="example: sonicpy verify /var/backups/monday")
    parser.add_argument(
        "path", metavar="PATH", type=Path, nargs="?", help="folder of an index or of a backup (default: the index)"
    )
    add_target_flags(parser)
    parser.set_defaults(run=verify)
    parser = verbs.add_parser(
        "consolidate", description=CONSOLIDATE, epilog="example: sonicpy consolidate --data ./data/store"
    )
    add_target_flags(parser)
    parser.set_defaults(run=consolidate)
    parser = verbs.add_parser("compact", description=COMPACT, epilog="example: sonicpy compact ./data/store")
    parser.add_argument("path", metavar="PATH", type=Path, nargs="?", help="folder of the index (default: the index)")
    add_target_flags(parser)
    parser.set_defaults(run=compact)


def export(arguments: argparse.Namespace) -> int:
    """Write every object of an index as lines of JSON; return the exit status. Raises SonicError if that fails."""
    url = server_url(arguments)
    if url is not None:
        raise NotOffered("export", "Sonic Channel does not give the words of objects; export the folder, with --data")
    with (
        open_folder(load_settings(arguments).config, Purpose.COPY) as index,
        _output(arguments.output) as output,
        index.maintainer.engine.snapshot_of_now() as view,
    ):
        if arguments.collection is not None:
            remark_absent(index, arguments.collection, arguments.bucket)
        for line in lines(view, arguments.collection, arguments.bucket):
            output.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
    return 0


@contextmanager
def _output(path: Path | None) -> Iterator[IO[str]]:
    """Open the output of an export for the length of a `with` block; a file appears when it is complete. Raises
    SonicError if it cannot be written.
    """
    if path is None or path == Path("-"):
        yield sys.stdout
        return
    try:
        with open(path, "w", encoding="utf-8") if _is_stream(path) else _whole_file(path.resolve()) as file:
            yield file
    except OSError as error:
        raise SonicError(f"cannot write {path}: {error.strerror}") from error


def _is_stream(path: Path) -> bool:
    """Return whether a path is writable but not a regular file, such as a pipe or /dev/null."""
    return path.exists() and not path.is_file()


@contextmanager
def _whole_file(path: Path) -> Iterator[IO[str]]:
    """Open a file that replaces the one at `path` at the end of the block; after an error, nothing of it is left."""
    temporary = path.with_name(f"{path.name}.part")
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            yield file
        os.replace(temporary, path)
    except BaseException:  # an interrupt, too: on a full disk, what is left would keep others from writing
        temporary.unlink(missing_ok=True)
        raise


def back_up(arguments: argparse.Namespace) -> int:
    """Write a backup; return the exit status. Raises SonicError if that fails."""
    url = server_url(arguments)
    if url is not None:
        with open_server(url) as client:
            client.backup(arguments.path)
        show(arguments, {"path": str(arguments.path)}, f"the server wrote a backup into {arguments.path}")
        return 0
    with open_folder(load_settings(arguments).config, Purpose.COPY) as index:
        path = index.backup(arguments.path)
    size = path.stat().st_size
    show(arguments, {"path": str(path), "bytes": size}, f"{path} holds {size} bytes")
    return 0


def restore(arguments: argparse.Namespace) -> int:
    """Restore a backup; return the exit status. Raises SonicError if that fails."""
    url = server_url(arguments)
    if url is not None:
        with open_server(url) as client:
            client.restore(arguments.path)
        where = "the server"
    else:
        config = load_settings(arguments).config
        with open_folder(config, Purpose.CREATE) as index:
            index.restore(arguments.path)
        where = str(config.store.kv.path)
    show(arguments, {"path": str(arguments.path)}, f"the collections of {arguments.path} are restored into {where}")
    return 0


def verify(arguments: argparse.Namespace) -> int:
    """Print faults and return the exit status. Raises SonicError if there is nothing to check."""
    url = server_url(arguments) if arguments.path is None else None
    if arguments.path is not None and arguments.server is not None:
        raise ConfigError("flag --server names a server, and PATH a folder; allowed is one of the two.")
    if url is not None:
        with open_server(url) as client:
            where, faults = "the index of the server", client.verify()
    else:
        folder = arguments.path or load_settings(arguments).config.store.kv.path
        where, faults = str(folder), verify_in_child(folder)
    show(arguments, {"faults": faults}, *(faults or [f"{where} has no faults"]))
    if faults:
        print(f"sonicpy: {len(faults)} faults in {where}", file=sys.stderr)
    return FAULTS_FOUND if faults else 0


def consolidate(arguments: argparse.Namespace) -> int:
    """Build the word graphs; return the exit status. Raises SonicError if that fails."""
    with open_target(arguments, Purpose.WRITE) as index:
        index.consolidate()
    show(arguments, {"consolidated": True})
    return 0


def compact(arguments: argparse.Namespace) -> int:
    """Shrink the data file of a folder; return the exit status. Raises SonicError if that fails."""
    if arguments.path is None and server_url(arguments) is not None:
        raise NotOffered("compact", "the folder must not be open: end the server, and name the folder")
    config = load_settings(arguments).config
    folder: Path = arguments.path or config.store.kv.path
    expect_index(folder)
    sizes = compact_folder(folder, config, lambda copied: remark(f"{copied} bytes of the copy are written"))
    line = f"the data file of {folder} has {sizes.after} bytes; before it had {sizes.before}"
    show(arguments, {"path": str(folder), "before": sizes.before, "after": sizes.after}, line)
    return 0
