"""Tests of names of collections and buckets on the command line: a bucket may be left out; a message names a missing
one.
"""

import json
from pathlib import Path

import pytest

from sonicpy.cli.main import main
from tests.cli.conftest import Run
from tests.processes import Server


def test_the_bucket_may_be_left_out(run: Run) -> None:
    run("push", "fruit", "1", "red apple", "--data", "d")
    run("push", "fruit", "default", "2", "green apple", "--data", "d")
    assert run("query", "fruit", "apple", "--data", "d") == run("query", "fruit", "default", "apple", "--data", "d")
    assert run("query", "fruit", "apple", "--data", "d").split() == ["2", "1"]
    assert run("suggest", "fruit", "gre", "--data", "d") == "green\n"
    assert run("list", "fruit", "--data", "d") == "apple\ngreen\nred\n"
    assert run("pop", "fruit", "1", "red", "--data", "d") == "1\n"
    assert "red" in run("explain", "fruit", "red", "--data", "d")


def test_options_may_stand_between_the_names(run: Run) -> None:
    run("push", "--data", "d", "fruit", "--lang", "eng", "main", "1", "red apple")
    for place in range(4):
        words = ["fruit", "main", "apple"]
        words[place:place] = ["--limit", "1"]
        assert run("query", "--data", "d", *words) == "1\n"
    assert run("query", "--data", "d", "--", "fruit", "main", "apple") == "1\n"
    assert run("list", "fruit", "--limit", "1", "main", "--data", "d") == "apple\n"


REFUSED = [
    ("query fruit", "1 argument; allowed are COLLECTION [BUCKET] TEXT\n"),
    (
        "query fruit b red apple pie",
        "5 arguments; allowed are COLLECTION [BUCKET] TEXT; put several words in quotes: "
        'sonicpy query fruit b "red apple pie"\n',
    ),
    ("--json query fruit apple", "--json comes before the verb; allowed is after it\n"),
    ("push fruit 1", "2 arguments; allowed are COLLECTION [BUCKET] OBJECT TEXT\n"),
    ("list fruit b c", "3 arguments; allowed are COLLECTION [BUCKET]\n"),
    ("query", "the following arguments are required: COLLECTION [BUCKET] TEXT\n"),
    ("query \u00e9 apple", "argument COLLECTION: collection"),
]


@pytest.mark.parametrize(("line", "said"), REFUSED)
def test_another_number_of_arguments_is_refused(line: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main([*line.split(), "--data", "d"])
    assert exit_.value.code == 2
    assert said in capsys.readouterr().err


def test_an_absent_collection_or_bucket_is_told(run: Run, shared_server: Server) -> None:
    for where in (["--data", "d"], ["--server", f"sonic://127.0.0.1:{shared_server.port}"]):
        run("push", "absent_shop", "main", "1", "red apple", *where)
        said = "sonicpy: there is no collection 'Absent_Shop'; did you mean 'absent_shop'?\n"
        assert run("query", "Absent_Shop", "main", "apple", *where, said=said) == ""
        said = "sonicpy: collection 'absent_shop' has no bucket 'default'; there is 'main'\n"
        assert run("query", "absent_shop", "apple", *where, said=said) == ""
        assert run("suggest", "absent_shop", "apl", *where, said=said) == ""
        assert run("query", "absent_shop", "main", "nobody", *where) == ""
        assert run("count", "absent_shop", "other", *where, said="has no bucket 'other'; there is 'main'") == "0\n"
        assert run("ls", "absent_shop", "other", *where, said="has no bucket 'other'; there is 'main'") == ""
        assert run("ls", "absent_shop", "main", "--prefix", "x", *where) == ""
        for verb in ("ls", "count", "stats"):
            run(verb, "Absent_Shop", *where, said="did you mean 'absent_shop'?\n")
            assert run(verb, "absent_shop", *where)
    assert run("query", "nothing", "x", "--data", "d2", status=1, said="there is no index in d2") == ""


def test_query_shows_titles_beside_objects(run: Run) -> None:
    Path("rows.csv").write_text("id,title,link\n1,Red apples,https://shop.example/1\n")
    run("push", "fruit", "1", "red apple", "--data", "d")
    run("push", "fruit", "2", "red plum and apple", "--data", "d")
    assert run("query", "fruit", "apple", "--data", "d", "--show", "rows.csv") == (
        "1\tRed apples\thttps://shop.example/1\n2\n"
    )
    hits = json.loads(run("query", "fruit", "apple", "--data", "d", "--show", "rows.csv", "--json"))["hits"]
    assert [(hit["object"], hit.get("title")) for hit in hits] == [("1", "Red apples"), ("2", None)]
    run("query", "fruit", "apple", "--data", "d", "--show", "none.csv", status=2, said="none.csv cannot be read")
    run("query", "fruit", "apple", "--data", "d", "--show", "rows.txt,x y", status=2, said="shows no objects")
    said = "'os.path:join', which shows objects, has failed: TypeError: "
    run("query", "fruit", "apple", "--data", "d", "--show", "os.path:join", status=2, said=said)
    said = "facets is 'x'; allowed are beginnings of tags with a star"
    run("query", "fruit", "apple", "--data", "d", "--facets", "x", status=2, said=said)


def test_query_shows_values_beside_objects(run: Run, shared_server: Server) -> None:
    run("push", "fruit", "1", "red apple", "--data", "d", "--value", "price=5", "--value", "place=47.21/-1.55")
    run("push", "fruit", "2", "green apple", "--data", "d", "--value", "price=-7")
    run("push", "fruit", "other", "3", "apple", "--data", "d")
    asked = ["query", "fruit", "apple", "--data", "d"]
    assert run(*asked, "--show", "price,place") == "2\t-7\t-\n1\t5\t47.21/-1.55\n"
    assert run(*asked, "--buckets", "other", "--show", "price", "--sort", "price") == (
        "default/2\t-7\ndefault/1\t5\nother/3\t-\n"
    )
    hits = json.loads(run(*asked, "--show", "price,place", "--json"))["hits"]
    assert [hit["values"] for hit in hits] == [{"price": -7, "place": None}, {"price": 5, "place": "47.21/-1.55"}]
    assert run(*asked, "--show", "prize", said="none of these objects has the value prize") == "2\t-\n1\t-\n"
    url = f"sonic://127.0.0.1:{shared_server.port}"
    said = "flag --show names values (price), which servers do not return; allowed are a folder (--data), or a URL"
    run("query", "fruit", "apple", "--server", url, "--show", "price", status=2, said=said)


def test_objects_that_are_alike(run: Run) -> None:
    for oid, text in (("1", "red apple"), ("2", "green apple"), ("3", "pear")):
        run("push", "fruit", oid, text, "--data", "d")
    assert run("similar", "fruit", "1", "--data", "d") == "2\n"
    assert run("similar", "fruit", "default", "1", "--scores", "--data", "d").startswith("2\t2.")
    assert [hit["object"] for hit in json.loads(run("similar", "fruit", "2", "--json", "--data", "d"))["hits"]] == ["1"]


def test_several_buckets_are_searched_as_one(run: Run) -> None:
    for bucket, text in (("b", "red apple"), ("c1", "green apple"), ("c2", "green pear")):
        run("push", "fruit", bucket, "o", text, "--data", "d")
    several = ("fruit", "b", "--buckets", "c*", "--data", "d")
    assert sorted(run("query", *several[:2], "apple", *several[2:]).split()) == ["b/o", "c1/o"]
    assert json.loads(run("query", *several[:2], "pear", *several[2:], "--json"))["hits"][0]["bucket"] == "c2"
    assert run("suggest", *several[:2], "green p", *several[2:]) == "pear\n"
    assert run("list", *several) == "apple\ngreen\npear\nred\n"
    assert (run("count", *several), run("count", *several, "--of", "objects")) == ("4\n", "3\n")
    assert " c2/o " in run("explain", *several[:2], "pear", *several[2:])
    run("list", *several[:3], "a,,b", *several[4:], status=2, said="flag --buckets is 'a,,b'; allowed are")


def test_flags_stand_anywhere(run: Run) -> None:
    run("push", "fruit", "--data", "d", "b", "--lang", "eng", "1", "red apple")
    assert run("query", "--data", "d", "fruit", "b", "--limit", "3", "apple") == "1\n"
    assert run("count", "fruit", "--data", "d", "b", "--of", "objects") == "1\n"
    assert run("synonyms", "fruit", "--data", "d", "pome => apple", "--json", "a, b") == "2\n"
    assert run("query", "fruit", "b", "pome", "--data", "d") == "1\n"
    assert run("query", "--data", "d", "--", "fruit", "b", "-apple") == "1\n"


def test_facets(run: Run) -> None:
    for oid, text, *more in (("1", "red apple", "size:m"), ("2", "green apple", "size:m", "new"), ("3", "pear", "new")):
        run("push", "fruit", oid, text, "--value", f"price={oid}0", "--data", "d", "--tags", *more)
    assert run("facets", "fruit", "apple", "--of", "size:*", "--ranges", "price: 15", "--data", "d") == (
        "size:m\t2\nprice ..15\t1\nprice 15..\t1\ntotal\t2\n"
    )
    given = (
        "facets",
        "fruit",
        "",
        "--filter",
        "size:m",
        "--of",
        "*",
        "--apart",
        "--limit",
        "1",
        "--json",
        "--data",
        "d",
    )
    assert json.loads(run(*given)) == {"total": 2, "tags": {"": {"new": 2}}, "ranges": {}}
