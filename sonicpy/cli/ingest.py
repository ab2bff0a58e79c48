"""The verbs that change what an index holds: `sonicpy push`, `pop`, `flush` and `import`."""

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
from sonicpy.cli.arguments import (
    STDIN,
    Verbs,
    add_lang,
    add_names,
    add_scope,
    add_text,
    bucket_name,
    collection_name,
    language,
    object_name,
    text_given,
)
from sonicpy.cli.importing.job import ImportJob
from sonicpy.cli.importing.mapping import DEFAULT_BUCKET, FieldMapping
from sonicpy.cli.importing.position import Position, position_file, read_position, user_folder
from sonicpy.cli.importing.sinks import FolderSink, ServerSink, Sink
from sonicpy.cli.importing.sources import Source
from sonicpy.cli.output import show
from sonicpy.cli.settings import load_settings
from sonicpy.cli.target import WHERE, Purpose, add_target_flags, open_folder, open_server, open_target, server_url
from sonicpy.errors import ConfigError, SonicError
from sonicpy.index.maintenance.verify import is_there

ROWS_REFUSED = 3
POSITIONS = "import"
"""Folder of positions, inside the folder of the index."""

PUSH = f"""\
Add a text to an object, which is created if it is missing. Texts add up; to push the same text again changes nothing.
If TEXT is -, push the whole standard input. {WHERE}"""

POP = f"""\
Remove the words of a text from an object and print how many were removed. An object is gone when its last word is. If
TEXT is -, read the text from the standard input. {WHERE}"""

FLUSH = f"""\
Erase a collection, a bucket or an object. For a collection or a bucket, print 1 if it existed, else 0; for an object,
print how many words it held. {WHERE}"""

IMPORT = f"""\
Push the rows of a file: JSONL, CSV, TSV, or Parquet (pip install 'sonicpy-search[parquet]'). A row names its object in
the field {" or ".join(OBJECT_COLUMNS)} and has its text in the field {TEXT_COLUMN}, unless --id and --text name others.
The fields collection, bucket and lang give the rest, unless a flag does. Import also reads what export wrote. It counts
the rows that it cannot index, shows the first of them, writes all of them to --bad, and goes on. After an interruption,
--resume continues behind the last row that was saved. {WHERE}
Exit status: 0 every row is indexed, 3 some rows were refused, 1 it failed, 2 wrong arguments."""


def add_verbs(verbs: Verbs) -> None:
    """Add the verbs and their arguments to the command line."""
    parser = verbs.add_parser(
        "push", description=PUSH, epilog='example: sonicpy push messages default conversation:1 "Hello from Nantes"'
    )
    add_scope(parser)
    parser.add_argument("object", metavar="OBJECT", type=object_name)
    add_text(parser, "the text to index")
    add_lang(parser)
    add_target_flags(parser)
    parser.set_defaults(run=push)
    parser = verbs.add_parser(
        "pop", description=POP, epilog='example: sonicpy pop messages default conversation:1 "from Nantes"'
    )
    add_scope(parser)
    parser.add_argument("object", metavar="OBJECT", type=object_name)
    add_text(parser, "the words to remove")
    add_target_flags(parser)
    parser.set_defaults(run=pop)
    parser = verbs.add_parser("flush", description=FLUSH, epilog="example: sonicpy flush messages default")
    add_names(parser)
    add_target_flags(parser)
    parser.set_defaults(run=flush)
    _add_import(verbs)


def _add_import(verbs: Verbs) -> None:
    parser = verbs.add_parser(
        "import", description=IMPORT,
        epilog="example: sonicpy import messages.csv --id number --text subject --text body --collection messages",
    )  # fmt: skip
    parser.add_argument("file", metavar="FILE", help="the file with the rows; - is the standard input")
    parser.add_argument("--format", choices=["jsonl", "csv", "tsv", "parquet"], help="default: by the file's extension")
    parser.add_argument("--no-header", action="store_true", help="CSV and TSV: the fields are named 1, 2, 3")
    parser.add_argument("--id", metavar="FIELD", help=f"the object's name (default: {' or '.join(OBJECT_COLUMNS)})")
    parser.add_argument(
        "--text", metavar="FIELD", action="append", help=f"a text; may be given several times (default: {TEXT_COLUMN})"
    )
    parser.add_argument("--collection", metavar="NAME", type=collection_name, help="for all rows")
    parser.add_argument("--bucket", metavar="NAME", type=bucket_name, help=f"for all rows (default: {DEFAULT_BUCKET})")
    parser.add_argument("--lang", metavar="CODE", type=language, help="language of all rows, as ISO 639-3, or none")
    for name in ("collection", "bucket", "lang"):
        parser.add_argument(
            f"--{name}-field", metavar="FIELD", default=name, help=f"the field that gives it (default: {name})"
        )
    parser.add_argument("--resume", action="store_true", help="continue where this import was interrupted")
    parser.add_argument("--bad", metavar="FILE", type=Path, help="write refused rows to FILE, as JSONL")
    parser.add_argument("--strict", action="store_true", help="stop at the first refused row")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress bar")
    add_target_flags(parser)
    parser.set_defaults(run=run_import)


def push(arguments: argparse.Namespace) -> int:
    """Push a text. Raises SonicError if that fails."""
    text = text_given(arguments.text)
    with open_target(arguments, Purpose.CREATE) as index:
        index.push(arguments.collection, arguments.bucket, arguments.object, text, arguments.lang)
    show(arguments, {"object": arguments.object})
    return 0


def pop(arguments: argparse.Namespace) -> int:
    """Pop a text and print how many words were removed. Raises SonicError if that fails."""
    text = text_given(arguments.text)
    with open_target(arguments, Purpose.WRITE) as index:
        count = index.pop(arguments.collection, arguments.bucket, arguments.object, text)
    show(arguments, {"popped": count}, str(count))
    return 0


def flush(arguments: argparse.Namespace) -> int:
    """Erase what the arguments name and print the count. Raises SonicError if that fails."""
    with open_target(arguments, Purpose.WRITE) as index:
        count = index.flush(arguments.collection, arguments.bucket, arguments.object)
    show(arguments, {"flushed": count}, str(count))
    return 0


def run_import(arguments: argparse.Namespace) -> int:
    """Import a file and print how many rows that were. Raises SonicError if that fails."""
    if arguments.resume and arguments.file == STDIN:
        raise ConfigError("flag --resume needs a file: the standard input cannot be read again.")
    source = Source(arguments.file, arguments.format, header=not arguments.no_header)
    try:
        with _sink(arguments) as (sink, folder):
            return _import(arguments, source, sink, folder)
    finally:
        source.close()


def _import(arguments: argparse.Namespace, source: Source, sink: Sink, folder: Path) -> int:
    # Only an import loads tqdm.
    from sonicpy.cli.importing.progress import ProgressBar  # noqa: PLC0415

    fields = _fields(arguments)
    job = ImportJob(source, fields, sink, strict=arguments.strict)
    start = Position()
    if source.path != STDIN:
        meaning = json.dumps([source.kind, source.header, asdict(fields), server_url(arguments)])
        path = position_file(folder, Path(source.path), meaning)
        start = _start(path, Path(source.path), resume=arguments.resume)
        job.save_position(path, start)
    began = time.monotonic()
    with (
        _bad_file(arguments.bad, start) as bad,
        ProgressBar(source.size, source.unit, shown=not arguments.quiet and sys.stderr.isatty()) as progress,
    ):
        end = job.run(bad, progress)
    _report(arguments, start, end, time.monotonic() - began)
    return ROWS_REFUSED if end.refused else 0


def _start(path: Path, source: Path, *, resume: bool) -> Position:
    if not is_there(path):
        return Position()
    if not resume:
        print(f"sonicpy: an import of {source} was interrupted; --resume would continue it", file=sys.stderr)
        return Position()
    position = read_position(path, source)
    print(f"sonicpy: continuing behind row {position.rows} of {source}", file=sys.stderr)
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
    """Open the sink of an import for the length of a `with` block; also give the folder of positions."""
    url = server_url(arguments)
    if url is not None:
        with open_server(url) as client:
            yield ServerSink(client), user_folder()
        return
    with open_folder(load_settings(arguments).config, Purpose.CREATE) as index, index.batch():
        yield FolderSink(index), index.maintainer.folder / POSITIONS


def _fields(arguments: argparse.Namespace) -> FieldMapping:
    return FieldMapping(
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
    """Open the file of refused rows for the length of a `with` block, cut to the rows before `start`."""
    if path is None:
        yield None
        return
    try:
        with open(path, "a", encoding="utf-8") as file:
            file.truncate(min(start.bad_bytes, os.fstat(file.fileno()).st_size))
            yield file
    except OSError as error:
        raise SonicError(f"cannot write {path}: {error.strerror}") from error
