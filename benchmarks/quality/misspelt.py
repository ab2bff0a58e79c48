"""Measure whether questions with a typing error are answered by the meant word: for messages, and for judged
questions.
"""

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import sonicpy
from benchmarks.quality.tables import table
from benchmarks.quality.typing import mistyped
from sonicpy.evaluation.inputs import Collection
from sonicpy.evaluation.measures import measure
from tests.support.texts import messages

MESSAGES = 100_000
ASKED = 500
HELD_BY = (30, 3_000)
"""The fewest and the most messages that hold a word which queries ask for."""
LETTERS_MIN = 5
FIRST = 10
QUERIES_MAX = 1_500
ROUNDS = 6
"""The number of errors that are made in each question of a small collection."""
SMALL = 200
SEED = 9
C, B = "misspelt", "all"
WORD = re.compile(r"[a-z]+")


def misspelt_tables(given: Iterable[Collection]) -> str:
    """Return the table of single words, and that of judged questions."""
    return "\n\n".join((words_table(), questions_table(given)))


def words_table(count: int = MESSAGES) -> str:
    """Return a table of how many of the first messages of an answer hold the word that is asked for with one error; the
    index has `count` messages."""
    texts = [text.lower() for text in messages(count)]
    held = Counter(word for text in texts for word in set(WORD.findall(text)))
    meant = [word for word, df in sorted(held.items()) if HELD_BY[0] <= df <= HELD_BY[1] and len(word) >= LETTERS_MIN]
    chance = random.Random(SEED)
    pairs = [(word, mistyped(chance, word)) for word in chance.sample(meant, ASKED)]
    pairs = [(word, typed) for word, typed in pairs if typed not in held]
    rows = []
    with sonicpy.open(":memory:") as index:
        index.push_many(((str(number), text) for number, text in enumerate(texts) if text), collection=C, bucket=B)
        index.consolidate()
        for name, behind in (("as the last word", ""), ("with a blank behind it", " ")):
            right = [
                [word in texts[int(oid)] for oid in index.query(C, B, typed + behind, limit=FIRST)]
                for word, typed in pairs
            ]
            first = sum(any(some[:1]) for some in right) / len(pairs)
            rows.append([name, str(len(pairs)), f"{first:.1%}", f"{sum(map(sum, right)) / FIRST / len(pairs):.1%}"])
    return table([f"{count:,} messages, a word with one error", "words", "first", "of the first ten"], rows)


def questions_table(given: Iterable[Collection]) -> str:
    """Return a table of nDCG@10 of judged questions as they are, and with an error in one word."""
    rows = []
    for of in given:
        names = list(of.documents)
        with sonicpy.open(":memory:") as index:
            index.push_many(((str(n), text) for n, text in enumerate(of.documents.values())), collection=C, bucket=B)
            index.consolidate()
            figures = [_ndcg(of, names, index, asked) for asked in ([*_some(of)], [*_with_errors(_some(of))])]
        rows.append([of.name, *figures])
    return table(["nDCG@10", "as typed", "with an error in one word"], rows)


def _some(of: Collection) -> Sequence[tuple[str, str]]:
    """Return the questions, or a sample if there are many."""
    asked = list(of.queries.items())
    return random.Random(SEED).sample(asked, QUERIES_MAX) if len(asked) > QUERIES_MAX else asked


def _with_errors(asked: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield questions, each with an error in one of its longer words; those without such a word are left out."""
    chance = random.Random(SEED)
    for _ in range(ROUNDS if len(asked) < SMALL else 1):
        for query, text in asked:
            words = [found for found in re.finditer("[A-Za-z]+", text) if len(found.group()) >= LETTERS_MIN]
            if words:
                at = chance.choice(words)
                yield query, f"{text[: at.start()]}{mistyped(chance, at.group().lower())}{text[at.end() :]}"


def _ndcg(of: Collection, names: Sequence[str], index: sonicpy.Index, asked: Sequence[tuple[str, str]]) -> str:
    answers = {
        str(place): [names[int(number)] for number in index.query(C, B, text, limit=FIRST)]
        for place, (_, text) in enumerate(asked)
    }
    relevant = {str(place): of.relevant[query] for place, (query, _) in enumerate(asked)}
    return f"{measure(relevant, answers).ndcg_10:.4f}"
