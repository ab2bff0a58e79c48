"""`sonicpy import` and `sonicpy export`: many rows in, and everything out."""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import IO

from sonicpy.api.rows import OBJECT_COLUMNS, TEXT_COLUMN
from sonicpy.cli.arguments import bucket_name, collection_name, language
from sonicpy.cli.fields import DEFAULT_BUCKET, Fields
from sonicpy.cli.importing import Import
from sonicpy.cli.position import Position, position_file, read_position, user_folder
from sonicpy.cli.settings import load_settings
from sonicpy.cli.sinks import FolderSink, ServerSink, Sink
from sonicpy.cli.sources import STDIN, Source
from sonicpy.cli.target import WHERE, Purpose, add_target_flags, open_folder, open_server, server_url
from sonicpy.errors import ConfigError, NotOffered, SonicError
from sonicpy.index.maintenance.verify import is_there
from sonicpy.index.report.export import ExportedObject

ROWS_REFUSED = 3
POSITIONS = "import"
"""Folder below the index."""

IMPORT = f"""\
Push the rows of a file: JSONL, CSV, TSV, or Parquet (pip install 'sonicpy-search[parquet]'). A row names its object in
the field {" or ".join(OBJECT_COLUMNS)} and has its text in the field {TEXT_COLUMN}, unless --id and --text say
otherwise; its collection, bucket and language stand in fields of these names, unless they are given. What export wrote
is imported as it was. Rows that cannot be indexed are counted, the first are shown, all are written to --bad, and the
import goes on. Interrupted, it goes on with --resume behind the last row that is safe. {WHERE}
Exit status: 0 every row is indexed, 3 some were refused, 1 it did not work, 2 wrong arguments."""

EXPORT = f"""\
Write every object and the words it holds as JSONL, which import makes the same index of: same hits in the same order.
Texts are not kept, so there are none. Works while a server has the folder open; over the wire it is not offered.
{WHERE}"""


def add_verbs(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the verbs and their arguments to the command line."""
    parser = verbs.add_parser(
        "import", description=IMPORT,
        epilog="example: sonicpy import messages.csv --id number --text subject --text body --collection messages",
    )  # fmt: skip
    parser.add_argument("file", metavar="FILE", help="the rows; - is the standard input")
    parser.add_argument("--format", choices=["jsonl", "csv", "tsv", "parquet"], help="default: by the end of the name")
    parser.add_argument("--no-header", action="store_true", help="CSV and TSV: the fields are named 1, 2, 3")
    parser.add_argument("--id", metavar="FIELD", help=f"the object's name (default: {' or '.join(OBJECT_COLUMNS)})")
    parser.add_argument(
        "--text", metavar="FIELD", action="append", help=f"a text; may be given several times (default: {TEXT_COLUMN})"
    )
    parser.add_argument("--collection", metavar="NAME", type=collection_name, help="of all rows")
    parser.add_argument("--bucket", metavar="NAME", type=bucket_name, help=f"of all rows (default: {DEFAULT_BUCKET})")
    parser.add_argument("--lang", metavar="CODE", type=language, help="language of all rows, as ISO 639-3, or none")
    for name in ("collection", "bucket", "lang"):
        parser.add_argument(
            f"--{name}-field", metavar="FIELD", default=name, help=f"where rows say it (default: {name})"
        )
    parser.add_argument("--resume", action="store_true", help="go on where this import was interrupted")
    parser.add_argument("--bad", metavar="FILE", type=Path, help="write refused rows to FILE, as JSONL")
    parser.add_argument("--strict", action="store_true", help="stop at the first row that is refused")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress bar")
    add_target_flags(parser)
    parser.set_defaults(run=run_import)
    parser = verbs.add_parser(
        "export", description=EXPORT, epilog="example: sonicpy export messages --data ./data/store -o messages.jsonl"
    )
    parser.add_argument("collection", metavar="COLLECTION", type=collection_name, nargs="?", help="this one alone")
    parser.add_argument("bucket", metavar="BUCKET", type=bucket_name, nargs="?", help="this one alone")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="default: the standard output")
    add_target_flags(parser)
    parser.set_defaults(run=run_export)


def run_import(arguments: argparse.Namespace) -> int:
    """Import a file; print how much that was. Raises SonicError if that does not work."""
    if arguments.resume and arguments.file == STDIN:
        raise ConfigError("flag --resume needs a file: the standard input cannot be read again.")
    source = Source(arguments.file, arguments.format, header=not arguments.no_header)
    try:
        with _sink(arguments) as (sink, folder):
            return _import(arguments, source, sink, folder)
    finally:
        source.close()


def _import(arguments: argparse.Namespace, source: Source, sink: Sink, folder: Path) -> int:
    # tqdm is loaded for imports alone.
    from sonicpy.cli.progress import Progress  # noqa: PLC0415

    fields = _fields(arguments)
    work = Import(source, fields, sink, strict=arguments.strict)
    start = Position()
    if source.path != STDIN:
        meaning = json.dumps([source.kind, source.header, asdict(fields), server_url(arguments)])
        path = position_file(folder, Path(source.path), meaning)
        start = _start(path, Path(source.path), resume=arguments.resume)
        work.keep_position(path, start)
    began = time.monotonic()
    with (
        _bad_file(arguments.bad, start) as bad,
        Progress(source.size, source.unit, shown=not arguments.quiet and sys.stderr.isatty()) as progress,
    ):
        end = work.run(bad, progress)
    _report(arguments, start, end, time.monotonic() - began)
    return ROWS_REFUSED if end.refused else 0


def _start(path: Path, source: Path, *, resume: bool) -> Position:
    if not is_there(path):
        return Position()
    if not resume:
        print(f"sonicpy: an import of {source} was interrupted; --resume would go on there", file=sys.stderr)
        return Position()
    position = read_position(path, source)
    print(f"sonicpy: going on behind row {position.rows} of {source}", file=sys.stderr)
    return position


def _report(arguments: argparse.Namespace, start: Position, end: Position, seconds: float) -> None:
    if arguments.json:
        counts = {"rows": end.rows, "indexed": end.indexed, "refused": end.refused, "resumed": start.rows}
        print(json.dumps({**counts, "seconds": round(seconds, 3)}))
        return
    rows = end.rows - start.rows
    behind = f" behind row {start.rows}" if start.rows else ""
    print(
        f"{rows} rows{behind} in {seconds:.1f} s, {rows / max(seconds, 1e-9):.0f} rows/s; "
        f"{end.indexed} indexed, {end.refused} refused in all"
    )


@contextmanager
def _sink(arguments: argparse.Namespace) -> Iterator[tuple[Sink, Path]]:
    """Where entries go, and the folder of positions, for the length of a `with` block."""
    url = server_url(arguments)
    if url is not None:
        with open_server(url) as client:
            yield ServerSink(client), user_folder()
        return
    with open_folder(load_settings(arguments).config, Purpose.CREATE) as index, index.batch():
        yield FolderSink(index), index.maintainer.folder / POSITIONS


def _fields(arguments: argparse.Namespace) -> Fields:
    return Fields(
        arguments.id,
        tuple(arguments.text or (TEXT_COLUMN,)),
        arguments.collection,
        arguments.bucket,
        arguments.lang,
        arguments.collection_field,
        arguments.bucket_field,
        arguments.lang_field,
    )


@contextmanager
def _bad_file(path: Path | None, start: Position) -> Iterator[IO[str] | None]:
    """The file of refused rows, cut to what belongs to the rows before `start`, for the length of a `with` block."""
    if path is None:
        yield None
        return
    try:
        with open(path, "a", encoding="utf-8") as file:
            file.truncate(min(start.bad_bytes, os.fstat(file.fileno()).st_size))
            yield file
    except OSError as error:
        raise SonicError(f"cannot write {path}: {error.strerror}") from error


def run_export(arguments: argparse.Namespace) -> int:
    """Write everything; raises SonicError if that does not work."""
    url = server_url(arguments)
    if url is not None:
        raise NotOffered("export", "Sonic Channel does not tell what objects hold; export the folder, with --data")
    with open_folder(load_settings(arguments).config, Purpose.COPY) as index, _output(arguments.output) as output:
        for holding in index.holdings(arguments.collection, arguments.bucket):
            output.write(_line(holding))
    return 0


def _line(holding: ExportedObject) -> str:
    line = asdict(holding)
    if not holding.hidden:
        del line["hidden"]
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n"


@contextmanager
def _output(path: Path | None) -> Iterator[IO[str]]:
    """Where an export goes, for the length of a `with` block: a file appears when it is whole."""
    if path is None:
        yield sys.stdout
        return
    temporary = path.with_name(f"{path.name}.part")
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            yield file
        os.replace(temporary, path)
    except OSError as error:
        raise SonicError(f"cannot write {path}: {error.strerror}") from error
