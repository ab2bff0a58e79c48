"""Cached answers are never older than the last push, whichever thread asks."""

import random
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from string import ascii_lowercase
from unittest import mock

import pytest

from sonicpy import Index, InvalidArgument
from sonicpy._native.answer_cache import LONGEST, OVERHEAD, ROOM, AnswerCache
from sonicpy.index import answers
from sonicpy.index.search.query import query
from sonicpy.index.search.suggest import suggest_likely
from sonicpy.search import Search
from sonicpy.store.changing.remove_steps import TERMS_PER_STEP
from tests.index.shorthand import B, C, open_index, push
from tests.store.trouble import roll_back

WORDS = [f"{head}{tail}" for head in ("amber", "amble", "birch") for tail in ("", "a", "es", "ing", "ling")]
ASKED = ["a", "am", "amb", "ambe", "bir", "birchs", "ambre"]
TEXTS = ["amber", "amble birch", "ambers ambling", "ambr"]


def answers_of(index: Index) -> list[list[str]]:
    suggestions = [index.suggest(C, B, word, limit=limit) for word in ASKED for limit in (1, 5)]
    return suggestions + [
        index.query_ids(C, B, text, limit=limit, offset=offset, stem=stem)
        for text in TEXTS
        for limit, offset, stem in ((1, 0, True), (9, 0, True), (9, 1, True), (9, 0, False))
    ]


def fresh_answers(index: Index) -> list[list[str]]:
    kept, index._kept = index._kept, AnswerCache()
    found = answers_of(index)
    index._kept = kept
    return found


def change(index: Index, chance: random.Random) -> None:
    oid, word = f"o{chance.randrange(6)}", chance.choice(WORDS)
    match chance.randrange(8):
        case 0:
            index.flush_object(C, B, oid)
        case 1:
            index.pop(C, B, oid, word)
        case 2:
            index.consolidate()
        case _:
            push(index, oid, word)


@pytest.mark.parametrize("compat", ["none", "sonic"])
def test_after_every_change_answers_are_fresh(tmp_path: Path, compat: str) -> None:
    chance = random.Random(3)
    with open_index(tmp_path, server__compat=compat) as index:
        for _ in range(200):
            change(index, chance)
            assert answers_of(index) == answers_of(index) == fresh_answers(index)


def test_inside_a_batch_and_from_another_thread(tmp_path: Path) -> None:
    """The thread that changes the index sees its changes, other threads see the last commit; cached answers for one are
    not given to the others.
    """
    with open_index(tmp_path) as index:
        push(index, "o1", "amber")
        seen: list[list[str]] = []

        def ask() -> None:
            seen.append(index.suggest(C, B, "am"))
            seen.append(sorted(index.query_ids(C, B, "amber amble")))

        with index.batch():
            push(index, "o2", "amble")
            push(index, "o3", "amble")
            for _ in range(2):
                assert index.suggest(C, B, "am") == ["amble", "amber"]
                assert sorted(index.query_ids(C, B, "amber amble")) == ["o1", "o2", "o3"]
                thread = threading.Thread(target=ask)
                thread.start()
                thread.join()
            assert seen == [["amber"], ["o1"]] * 2
        ask()
        assert seen[-2:] == [["amble", "amber"], ["o1", "o2", "o3"]]


def test_a_step_of_a_removal_is_a_change(tmp_path: Path) -> None:
    """Another thread that asks during a removal sees the last commit; its answer is not given to the thread that
    removes.
    """
    with Index(tmp_path, autocommit=False) as index:
        words = ["".join(3 * letter for letter in pair) for pair in product(ascii_lowercase, repeat=2)]
        assert len(words) >= 2 * TERMS_PER_STEP, "no two of which are near each other"
        push(index, "many", " ".join(words))
        index.engine.commit()
        index.flush_object(C, B, "many")
        index.engine.commit()
        assert index.engine.remove_step()
        with ThreadPoolExecutor(1) as threads:
            assert all(threads.submit(index.suggest, C, B, word).result() for word in words)
        assert not all(index.suggest(C, B, word, limit=1) for word in words)
        shown = [index.suggest(C, B, word) for word in words[:50]]
        index._kept = AnswerCache()
        assert shown == [index.suggest(C, B, word) for word in words[:50]]
        while index.engine.remove_step():
            pass


def test_undone_changes_are_not_remembered(tmp_path: Path) -> None:
    with Index(tmp_path, autocommit=False) as index:
        push(index, "o1", "amber")
        index.engine.commit()
        push(index, "o2", "amble")
        assert index.suggest(C, B, "am") == ["amber", "amble"]
        assert index.query_ids(C, B, "amble", complete=False) == ["o2"]
        roll_back(index.engine.store)
        assert index.suggest(C, B, "am") == ["amber"]
        assert index.query_ids(C, B, "amble", complete=False) == []


def test_an_answer_belongs_to_who_asked(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        push(index, "o1", "amber")
        index.suggest(C, B, "am").clear()
        index.query_ids(C, B, "amber").clear()
        assert index.suggest(C, B, "am") == ["amber"]
        assert index.query_ids(C, B, "amber") == ["o1"]


def test_a_change_of_another_bucket_leaves_answers(in_tables: None, tmp_path: Path) -> None:
    with open_index(tmp_path) as index, mock.patch.object(answers, "suggest_likely", wraps=suggest_likely) as found:
        push(index, "o1", "amber")
        assert index.suggest(C, B, "am") == ["amber"]
        index.push(C, "other", "o1", "amble")
        assert index.suggest(C, B, "am") == ["amber"]
        assert found.call_count == 1
        push(index, "o2", "amble")
        index.push(C, "other", "o2", "amble")
        assert index.suggest(C, B, "am") == ["amber", "amble"]
        index.consolidate()
        assert index.suggest(C, B, "am") == ["amber", "amble"]
        assert found.call_count == 3
        index.flush_bucket(C, B)
        assert index.suggest(C, B, "am") == []
        push(index, "o2", "amble")
        assert index.suggest(C, B, "am") == ["amble"]


def test_a_query_is_carried_out_once(tmp_path: Path) -> None:
    with open_index(tmp_path) as index, mock.patch.object(answers, "query", wraps=query) as asked:
        push(index, "o1", "amber")
        assert index.query_ids(C, B, "amber") == index.query_ids(C, B, "amber") == ["o1"]
        index.push(C, "other", "o1", "amber")
        assert index.query_ids(C, B, "amber") == ["o1"]
        assert asked.call_count == 1
        for other in ({"limit": 1}, {"offset": 1}, {"lang": "eng"}, {"stem": False}):
            index.query_ids(C, B, "amber", **other)  # type: ignore[arg-type]
        assert asked.call_count == 5
        push(index, "o2", "amber")
        assert index.query_ids(C, B, "amber") == ["o2", "o1"]
        with pytest.raises(InvalidArgument):
            index.query_ids(C, B, ["amber"])  # type: ignore[arg-type]


@pytest.mark.parametrize("long", ["text", "filter", "buckets", "answer"])
def test_long_texts_take_a_bounded_memory(long: str) -> None:
    """All kept answers take about 6 MB."""
    kept, answer, search = AnswerCache(), list[str](), Search(C, B, "a", 10, 0, None)
    tracemalloc.start()
    try:
        for number in range(1_000):
            sign = f"{number} \U0001f600"
            if long == "answer":
                answer = [f"{each}{sign}".ljust(120) for each in range(50)]
            elif long == "buckets":
                search = search._replace(buckets=tuple(f"{each}{sign}".ljust(120) for each in range(100)))
            else:
                search = search._replace(**{long: sign.ljust(19_900)})
            kept.put(search._replace(offset=number), (1, (1, 1), answer))
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 12_000_000
    assert kept.get(search._replace(offset=999)) is not None


def test_answers_are_bounded() -> None:
    kept, answer = AnswerCache(), ["a"] * 6
    for number in range(3 * ROOM):
        kept.put(number, (1, (1, 1), answer))
    held = sum(kept.get(number) is not None for number in range(3 * ROOM))
    assert 0 < held <= ROOM // (len(answer) + OVERHEAD)
    kept.put(0, (2, (1, 1), ["b"]))
    assert kept.get(0) == (2, (1, 1), ["b"])
    kept.put(-1, (2, (1, 1), ["b"] * (LONGEST + 1)))
    assert kept.get(-1) is None
