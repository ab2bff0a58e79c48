"""Inputs of an evaluation: read from both layouts, with errors that name file and line."""

from pathlib import Path

import pytest

from sonicpy.errors import EvaluationError
from sonicpy.evaluation.inputs import Collection, Sentences, Typos, read_inputs, read_words
from tests.evaluation.small import DOCUMENTS, write_collection, write_lines


@pytest.mark.parametrize("like_beir", [False, True])
def test_both_layouts_give_the_same(tmp_path: Path, like_beir: bool) -> None:
    (given,) = read_inputs(write_collection(tmp_path / "small", like_beir=like_beir))
    assert isinstance(given, Collection)
    assert given.name == "small"
    assert given.documents["d2"] == "\n".join(DOCUMENTS["d2"])
    assert given.documents["d 1"] == DOCUMENTS["d 1"][1]
    assert given.relevant == {"q1": {"d 1": 2, "d4": 1}, "q2": {"d2": 1}, "q3": {"d3": 1}}
    assert list(given.queries) == ["q1", "q2", "q3"], "only what is judged"


def test_a_folder_of_everything(tmp_path: Path) -> None:
    write_collection(tmp_path / "b")
    write_collection(tmp_path / "a", like_beir=True)
    write_lines(tmp_path / "typos.tsv", ["wrogn\twrong\tx", "teh\tthe"])
    write_lines(tmp_path / "zentences.tsv", ["deu\tdeu\tx\tGuten Tag", "fra\tfra\tx\tBonjour"])
    given = list(read_inputs(tmp_path))
    assert [of.name for of in given] == ["a", "b", "typos", "zentences"]
    assert isinstance(given[2], Typos) and given[2].pairs == [("wrogn", "wrong"), ("teh", "the")]
    assert isinstance(given[3], Sentences) and given[3].texts == [("deu", "Guten Tag"), ("fra", "Bonjour")]


def test_words_with_and_without_counts(tmp_path: Path) -> None:
    write_lines(tmp_path / "words", ["\ufeffthe 23", "of\t7", "", "and"])
    assert read_words(tmp_path / "words") == {"the": 23, "of": 7, "and": 1}
    write_lines(tmp_path / "words", ["the x"])
    with pytest.raises(EvaluationError, match="words, line 1: 'x' is no count"):
        read_words(tmp_path / "words")
    write_lines(tmp_path / "words", ["the " + "1" * 5_000])
    with pytest.raises(EvaluationError, match=r"words, line 1: '1{40}\.\.\.' is no count"):
        read_words(tmp_path / "words")


@pytest.mark.parametrize(
    ("file", "content", "sentence"),
    [
        ("docs.jsonl", "nonsense", r"docs.jsonl, line 1: this is no"),
        ("docs.jsonl", '{"text": "x"}', r"docs.jsonl, line 1: this is no"),
        ("docs.jsonl", '{"id": "d", "text": 5}', r"docs.jsonl, line 1: this is no"),
        ("docs.jsonl", "\n", r"docs.jsonl holds no document"),
        ("queries.jsonl", "[]", r"queries.jsonl, line 1: this is no"),
        ("queries.jsonl", '{"id": "other", "text": "x"}', "has no judged query"),
        ("qrels.tsv", "q1\td2\t1\nq1 d2 1", r"qrels.tsv, line 2: allowed is"),
        ("qrels.tsv", None, r"has no qrels.tsv or qrels/test.tsv"),
    ],
)
def test_faults(tmp_path: Path, file: str, content: str | None, sentence: str) -> None:
    path = write_collection(tmp_path / "small") / file
    path.unlink() if content is None else path.write_text(content)
    with pytest.raises(EvaluationError, match=sentence):
        list(read_inputs(tmp_path / "small"))


def test_nothing_to_evaluate(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(EvaluationError, match="holds nothing to evaluate"):
            list(read_inputs(path))
    (tmp_path / "latin.tsv").write_bytes(b"caf\xe9\tcafe\n")
    with pytest.raises(EvaluationError, match="latin.tsv cannot be read: it is not UTF-8"):
        list(read_inputs(tmp_path / "latin.tsv"))
    write_lines(tmp_path / "one.tsv", ["word"])
    with pytest.raises(EvaluationError, match="one.tsv, row 1: there is no tab"):
        list(read_inputs(tmp_path / "one.tsv"))
