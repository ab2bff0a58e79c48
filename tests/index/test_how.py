"""Hits name the words by which they answer, and the words that the user may have meant; so do lines, clients and
HTTP.
"""

import copy
import json
import pickle
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sonicpy
from sonicpy.api.held_word import HeldWord
from sonicpy.channel.held_words import pack_held, pack_text, unpack_held, unpack_text
from sonicpy.channel.session import Session
from sonicpy.channel.syntax import Limits

C, B = "c", "b"
TEXTS = {
    "plain": "a boat on the river",
    "form": "boats",
    "part": "print_boat(x)",
    "longer": "a boathouse",
    "typo": "the baot",
}
HeldList = list[tuple[str, ...]]


@pytest.fixture(scope="module", params=["bm25", "newest"])
def index(request: pytest.FixtureRequest) -> Iterator[sonicpy.Index]:
    with sonicpy.open(":memory:", config={"search": {"ranking": request.param}}) as opened:
        opened.push_many([(name, text, "eng") for name, text in TEXTS.items()], collection=C, bucket=B)
        yield opened


def hows(hits: sonicpy.Hits) -> dict[str, HeldList]:
    return {hit.object: list(map(tuple, hit.how or ())) for hit in hits}


def test_each_kind(index: sonicpy.Index) -> None:
    found = hows(index.query(C, B, "boat", lang="eng", how=True, fuzzy=1))
    assert found == {
        "plain": [("word", "boat", "boat")],
        "form": [("form", "boat", "boats")],
        "part": [("part", "boat", "print_boat")],
        "longer": [("completion", "boat", "boathouse")],
        "typo": [("correction", "boat", "baot")],
    }


def test_words_are_in_the_order_of_the_query_and_of_its_words(index: sonicpy.Index) -> None:
    found = hows(index.query(C, B, "river OR brook +boat", lang="eng", how=True, syntax="web"))
    assert found["plain"] == [("word", "river", "river"), ("word", "boat", "boat")]
    found = hows(index.query(C, B, "the boat river", lang="eng", how=True))
    assert [word for _, word, _ in found["plain"]] == (
        ["boat", "river"] if index.config.search.ranking == "newest" else ["the", "boat", "river"]
    )
    found = hows(index.query(C, B, "*hous*", lang="eng", how=True, syntax="web"))
    assert found == {"longer": [("part", "hous", "boathouse")]}
    found = hows(index.query(C, B, "-boat*", lang="eng", how=True, syntax="web"))
    assert all(not held for held in found.values())


@pytest.mark.parametrize(
    ("text", "corrected"),
    [
        ("boaf", "boat"),
        ("the Boaf, and rivr!", "the boat, and river!"),
        ("boat", None),
        ("baot", None),  # an object holds it
        ("river xyzzyq", None),
        ("-boat boaf", "-boat boat"),
        ("xyzzyq OR boaf", "xyzzyq OR boat"),
        ("boaf OR rivr", "boat OR river"),
        ("rivr OR xyzzyq boaf", "river OR xyzzyq boat"),
        ('"the river" OR boaf', '"the river" OR boat'),
        ("river OR boat", None),
    ],
)
def test_what_was_perhaps_meant(index: sonicpy.Index, text: str, corrected: str | None) -> None:
    found = index.query(C, B, text, lang="eng", how=True, syntax="web", match="any")
    assert found.corrected == corrected
    assert index.query(C, B, text, lang="eng").corrected is None, "nobody asked for it"


def test_words_of_alternatives_stand_for_their_own_one(index: sonicpy.Index) -> None:
    for text, how in (("boaf OR rivr", ("boaf", "boat")), ("xyzzyq OR rivr", ("rivr", "river"))):
        found = hows(index.query(C, B, text, lang="eng", how=True, syntax="web"))
        assert found["plain"] == [("correction", *how)]
    for text in ("boat OR river", "river OR boat"):
        assert hows(index.query(C, B, text, lang="eng", how=True, syntax="web"))["form"] == [("form", "boat", "boats")]
    explained = index.explain(C, B, "xyzzyq OR boaf OR boat OR 192.168.1.2", lang="eng", syntax="web")
    others = {term.word: [(each.word, each.how) for each in term.alternates] for term in explained.terms}
    assert others["xyzzyq"] == others["192.168.1.2"] == [] and others["boaf"][0] == ("boat", "correction")
    reasons = {term.word: term.exact_only for term in explained.terms}
    assert "edits away" in (reasons["xyzzyq"] or "") and "digits" in (reasons["192.168.1.2"] or "")
    assert reasons["boaf"] is None


def test_hits_carry_their_words(index: sonicpy.Index) -> None:
    hits = index.query(C, B, "boaf river", lang="eng", how=True, match="any", limit=3)
    assert [hit.how for hit in hits] == hits.hows == [hits[place].how for place in range(len(hits))]
    assert [hit.how for hit in reversed(hits)] == [hit.how for hit in hits][::-1]
    assert hits[1:].hows == (hits.hows or [])[1:] and hits[1:].corrected == hits.corrected == "boat river"
    for again in (pickle.loads(pickle.dumps(hits)), copy.deepcopy(hits)):
        assert (again, again.hows, again.corrected, again.scores) == (hits, hits.hows, hits.corrected, hits.scores)
    assert pickle.loads(pickle.dumps(hits[0])).how == hits[0].how
    assert json.loads(json.dumps(hits.to_dicts()))[0]["how"][0] == {
        "how": "correction", "typed": "boaf", "word": "boat",
    }  # fmt: skip
    plain = index.query(C, B, "river", lang="eng")
    assert plain.hows is None and plain[0].how is None and [*plain][0].how is None
    assert plain.to_dicts()[0].keys() == {"object", "score"}


WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


@given(held=st.lists(st.tuples(st.sampled_from(["word", "form", "part"]), WORDS, WORDS), max_size=4), text=WORDS)
def test_lines_carry_any_words(held: list[tuple[str, str, str]], text: str) -> None:
    packed = pack_held([HeldWord(*word) for word in held])
    assert unpack_held(packed) == held
    assert not set(" :\r\n") & set(packed + pack_text(text))
    assert unpack_text(pack_text(text)) == (text if text != "-" else None)
    assert unpack_text(pack_text(None)) is None


def error_of(option: str, *, compat: bool) -> str:
    """Return the answer to a QUERY with an option."""
    talk = Session("1.0", None, Limits(), compat)
    talk.feed(f'START search\nQUERY c b "x" {option}\n'.encode())
    steps = iter(talk.next, None)
    return [step.decode() for step in steps if isinstance(step, bytes)][-1].strip()


@pytest.mark.parametrize("option", ["SYNTAX[web]", "MATCH[all]", "FUZZY[0]", "HOW[1]"])
def test_compat_mode_refuses_them(option: str) -> None:
    given = option.replace("[", "(").replace("]", ")")
    assert error_of(given, compat=True) == f"ERR invalid_meta_key({option})"


@pytest.mark.parametrize("option", ["SYNTAX[www]", "MATCH[some]", "FUZZY[4]", "HOW[2]"])
def test_other_values_are_refused(option: str) -> None:
    given = option.replace("[", "(").replace("]", ")")
    assert error_of(given, compat=False) == f"ERR invalid_meta_value({option})"


def test_the_ranking_of_sonic_does_not_offer_them() -> None:
    with sonicpy.open(":memory:", config={"search": {"ranking": "sonic"}}) as index:
        index.push(C, B, "1", "boat")
        assert index.query(C, B, "boat", how=True) == ["1"]
        for options in ({"match": "all"}, {"fuzzy": 1}, {"syntax": "web"}):
            with pytest.raises(sonicpy.InvalidArgument, match=r"^search.ranking is sonic; "):
                index.query(C, B, "+boat", **options)


def test_http_says_it_only_where_it_was_asked() -> None:
    pytest.importorskip("httpx2", reason="needs httpx2")
    testclient = pytest.importorskip("starlette.testclient", reason="needs the extra [http]")
    app = pytest.importorskip("sonicpy.http").app
    with sonicpy.open(":memory:") as opened:
        opened.push(C, B, "1", "boat")
        client = testclient.TestClient(app(opened))
        asked = {"collection": C, "bucket": B, "text": '"boat house" boaf'}
        for path in ("/v1/query", "/v1/search"):
            plain = client.get(path, params=asked).json()
            assert not plain.keys() & {"corrected", "notes"} and plain["hits"][0].keys() == {"object", "score"}
            said = client.get(path, params={**asked, "text": "boaf", "how": "1"}).json()
            assert said["corrected"] == "boat" and "notes" not in said
            assert said["hits"][0]["how"] == [{"how": "correction", "typed": "boaf", "word": "boat"}]
            noted = client.get(path, params={**asked, "syntax": "web"}).json()
            assert len(noted["notes"]) == 1 and "order" in noted["notes"][0] and "corrected" not in noted
        for text, meant in (("-boaf", "-boat"), ('"boaf" +boaf', '"boat" +boat')):
            said = client.get("/v1/search", params={**asked, "text": text, "syntax": "web"}).json()
            assert said["did_you_mean"] == meant
        body = {**asked, "syntax": "web", "fuzzy": 2, "how": True}
        assert client.post("/v1/query", json=body).json()["notes"] == noted["notes"]
        assert client.post("/v1/query", json={**asked, "fuzzy": 4}).status_code == 422
        assert client.get("/v1/query", params={**asked, "match": "some"}).status_code == 422
