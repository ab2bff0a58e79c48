"""Cached suggestions are never older than what was pushed, on whatever thread one asks."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

from sonicpy import Index
from sonicpy.index import answers
from sonicpy.index.search.suggest import suggest_likely
from sonicpy.index.search.suggest_cache import ANSWERS_MAX, SuggestCache
from sonicpy.store.remove_steps import TERMS_PER_STEP
from tests.index.shorthand import B, C, open_index, push
from tests.store.trouble import roll_back

WORDS = [f"{head}{tail}" for head in ("amber", "amble", "birch") for tail in ("", "a", "es", "ing", "ling")]
ASKED = ["a", "am", "amb", "ambe", "bir", "birchs", "ambre"]


def suggestions(index: Index) -> list[list[str]]:
    return [index.suggest(C, B, word, limit=limit) for word in ASKED for limit in (1, 5)]


def fresh_suggestions(index: Index) -> list[list[str]]:
    return [index._suggest(C, B, word, limit, None)[0] for word in ASKED for limit in (1, 5)]


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


def test_after_every_change_suggestions_are_fresh(tmp_path: Path) -> None:
    chance = random.Random(3)
    with open_index(tmp_path) as index:
        for _ in range(300):
            change(index, chance)
            assert suggestions(index) == suggestions(index) == fresh_suggestions(index)


def test_inside_a_batch_and_from_another_thread(tmp_path: Path) -> None:
    """The thread that changes sees its changes, others what was committed; neither is given the other's answers."""
    with open_index(tmp_path) as index:
        push(index, "o1", "amber")
        seen: list[list[str]] = []

        def ask() -> None:
            seen.append(index.suggest(C, B, "am"))

        with index.batch():
            push(index, "o2", "amble")
            push(index, "o3", "amble")
            for _ in range(2):
                assert index.suggest(C, B, "am") == ["amble", "amber"]
                thread = threading.Thread(target=ask)
                thread.start()
                thread.join()
            assert seen == [["amber"], ["amber"]]
        ask()
        assert seen[-1] == ["amble", "amber"]


def test_a_step_of_a_removal_is_a_change(tmp_path: Path) -> None:
    """Another thread that asks meanwhile sees the last commit; its answer is not given to who takes the steps."""
    with open_index(tmp_path) as index:
        push(index, "many", " ".join(f"word{number}" for number in range(2 * TERMS_PER_STEP)))
        index.maintainer.engine.is_autocommit = False
        index.flush_object(C, B, "many")
        index.maintainer.commit()
        assert index.maintainer.remove_step()
        with ThreadPoolExecutor(1) as threads:
            assert all(threads.submit(index.suggest, C, B, f"word{number}").result() for number in range(50))
        assert not all(index.suggest(C, B, f"word{number}", limit=1) for number in range(50))
        shown = [index.suggest(C, B, f"word{number}") for number in range(50)]
        assert shown == [index._suggest(C, B, f"word{number}", 5, None)[0] for number in range(50)]
        while index.maintainer.remove_step():
            pass
        index.maintainer.engine.is_autocommit = True


def test_undone_changes_are_not_remembered(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        push(index, "o1", "amber")
        index.maintainer.engine.is_autocommit = False
        push(index, "o2", "amble")
        assert index.suggest(C, B, "am") == ["amber", "amble"]
        roll_back(index.maintainer.engine.store)
        assert index.suggest(C, B, "am") == ["amber"]
        index.maintainer.engine.is_autocommit = True


def test_an_answer_belongs_to_who_asked(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        push(index, "o1", "amber")
        index.suggest(C, B, "am").clear()
        assert index.suggest(C, B, "am") == ["amber"]


def test_a_change_of_another_bucket_leaves_answers(tmp_path: Path) -> None:
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


def test_answers_are_bounded() -> None:
    kept: SuggestCache[int] = SuggestCache()
    for number in range(3 * ANSWERS_MAX):
        kept.put(number, (1, (1, 1), number))
    held = sum(kept.get(number) is not None for number in range(3 * ANSWERS_MAX))
    assert 0 < held <= ANSWERS_MAX
    kept.put(0, (2, (1, 1), 7))
    assert kept.get(0) == (2, (1, 1), 7)
