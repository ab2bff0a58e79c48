"""The weight of titles in queries: how well queries are answered with each weight, and the best one by two-fold choice.

    python -m benchmarks.quality titles

Documents of judged collections are pushed with their titles as a field: the first line or, in collections without
separate titles, the first eight words, most of which are the title there. Made-up packages have a name as title and a
summary that often has words of the names of others; queries ask for them by their name, or by a word of it and one of
the summary. Each collection has the same weight.
"""

import random
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from statistics import mean

import sonicpy
from benchmarks.quality.tables import table
from sonicpy.api.rows import Row
from sonicpy.evaluation.inputs import Collection, read_collection, read_words
from sonicpy.evaluation.measures import measure

WEIGHTS = (0.0, 0.15, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0)
JUDGED = ("cacm", "npl")
FIRST_WORDS = 8
PLACES = 10
PACKAGES, ASKED = 5_000, 600
NAME_WORDS, SUMMARY_WORDS = 3_000, 6_000  # the words of names are rarer than the most frequent ones of summaries
SEED = 5

Document = dict[str, str]
Figures = dict[float, dict[str, float]]
"""Weight -> query -> its figure, nDCG@10."""


def titles_table(data: Path) -> str:
    """Return a table of the figures of each weight, and of the weights that each half of the queries chooses for the
    other one.
    """
    words = list(read_words(data / "words" / "en_freq_82765_symspell.tsv"))
    found = {name: figures(*titled(read_collection(data / "ir" / name))) for name in JUDGED}
    of_packages = figures(*packages(words))
    for kind in ("name", "mixed"):
        found[f"packages, {kind}"] = {
            weight: {query: one for query, one in of.items() if query.startswith(kind)}
            for weight, of in of_packages.items()
        }
    rows = [
        [
            f"{weight:g}",
            *(f"{mean(of[weight].values()):.4f}" for of in found.values()),
            f"{together(found, weight):.4f}",
        ]
        for weight in WEIGHTS
    ]
    lines = [table(["weight of the title", *found, "mean"], rows), ""]
    for own, other in ((0, 1), (1, 0)):
        best = max(WEIGHTS, key=lambda weight: together(found, weight, own))
        lines.append(
            f"Half {own + 1} of the queries chooses {best:g}: half {other + 1} has "
            f"{together(found, best, other):.4f} with it, {together(found, 0.0, other):.4f} without titles."
        )
    return "\n".join(lines)


def together(found: dict[str, Figures], weight: float, half: int | None = None) -> float:
    """Return the mean over all collections with a weight, for all queries or one half of them."""
    every, first = (1, 0) if half is None else (2, half)
    return mean(mean(list(of[weight].values())[first::every]) for of in found.values())


def titled(given: Collection) -> tuple[dict[str, Document], Collection]:
    """Return the documents of a collection, with their titles separated, and the collection."""
    return {name: split(text) for name, text in given.documents.items()}, given


def split(text: str) -> Document:
    """Return the title and the rest of a text."""
    title, line_end, rest = text.partition("\n")
    if not line_end:
        words = text.split()
        title, rest = " ".join(words[:FIRST_WORDS]), " ".join(words[FIRST_WORDS:])
    return {"title": title, "": rest}


def packages(words: list[str]) -> tuple[dict[str, Document], Collection]:
    """Return made-up packages, and queries for some of them."""
    chance = random.Random(SEED)
    of_names, of_summaries = words[200 : 200 + NAME_WORDS], words[:SUMMARY_WORDS]
    shares = list(accumulate(1 / (rank + 10) for rank in range(SUMMARY_WORDS)))
    names = list(dict.fromkeys("-".join(drawn) for drawn in _names(chance, of_names, shares[:NAME_WORDS])))
    documents = {}
    for name in names:
        own = chance.choices(of_summaries, cum_weights=shares, k=chance.randint(4, 12))
        others = [word for other in chance.choices(names, k=chance.randint(0, 2)) for word in other.split("-")]
        again = name.split("-") if chance.random() < 0.3 else []
        summary = [*own, *others, *again]
        chance.shuffle(summary)
        documents[name] = {"title": name, "": " ".join(summary)}
    queries, relevant = {}, {}
    for number, name in enumerate(chance.sample(names, ASKED)):
        mixed = f"{chance.choice(name.split('-'))} {chance.choice(documents[name][''].split())}"
        for query, text in ((f"name {number}", name.replace("-", " ")), (f"mixed {number}", mixed)):
            queries[query], relevant[query] = text, {name: 1}
    return documents, Collection("packages", {}, queries, relevant)


def _names(chance: random.Random, words: list[str], shares: list[float]) -> Iterator[list[str]]:
    for _ in range(PACKAGES):
        yield list(dict.fromkeys(chance.choices(words, cum_weights=shares, k=chance.choice((1, 2, 2, 3)))))


def figures(documents: dict[str, Document], given: Collection) -> Figures:
    """Return the figures of all queries with each weight of the titles."""
    names = list(documents)
    found: Figures = {}
    with sonicpy.open(":memory:") as index:
        rows = enumerate(documents.values())
        report = index.push_many(
            Row("titles", "documents", str(number), " ".join(texts.values()), None, texts=texts)
            for number, texts in rows
        )
        assert report.indexed == len(names), report
        for weight in WEIGHTS:
            found[weight] = {}
            for query, text in given.queries.items():
                hits = index.query_ids("titles", "documents", text, limit=PLACES, fields={"title": weight})
                answer = {query: [names[int(hit)] for hit in hits]}
                found[weight][query] = measure({query: given.relevant[query]}, answer).ndcg_10
    return found
