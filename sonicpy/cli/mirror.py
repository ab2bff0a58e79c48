"""`sonicpy mirror`: keep a bucket in step with a table of a database or the rows of a file."""

import argparse
import math
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from decimal import Decimal
from itertools import chain, islice
from types import MappingProxyType
from typing import Any

from sonicpy.api.missing import is_missing, joined
from sonicpy.api.rows import OBJECT_COLUMNS, TEXT_COLUMN
from sonicpy.cli.arguments import STDIN, Named, Verbs, bucket_name, collection_name, language, seconds
from sonicpy.cli.importing.in_step import FolderTarget, MirrorTarget, ServerTarget
from sonicpy.cli.importing.job import CHUNK_ROWS
from sonicpy.cli.importing.mapping import FieldMapping, scaled, split_tags, text_of_field, vector_in
from sonicpy.cli.importing.row_sources import UTF8
from sonicpy.cli.importing.tables import MissingFile, TableSource, is_database
from sonicpy.cli.importing.verb import add_field_flag, add_format_flags, source_of, value_column
from sonicpy.cli.output import remark, show
from sonicpy.cli.scoped import DEFAULT_BUCKET
from sonicpy.cli.settings import load_settings
from sonicpy.cli.target import Purpose, add_target_flags, open_folder, open_server, server_url
from sonicpy.database_urls import without_password
from sonicpy.errors import ClientError, ConfigError, ConnectionLost, InvalidArgument, SonicError, TimedOut
from sonicpy.ids import check_object, object_name, shown
from sonicpy.index.index import Index
from sonicpy.index.mirrored import Drift, MirrorReport

DRIFTED = 1
ROWS_REFUSED = 3
SHOWN_MAX = 5
UNMARKED = re.compile(rb"[0\s:.-]*(?:0T0[0:.]*)?|false|f|no|n|none|null", re.IGNORECASE)
"""The pattern of texts that do not mark a row as deleted: also zeros, such as the date that MySQL has for no date. The
texts have no blanks around them: with blanks in several parts of the pattern, n blanks would take n^3 steps.
"""
TAGS, VALUE, VECTOR = "tags:", "value:", "vector:"
"""The prefixes of the names of columns that hold the stored form of tags, of a value, and of a vector."""
TEXT = "text:"
"""The name of the column with the text that has no name, beside named texts."""

MIRROR = f"""\
Bring a bucket in step with rows: replace the texts that differ, and erase the objects that no row names. SOURCE is a
file as import reads it, or a database: sqlite:///FILE?table=NAME, sqlite:///FILE?query=SELECT ..., or a URL of
SQLAlchemy with such a parameter. A row that did not change costs a look-up, so a pass may be killed and begun anew. The
bucket belongs to the source from then on (with --prefix: its objects whose names begin so). A row names its object in
the column {" or ".join(OBJECT_COLUMNS)}, unless --id names another. Exit status: 0 in step, 1 it failed or --check
found differences, 2 wrong arguments, 3 some rows were refused."""
EXAMPLE = "example: sonicpy mirror 'sqlite:///shop.db?table=products' --collection shop --text title,body"


def add_verbs(verbs: Verbs) -> None:
    """Add `mirror` and its arguments to the command line."""
    parser = verbs.add_parser("mirror", description=MIRROR, epilog=EXAMPLE)
    parser.add_argument("source", metavar="SOURCE", help="a file, or the URL of a table or a query")
    parser.add_argument("--collection", metavar="NAME", type=collection_name, required=True, help="of all rows")
    parser.add_argument(
        "--bucket", metavar="NAME", type=bucket_name, default=DEFAULT_BUCKET, help=f"default: {DEFAULT_BUCKET}"
    )
    parser.add_argument("--id", metavar="COLUMN", help=f"the object's name (default: {' or '.join(OBJECT_COLUMNS)})")
    parser.add_argument(
        "--text", metavar="COLUMNS", action="append", help=f"texts, with commas between (default: {TEXT_COLUMN})"
    )
    add_field_flag(parser)
    add_format_flags(parser)
    parser.add_argument("--lang", metavar="CODE", type=language, help="language of all rows")
    parser.add_argument("--tags", metavar="COLUMN", action="append", help="a column with a tag, or several in a list")
    parser.add_argument("--tag-separator", metavar="C", help='separates several tags of a text, such as ";"')
    parser.add_argument(
        "--value", metavar="COLUMN", action=Named, type=value_column,
        help="a column with a value, as of import: COLUMN, NAME=COLUMN or NAME=COLUMN*100",
    )  # fmt: skip
    parser.add_argument("--vector", metavar="COLUMN", help="the column with a vector, as of import")
    parser.add_argument("--prefix", metavar="TEXT", default="", help="names of objects begin with it")
    parser.add_argument(
        "--watermark", metavar="COLUMN", help="a column that grows with each change: later passes read new rows alone"
    )
    parser.add_argument("--deleted", metavar="COLUMN", help="rows in which it is true, or a time, are erased")
    parser.add_argument("--whole", action="store_true", help="read all rows in spite of --watermark")
    parser.add_argument("--check", action="store_true", help="change nothing: print what differs")
    parser.add_argument("--every", metavar="S", type=seconds, help="go on, with a pass every S seconds")
    parser.add_argument("--owner", metavar="NAME", help="the name of the source (default: SOURCE without a password)")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress bar")
    add_target_flags(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run passes, or a check; return the exit status. Raises SonicError if that fails."""
    if arguments.source == STDIN:
        raise ConfigError("the source of a mirror is read again and again; the standard input cannot be.")
    if arguments.check and arguments.every is not None:
        raise ConfigError("flags --check and --every are given; allowed is one of the two.")
    url = server_url(arguments)
    if url is not None:
        if arguments.check:
            raise ConfigError("flag --check reads the folder of an index, also beside its server: give --data or -c.")
        with open_server(url) as client:
            return _passes(arguments, ServerTarget(client, _columns(arguments), _owner(arguments)))
    purpose = Purpose.READ if arguments.check else Purpose.CREATE
    with open_folder(load_settings(arguments).config, purpose) as index:
        if arguments.check:
            return _check(arguments, index)
        return _passes(arguments, FolderTarget(index, _columns(arguments), _owner(arguments)))


def _passes(arguments: argparse.Namespace, target: MirrorTarget) -> int:
    status = _pass(arguments, target)
    while arguments.every is not None:
        time.sleep(arguments.every)
        try:
            status = _pass(arguments, target)
        except SonicError as error:
            if type(error) is not SonicError and not isinstance(error, ClientError | MissingFile):
                raise  # the index, or the arguments: a later pass fails, too
            if isinstance(error, ConnectionLost | TimedOut):
                target.doubt()
            remark(f"{error}; the next pass begins in {arguments.every:g} s")
    return status


def _pass(arguments: argparse.Namespace, target: MirrorTarget) -> int:
    since = None if arguments.whole or arguments.watermark is None else target.watermark(arguments.watermark)
    began = time.monotonic()
    with closing(_source(arguments)) as source:
        reading = _reading(arguments, source, arguments.watermark, since)
        with PassProgress(arguments, source.count(since), target) as note:
            report = target.take(iter(reading), whole=since is None, progress=note)
            deleted = filter(None, (_name(arguments.prefix, name) for name in reading.deleted))
            report.gone += target.erase(deleted, lambda: note(report.rows))
    is_done = not report.failed_count  # else the next pass has to read the rows again with which the server failed
    if arguments.watermark is not None and reading.greatest is not None and is_done:
        target.note_watermark(arguments.watermark, reading.greatest)
    _report(arguments, report, time.monotonic() - began)
    return ROWS_REFUSED if report.refused_count else 0


def _check(arguments: argparse.Namespace, index: Index) -> int:
    with closing(_source(arguments)) as source:
        reading = _reading(arguments, source, None, None)
        drift = index.check_mirror(iter(reading), **_columns(arguments), owner=_owner(arguments))
    show(arguments, asdict(drift), *_drift_lines(drift))
    return DRIFTED if drift else ROWS_REFUSED if drift.refused_count else 0


class Reading:
    """The rows of a pass, without deleted ones.

    Args:
        rows: the rows of the source.
        watermark: the column whose values grow with each change; None: there is none.
        deleted: the column that marks deleted rows; None: there is none.
        texts: the columns with texts; a missing text is empty, because its object must lose its words, and a missing
            one of several with names is left out, as by `import`.
        ids: the columns that may hold the name of the object.
        since: the watermark that the pass begins with.
        tags: the columns with tags.
        separator: separates the tags of a text; None: a text is one tag.
        values: the column of each value by its name, and the number that it is multiplied by.
        named: how many of the texts have names, the last ones; the others make the text without a name beside them.
        vector: the column with a vector; None: there is none.

    Attributes:
        greatest: the greatest value of the watermark so far.
        deleted: the names of objects whose last row so far is marked as deleted.
    """

    def __init__(
        self,
        rows: Iterator[Mapping[str, Any]],
        watermark: str | None,
        deleted: str | None,
        ids: Sequence[str],
        texts: Sequence[str],
        since: Any,
        tags: Sequence[str] = (),
        separator: str | None = None,
        values: Mapping[str, tuple[str, int]] = MappingProxyType({}),
        named: int = 0,
        vector: str | None = None,
    ) -> None:
        self._rows = rows
        self._watermark = watermark
        self._deleted = deleted
        self._ids = ids
        self._texts = texts
        self._tags = tags
        self._separator = separator
        self._values = values
        self._named = texts[len(texts) - named :]
        self._unnamed = texts[: len(texts) - named] if named else ()
        self._vector = vector
        self.greatest = since
        self.deleted: dict[str, None] = {}

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        """Yield the rows not marked as deleted; fill `deleted` and `greatest`.

        Raises:
            ConfigError: a column is missing, or the values of the watermark have no order.
        """
        is_plain = not (self._tags or self._values or self._unnamed or self._vector)
        for row in self._rows:
            if self._watermark is not None:
                value = plain_value(_of(row, self._watermark))
                if value is not None and (self.greatest is None or self._is_greater(value)):
                    self.greatest = value
            if self._deleted is not None and self._is_deleted(row, self._deleted):
                continue
            if is_plain and _are_texts(row, self._texts):
                yield row  # as most are
            else:
                yield {
                    **row,
                    **self._texts_of(row),
                    **{f"{TAGS}{name}": split_tags(row.get(name), self._separator) for name in self._tags},
                    **({} if self._vector is None else {f"{VECTOR}{self._vector}": _vector(row.get(self._vector))}),
                    **{f"{VALUE}{name}": scaled(row.get(column), by) for name, (column, by) in self._values.items()},
                }

    def _is_deleted(self, row: Mapping[str, Any], column: str) -> bool:
        """Return whether a row is marked as deleted; note its name, because the last row of an object counts."""
        is_deleted = is_marked(_of(row, column))
        name = next((_name("", row[name]) for name in self._ids if name in row), None)
        if name is not None:
            if is_deleted:
                self.deleted[name] = None
            else:
                self.deleted.pop(name, None)
        return is_deleted

    def _texts_of(self, row: Mapping[str, Any]) -> dict[str, Any]:
        if not self._named:
            return {name: _text(row[name]) for name in self._texts if name in row}
        texts = {name: _text(row[name]) for name in self._named if not is_missing(row.get(name))}
        there = [_text(row[name]) for name in self._unnamed if not is_missing(row.get(name))]
        if there:
            texts[TEXT] = joined(there)
        if not texts and any(name in row for name in self._texts):
            texts[self._named[0]] = ""
        return texts

    def _is_greater(self, value: Any) -> bool:
        try:
            return bool(value > self.greatest)
        except TypeError:
            raise ConfigError(
                f"the watermark {self._watermark!r} is {shown(value)} after {shown(self.greatest)}; allowed are "
                "numbers alone, or texts, dates and times (--whole begins anew)."
            ) from None


def _name(prefix: str, value: Any) -> str | None:
    """Return the name of the object of a row; None: no object can have it."""
    try:
        name = prefix + object_name(value)
        check_object(name)
    except InvalidArgument:
        return None
    return name


def _are_texts(row: Mapping[str, Any], columns: Sequence[str]) -> bool:
    for name in columns:  # noqa: SIM110  all() takes three times as long
        if type(row.get(name)) is not str:
            return False
    return True


def _text(value: Any) -> Any:
    """Return the text of a field as `import` reads it, "" for a missing one, and any other value as it is."""
    if is_missing(value):
        return ""
    text = text_of_field(value)
    return value if text is None else text


def _vector(value: Any) -> Any:
    try:
        return vector_in(value)
    except (ValueError, RecursionError):  # no JSON: the row is refused
        return value


def _of(row: Mapping[str, Any], column: str) -> Any:
    if column not in row:
        raise ConfigError(f"the rows have no column {column!r}; they have {', '.join(map(repr, row))}.")
    return row[column]


def plain_value(value: Any) -> Any:
    """Return the value of a watermark as JSON holds it: a number, never above the value, or a text, in the same order
    as the values; None for a missing one, which has no place in this order.

    Raises:
        ConfigError: it is bytes, or a number beyond all floats.
    """
    if is_missing(value):
        return None
    if isinstance(value, int | float | str):
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        raise ConfigError("the watermark is of type bytes; allowed are numbers, texts, dates and times.")
    if not isinstance(value, Decimal) or not value.is_finite():
        return str(value)
    if value and value.adjusted() >= sys.float_info.max_10_exp:  # int() would write out the zeros of 1e999999
        raise ConfigError(f"the watermark is {shown(value)}; allowed are numbers below 1e308, texts, dates and times.")
    if value == value.to_integral_value():
        return int(value)
    number = float(value)
    return number if Decimal(number) <= value else math.nextafter(number, -math.inf)


def is_marked(value: Any) -> bool:
    """Return whether a value marks a deleted row: any value except 0, false, no, or nothing, also as a text.

    Bytes are a text, perhaps filled up with zeros as in a column BINARY(5), or else the bits of a number: in a column
    BIT(1), b"\\0" is 0.
    """
    if is_missing(value):
        return False
    if isinstance(value, str):
        return not UNMARKED.fullmatch(value.encode("utf-8", "replace").strip())
    if isinstance(value, bytes | bytearray | memoryview):
        return not UNMARKED.fullmatch(bytes(value).rstrip(b"\0").strip())
    try:
        return bool(value != 0)
    except ArithmeticError:  # a Decimal of the kind sNaN
        return False
    except (TypeError, ValueError):  # an array
        return True


class FileSource:
    """The rows of a file, opened anew for each pass."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._arguments = arguments
        self._path = arguments.source
        self.repeated: frozenset[str] = frozenset()

    def count(self, since: Any) -> int | None:
        """Return None: the number of rows is not known."""
        return None

    def rows(self, since: Any) -> Iterator[Mapping[str, Any]]:
        """Yield all rows. Raises SonicError if a row cannot be read, because its object would be erased, or the file is
        blank, because all would be.
        """
        with closing(source_of(self._arguments, self._path)) as source:
            for number, row in enumerate(source.rows(), 1):
                self.repeated = source.repeated
                if isinstance(row, Mapping):
                    yield row
                elif row is not None:
                    raise SonicError(f"{self._path}: row {number} cannot be read: {row.reason}")
            if source.is_blank:  # as while another program writes it anew
                missing = "array" if source.kind == "json" else "header"
                raise SonicError(f"{self._path} is empty; allowed is a file without rows that has its {missing}")

    def close(self) -> None:
        """Do nothing: each pass closes the file."""


def _source(arguments: argparse.Namespace) -> Any:
    if is_database(arguments.source):
        given = (arguments.format, arguments.delimiter, arguments.no_header, arguments.encoding)
        if given != (None, None, False, UTF8):
            raise ConfigError(
                "flags --format, --delimiter, --no-header and --encoding are for files, and "
                f"{without_password(arguments.source)} is a database."
            )
        return TableSource(arguments.source, arguments.watermark)
    return FileSource(arguments)


def _owner(arguments: argparse.Namespace) -> str:
    owner: str = arguments.owner or " ".join(without_password(arguments.source).split())
    return owner


def _reading(arguments: argparse.Namespace, source: Any, watermark: str | None, since: Any) -> Reading:
    rows = source.rows(since)
    ids = OBJECT_COLUMNS if arguments.id is None else (arguments.id,)
    values, named = dict(arguments.value or ()), dict(arguments.field or ())
    return Reading(
        _checked(rows, arguments, source), watermark, arguments.deleted, ids,
        [*_texts(arguments), *named.values()], since,
        arguments.tags or (), arguments.tag_separator, values, len(named), arguments.vector,
    )  # fmt: skip


def _checked(
    rows: Iterator[Mapping[str, Any]], arguments: argparse.Namespace, source: Any
) -> Iterator[Mapping[str, Any]]:
    """Yield rows. Raises ConfigError if none of the first rows has a column that is needed or named, because objects
    would lose their texts or tags, or all be erased; or if several columns have its name.
    """
    first = list(islice(rows, CHUNK_ROWS))
    columns = list(dict.fromkeys(chain.from_iterable(first)))
    fields = FieldMapping(
        arguments.id, _texts(arguments), arguments.collection, tags=arguments.tags or (),
        values=dict(arguments.value or ()), named=dict(arguments.field or ()), vector=arguments.vector,
    )  # fmt: skip
    missing = fields.missing(columns) if columns else None
    if missing is not None:
        found = ", ".join(map(repr, columns))
        raise ConfigError(f"{without_password(arguments.source)} has {missing}; it has {found}.")
    repeated = fields.first_read(first[0], source.repeated) if first else None
    if repeated is not None:
        raise ConfigError(f"{without_password(arguments.source)} has several columns {repeated!r}; rename all but one.")
    yield from chain(first, rows)


def _texts(arguments: argparse.Namespace) -> list[str]:
    given = arguments.text or ([] if arguments.field else [TEXT_COLUMN])
    return [name.strip() for names in given for name in names.split(",")]


def _text_columns(arguments: argparse.Namespace) -> list[str] | dict[str, str]:
    if not arguments.field:
        return _texts(arguments)
    return {**dict(arguments.field), **({"": TEXT} if _texts(arguments) else {})}


def _columns(arguments: argparse.Namespace) -> dict[str, Any]:
    return {
        "collection": arguments.collection,
        "bucket": arguments.bucket,
        "object": arguments.id,
        "text": _text_columns(arguments),
        "lang": arguments.lang,
        "prefix": arguments.prefix,
        "tags": [f"{TAGS}{name}" for name in arguments.tags or ()] or None,
        "values": {name: f"{VALUE}{name}" for name, _ in arguments.value or ()},
        "vector": None if arguments.vector is None else f"{VECTOR}{arguments.vector}",
    }


class PassProgress:
    """The progress bar of a pass."""

    def __init__(self, arguments: argparse.Namespace, size: int | None, target: MirrorTarget) -> None:
        from sonicpy.cli.importing.progress import ProgressBar  # noqa: PLC0415  only a pass loads tqdm

        self._bar = ProgressBar(size, "rows", shown=not arguments.quiet and sys.stderr.isatty())
        self._done = 0
        self._target = target

    def __enter__(self) -> Callable[[int], None]:
        self._bar.__enter__()
        return self._note

    def __exit__(self, *error: Any) -> None:
        self._bar.__exit__(*error)

    def _note(self, rows: int) -> None:
        changed = self._target.changed
        more = "" if changed is None else f", {changed} changed"
        self._bar.advance(rows, rows - self._done, f"{more}, {self._target.gone} gone")
        self._done = rows


def _report(arguments: argparse.Namespace, report: MirrorReport, seconds: float) -> None:
    counts = {name: value for name, value in asdict(report).items() if name != "refused"}
    show(
        arguments,
        {**counts, "seconds": round(seconds, 3)},
        f"{report.rows} rows in {seconds:.1f} s: {report.changed} changed, {report.unchanged} unchanged, "
        f"{report.gone} gone, {report.refused_count} refused",
    )
    for refused in report.refused[:SHOWN_MAX]:
        remark(f"row {refused.row + 1} was refused: {refused.reason}")


def _drift_lines(drift: Drift) -> Iterator[str]:
    if drift.refused_count:
        yield f"refused: {drift.refused_count} of {drift.rows} rows"
    elif not drift:
        yield f"{drift.rows} rows, in step"
    for kind in ("missing", "changed", "extra"):
        count = getattr(drift, kind)
        if count:
            names = drift.samples[kind]
            yield f"{kind}: {count}, such as {', '.join(names)}" + (" ..." if count > len(names) else "")
