"""SCORES and EXPLAIN over real connections, in the default mode and in compat mode."""

import time
from itertools import pairwise
from pathlib import Path

import pytest

from sonicpy import Index
from sonicpy.api.explanation import Explanation
from tests.processes import Server
from tests.server.peer import Peer


def fill(server: Server) -> None:
    with Peer(server, "ingest") as ingest:
        assert ingest.ask('PUSH c b conversation:1 "Sunny weather, weather to stay" LANG(eng)') == "OK"
        assert ingest.ask('PUSH c b conversation:2 "How is the weather in Nantes?" LANG(eng)') == "OK"
        assert ingest.ask('PUSH c b conversation:3 "weathering" LANG(eng)') == "OK"


def items(search: Peer, line: str) -> list[str]:
    assert search.ask(line).startswith("PENDING ")
    return search.line().split(" ")[3:]


def test_scores(server: Server) -> None:
    fill(server)
    with Peer(server, "search") as search:
        plain = items(search, 'QUERY c b "weather" LANG(eng)')
        scored = items(search, 'QUERY c b "weather" SCORES(1) LANG(eng)')
        assert items(search, 'QUERY c b "weather" SCORES(0) LANG(eng)') == plain
        assert [item.rpartition(":")[0] for item in scored] == plain
        scores = [float(item.rpartition(":")[2]) for item in scored]
        assert all(left >= right for left, right in pairwise(scores))
        assert int(scores[0]) == int(scores[-1]) == 3, "another form of a word counts as the word"
        assert search.ask('QUERY c b "weather" SCORES(2)') == "ERR invalid_meta_value(SCORES[2])"
        assert items(search, 'QUERY c b "..." SCORES(1)') == [""]


def test_scores_where_there_are_none(tmp_path: Path) -> None:
    with Server(tmp_path, {"search.ranking": "newest"}) as server:
        fill(server)
        with Peer(server, "search") as search:
            assert items(search, 'QUERY c b "weather" SCORES(1)') == [
                "conversation:3:-",
                "conversation:2:-",
                "conversation:1:-",
            ]


def test_explain(server: Server, tmp_path: Path) -> None:
    fill(server)
    with Peer(server, "search") as search, Peer(server, "control") as control:
        reply = search.ask('EXPLAIN c b "the weater" LIMIT(2) LANG(eng)')
        assert reply.startswith("RESULT ")
        explained = Explanation.from_json(reply.removeprefix("RESULT "))
        assert [hit.object for hit in explained.hits] == items(search, 'QUERY c b "the weater" LIMIT(2) LANG(eng)')
        assert search.ask('EXPLAIN é b "x"') == "ERR invalid_argument(InvalidCollection)"
        nowhere = Explanation.from_json(search.ask('EXPLAIN c nowhere "x"').removeprefix("RESULT "))
        assert (nowhere.objects, nowhere.hits) == (0, ())
        assert control.ask('EXPLAIN c b "x"') == "ERR unknown_command"
    server.stop()
    with Index(tmp_path / "store") as index:
        assert index.explain("c", "b", "the weater", limit=2, lang="eng") == explained


def test_compat_mode_knows_neither(tmp_path: Path) -> None:
    with Server(tmp_path, {"server.compat": "sonic"}) as server, Peer(server, "search") as search:
        assert search.ask('QUERY c b "x" SCORES(1)') == "ERR invalid_meta_key(SCORES[1])"
        assert search.ask('EXPLAIN c b "x"') == "ERR unknown_command"


@pytest.mark.full
def test_an_explanation_of_thousands_of_words_is_no_attack(tmp_path: Path) -> None:
    """The time is linear in the number of words, and the line stays bounded.

    Ten times the words may take forty times as long, which leaves room for a busy machine; quadratic time would be a
    hundred times as long.
    """
    letters = str.maketrans("0123456789", "ghijklmnop")
    text = " ".join(f"w{number:x}".translate(letters) for number in range(3_000))
    few = text[: len(text) // 10]
    with Index(tmp_path / "store") as index:
        with index.batch():
            for number in range(200):
                index.push("c", "b", f"o{number}", text, "none")
        seconds: dict[str, list[float]] = {few: [], text: []}
        for asked in (few, text) * 3:
            began = time.thread_time()
            line = index.explain("c", "b", asked, limit=100).to_json()
            seconds[asked].append(time.thread_time() - began)
    assert len(line) < 250_000
    assert min(seconds[text]) < 40 * min(seconds[few])


def test_stem_on_the_wire(server: Server) -> None:
    with Peer(server, "ingest") as ingest, Peer(server, "search") as search:
        for oid, text in (("one", "engine"), ("two", "engines")):
            assert ingest.ask(f'PUSH stems b {oid} "{text}"') == "OK"
        assert items(search, 'QUERY stems b "engine"') == ["one", "two"]
        assert items(search, 'QUERY stems b "engine" STEM(1)') == ["one", "two"]
        explained = Explanation.from_json(search.ask('EXPLAIN stems b "engine"').removeprefix("RESULT "))
        assert explained.terms[0].alternates[0].how == "form"
        explained = Explanation.from_json(search.ask('EXPLAIN stems b "engine" STEM(0)').removeprefix("RESULT "))
        assert explained.terms[0].alternates[0].how == "completion"
        assert search.ask('QUERY stems b "engine" STEM(2)') == "ERR invalid_meta_value(STEM[2])"
