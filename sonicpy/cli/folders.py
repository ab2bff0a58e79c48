"""The verbs for the whole of an index: `sonicpy backup`, `restore` and `verify`."""

import argparse
import sys
from pathlib import Path

from sonicpy.cli.output import show
from sonicpy.cli.settings import load_settings
from sonicpy.cli.target import WHERE, Purpose, add_target_flags, open_folder, open_server, server_url
from sonicpy.errors import ConfigError
from sonicpy.index.maintenance.verify import verify_folder

FAULTY = 1

BACKUP = f"""\
Write a backup of an index into the folder PATH, as the file sonicpy.backup; a backup that is there already is replaced
once the new one is whole. With --server PATH is on the machine of the server, from its root. {WHERE}"""

RESTORE = f"""\
Replace the collections that the backup in the folder PATH holds; other collections stay. The backup is checked first,
and it is all or nothing. With --server PATH is on the machine of the server. {WHERE}"""

VERIFY = f"""\
Check an index, or a backup, and print what is wrong, one line each. Nothing is changed; while a server has the folder
open, its last commit is looked at. {WHERE}
Exit status: 0 nothing is wrong, 1 something is."""


def add_verbs(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the verbs and their arguments to the command line."""
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


def back_up(arguments: argparse.Namespace) -> int:
    """Write a backup; raises SonicError if that does not work."""
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
    """Restore a backup; raises SonicError if that does not work."""
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
    """Print what is wrong and return the exit status; raises SonicError if there is nothing to look at."""
    url = server_url(arguments) if arguments.path is None else None
    if arguments.path is not None and arguments.server is not None:
        raise ConfigError("flag --server names a server, and PATH a folder; allowed is one of both.")
    if url is not None:
        with open_server(url) as client:
            where, faults = "the index of the server", client.verify()
    else:
        folder = arguments.path or load_settings(arguments).config.store.kv.path
        where, faults = str(folder), verify_folder(folder)
    show(arguments, {"faults": faults}, *(faults or [f"nothing is wrong with {where}"]))
    if faults:
        print(f"sonicpy: {len(faults)} faults in {where}", file=sys.stderr)
    return FAULTY if faults else 0
