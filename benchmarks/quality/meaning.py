"""Print how well words and vectors find, alone and together, with the vectors of a model of sentence-transformers.

    python -m benchmarks.quality.meaning MODEL [SET ...] [--data ../shared/data] [--vectors FOLDER] [--tables FOLDER]

MODEL is a name or a folder; SETs are collections in the folder `ir` of the data. FOLDER keeps the vectors, so that
another run needs no model. It needs the extra [eval], numpy and sentence-transformers; usearch, and sqlite-vec with
apsw, are left out if they are not installed.
"""

import argparse
import importlib
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import sonicpy
from benchmarks.as_csv import markdown_as_csv
from benchmarks.peers.sqlite import Fts5
from benchmarks.quality.tables import table
from sonicpy.evaluation.inputs import Collection, read_inputs
from sonicpy.evaluation.measures import Measures, measure
from tests.support.paths import SHARED

SETS = ("cacm", "npl", "squad_sentences_dev", "xquad_en")
PLACES = 100
"""The number of answers in each way: those that Recall@100 counts."""
RANKS = 60
"""The constant of reciprocal rank fusion in Cormack, Clarke and Buettcher, SIGIR 2009."""
WEIGHTS = (0.3, 0.5, 0.6, 0.7, 0.8, 1.0)
DEPTHS = (30, 50, 100)
FOLDS = 5
SCOPE = ("texts", "all")
WORD = re.compile(r"\w+")

Ask = Callable[[str, Any], Sequence[str]]
"""Returns the numbers of documents, best first, for a question and its vector."""


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of a collection, as rows of length 1."""

    documents: Any
    questions: Any
    document_us: float
    """The mean time of the model for a document, in microseconds."""
    question_us: float
    """The mean time of the model for a single question, in microseconds."""


def vectors_of(given: Collection, model: str, folder: Path | None) -> Vectors:
    """Return the vectors of a collection, from a file if there is one; otherwise the model makes them, and they are
    stored.
    """
    numpy = importlib.import_module("numpy")
    file = folder / f"{given.name}.npz" if folder else None
    if file is None or not file.exists():
        encode = partial(loaded(model).encode, normalize_embeddings=True, show_progress_bar=False)
        began = time.perf_counter()
        documents = encode(list(given.documents.values()))
        document_us = (time.perf_counter() - began) / len(documents) * 1e6
        questions = list(given.queries.values())
        some = questions[:100]
        began = time.perf_counter()
        for question in some:
            encode(question)
        question_us = (time.perf_counter() - began) / len(some) * 1e6
        made = Vectors(documents, encode(questions), document_us, question_us)
        if file is None:
            return made
        file.parent.mkdir(parents=True, exist_ok=True)
        numpy.savez(file, documents=made.documents, questions=made.questions, times=[document_us, question_us])
    kept = numpy.load(file)
    return Vectors(kept["documents"], kept["questions"], *kept["times"].tolist())


def loaded(model: str) -> Any:
    """Return a model of sentence-transformers."""
    return importlib.import_module("sentence_transformers").SentenceTransformer(model, device="cpu")


class Words:
    """A collection with vectors in an index of sonicpy."""

    def __init__(self, given: Collection, vectors: Vectors) -> None:
        self._index = sonicpy.open(":memory:")
        self._index.push_many(
            (
                {"id": str(number), "text": text, "vector": vector}
                for number, (text, vector) in enumerate(zip(given.documents.values(), vectors.documents, strict=True))
            ),
            collection=SCOPE[0],
            bucket=SCOPE[1],
            vector="vector",
        )
        self._index.consolidate()

    def alone(self, text: str, _: Any = None) -> sonicpy.Hits:
        """Return the first objects by words."""
        return self._index.query(*SCOPE, text, limit=PLACES)

    def together(self, text: str, vector: Any, **asked: Any) -> sonicpy.Hits:
        """Return the first objects by words, reordered by the signs of their vectors."""
        return self._index.query(*SCOPE, text, limit=PLACES, vector=vector, **asked)


class Exact:
    """All vectors as floats, compared one by one."""

    def __init__(self, vectors: Vectors) -> None:
        self._documents = vectors.documents

    def nearest(self, _: str, vector: Any) -> list[str]:
        """Return the documents with the greatest cosines."""
        return [name for name, _ in self.scored(vector)]

    def scored(self, vector: Any) -> list[tuple[str, float]]:
        """Return documents with their cosines, greatest first."""
        cosines = self._documents @ vector
        return [(str(at), float(cosines[at])) for at in (-cosines).argsort(kind="stable")[:PLACES]]


def usearch_scored(vectors: Vectors) -> Callable[[Any], list[tuple[str, float]]]:
    """Return the search of an index of neighbours by usearch."""
    numpy = importlib.import_module("numpy")
    found = importlib.import_module("usearch.index").Index(ndim=vectors.documents.shape[1], metric="cos")
    found.add(numpy.arange(len(vectors.documents)), vectors.documents)

    def scored(vector: Any) -> list[tuple[str, float]]:
        matches = found.search(vector, PLACES)
        return [(str(key), 1 - float(away)) for key, away in zip(matches.keys, matches.distances, strict=True)]

    return scored


def sqlite_vec_scored(vectors: Vectors) -> Callable[[Any], list[tuple[str, float]]]:
    """Return the search of a table of sqlite-vec."""
    database = importlib.import_module("apsw").Connection(":memory:")  # Python's sqlite3 may load no extensions
    database.enable_load_extension(True)
    database.load_extension(importlib.import_module("sqlite_vec").loadable_path())
    database.execute(
        f"CREATE VIRTUAL TABLE vectors USING vec0(vector float[{vectors.documents.shape[1]}] distance_metric=cosine)"
    )
    rows = ((number, vector.tobytes()) for number, vector in enumerate(vectors.documents))
    database.executemany("INSERT INTO vectors(rowid, vector) VALUES (?, ?)", rows)

    def scored(vector: Any) -> list[tuple[str, float]]:
        asked = "SELECT rowid, distance FROM vectors WHERE vector MATCH ? AND k = ?"
        return [(str(number), 1 - away) for number, away in database.execute(asked, (vector.tobytes(), PLACES))]

    return scored


OWN_INDEXES = {
    "usearch": (("usearch",), usearch_scored),
    "sqlite-vec": (("sqlite_vec", "apsw"), sqlite_vec_scored),
}
"""Name of an index of vectors beside that of sonicpy -> (the modules it needs, the function that fills it)."""


def fused_by_rank(text: str, vector: Any, *, ways: Sequence[Ask]) -> list[str]:
    """Return the answers of several ways, merged by reciprocal rank fusion."""
    sums: dict[str, float] = {}
    for way in ways:
        for place, name in enumerate(way(text, vector), 1):
            sums[name] = sums.get(name, 0.0) + 1 / (RANKS + place)
    return sorted(sums, key=lambda name: -sums[name])[:PLACES]


def ways_of(given: Collection, vectors: Vectors) -> tuple[dict[str, tuple[int, Ask]], Words]:
    """Return the ways to answer by their names, each with its bytes of vectors per object; and the index of sonicpy."""
    ours, exact = Words(given, vectors), Exact(vectors)
    fts5 = Fts5(options=", tokenize = 'porter unicode61'")
    fts5.add(list(enumerate(given.documents.values())))
    bits = vectors.documents.shape[1] // 8
    floats = vectors.documents.shape[1] * 4

    def by_fts5(text: str, _: Any) -> list[str]:
        return list(map(str, fts5.any_of(WORD.findall(text), PLACES)))

    ways: dict[str, tuple[int, Ask]] = {
        "FTS5, porter": (0, by_fts5),
        "sonicpy, words": (0, ours.alone),
        "vectors, all compared": (floats, exact.nearest),
        "FTS5 + vectors, by ranks": (floats, partial(fused_by_rank, ways=[by_fts5, exact.nearest])),
        "sonicpy + vectors, by ranks": (floats, partial(fused_by_rank, ways=[ours.alone, exact.nearest])),
        "sonicpy, signs (meaning .7, depth 50)": (bits, ours.together),
    }
    for name, (modules, fill) in OWN_INDEXES.items():
        if all(map(find_spec, modules)):
            scored = fill(vectors)

            def fused(text: str, vector: Any, scored: Callable[[Any], list[tuple[str, float]]] = scored) -> list[str]:
                return sonicpy.fuse(ours.alone(text), scored(vector), weight=1.0, limit=PLACES).objects

            ways[f"sonicpy + {name}, fuse(weight=1)"] = (floats, fused)
    return ways, ours


def answers_of(given: Collection, vectors: Vectors, ask: Ask) -> tuple[dict[str, list[str]], float]:
    """Return the answers by question, and the mean time of an answer in microseconds."""
    names = list(given.documents)
    answers = {}
    taken_s = 0.0
    for (query, text), vector in zip(given.queries.items(), vectors.questions, strict=True):
        began = time.perf_counter()
        found = ask(text, vector)
        taken_s += time.perf_counter() - began
        answers[query] = [names[int(number)] for number in found]
    return answers, taken_s / len(answers) * 1e6


def judged(given: Collection, answers: Mapping[str, list[str]], queries: Sequence[str]) -> Measures:
    """Return the measures of the answers to some questions."""
    return measure({query: given.relevant[query] for query in queries}, {query: answers[query] for query in queries})


def held_out(given: Collection, grid: Mapping[tuple[float, int], Mapping[str, list[str]]]) -> tuple[float, str]:
    """Return nDCG@10 with the weight and depth that is best for the other folds, and the choices.

    Question number n is in the fold n modulo FOLDS.
    """
    queries = list(given.queries)
    total, chosen = 0.0, []
    for fold in range(FOLDS):
        inside = queries[fold::FOLDS]
        outside = [query for at, query in enumerate(queries) if at % FOLDS != fold]
        best = max(grid, key=lambda setting: judged(given, grid[setting], outside).ndcg_10)
        total += judged(given, grid[best], inside).ndcg_10 * len(inside)
        chosen.append(f"{best[0]:g}/{best[1]}")
    return total / len(queries), " ".join(chosen)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality.meaning", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("sets", nargs="*", metavar="SET", default=SETS)
    parser.add_argument("--data", type=Path, default=SHARED, help="the folder of ir")
    parser.add_argument("--vectors", type=Path, metavar="FOLDER", help="keep the vectors in FOLDER")
    parser.add_argument("--tables", type=Path, metavar="FOLDER", help="also write the table to FOLDER as CSV")
    arguments = parser.parse_args()
    given = [
        of for of in read_inputs(arguments.data / "ir") if isinstance(of, Collection) and of.name in arguments.sets
    ]
    rows, folds = [], []
    for of in given:
        vectors = vectors_of(of, arguments.model, arguments.vectors)
        size = f"{of.name} ({len(of.documents)} documents, {len(of.queries)} queries)"
        print(f"{size}: {vectors.document_us:.0f} us of the model a document, {vectors.question_us:.0f} a question")
        ways, ours = ways_of(of, vectors)
        for name, (kept, ask) in ways.items():
            answers, taken_us = answers_of(of, vectors, ask)
            figures = judged(of, answers, list(of.queries))
            label = size if name == next(iter(ways)) else ""
            rows.append(
                [label, name, f"{figures.ndcg_10:.4f}", f"{figures.recall_100:.4f}", str(kept), f"{taken_us:.0f}"]
            )
        grid = {
            (meaning, depth): answers_of(of, vectors, partial(ours.together, meaning=meaning, depth=depth))[0]
            for meaning, depth in product(WEIGHTS, DEPTHS)
        }
        by_default = judged(of, grid[0.7, 50], list(of.queries)).ndcg_10
        value, chosen = held_out(of, grid)
        folds.append([of.name, f"{by_default:.4f}", f"{value:.4f}", chosen])
    head = ["collection", "way", "nDCG@10", "Recall@100", "bytes of vectors an object", "us a query"]
    text = table(head, rows)
    print(f"\n{text}\n")
    print(table(["collection", "by default", "held out", "weight/depth of each fold"], folds))
    if arguments.tables:
        (arguments.tables / "quality-meaning.csv").write_text(markdown_as_csv(text), encoding="utf-8")


if __name__ == "__main__":
    main()
