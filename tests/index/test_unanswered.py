"""Questions without an answer: the questions that are counted, and their numbers."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sonicpy
from sonicpy.index.report import unanswered
from sonicpy.index.report.unanswered import Questions, without_addresses
from tests.support.examples import examples

NOTED = {"search": {"note_unanswered": True}}


def test_off_by_default() -> None:
    with sonicpy.open(":memory:") as index:
        index.push("c", "b", "o", "hello")
        index.query("c", "b", "zebra")
        assert index.questions is None
        assert not any("unanswered" in index.stats(*scope) for scope in ((), ("c",), ("c", "b")))


def test_queries_that_found_nothing() -> None:
    with sonicpy.open(":memory:", NOTED) as index:
        index.push("c", "b", "o", "hello world")
        index.push("c", "other", "o", "hello")
        for _ in range(3):
            assert index.query("c", "b", "Zebra, hippo!") == []
            assert index.query_ids("c", "b", "Zebra, hippo!") == []
        index.query("c", "b", "hippo zebra")
        index.query("c", "other", "zebra")
        for text in ("hello", "helo", "hel", "", "!", "hello zebra"):  # these find something, or have no words
            index.query("c", "b", text)
        index.query("c", "b", "zebra", offset=10)
        index.query("c", "b", "zebra", limit=0, total=True)
        index.query("c", "none", "zebra")
        index.query("c", ["b", "other"], "giraffe someone@example.org www.example.org")
        found = index.stats("c", "b")["unanswered"]
        assert found == {
            "queries": {"zebra hippo": 6, "hippo zebra": 1},
            "words": {"hippo": 7, "zebra": 7},
        }
        assert index.stats("c", "other")["unanswered"]["queries"] == {"zebra": 1}
        assert list(index.stats("c")["unanswered"]["queries"]) == ["zebra hippo", "giraffe", "hippo zebra", "zebra"]
        assert index.stats("c")["unanswered"]["words"] == index.stats()["unanswered"]["words"] == {
            "hippo": 7, "zebra": 8, "giraffe": 1,
        }  # fmt: skip
        assert index.stats("d")["unanswered"] == {"queries": {}, "words": {}}


@settings(max_examples=examples(40))
@given(st.lists(st.tuples(st.sampled_from("bc"), st.text("xyz", min_size=1, max_size=2)), max_size=60))
def test_counts_of_several_processes_add_up(noted: list[tuple[str, str]]) -> None:
    whole, here, there = Questions(), Questions(), Questions()
    for place, (bucket, text) in enumerate(noted):
        for questions in (whole, there if place % 3 else here):
            questions.note("a", bucket, text, text[:1])
    here.add(there.take())
    assert (here.total, here.figures(), here.figures("a", "b")) == (
        whole.total, whole.figures(), whole.figures("a", "b"),
    )  # fmt: skip
    assert there.figures() == {"queries": {}, "words": {}} and there.total == 0
    assert sum(whole.figures()["queries"].values()) == len(noted)


def test_the_commonest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unanswered, "COUNTED_MAX", 10)
    questions = Questions()
    for number in range(200):
        for text in ("often", f"once{number}", "often"):
            questions.note("c", "b", [text], [text])
    found = questions.figures()["queries"]
    assert len(found) == 10 and found["often"] == 400 and next(iter(found)) == "often"
    questions.note("c", "b", ["x" * 500], [])
    assert max(map(len, questions.figures()["queries"])) == unanswered.LETTERS_MAX


def test_one_query_of_very_many_or_long_words_counts_a_few_of_them() -> None:
    questions = Questions()
    for number in range(unanswered.COUNTED_MAX):
        questions.note("c", "b", [], [f"word{number}"])
        questions.note("c", "b", [], [f"word{number}"])
    texts = ["x" * 20_000, *(f"new{number}" for number in range(5_000))]
    questions.note("c", "b", texts, texts)

    words = questions.figures()["words"]
    assert len(words) <= unanswered.COUNTED_MAX
    assert max(map(len, words)) == unanswered.LETTERS_MAX
    assert sum(word.startswith("new") for word in words) == unanswered.WORDS_MAX - 1
    assert sum(word.startswith("word") for word in words) >= unanswered.COUNTED_MAX // 2


def test_addresses() -> None:
    assert without_addresses("mail (a@b.org), see HTTPS://x.org/y or www.x.org; c++ node.js 10.0.0.1 wwwhat") == (
        "mail see or c++ node.js 10.0.0.1 wwwhat"
    )
