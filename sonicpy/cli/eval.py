"""The verb that measures quality: `sonicpy eval`, of this version or of any server that speaks Sonic Channel."""

import argparse
import os
import secrets
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from sonicpy.cli.arguments import Verbs, language, number
from sonicpy.cli.settings import SOURCES
from sonicpy.cli.target import open_server
from sonicpy.config import load
from sonicpy.evaluation import language_scores, relevance, typos
from sonicpy.evaluation.inputs import Collection, Input, Sentences, Typos, read_inputs, read_words
from sonicpy.evaluation.searched import Searched
from sonicpy.evaluation.table import Scores, as_json, as_line
from sonicpy.index.index import Index

DESCRIPTION = f"""\
Measure search quality and print one line for each collection or file. PATH is a folder in the layout of BEIR
(docs.jsonl or corpus.jsonl, queries.jsonl, qrels.tsv or qrels/test.tsv), which gives nDCG@10, MRR@10 and Recall@100; a
TSV file of misspelt words (wrong, right), which gives how often the right word is suggested, is suggested first, and
how often a query finds its object; a TSV file of sentences (language in ISO 639-3, two more columns, text), which gives
how often a part finds the sentence and the guessed language is right; or a folder of these. The texts are indexed in a
temporary folder, or pushed into a collection of a server that is flushed at the end. BEIR folders need the extra: pip
install 'sonicpy-search[eval]'. {SOURCES}"""

EXAMPLE = "example: sonicpy eval beir/scifact --server sonic://127.0.0.1:1491 --json"

TIMEOUT_S = 600.0
"""The longest wait for an answer in seconds, because a server may take minutes to consolidate."""
BYTES_MIN = 4
"""The least number of bytes of a piece: those of the longest character in UTF-8."""


def add_verbs(verbs: Verbs) -> None:
    """Add `eval` and its arguments to the command line."""
    parser = verbs.add_parser("eval", description=DESCRIPTION, epilog=EXAMPLE)
    parser.add_argument("paths", metavar="PATH", type=Path, nargs="+", help="collections, misspelt words, sentences")
    parser.add_argument("-c", "--config", metavar="FILE", type=Path, help="settings file (TOML)")
    parser.add_argument("--server", metavar="URL", help="push to this server: sonic://host:port (default: index here)")
    parser.add_argument(
        "--lang", metavar="CODE", type=language, help="language of the texts in BEIR folders, or none (default: guess)"
    )
    parser.add_argument(
        "--split", metavar="BYTES", type=_bytes, help="push documents of BEIR folders in pieces of at most this size"
    )
    parser.add_argument(
        "--words",
        metavar="FILE",
        type=Path,
        help="words to index for a file of misspelt words (default: its right words)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, one object a line")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the figures of every path and return 0.

    Raises:
        EvaluationError: a path holds nothing to evaluate, or the extra [eval] is missing.
        SonicError: the settings are wrong, or the server gives no answer.
    """
    words = dict.fromkeys(read_words(arguments.words), 1) if arguments.words else None
    for path in arguments.paths:
        for given in read_inputs(path):
            with _searched(arguments) as (searched, scope):
                figures = evaluate(searched, scope, given, arguments.lang, arguments.split, words)
            print(as_json(figures) if arguments.json else as_line(figures), flush=True)
    return 0


def evaluate(
    searched: Searched,
    scope: str,
    given: Input,
    lang: str | None = None,
    most_bytes: int | None = None,
    words: Mapping[str, int] | None = None,
) -> Scores:
    """Return the figures of one input.

    Args:
        searched: the judged system.
        scope: the name of a collection that only this evaluation uses.
        lang, most_bytes: for a collection; see `relevance.evaluate`.
        words: for misspelt words; see `typos.evaluate`.
    """
    match given:
        case Collection():
            return relevance.evaluate(searched, scope, given, lang=lang, most_bytes=most_bytes)
        case Typos():
            return typos.evaluate(searched, scope, given, words)
        case Sentences():
            return language_scores.evaluate(searched, scope, given, guesses=isinstance(searched, Index))


@contextmanager
def _searched(arguments: argparse.Namespace) -> Iterator[tuple[Searched, str]]:
    """Open the index to measure, and yield it with the name of a new collection; both are removed at the end."""
    scope = f"eval-{secrets.token_hex(8)}"
    if arguments.server:
        with open_server(arguments.server, timeout_s=TIMEOUT_S) as client:
            try:
                yield client, scope
            finally:
                client.flush_collection(scope)
        return
    with tempfile.TemporaryDirectory(prefix="sonicpy-eval-") as folder:
        config = load(arguments.config, os.environ, {"store.kv.path": folder}).config
        with Index(config=config) as index, index.batch():
            yield index, scope


def _bytes(text: str) -> int:
    size = number(text)
    if size < BYTES_MIN:
        raise argparse.ArgumentTypeError(f"{size} is not a number of bytes from {BYTES_MIN} on")
    return size
