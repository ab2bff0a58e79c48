"""Tests of the made-up packages, and of the two halves of the queries by which the weight of titles is chosen."""

from benchmarks.quality.titles import packages, split, together


def test_titles_are_the_first_line_or_the_first_words() -> None:
    assert split("Java\nAn island") == {"title": "Java", "": "An island"}
    assert split("a b c d e f g h i j") == {"title": "a b c d e f g h", "": "i j"}


def test_each_query_of_packages_asks_for_words_of_its_package() -> None:
    documents, given = packages([f"w{number}" for number in range(7_000)])
    assert documents and given.queries.keys() == given.relevant.keys()
    for query, text in given.queries.items():
        (name,) = given.relevant[query]
        held = {*name.split("-"), *documents[name][""].split()}
        assert set(text.split()) <= held, query
        assert not query.startswith("name") or text.split() == name.split("-")


def test_halves_are_every_other_query_and_collections_count_the_same() -> None:
    found = {"a": {1.0: {"q1": 1.0, "q2": 0.0, "q3": 1.0, "q4": 0.0}}, "b": {1.0: {"q1": 0.5, "q2": 0.25}}}
    assert together(found, 1.0) == (0.5 + 0.375) / 2
    assert (together(found, 1.0, 0), together(found, 1.0, 1)) == (0.75, 0.125)
