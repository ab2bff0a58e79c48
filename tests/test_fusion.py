"""Tests of `sonicpy.fuse`, and of the embedders of other packages, with simulated models."""

import random
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import sonicpy
from sonicpy import embedders


def test_fused_scores_are_sums() -> None:
    dice = random.Random(4)
    for _ in range(50):
        names = [f"o{number}" for number in range(20)]
        words = {name: dice.random() * 3 for name in dice.sample(names, dice.randrange(20))}
        others = {name: dice.random() for name in dice.sample(names, dice.randrange(20))}
        ranked = sorted(words, key=lambda name: -words[name])
        hits = sonicpy.Hits(ranked, [words[name] for name in ranked])
        weight, limit = dice.choice([0, 0.5, 3]), dice.choice([None, 0, 5])
        found = sonicpy.fuse(hits, dice.choice([others, list(others.items())]), weight=weight, limit=limit)
        sums = {name: words.get(name, 0) + weight * others.get(name, 0) for name in words.keys() | others.keys()}
        assert len(found) == (len(sums) if limit is None else min(limit, len(sums)))
        assert found.scores == sorted(sums.values(), reverse=True)[:limit]
        assert all(hit.score == sums[hit.object] for hit in found)


def test_objects_that_vectors_alone_found_come_back() -> None:
    with sonicpy.open(":memory:") as index:
        nothing = [index.query("c", "new", "ferry"), index.query("c", "new", "ferry", total=True)]
        index.push("c", "b", "o1", "a boat")
        for text in ("ferry", "???", ""):
            nothing += [index.query("c", "b", text, limit=9 if text else 0), index.query("c", "b", text, filter="red")]
        nothing += [index.similar("c", "b", "absent"), index.query("c", ["b", "new"], "???", total=True)]
        for hits in nothing:
            assert len(hits) == 0
            found = sonicpy.fuse(hits, {1: 0.8, "o2": 1.0})
            assert (found.objects, found.scores) == (["o2", "1"], [0.5, 0.4])


def test_what_cannot_be_fused() -> None:
    with pytest.raises(sonicpy.InvalidArgument, match="^hits have no scores"):
        sonicpy.fuse(sonicpy.Hits(["o1"]), {})
    for weight in (-1, float("inf"), float("nan")):
        with pytest.raises(
            sonicpy.InvalidArgument, match=rf"^weight is {weight}; allowed are finite numbers from 0 on$"
        ):
            sonicpy.fuse(sonicpy.Hits(["o1"], [1.0]), {}, weight=weight)
    for huge in (10**400, 10**5000):
        with pytest.raises(sonicpy.InvalidArgument, match="^weight is .*; allowed are finite numbers from 0 on$"):
            sonicpy.fuse(sonicpy.Hits(["o1"], [1.0]), {}, weight=huge)
        with pytest.raises(sonicpy.InvalidArgument, match="^others has the score .* at 0; allowed are finite numbers$"):
            sonicpy.fuse(sonicpy.Hits(["o1"], [1.0]), {"o1": huge})
    for weight, given in ((1e305, {"o1": 1e308}), (1e305, [("o2", -1e308)]), (1, [("o2", 1e305)] * 2000)):
        with pytest.raises(
            sonicpy.InvalidArgument, match="^the score of 'o.' is no finite number; allowed are smaller"
        ):
            sonicpy.fuse(sonicpy.Hits(["o1"], [1.0]), given, weight=weight)
    with pytest.raises(sonicpy.InvalidArgument, match="^hits have a name twice"):
        sonicpy.fuse(sonicpy.Hits(["o1", "o1"], [2.0, 1.0], buckets=["a", "b"]), {})
    hits = sonicpy.Hits(["o1"], [1.0])
    for others in ("o1", 5, None, ["o1"], [5], [None], [("o1",)], {"o1": "x"}, {"o1": None}, [("o1", float("nan"))]):
        with pytest.raises(sonicpy.InvalidArgument, match="^others (is|has) .*; allowed are "):
            sonicpy.fuse(hits, others)  # type: ignore[arg-type]
    for limit in (-1, "1", 1.5):
        with pytest.raises(sonicpy.InvalidArgument, match="^limit is "):
            sonicpy.fuse(hits, {}, limit=limit)  # type: ignore[arg-type]
    with pytest.raises(sonicpy.InvalidArgument, match="^hits is of type list; allowed are hits of a query"):
        sonicpy.fuse(["o1"], {})  # type: ignore[arg-type]
    assert sonicpy.fuse(sonicpy.Hits(["7"], [1.0]), {7: 1.0, "8": 0.2}).scores == [1.5, 0.1], "names as push takes them"


class Model:
    """A model in place of those of three packages: its vectors show the arguments of the call."""

    def __init__(self, name: str, **options: Any) -> None:
        self.made = (name, options)

    @classmethod
    def from_pretrained(cls, name: str, **options: Any) -> "Model":
        return cls(name, **options)

    def encode(self, texts: list[str]) -> list[list[float]]:
        return [[1.0, *[-1.0] * 7] for _ in texts]

    passage_embed = encode

    def query_embed(self, texts: list[str]) -> list[list[float]]:
        return [[-1.0] * 8 for _ in texts]

    encode_query = query_embed


@pytest.mark.parametrize(
    ("package", "name", "question"),
    [
        ("sentence_transformers", "SentenceTransformer", -1),
        ("fastembed", "TextEmbedding", -1),
        ("model2vec", "StaticModel", 1),
    ],
)
def test_embedders(monkeypatch: pytest.MonkeyPatch, package: str, name: str, question: int) -> None:
    module = ModuleType(package)
    setattr(module, name, Model)
    monkeypatch.setitem(sys.modules, package, module)
    for model in ("some/model", Model("some/model", device="cpu")):
        options = {"device": "cpu"} if isinstance(model, str) else {}
        made = getattr(embedders, package)(model, column="m", **options)
        assert made(["a", "b"]) == [[1.0, *[-1.0] * 7]] * 2
        assert made.question(["a"])[0][0] == question
        with sonicpy.open(":memory:", embed=made) as index:
            index.push("c", "b", "o", "red")
            likeness = index.explain("c", "b", "red").hits[0].likeness
            assert likeness == pytest.approx(1.0 if question == 1 else 0.75)


def test_a_model_of_model2vec(tmp_path: Path) -> None:
    package = pytest.importorskip("model2vec", reason="needs the extra: pip install 'sonicpy-search[model2vec]'")
    numpy, tokenizers = pytest.importorskip("numpy"), pytest.importorskip("tokenizers")
    words = ["[UNK]", "boat", "river", "bottle"]
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: number for number, word in enumerate(words)}, unk_token=words[0])
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    rows = numpy.array([[0] * 8, [1] * 8, [1, -1] * 4, [-1, 1] * 4], "float32")
    package.StaticModel(rows, tokenizer).save_pretrained(tmp_path)
    with sonicpy.open(":memory:", embed=embedders.model2vec(str(tmp_path), column="m")) as index:
        index.push_many([("c", "b", "o1", "a bottle"), ("c", "b", "o2", "a river")])
        assert [held.fields["vectors"] for held in index.holdings()] == [{"m": "VQ=="}, {"m": "qg=="}]
        assert [hit.likeness for hit in index.explain("c", "b", "river bottle").hits] == [0, 0]
        assert index.explain("c", "b", "river").hits[0].likeness == pytest.approx(1)


def test_a_model_of_a_missing_package_says_so() -> None:
    with pytest.raises(ImportError, match="sentence_transformers"):
        embedders.sentence_transformers("some/model")
