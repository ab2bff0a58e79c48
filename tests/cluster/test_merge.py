"""The answers of several partitions as one."""

from sonicpy.cluster.node.merge import merge_figures, merge_names


def test_names_come_once_in_the_order_of_one_machine() -> None:
    assert merge_names([["b", "d"], ["a", "b"], []], 3) == ["a", "b", "d"]
    assert merge_names([["b", "aa"], ["c", "aaa"]], 3, by_length=True) == ["b", "c", "aa"]


def part(buckets: int, objects: int, words: int, average: float) -> dict[str, object]:
    return {"buckets": buckets, "objects": objects, "words": words, "average_length": average}


def test_figures_are_added_up_and_averages_weighed() -> None:
    found = [
        {**part(1, 10, 7, 2.0), "collection": "c", "by_bucket": {"b1": part(1, 10, 7, 2.0)}},
        {**part(1, 30, 5, 4.0), "collection": "c", "by_bucket": {"b0": part(1, 30, 5, 4.0)}},
        {**part(0, 0, 0, 0.0), "collection": "c", "by_bucket": {}},
    ]
    merged = merge_figures(found)
    assert (merged["buckets"], merged["objects"], merged["words"], merged["average_length"]) == (2, 40, 12, 3.5)
    assert list(merged["by_bucket"]) == ["b0", "b1"]
    assert merged["collection"] == "c"


def test_a_figure_that_one_partition_does_not_know_is_left_out() -> None:
    whole = {**part(1, 1, 1, 1.0), "refusing": False, "by_collection": {"c": part(1, 1, 1, 1.0)}}
    merged = merge_figures([{**whole, "hidden_words": 3}, {**whole, "refusing": True}])
    assert "hidden_words" not in merged
    assert merged["refusing"] is True
    assert merged["collections"] == 1
    assert merged["by_collection"]["c"]["objects"] == 2


def test_objects_are_added_up_by_field() -> None:
    found = [
        {**part(1, 3, 7, 2.0), "fields": {"title": 3, "body": 1}},
        {**part(1, 3, 5, 4.0), "fields": {"title": 2}},
        part(1, 1, 1, 1.0),
    ]
    assert merge_figures(found)["fields"] == {"body": 1, "title": 5}
    assert "fields" not in merge_figures(found[2:])
