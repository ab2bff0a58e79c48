"""The verbs that work on folders while no server runs: `sonicpy backup`, `restore` and `verify`."""

import argparse
import sys
from pathlib import Path

from sonicpy.cli.settings import add_index_flags, load_settings
from sonicpy.errors import StoreError
from sonicpy.index.index import Index
from sonicpy.index.verify import holds_store, verify_folder

FAULTY = 1

BACKUP = """\
Write a backup of an index that no server has open into the folder PATH, as the file sonicpy.backup; a backup that is
there already is replaced once the new one is whole. With a server: TRIGGER backup PATH in control mode."""

RESTORE = """\
Replace the collections that the backup in the folder PATH holds; other collections stay. The backup is checked first,
and it is all or nothing. With a server: TRIGGER restore PATH in control mode."""

VERIFY = """\
Check an index, or a backup, and print what is wrong, one line each. Nothing is changed; while a server has the index
open, its last commit is looked at. Exit status: 0 nothing is wrong, 1 something is."""


def add_verbs(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the verbs and their arguments to the command line."""
    for name, what, description, run in (
        ("backup", "write a backup of an index", BACKUP, back_up),
        ("restore", "take collections from a backup", RESTORE, restore),
    ):
        parser = verbs.add_parser(name, help=what, description=description)
        parser.add_argument("path", metavar="PATH", type=Path, help="folder of the backup")
        add_index_flags(parser)
        parser.set_defaults(run=run)
    parser = verbs.add_parser("verify", help="check an index or a backup", description=VERIFY)
    parser.add_argument(
        "path", metavar="PATH", type=Path, nargs="?", help="folder of an index or of a backup (default: store.kv.path)"
    )
    add_index_flags(parser)
    parser.set_defaults(run=verify)


def back_up(arguments: argparse.Namespace) -> int:
    """Write a backup; raises SonicError if that does not work."""
    config = load_settings(arguments).config
    if not holds_store(config.store.kv.path):
        raise StoreError(f"there is no index in {config.store.kv.path} to write a backup of")
    with Index(config=config) as index:
        path = index.backup(arguments.path)
    print(f"{path} holds {path.stat().st_size} bytes")
    return 0


def restore(arguments: argparse.Namespace) -> int:
    """Restore a backup; raises SonicError if that does not work."""
    with Index(config=load_settings(arguments).config) as index:
        index.restore(arguments.path)
        print(f"the collections of {arguments.path} are restored into {index.store.folder}")
    return 0


def verify(arguments: argparse.Namespace) -> int:
    """Print what is wrong and return the exit status; raises SonicError if there is nothing to look at."""
    folder = arguments.path or load_settings(arguments).config.store.kv.path
    faults = verify_folder(folder)
    for fault in faults:
        print(fault)
    if faults:
        print(f"sonicpy: {len(faults)} faults in {folder}", file=sys.stderr)
        return FAULTY
    print(f"nothing is wrong with {folder}")
    return 0
