"""The window: how many objects a word keeps."""

from pathlib import Path

from tests.index.shorthand import B, C, found, open_index, push


def test_the_newest_objects_are_kept(tmp_path: Path) -> None:
    with open_index(tmp_path, store__kv__retain_word_objects=3) as index:
        for number in range(10):
            push(index, f"o{number}", "gemeinsam")
        assert found(index, "gemeinsam") == ["o9", "o8", "o7"]
        assert index.count_objects(C, B) == 10
        assert index.count_object_words(C, B, "o0") == 1, "it keeps the word in its own count"
        assert index.words(C, B) == ["gemeinsam"]


def test_each_word_has_its_own(tmp_path: Path) -> None:
    with open_index(tmp_path, store__kv__retain_word_objects=2, search__ranking="newest") as index:
        push(index, "a", "selten")
        for number in range(5):
            push(index, f"o{number}", "gemeinsam")
        push(index, "a", "gemeinsam")
        assert found(index, "gemeinsam") == ["a", "o4"], "an old object is new to the word"
        assert found(index, "selten") == ["a"]


def test_what_left_the_window_does_not_come_back(tmp_path: Path) -> None:
    with open_index(tmp_path, store__kv__retain_word_objects=3) as index:
        for number in range(6):
            push(index, f"o{number}", "gemeinsam")
        assert index.pop(C, B, "o5", "gemeinsam") == 1
        assert index.flush_object(C, B, "o4") == 1
        assert found(index, "gemeinsam") == ["o3"]
        push(index, "o0", "gemeinsam")
        assert found(index, "gemeinsam") == ["o3"], "to its object the word is not new"
        assert index.pop(C, B, "o0", "gemeinsam") == 1
        push(index, "o0", "gemeinsam")
        assert found(index, "gemeinsam") == ["o0", "o3"]


def test_a_word_whose_objects_all_left_is_still_theirs(tmp_path: Path) -> None:
    with open_index(tmp_path, store__kv__retain_word_objects=1) as index:
        push(index, "old", "gemeinsam")
        push(index, "new", "gemeinsam")
        index.flush_object(C, B, "new")
        assert found(index, "gemeinsam") == []
        assert index.count_object_words(C, B, "old") == 1
        assert index.flush_object(C, B, "old") == 1
        assert (index.words(C, B), index.count_objects(C, B)) == ([], 0)


def test_zero_keeps_every_object(tmp_path: Path) -> None:
    with open_index(tmp_path, store__kv__retain_word_objects=0) as index, index.batch():
        for number in range(3_000):
            push(index, f"o{number}", "gemeinsam")
        assert found(index, "gemeinsam", 5_000) == [f"o{number}" for number in reversed(range(3_000))]
        assert found(index, "gemeinsam", 2, 2_998) == ["o1", "o0"]


def test_the_default_keeps_a_thousand(tmp_path: Path) -> None:
    with open_index(tmp_path) as index, index.batch():
        for number in range(1_300):
            push(index, f"o{number}", "gemeinsam")
        assert found(index, "gemeinsam", 5_000) == [f"o{number}" for number in range(1_299, 299, -1)]


def test_a_window_that_changes_at_a_start(tmp_path: Path) -> None:
    with open_index(tmp_path, store__kv__retain_word_objects=0) as index, index.batch():
        for number in range(500):
            push(index, f"o{number}", "gemeinsam")
    with open_index(tmp_path, store__kv__retain_word_objects=200) as index:
        push(index, "next", "gemeinsam")
        assert found(index, "gemeinsam") == ["next", *(f"o{number}" for number in range(499, 300, -1))]
    with open_index(tmp_path, store__kv__retain_word_objects=0) as index:
        push(index, "last", "gemeinsam")
        assert len(found(index, "gemeinsam")) == 201, "what was cut off is gone"
