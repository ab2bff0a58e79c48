"""The verbs that search an index: `sonicpy query`, `suggest`, `facets`, `list`, `count`, `explain` and others."""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from sonicpy.api.counted import COUNTED, counted
from sonicpy.api.facets import Facets
from sonicpy.api.hits import Hit, Hits
from sonicpy.bucket_names import AnyBucket, in_bucket, with_others
from sonicpy.cli.absent import remark_absent
from sonicpy.cli.arguments import (
    STDIN,
    Verbs,
    add_names,
    add_options,
    bucket_name,
    checked,
    collection_name,
    has_words,
    options_given,
    read_lines,
    text_given,
)
from sonicpy.cli.colours import coloured, painted, sized
from sonicpy.cli.displays import DisplayHits, displays
from sonicpy.cli.output import remark, show
from sonicpy.cli.scoped import add_scoped
from sonicpy.cli.target import WHERE, Target, add_target_flags, open_target
from sonicpy.errors import CommandError, ConfigError, InvalidArgument
from sonicpy.filters.sorting import parse_of, parse_ranges
from sonicpy.options import OF, RANGES

QUERY = f"""\
Print the objects that match a text, best first, one a line. If TEXT is -, read queries from the standard input, one a
line, and print the query and a tab before each object. --json prints one JSON object for each query, with the query and
its hits. {WHERE} Exit status: 0 also if nothing was found."""

SUGGEST = f"""\
Print words of the bucket that complete or correct a word, one a line: of several words in quotes the last one, and
first those that stand together with the words before it. {WHERE}"""

SIMILAR = f"""\
Print the objects that share rare words with an object, most like it first, one a line. {WHERE}"""

FACETS = f"""\
Print how many of the objects that match a text hold each tag, or have a value in each range, one a line, and their
number; "" matches all objects. {WHERE}"""

LIST = f"""\
Print the words of a bucket in byte order, one a line. {WHERE}"""

COUNT = f"""\
Print the number of buckets in a collection, of words in a bucket, or of words in an object; with --of objects, the
number of objects in a collection or a bucket. On a terminal, print the kind after the number. {WHERE}"""

EXPLAIN = f"""\
Explain the answer of a query: the language of its text, the words that were searched and those left out, the
completions and corrections that were tried, and the part of each word in the score of each object. While a
server has the folder open, this reads its last commit. {WHERE}"""

STATS = f"""\
Print figures about the whole index, a collection or a bucket: objects, words, sizes. {WHERE}"""

KINDS = sorted({kind for kinds in COUNTED.values() for kind in kinds})
NO_WORD = "query_error"
"""The code of the error for a text that is not one word."""


def add_verbs(verbs: Verbs) -> None:
    """Add the verbs and their arguments to the command line."""
    _add_query(verbs)
    parser = verbs.add_parser("suggest", description=SUGGEST, epilog="example: sonicpy suggest messages nan")
    add_scoped(parser, "word")
    add_options(parser, "SUGGEST")
    _add_buckets(parser)
    add_target_flags(parser)
    parser.set_defaults(run=suggest)
    parser = verbs.add_parser("similar", description=SIMILAR, epilog="example: sonicpy similar messages message:1")
    add_scoped(parser, "object")
    add_options(parser, "SIMILAR")
    parser.add_argument("--scores", action="store_true", help="print a tab and the score after each object")
    add_target_flags(parser)
    parser.set_defaults(run=similar)
    parser = verbs.add_parser("facets", description=FACETS, epilog='example: sonicpy facets shop "shirt" --of "size:*"')
    add_scoped(parser, "text")
    add_options(parser, "FACETS")
    _add_buckets(parser)
    add_target_flags(parser)
    parser.set_defaults(run=facets)
    parser = verbs.add_parser("list", description=LIST, epilog="example: sonicpy list messages --limit 1000")
    add_scoped(parser)
    add_options(parser, "LIST")
    _add_buckets(parser)
    add_target_flags(parser)
    parser.set_defaults(run=list_words)
    parser = verbs.add_parser("count", description=COUNT, epilog="example: sonicpy count messages default")
    add_names(parser)
    _add_buckets(parser)
    parser.add_argument("--of", choices=KINDS, help="the kind to count (default: buckets of a collection, else words)")
    add_target_flags(parser)
    parser.set_defaults(run=count)
    _add_explain(verbs)
    parser = verbs.add_parser("stats", description=STATS, epilog="example: sonicpy stats messages default --json")
    parser.add_argument("collection", metavar="COLLECTION", type=collection_name, nargs="?")
    parser.add_argument("bucket", metavar="BUCKET", type=bucket_name, nargs="?")
    add_target_flags(parser)
    parser.set_defaults(run=stats)


def _add_buckets(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--buckets", metavar="LIST", default="",
        help="search BUCKET and these as one: names with commas between; with * after them all that begin so"
    )  # fmt: skip


def _where(arguments: argparse.Namespace) -> AnyBucket:
    """Return the bucket of the arguments, or a list of it and the other buckets. Raises ConfigError if a name is not
    allowed.
    """
    try:
        return with_others(arguments.bucket, arguments.buckets)
    except InvalidArgument as error:
        raise ConfigError(f"flag --{error}.") from error


def _add_query(verbs: Verbs) -> None:
    parser = verbs.add_parser(
        "query", description=QUERY, epilog='example: sonicpy query messages "hello nantes" --scores'
    )
    add_scoped(parser, "text")
    add_options(parser, "QUERY")
    _add_buckets(parser)
    parser.add_argument(
        "--show", metavar="HOW", help="print tabs and titles, texts and links after objects: a .csv or .jsonl file "
        "with the columns id, title, text, link, a URL with {object}, or module:function; of a folder also values: "
        "price,size"
    )  # fmt: skip
    parser.add_argument("--scores", action="store_true", help="print a tab and the score after each object")
    parser.add_argument("--facets", metavar="TAGS", help=f"also print counts: {OF.sentence.replace('`', '')}")
    parser.add_argument("--ranges", metavar="BOUNDS", help=f"also print counts: {RANGES.sentence.replace('`', '')}")
    add_target_flags(parser)
    parser.set_defaults(run=query)


def _add_explain(verbs: Verbs) -> None:
    parser = verbs.add_parser(
        "explain", description=EXPLAIN, epilog='example: sonicpy explain messages "wether in nantes"'
    )
    add_scoped(parser, "text")
    add_options(parser, "EXPLAIN")
    _add_buckets(parser)
    add_target_flags(parser)
    parser.set_defaults(run=explain)


def query(arguments: argparse.Namespace) -> int:
    """Print the hits of one query, or of several from the standard input; return the exit status. Raises SonicError if
    that fails.
    """
    is_stdin = arguments.text == STDIN
    texts = read_lines() if is_stdin else _one_text(arguments.text)
    with open_target(arguments) as index:
        display = displays(arguments.show, index, arguments.collection, arguments.bucket)
        for text in texts:
            hits = _hits(index, arguments, text)
            if not hits and not is_stdin:
                remark_absent(index, arguments.collection, arguments.bucket)
            _show_hits(arguments, text, hits, display, f"{text}\t" if is_stdin else "")
            if sys.stdout.isatty() and len(hits) == arguments.limit and not arguments.json:
                _remark_more(index, arguments, text)
    return 0


def _remark_more(index: Target, arguments: argparse.Namespace, text: str) -> None:
    """Print how many objects answer, if the page is full."""
    wanted = {**options_given(arguments, "QUERY"), "limit": 0, "offset": 0, "total": True}
    total = index.query(arguments.collection, _where(arguments), text, **wanted).total
    shown = arguments.offset + arguments.limit
    if total is not None and total > shown:
        remark(f"{total:,} objects answer; --offset {shown} shows the next ones")


def _one_text(given: str) -> Iterator[str]:
    text = text_given(given)
    if text.strip() and not has_words(text):
        remark("the text holds no letter and no digit, so no object matches it")
    return iter([text])


def _hits(index: Target, arguments: argparse.Namespace, text: str) -> Hits:
    facets: dict[str, Any] = {}
    if arguments.facets is not None:
        facets |= {f"{each.name}*": None for each in parse_of(arguments.facets, "facets")}
    if arguments.ranges is not None:
        facets |= {each.name: each.bounds for each in parse_ranges(arguments.ranges)}
    given = options_given(arguments, "QUERY")
    return index.query(arguments.collection, _where(arguments), text, facets=facets or None, **given)


def _show_hits(arguments: argparse.Namespace, text: str, hits: Hits, display: DisplayHits, before: str) -> None:
    value: dict[str, Any] = {"query": text, "hits": hits.to_dicts()}
    shown = display(hits)
    for one, made in zip(value["hits"], shown, strict=True):
        one.update(made.keys)
    lines = [before + _line(arguments, hit, made.cells) for hit, made in zip(hits, shown, strict=True)]
    if arguments.how:
        value["corrected"] = hits.corrected
        if hits.corrected is not None:
            remark(f"did you mean: {hits.corrected}")
    if arguments.total:
        value |= {"total": hits.total, "whole": hits.whole}
        lines.append(f"{before}total\t{hits.total}")
    if hits.facets is not None:
        value["facets"] = hits.facets.to_dict()
        lines += [f"{before}{line}" for line in _facet_lines(hits.facets)]
    show(arguments, value, *lines)


def _facet_lines(facets: Facets) -> Iterator[str]:
    for counts in facets.tags.values():
        yield from (f"{tag}\t{count}" for tag, count in counts.items())
    for name, ranges in facets.ranges.items():
        for low, high, count in ranges:
            yield f"{name} {'' if low is None else low}..{'' if high is None else high}\t{count}"


def _line(arguments: argparse.Namespace, hit: Hit, cells: Sequence[str] = ()) -> str:
    line = str(hit) if hit.bucket is None else in_bucket(hit.bucket, hit.object)
    if arguments.scores:
        line += "\t" + coloured(_score(hit.score), "dim")
    if getattr(arguments, "group", None) is not None:
        line += "\t" + ("-" if hit.group is None else str(hit.group))
    if hit.how is not None:
        line += "\t" + coloured(", ".join(f"{one.how} {one.word}" for one in hit.how), "dim")
    return "\t".join([line, *cells])


def _score(score: float | None) -> str:
    return "-" if score is None else f"{score:.4f}"


def suggest(arguments: argparse.Namespace) -> int:
    """Print suggestions; return the exit status. Raises SonicError if that fails."""
    word = checked(arguments.word)
    with open_target(arguments) as index:
        try:
            given = options_given(arguments, "SUGGEST")
            words = index.suggest(arguments.collection, _where(arguments), word, **given)
        except CommandError as error:
            if error.code != NO_WORD:
                raise
            holds = "more than one word" if has_words(word) else "no letter and no digit"
            raise ConfigError(f"{word!r} holds {holds}; suggest completes one word.") from error
        if not words:
            remark_absent(index, arguments.collection, arguments.bucket)
    show(arguments, words, *words)
    return 0


def similar(arguments: argparse.Namespace) -> int:
    """Print the objects that are similar to one; return the exit status. Raises SonicError if that fails."""
    with open_target(arguments) as index:
        options = options_given(arguments, "SIMILAR")
        hits = index.similar(arguments.collection, arguments.bucket, arguments.object, **options)
        if not hits:
            remark_absent(index, arguments.collection, arguments.bucket, arguments.object)
    show(arguments, {"hits": hits.to_dicts()}, *(_line(arguments, hit) for hit in hits))
    return 0


def facets(arguments: argparse.Namespace) -> int:
    """Print the counts of facets; return the exit status. Raises SonicError if that fails."""
    text = text_given(arguments.text)
    with open_target(arguments) as index:
        found = index.facets(arguments.collection, _where(arguments), text, **options_given(arguments, "FACETS"))
        if not found.total:
            remark_absent(index, arguments.collection, arguments.bucket)
    show(arguments, found.to_dict(), *_facet_lines(found), f"total\t{found.total}")
    return 0


def list_words(arguments: argparse.Namespace) -> int:
    """Print words; return the exit status. Raises SonicError if that fails."""
    with open_target(arguments) as index:
        words = index.words(arguments.collection, _where(arguments), **options_given(arguments, "LIST"))
        if not words:
            remark_absent(index, arguments.collection, arguments.bucket)
    show(arguments, words, *words)
    return 0


def count(arguments: argparse.Namespace) -> int:
    """Print a count; return the exit status. Raises SonicError if that fails."""
    try:
        what = counted(arguments.bucket, arguments.object, arguments.of)
    except InvalidArgument as error:
        raise ConfigError(f"flag --{error}.") from error
    if arguments.buckets and (arguments.bucket is None or arguments.object is not None):
        raise ConfigError("flag --buckets is given without a bucket or with an object; allowed is it with a bucket.")
    bucket = _where(arguments) if arguments.buckets else arguments.bucket
    with open_target(arguments) as index:
        number = index.count(arguments.collection, bucket, arguments.object, of=what)
        if not number:
            remark_absent(index, arguments.collection, arguments.bucket, arguments.object)
    kind = what.removesuffix("s") if number == 1 else what
    show(arguments, {"count": number, "of": what}, f"{number} {kind}" if sys.stdout.isatty() else str(number))
    return 0


def explain(arguments: argparse.Namespace) -> int:
    """Print an explanation; return the exit status. Raises SonicError if that fails."""
    text = text_given(arguments.text)
    with open_target(arguments) as index:
        explained = index.explain(arguments.collection, _where(arguments), text, **options_given(arguments, "EXPLAIN"))
    print(explained.to_json() if arguments.json else painted(str(explained)))
    return 0


def stats(arguments: argparse.Namespace) -> int:
    """Print figures; return the exit status. Raises SonicError if that fails."""
    with open_target(arguments) as index:
        figures = index.stats(arguments.collection, arguments.bucket)
        if arguments.collection is not None:
            remark_absent(index, arguments.collection, arguments.bucket)
    show(arguments, figures, *_lines(figures))
    return 0


def _lines(figures: dict[str, Any], before: str = "") -> Iterator[str]:
    """Yield a line for each figure: `before`, the names of its levels joined by dots, a tab, and its value."""
    for name, value in figures.items():
        if isinstance(value, dict):
            yield from _lines(value, f"{before}{name}.")
        elif isinstance(value, list) and any(isinstance(one, dict) for one in value):
            for place, one in enumerate(value):
                yield from _lines({str(place): one}, f"{before}{name}.")
        else:
            yield f"{before}{name}\t{_value(name, value)}"


def _value(name: str, value: Any) -> str:
    """Return a figure; on a terminal, a number of bytes gets a unit."""
    if sys.stdout.isatty() and name.endswith("bytes") and isinstance(value, int):
        return sized(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
