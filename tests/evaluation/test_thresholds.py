"""The quality of results and of their order must not fall below the bars of docs/quality.md, on small samples."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from sonicpy import Index
from sonicpy.evaluation import language_scores, relevance, typos
from sonicpy.evaluation.inputs import Collection, Sentences, Typos, read_collection, read_rows, read_words
from tests.support.plain_bm25 import PlainBm25
from tests.support.shared_data import shared_data

SEED = 11
QUERIES = 300
PAIRS = 350


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with Index(tmp_path) as opened, opened.batch():
        yield opened


def sample(collection: Collection, queries: int) -> Collection:
    chosen = random.Random(SEED).sample(sorted(collection.queries), queries)
    return Collection(
        collection.name,
        collection.documents,
        {query: collection.queries[query] for query in chosen},
        {query: collection.relevant[query] for query in chosen},
    )


def made_up(seed: int, sentence: bool) -> Collection:
    """Return documents whose words follow Zipf's law, and queries of words of one document, some of them replaced by
    others.
    """
    rng = random.Random(seed)
    words = ["".join(rng.choices("bcdfghklmnprstvw", k=2)) + rng.choice("aeiou") + f"{rng.choice('aeiou')}n" * 2
             for _ in range(4_000)]  # fmt: skip
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    documents = {f"d{n}": rng.choices(words, weights, k=rng.randint(8, 120)) for n in range(300)}
    queries, relevant = {}, {}
    for number, (name, held) in enumerate(documents.items()):
        asked = rng.sample(held, min(len(held), 9 if sentence else 3))
        replaced = [word if rng.random() < 0.7 else rng.choices(words, weights)[0] for word in asked]
        queries[f"q{number}"] = " ".join(replaced + (["in", "2019"] if sentence else []))
        relevant[f"q{number}"] = {name: 1}
    return Collection("made up", {name: " ".join(held) for name, held in documents.items()}, queries, relevant)


@pytest.mark.parametrize("sentence", [False, True])
def test_made_up_words_are_ranked_as_bm25_does(index: Index, sentence: bool) -> None:
    given = made_up(SEED, sentence)
    ours = relevance.evaluate(index, "c", given, lang="none")
    plain = relevance.evaluate(PlainBm25(), "c", given)
    assert ours.ndcg_10 >= 0.97 * plain.ndcg_10
    assert ours.empty == 0


@pytest.mark.parametrize(
    ("name", "share", "least"),
    [
        ("xquad_en", 0.99, 0.94),
        pytest.param("squad_sentences_dev", 1.0, 0.72, marks=pytest.mark.full),
        ("xquad_es", 0.99, 0.94),
        ("xquad_ru", 1.0, 0.9),
        ("xquad_zh", 1.0, 0.93),
    ],
)
def test_judged_collections(index: Index, name: str, share: float, least: float) -> None:
    """nDCG@10 is at least `least`, and at least `share` of that of plain BM25; Sonic 1.10.2 reaches 0.65 to 0.86 of
    it.
    """
    given = sample(read_collection(shared_data(f"ir/{name}")), QUERIES)
    ours = relevance.evaluate(index, "c", given)
    assert ours.ndcg_10 >= share * relevance.evaluate(PlainBm25(), "c", given).ndcg_10
    assert ours.ndcg_10 >= least
    assert ours.empty <= 1


@pytest.mark.full
def test_typos_of_people(index: Index) -> None:
    words = dict.fromkeys(read_words(shared_data("words/en_freq_82765_symspell.tsv")), 1)
    given = read_rows(shared_data("typos/typos.tsv"))
    assert isinstance(given, Typos)
    pairs = random.Random(SEED).sample(typos.within_reach(given.pairs, words), PAIRS)
    figures = typos.evaluate(index, "c", Typos("sample", pairs), words)
    assert figures.pairs > 0.9 * PAIRS
    assert figures.suggested >= 0.97
    assert figures.first >= 0.88
    assert figures.found >= 0.96


def test_typos_of_a_few_words(index: Index) -> None:
    """A test without large files: each word of a text gets one random edit."""
    rng = random.Random(SEED)
    words = sorted(set(Path(__file__).read_text(encoding="utf-8").lower().split()))
    words = [word for word in words if word.isalpha() and word.isascii() and len(word) > 4]
    pairs = [(edited(word, rng), word) for word in words]
    figures = typos.evaluate(index, "c", Typos("few", pairs))
    assert figures.pairs > 25
    assert (figures.suggested, figures.found) == (1.0, 1.0)
    assert figures.first > 0.95


def edited(word: str, rng: random.Random) -> str:
    at = rng.randrange(len(word) - 1)
    kind = rng.randrange(4)
    if kind == 0:
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return word[:at] + ("" if kind == 1 else rng.choice("aeiournst")) + word[at + (kind != 3) :]


@pytest.mark.full
def test_parts_of_sentences(index: Index) -> None:
    given = read_rows(shared_data("multilingual/sentences.tsv"))
    assert isinstance(given, Sentences)
    chosen = "ara ben cmn deu ell fin heb hin jpn khm kor lao mya rus tam tha tur vie".split()
    texts = [pair for pair in given.texts if pair[0] in chosen]
    figures = language_scores.evaluate(index, "c", Sentences("some", texts), guesses=False)
    assert figures.languages == len(chosen)
    assert figures.found >= 0.99
    assert figures.found_inside >= 0.99
    assert figures.empty == 0
    assert min(figures.found_by_language.values()) >= 0.95
