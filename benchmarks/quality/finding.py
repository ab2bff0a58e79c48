"""The share of pushed objects that are found: rows by attributes, titles by themselves, words by other forms."""

import random
from itertools import accumulate, combinations, product
from pathlib import Path

import sonicpy
from benchmarks.quality.tables import table
from sonicpy.evaluation.inputs import read_words

ATTRIBUTES = (
    "red green blue black white yellow brown grey".split(),
    "tiny small medium large huge giant".split(),
    "cotton linen wool silk leather denim velvet fleece nylon canvas hemp jersey".split(),
)
ROWS = 5_000
TITLES = 100_000
TITLE_WORDS = 5
ASKED = 10_000
"""The number of titles that are searched for."""
VOCABULARY = 20_000
FIRST = 10
NO_ALTERNATES = {"search": {"query_alternates_try": 0}}
"""The settings by which words are neither completed nor corrected."""
FORMS = {
    "eng": ["engine engines", "café cafe", "walk walking", "resume résumé"],
    "deu": ["Motor Motoren", "Mädchen Madchen", "Katze Katzen", "Haus Häuser"],
    "fra": ["moteur moteurs", "élève eleve", "cheval chevaux", "continuer continuation"],
    "spa": ["motor motores", "canción cancion", "canciones canción", "rápido rapidos"],
    "ita": ["motore motori", "città citta", "gatto gatti", "amico amici"],
    "por": ["motor motores", "coração coracao", "menino meninos", "estação estacao"],
}
"""Language -> pairs of forms: the first form is pushed, the second is searched for."""


def finding_table(data: Path) -> str:
    """Return one row for each kind of question."""
    return table(
        ["what is asked", "questions", "answered in full"],
        [
            [f"{ROWS:,} rows of three attributes, by one to three of them, LIMIT as many as match", *attributes()],
            [f"{TITLES:,} titles of five words, by themselves, among the first ten", *titles(data)],
            ["another form of a word, or the word without accents, in six languages", *forms()],
        ],
    )


def attributes() -> list[str]:
    """Search for every combination of values of one to three attributes; return the cells of a row: the number of
    questions and the share answered in full.
    """
    chance = random.Random(1)
    rows = [tuple(chance.choice(values) for values in ATTRIBUTES) for _ in range(ROWS)]
    questions = [
        chosen for count in (1, 2, 3) for some in combinations(range(3), count)
        for chosen in product(*([(at, value) for value in ATTRIBUTES[at]] for at in some))
    ]  # fmt: skip
    full = 0
    with sonicpy.open(":memory:") as index:
        index.push_many(
            ((str(number), " ".join(row)) for number, row in enumerate(rows)), collection="rows", bucket="all"
        )
        index.consolidate()
        for question in questions:
            expected = {
                str(number) for number, row in enumerate(rows) if all(row[at] == value for at, value in question)
            }
            found = index.query("rows", "all", " ".join(value for _, value in question), limit=max(1, len(expected)))
            full += set(found) == expected or not expected
    return [str(len(questions)), f"{full / len(questions):.2%}"]


def titles(data: Path) -> list[str]:
    """Search for titles whose words are drawn by Zipf's law from common English words; return the cells of a row: the
    number of questions and the share found.
    """
    chance = random.Random(2)
    words = list(read_words(data / "words" / "en_freq_82765_symspell.tsv"))[:VOCABULARY]
    shares = list(accumulate(1 / (place + 1) for place in range(len(words))))
    made = [" ".join(chance.choices(words, cum_weights=shares, k=TITLE_WORDS)) for _ in range(TITLES)]
    same: dict[tuple[str, ...], set[str]] = {}
    for number, title in enumerate(made):
        same.setdefault(tuple(sorted(title.split())), set()).add(str(number))
    found = 0
    with sonicpy.open(":memory:") as index:
        index.push_many(((str(number), title) for number, title in enumerate(made)), collection="t", bucket="all")
        index.consolidate()
        for number in chance.sample(range(TITLES), ASKED):
            answer = index.query("t", "all", made[number], limit=FIRST)
            twins = same[tuple(sorted(made[number].split()))]  # titles of the same words: any of them will do
            found += str(number) in answer or len(twins & set(answer)) == FIRST
    return [f"{ASKED:,}", f"{found / ASKED:.2%}"]


def forms() -> list[str]:
    """Push a form of each word and search for another form, which only its family connects to the first; return the
    cells of a row: the number of questions and the share found.
    """
    found = asked = 0
    for lang, pairs in FORMS.items():
        with sonicpy.open(":memory:", NO_ALTERNATES) as index:
            for number, pair in enumerate(pairs):
                index.push("f", "all", str(number), pair.split()[0], lang=lang)
            for number, pair in enumerate(pairs):
                found += str(number) in index.query("f", "all", pair.split()[1], lang=lang)
                asked += 1
    return [str(asked), f"{found / asked:.2%}"]
