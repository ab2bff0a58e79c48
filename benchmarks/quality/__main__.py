"""Print the tables of docs/quality.md: sonicpy beside plain BM25, stemming engines, and the original Sonic.

    SONIC_BIN=/path/to/sonic python -m benchmarks.quality [PART ...] [--data ../shared/data] [--typos 5000] [--tables F]

Parts: finding, forms, inner, relevance, typos, typing, misspelt, languages, window, guesses, pieces, extras, titles,
beginnings, similar (default: all). It needs the extra [eval].
"""

import argparse
import random
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.as_csv import markdown_as_csv
from benchmarks.quality import variants
from benchmarks.quality.beginnings import beginnings_table
from benchmarks.quality.finding import finding_table
from benchmarks.quality.forms import forms_table
from benchmarks.quality.inner import inner_table
from benchmarks.quality.misspelt import misspelt_tables
from benchmarks.quality.peers import stemming_engines
from benchmarks.quality.similar import similar_table
from benchmarks.quality.systems import OURS, all_systems
from benchmarks.quality.tables import languages_table, relevance_table, typos_table
from benchmarks.quality.titles import titles_table
from benchmarks.quality.typing import typing_tables
from sonicpy.evaluation import language_scores, relevance, typos
from sonicpy.evaluation.inputs import Collection, Sentences, Typos, read_inputs, read_rows, read_words
from tests.support.paths import SHARED
from tests.support.plain_bm25 import PlainBm25

BM25 = "plain BM25"
SEED = 5
MESSAGES_BESIDE = 100_000


def collections(data: Path) -> list[Collection]:
    """Return the collections that have relevance judgements."""
    return [given for given in read_inputs(data / "ir") if isinstance(given, Collection)]


def relevance_of_all(data: Path, _: int) -> str:
    """Return a table of the relevance of every system on every collection."""
    given = collections(data)
    with tempfile.TemporaryDirectory() as folder, all_systems(Path(folder)) as systems:
        systems = {**systems, BM25: PlainBm25(), **stemming_engines()}
        figures = {
            name: [relevance.evaluate(system, f"relevance{number}", of) for number, of in enumerate(given)]
            for name, system in systems.items()
        }
    return relevance_table(figures)


def typos_of_all(data: Path, most: int) -> str:
    """Return a table of the shares of corrected misspellings, by people and by a program; each word is indexed once.

    Args:
        data: the folder of the downloaded lists.
        most: the most misspellings taken from each list.
    """
    words = dict.fromkeys(read_words(data / "words" / "en_freq_82765_symspell.tsv"), 1)
    lists = []
    for name in ("typos", "symspell_noisy_en_1000"):
        given = read_rows(data / "typos" / f"{name}.tsv")
        assert isinstance(given, Typos), given
        pairs = typos.within_reach(given.pairs, words)
        lists.append(Typos(name, random.Random(SEED).sample(pairs, min(most, len(pairs)))))
    with tempfile.TemporaryDirectory() as folder, all_systems(Path(folder)) as systems:
        figures = {
            name: [typos.evaluate(system, f"typos{number}", given, words) for number, given in enumerate(lists)]
            for name, system in systems.items()
        }
    return typos_table(figures)


def languages_of_all(data: Path, _: int) -> str:
    """Return a table of the shares of sentences in many languages that parts of them find, and of correctly guessed
    languages.
    """
    given = read_rows(data / "multilingual" / "sentences.tsv")
    assert isinstance(given, Sentences), given
    with tempfile.TemporaryDirectory() as folder, all_systems(Path(folder)) as systems:
        systems = {**systems, BM25: PlainBm25()}
        figures = {
            name: language_scores.evaluate(system, "languages", given, guesses=name == OURS)
            for name, system in systems.items()
        }
    ours = figures[OURS]
    shares = ", ".join(f"{share:.1%} at {size} bytes" for size, share in ours.guessed.items())
    guessed = f"Languages guessed right: {shares}; {ours.guess_us:.1f} us a guess at the largest."
    return f"{languages_table(figures)}\n\n{guessed}"


def window_of_one(data: Path, _: int) -> str:
    """Return a table of the effect of the window on documents among many chat messages."""
    (given,) = [of for of in collections(data) if of.name == "squad_sentences_dev"]
    return variants.window_table(given, MESSAGES_BESIDE)


PARTS: dict[str, Callable[[Path, int], str]] = {
    "finding": lambda data, _: finding_table(data),
    "forms": lambda data, _: forms_table(data),
    "inner": lambda _, __: inner_table(),
    "relevance": relevance_of_all,
    "typos": typos_of_all,
    "typing": lambda data, _: typing_tables(data),
    "misspelt": lambda data, _: misspelt_tables(
        [of for of in collections(data) if of.name in ("cacm", "npl", "squad_sentences_dev", "xquad_en")]
    ),
    "languages": languages_of_all,
    "window": window_of_one,
    "guesses": lambda data, _: variants.language_table(collections(data)),
    "pieces": lambda data, _: variants.pieces_table(collections(data)),
    "extras": lambda data, _: variants.extras_table(
        [of for of in collections(data) if of.name in ("jaquad_dev", "xquad_zh")]
    ),
    "titles": lambda data, _: titles_table(data),
    "beginnings": lambda data, _: beginnings_table(collections(data)),
    "similar": lambda data, _: similar_table([of for of in collections(data) if of.name in ("cacm", "npl")]),
}


def main() -> None:
    """Print the selected parts, and write their tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", choices=[*PARTS, []], help=", ".join(PARTS))
    parser.add_argument("--data", type=Path, default=SHARED, help="the folder of ir, typos, words and multilingual")
    parser.add_argument("--typos", type=int, default=5000, metavar="N", help="at most N misspellings per list")
    parser.add_argument("--tables", type=Path, metavar="FOLDER", help="also write the tables to FOLDER as CSV")
    arguments = parser.parse_args()
    for name in arguments.parts or PARTS:
        print(f"\n## {name}\n", flush=True)
        text = PARTS[name](arguments.data, arguments.typos)
        print(text, flush=True)
        if arguments.tables:
            table = text.partition("\n\n")[0]
            (arguments.tables / f"quality-{name}.csv").write_text(markdown_as_csv(table), encoding="utf-8")


if __name__ == "__main__":
    main()
