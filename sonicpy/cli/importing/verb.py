"""The verb `sonicpy import`: the rows of a file go into an index."""

import argparse
import codecs
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path

from sonicpy.api.rows import OBJECT_COLUMNS, TEXT_COLUMN
from sonicpy.cli.arguments import DIGITS_MAX, STDIN, Named, Verbs, bucket_name, collection_name, language
from sonicpy.cli.importing.bad_rows import BadRows
from sonicpy.cli.importing.job import ImportJob
from sonicpy.cli.importing.mapping import BUCKET_FIELD, COLLECTION_FIELD, LANG_FIELD, FieldMapping
from sonicpy.cli.importing.position import (
    Position,
    check_user_folder,
    position_file,
    read_position,
    user_folder,
)
from sonicpy.cli.importing.row_sources import COMMA, KINDS, UTF8, Source
from sonicpy.cli.importing.sinks import FolderSink, ServerSink, Sink
from sonicpy.cli.output import remark
from sonicpy.cli.scoped import DEFAULT_BUCKET
from sonicpy.cli.settings import load_settings
from sonicpy.cli.target import WHERE, Purpose, add_target_flags, open_folder, open_server, server_url
from sonicpy.errors import ConfigError, InvalidArgument, SonicError
from sonicpy.index.maintenance.verify import is_there
from sonicpy.text_names import name_of_text
from sonicpy.values import name_of

ROWS_REFUSED = 3
POSITIONS = "import"
"""The name of the folder of positions inside the folder of the index."""

REPLACES = "replace"
"""The mark of --replace among the arguments that identify an import."""

IMPORT = f"""\
Push the rows of a file: JSON (an array of objects), JSONL, CSV, TSV, or Parquet, which needs an extra: pip install
'sonicpy-search[parquet]'. All but Parquet may be compressed with gzip. A row names
its object in the column {" or ".join(OBJECT_COLUMNS)} and has its text in the column {TEXT_COLUMN}, unless --id and
--text name others. The columns collection, bucket and lang give the rest, unless a flag does. Import also reads the
output of export. It stops before the first row if no row has a column that it needs. It counts the rows that it cannot
index, shows the first of them, writes all of them to --bad, and goes on. After an interruption, --resume continues
after the last row that was saved. {WHERE}
Exit status: 0 every row is indexed, 3 some rows were refused, 1 it failed, 2 wrong arguments."""

EXAMPLE = "example: sonicpy import messages.csv --id number --text subject --text body --collection messages"
ENCODINGS_OF_NAMES = frozenset({"idna", "punycode"})
"""Encodings of Python for names of hosts: none of a file."""
DELIMITERS = {"tab": "\t", "\\t": "\t"}
"""Names of delimiters that are hard to type -> the delimiters."""


def add_verbs(verbs: Verbs) -> None:
    """Add `import` and its arguments to the command line."""
    parser = verbs.add_parser("import", description=IMPORT, epilog=EXAMPLE)
    parser.add_argument("file", metavar="FILE", help="the file with the rows; - is the standard input")
    add_format_flags(parser)
    parser.add_argument("--id", metavar="COLUMN", help=f"the object's name (default: {' or '.join(OBJECT_COLUMNS)})")
    parser.add_argument(
        "--text", metavar="COLUMN", action="append", help=f"a text; may be given several times (default: {TEXT_COLUMN})"
    )
    add_field_flag(parser)
    parser.add_argument("--collection", metavar="NAME", type=collection_name, help="for all rows")
    parser.add_argument("--bucket", metavar="NAME", type=bucket_name, help=f"for all rows (default: {DEFAULT_BUCKET})")
    parser.add_argument(
        "--lang", metavar="CODE", type=language, help="language of all rows, such as en, eng or en-GB, or none"
    )
    for name in (COLLECTION_FIELD, BUCKET_FIELD, LANG_FIELD):
        parser.add_argument(
            f"--{name}-field", metavar="COLUMN", default=name, help=f"the column that gives it (default: {name})"
        )
    parser.add_argument("--vector", metavar="COLUMN", help="the column with a vector of the object, a list of numbers")
    parser.add_argument(
        "--tags",
        metavar="COLUMN",
        action="append",
        help="a column with a tag, or with a list; may be given several times",
    )
    parser.add_argument("--tag-separator", metavar="C", help='separates several tags of a text, such as ";"')
    parser.add_argument(
        "--value", metavar="COLUMN", action=Named, type=value_column,
        help="a column with a whole number, a date, true, false or a point; NAME=COLUMN names the value, COLUMN*100 "
        "multiplies it; may be given several times",
    )  # fmt: skip
    parser.add_argument(
        "--replace", action="store_true", help="each text replaces the words of its object, instead of being added"
    )
    parser.add_argument("--resume", action="store_true", help="continue where this import was interrupted")
    parser.add_argument("--bad", metavar="FILE", type=Path, help="write refused rows to FILE, as JSONL")
    parser.add_argument("--strict", action="store_true", help="stop at the first refused row")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress bar")
    add_target_flags(parser)
    parser.set_defaults(run=run)


def add_format_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags that name the format of a file with rows."""
    parser.add_argument("--format", choices=list(KINDS), help="default: by the file's extension")
    parser.add_argument("--no-header", action="store_true", help="CSV and TSV: the columns are named 1, 2, 3")
    parser.add_argument(
        "--delimiter", metavar="C", type=_delimiter, help='CSV: the separator of fields, such as ";" (default: ",")'
    )
    parser.add_argument(
        "--encoding", metavar="NAME", type=_encoding, default=UTF8, help="such as latin-1 or utf-16 (default: utf-8)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Import a file and print the number of rows; return the exit status. Raises SonicError if that fails."""
    if arguments.resume and arguments.file == STDIN:
        raise ConfigError("flag --resume needs a file: the standard input cannot be read again.")
    source = source_of(arguments, arguments.file)
    try:
        if arguments.bad is not None and _is_same(arguments.bad, source):
            raise ConfigError(f"flag --bad names {source.path}, the file to import, which it would empty.")
        if arguments.resume and not source.is_lasting:
            raise ConfigError(f"flag --resume needs a file: {source.path} is none, and cannot be read again.")
        with _sink(arguments) as (sink, folder):
            return _import(arguments, source, sink, folder() if source.is_lasting else None)
    finally:
        source.close()


def _is_same(path: Path, source: Source) -> bool:
    """Return whether a path leads to the file of a source, perhaps by a link."""
    try:
        return source.is_lasting and path.samefile(source.path)
    except OSError:  # there is no such file yet
        return False


def source_of(arguments: argparse.Namespace, path: str) -> Source:
    """Return the rows of a file in the format that flags name.

    Raises:
        ConfigError: a flag does not fit the format.
        SonicError: the file cannot be read.
    """
    source = Source(
        path,
        arguments.format,
        header=not arguments.no_header,
        delimiter=arguments.delimiter or COMMA,
        encoding=arguments.encoding,
    )
    if arguments.delimiter is not None and source.kind != "csv":
        source.close()
        raise ConfigError(f"flag --delimiter is for CSV, and {path} is {source.kind.upper()}.")
    return source


def _import(arguments: argparse.Namespace, source: Source, sink: Sink, folder: Path | None) -> int:
    # Only an import loads tqdm.
    from sonicpy.cli.importing.progress import ProgressBar  # noqa: PLC0415

    fields = _fields(arguments)
    job = ImportJob(source, fields, sink, strict=arguments.strict)
    start = Position()
    if folder is not None:
        read_as = [source.kind, source.header, source.delimiter, source.encoding]
        read_as += [REPLACES] * arguments.replace
        meaning = json.dumps([*read_as, asdict(fields), server_url(arguments)])
        path = position_file(folder, Path(source.path), meaning)
        start = _start(path, Path(source.path), resume=arguments.resume)
        job.save_position(path, start)
    began = time.monotonic()
    with (
        nullcontext() if arguments.bad is None else BadRows(arguments.bad, start.bad_bytes) as bad,
        ProgressBar(source.size, source.unit, shown=not arguments.quiet and sys.stderr.isatty()) as progress,
    ):
        end = job.run(bad, progress)
        met = job.met()
    _report(arguments, start, end, met, time.monotonic() - began)
    return ROWS_REFUSED if end.refused else 0


def _start(path: Path, source: Path, *, resume: bool) -> Position:
    if not is_there(path):
        return Position()
    if not resume:
        remark(f"an import of {source} was interrupted; --resume would continue it")
        return Position()
    position = read_position(path, source)
    remark(f"continuing after row {position.rows} of {source}")
    return position


def _report(arguments: argparse.Namespace, start: Position, end: Position, met: int, seconds: float) -> None:
    if arguments.json:
        counts = {"rows": end.rows, "indexed": end.indexed, "refused": end.refused, "resumed": start.rows}
        counts["met"] = met
        print(json.dumps({**counts, "seconds": round(seconds, 3)}))
        return
    rows = end.indexed + end.refused - start.indexed - start.refused  # without blank lines and the head of an export
    after = f" after row {start.rows}" if start.rows else ""
    print(
        f"{rows} rows{after} in {seconds:.1f} s, {rows / max(seconds, 1e-9):.0f} rows/s; "
        f"{end.indexed} indexed, {end.refused} refused in all"
    )
    if met:
        rows_were = "1 row was" if met == 1 else f"{met} rows were"
        if arguments.replace:
            remark(f"{rows_were} of objects that were there: each holds its last text")
        else:
            remark(f"{rows_were} added to objects that were there, beside their earlier words")


@contextmanager
def _sink(arguments: argparse.Namespace) -> Iterator[tuple[Sink, Callable[[], Path | None]]]:
    """Open the sink of an import inside a `with` block; also yield a function that returns the folder of positions."""
    url = server_url(arguments)
    if url is not None:
        with open_server(url) as client:
            yield ServerSink(client, replace=arguments.replace), partial(_folder_of_user, resume=arguments.resume)
        return
    with open_folder(load_settings(arguments).config, Purpose.CREATE) as index, index.batch():
        yield FolderSink(index, replace=arguments.replace), lambda: index.engine.store.folder / POSITIONS


def _folder_of_user(*, resume: bool) -> Path | None:
    """Return the folder of positions for imports into a server; None: it is not writable. Raises SonicError instead if
    --resume was given.
    """
    folder = user_folder()
    try:
        if folder is None:
            raise SonicError("there is no home to save positions in (XDG_STATE_HOME names another folder)")
        check_user_folder(folder)
    except SonicError as error:
        if resume:
            raise
        remark(f"{error}; --resume will not continue this import")
        return None
    return folder


def _fields(arguments: argparse.Namespace) -> FieldMapping:
    return FieldMapping(
        arguments.id,
        tuple(arguments.text or (() if arguments.field else (TEXT_COLUMN,))),
        arguments.collection,
        arguments.bucket,
        arguments.lang,
        arguments.collection_field,
        arguments.bucket_field,
        arguments.lang_field,
        arguments.vector,
        tuple(arguments.tags or ()),
        arguments.tag_separator,
        dict(arguments.value or ()),
        dict(arguments.field or ()),
    )


def add_field_flag(parser: argparse.ArgumentParser) -> None:
    """Add the flag for columns of named texts."""
    parser.add_argument(
        "--field", metavar="COLUMN", action=Named, type=field_column,
        help="a column with a named text; NAME=COLUMN names it; may be given several times, beside --text",
    )  # fmt: skip


def field_column(text: str) -> tuple[str, str]:
    """Return the name of a text and its column, from COLUMN or NAME=COLUMN. Raises ArgumentTypeError if the name is not
    allowed.
    """
    name, equals, column = text.partition("=")
    try:
        return name_of_text(name), column if equals else name
    except InvalidArgument as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def value_column(text: str) -> tuple[str, tuple[str, int]]:
    """Return the name of a value, its column, and the number by which it is multiplied, from NAME=COLUMN*100. Raises
    ArgumentTypeError if the name or the number is not allowed.
    """
    name, equals, column = text.rpartition("=")
    column, times, scale = column.rpartition("*") if column.rpartition("*")[2].isdecimal() else (column, "", "1")
    if len(scale) > DIGITS_MAX:  # int() takes no text of thousands of digits
        raise argparse.ArgumentTypeError(f"the number behind * has {len(scale)} digits; allowed are {DIGITS_MAX}")
    try:
        return name_of(name if equals else column), (column, int(scale))
    except InvalidArgument as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _delimiter(text: str) -> str:
    delimiter = DELIMITERS.get(text, text)
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise argparse.ArgumentTypeError(f'{ascii(text)} is not a delimiter; allowed is one character, such as ";"')
    return delimiter


def _encoding(text: str) -> str:
    try:
        "".encode(text)
        name = codecs.lookup(text).name
        if name in ENCODINGS_OF_NAMES:
            raise LookupError
        return name
    except (LookupError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"{ascii(text)} is not an encoding; allowed are those of Python") from error
