"""A server with keys gets random verbs over the channel and HTTP; a reference implementation decides by names alone
which are allowed.
"""

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sonicpy.access.admission import FRESH_S
from sonicpy.access.key import hash_of, make_key, new_secret
from sonicpy.access.key_store import KeyStore
from sonicpy.channel import commands
from sonicpy.channel.commands import Command
from sonicpy.server.connections.permits import VERB_OF
from tests.access.test_keys import SECRET, token
from tests.processes import Server, free_port
from tests.server.peer import Peer

pytest.importorskip("fastapi", reason="needs the extra [http]")
from tests.http.asking import Asking  # noqa: E402

PASSWORD = "word"
BUCKETS = [(collection, bucket) for collection in ("mine", "theirs") for bucket in ("a", "b", "ab")]
OUTSIDE = "outsideword"
"""A word that only the buckets out of reach of the keys hold."""
LINES = {
    "search": {
        "query": 'QUERY {c} {b} "word outsideword"',
        "suggest": 'SUGGEST {c} {b} "out"',
        "explain": 'EXPLAIN {c} {b} "outsideword"',
        "list": "LIST {c} {b}",
        "exists": "EXISTS {c} {b} o1",
        "objects": "OBJECTS {c} {b}",
        "buckets": "BUCKETS {c}",
        "collections": "COLLECTIONS",
        "similar": "SIMILAR {c} {b} o1",
    },
    "ingest": {
        "push": 'PUSH {c} {b} o2 "word"',
        "pop": 'POP {c} {b} o2 "nothing"',
        "count": "COUNT {c} {b}",
        "flush": "FLUSHO {c} {b} absent",
    },
    "control": {"info": "INFO", "stats": "STATS {c} {b}", "verify": "VERIFY", "trigger": "TRIGGER consolidate"},
}
WHOLE = {"collections", "info", "verify", "trigger"}
KEYS: dict[str, tuple[list[str], list[str]]] = {
    "one": (["all"], ["mine/a"]),
    "some": (["query", "push", "stats"], ["mine/a*"]),
    "whole": (["search", "count"], ["mine"]),
    "reader": (["query", "suggest", "info"], ["*"]),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    settings = {"server.secret": SECRET, "http.inet": f"127.0.0.1:{free_port()}", "search.note_unanswered": "true"}
    running = Server(tmp_path_factory.mktemp("keys"), settings, password=PASSWORD)
    with running:
        with Peer(running, "ingest") as peer:
            for collection, bucket in BUCKETS:
                inside = collection == "mine" and bucket == "a"
                assert peer.ask(f'PUSH {collection} {bucket} o1 "word {"" if inside else OUTSIDE}"') == "OK"
        yield running


@pytest.fixture(scope="module")
def secrets(server: Server) -> dict[str, str]:
    """Return the secret of each key, made while the server runs."""
    store, made = KeyStore(server.folder / "store"), {}
    for name, (verbs, scopes) in KEYS.items():
        made[name] = new_secret(name)
        assert store.put(make_key(name, hash_of(made[name].encode()), {"verbs": verbs, "scopes": scopes}))
    return made


def http_port(server: Server) -> int:
    return int(str(server._settings["http.inet"]).rpartition(":")[2])


def started(server: Server, mode: str, secret: str) -> Peer:
    peer = Peer(server)
    assert peer.line().startswith("CONNECTED")
    assert peer.ask(f"START {mode} {secret}").startswith(f"STARTED {mode}")
    return peer


def is_allowed(name: str, mode: str, verb: str, collection: str, bucket: str) -> bool:
    """Return whether a key allows a verb, according to the table above, a reference implementation of the server."""
    verbs, (scope,) = KEYS[name]
    group = {"count": "ingest"}.get(verb, mode)
    if not {verb, group, "all"} & set(verbs):
        return False
    if scope == "*":
        return True
    if verb in WHOLE:
        return False
    if verb == "buckets":
        return scope == "mine" == collection
    own, _, beginning = scope.partition("/")
    fits = not beginning or bucket == beginning or (beginning.endswith("*") and bucket.startswith(beginning[:-1]))
    return collection == own and fits


def answer(peer: Peer, verb: str, line: str) -> str:
    """Return the lines of an answer up to the last one."""
    said = peer.ask(line)
    if verb in ("query", "suggest", "list", "similar") and said.startswith("PENDING"):
        return peer.line()
    return said


@pytest.mark.full
def test_random_verbs_under_keys(server: Server, secrets: dict[str, str]) -> None:
    numbers = random.Random(3)
    for name, secret in secrets.items():
        for mode, lines in LINES.items():
            with started(server, mode, secret) as peer:
                for _ in range(60):
                    verb = numbers.choice(list(lines))
                    collection, bucket = numbers.choice(BUCKETS)
                    said = answer(peer, verb, lines[verb].format(c=collection, b=bucket))
                    allowed = is_allowed(name, mode, verb, collection, bucket)
                    assert said.startswith("ERR not_permitted(") != allowed, (name, verb, collection, bucket, said)
                    if KEYS[name][1] == ["mine/a"]:
                        assert f"EVENT {OUTSIDE}" not in said


SEVERAL = {
    "search": [
        'QUERY mine a "word" BUCKETS({})',
        'EXPLAIN mine a "word" BUCKETS({})',
        'SUGGEST mine a "wo" BUCKETS({})',
        "LIST mine a BUCKETS({})",
        'FACETS mine a "word" OF("*") BUCKETS({})',
    ],
    "ingest": ["COUNT mine a BUCKETS({})", "COUNTB mine a BUCKETS({})"],
}
ELEMENTS = {"a": True, "ab": True, '"ab"': True, "a*": True, "ab*": True, "b": False, "*": False, "b*": False}
"""Element of BUCKETS -> whether the scope mine/a* covers everything that it names."""


@pytest.mark.full
def test_several_buckets_have_to_be_allowed_all(server: Server) -> None:
    numbers, secret = random.Random(5), new_secret("several")
    rights = {"verbs": ["all"], "scopes": ["mine/a*"]}
    KeyStore(server.folder / "store").put(make_key("several", hash_of(secret.encode()), rights))
    for mode, lines in SEVERAL.items():
        with started(server, mode, secret) as peer:
            for _ in range(40):
                line, named = numbers.choice(lines), numbers.choices(list(ELEMENTS), k=numbers.choice((1, 2, 3)))
                said = answer(peer, line.partition(" ")[0].lower(), line.format(",".join(named)))
                assert said.startswith("ERR not_permitted(") != all(map(ELEMENTS.get, named)), (line, named, said)
                assert f"EVENT {OUTSIDE}" not in said
    with Asking(http_port(server), secret) as asking:
        scope = {"collection": "mine", "bucket": "a"}
        for element, is_allowed in ELEMENTS.items():
            for path, parameters in [
                ("/v1/query", {"text": "word"}),
                ("/v1/search", {"text": "word"}),
                ("/v1/explain", {"text": "word"}),
                ("/v1/facets", {"of": "*"}),
                ("/v1/suggest", {"word": "wo"}),
                ("/v1/words", {}),
                ("/v1/count", {}),
            ]:
                found = asking.get(path, **scope, **parameters, buckets=element)
                assert found.status == (200 if is_allowed else 403), (path, element, found)


def test_commands_in_one_write_are_checked_too(server: Server, secrets: dict[str, str]) -> None:
    with Peer(server) as peer:
        peer.line()
        peer.send_lines(f"START ingest {secrets['one']}", 'PUSH theirs a o9 "late"', 'PUSH mine a o9 "late"', "PING")
        assert [peer.line()[:18] for _ in range(4)] == ["STARTED ingest pro", "ERR not_permitted(", "OK", "PONG"]
    with Peer(server, "search") as peer:
        assert peer.results('QUERY theirs a "late"') == []


def test_each_piece_of_a_text_is_checked(server: Server, secrets: dict[str, str]) -> None:
    with started(server, "ingest", secrets["some"]) as peer:
        assert peer.ask('UPSERT mine a o8 "early" MORE(1)').startswith("ERR not_permitted("), "of the verb"
    store, secret = KeyStore(server.folder / "store"), new_secret("pieces")
    assert store.put(make_key("pieces", hash_of(secret.encode()), {"verbs": ["upsert"], "scopes": ["mine/a"]}))
    with started(server, "ingest", secret) as peer:
        assert peer.ask('UPSERT theirs a o8 "early" MORE(1)').startswith("ERR not_permitted("), "of the bucket"
        assert peer.ask('UPSERT mine a o8 "early" MORE(1)') == "OK"
        assert peer.ask('UPSERT mine a o8 "in the morning"') == "OK"
        assert peer.ask('UPSERT mine a o9 "early" MORE(1)') == "OK"
        store.remove("pieces")
        time.sleep(2 * FRESH_S)
        assert peer.ask('UPSERT mine a o9 "in the morning" MORE(1)').startswith("ERR not_permitted("), "it is revoked"
    with Peer(server, "search") as peer:
        assert peer.results('QUERY mine a "early morning"') == ["o8"]


def test_each_piece_of_a_text_counts_for_the_rate(server: Server) -> None:
    secret, rights = new_secret("slow"), {"verbs": ["upsert"], "scopes": ["mine/a"], "rate": 5}
    KeyStore(server.folder / "store").put(make_key("slow", hash_of(secret.encode()), rights))
    with started(server, "ingest", secret) as peer:
        peer.send_lines(*['UPSERT mine a o8 "late" MORE(1)'] * 30)
        answers = [peer.line() for _ in range(30)]
        assert "OK" in answers and sum(said.startswith("ERR not_permitted(") for said in answers) > 10, answers


def test_over_http(server: Server, secrets: dict[str, str]) -> None:
    scope, other = {"collection": "mine", "bucket": "a"}, {"collection": "theirs", "bucket": "a"}
    with Asking(http_port(server), secrets["some"]) as asking:
        assert asking.get("/v1/query", **scope, text="word").status == 200
        assert asking.get("/v1/search", **scope, text="wrod").status == 200
        for path, parameters in [
            ("/v1/query", {**other, "text": OUTSIDE}),
            ("/v1/search", {**other, "text": OUTSIDE}),
            ("/v1/suggest", {**scope, "word": "wo"}),
            ("/v1/words", scope),
            ("/v1/buckets", {"collection": "mine"}),
            ("/v1/collections", {}),
            ("/v1/figures", {}),
            ("/v1/stats", {}),
        ]:
            found = asking.get(path, **parameters)
            assert found.status == 403, (path, found)
            assert found.body["detail"].startswith("the key some does not "), found
        queries = [{**where, "text": "word"} for where in (scope, other, scope)]
        many = asking.post("/v1/query/many", queries=queries).body
        assert [answer.get("status") for answer in many["answers"]] == [None, 403, None]
        assert OUTSIDE not in str(many) and many["answers"][0] == asking.post("/v1/query", **scope, text="word").body
        rows = b"".join(
            b'{"collection": "%s", "bucket": "a", "object": "x", "text": "bulk"}\n' % c for c in (b"mine", b"theirs")
        )
        pushed = asking.stream("/v1/bulk", [rows]).body
        assert pushed["pushed"] == 1
        assert "does not reach theirs/a" in str(pushed)
    with Asking(http_port(server), PASSWORD) as asking:
        assert asking.get("/v1/query", **other, text="bulk").body["hits"] == []


def test_a_key_sees_the_questions_of_its_buckets(server: Server, secrets: dict[str, str]) -> None:
    with started(server, "search", PASSWORD) as peer:
        for bucket in ("mine a", "mine b", "theirs a"):
            assert peer.results(f'QUERY {bucket} "xylophone"') == []
    asked = {"xylophone": 1}
    with started(server, "control", secrets["one"]) as peer:
        found = json.loads(peer.ask("STATS mine a").removeprefix("RESULT "))["unanswered"]
        assert found == {"queries": asked, "words": asked}
        for line in ("STATS mine b", "STATS mine", "STATS"):
            assert peer.ask(line).startswith("ERR not_permitted(")
    with Asking(http_port(server), secrets["one"]) as asking:
        assert asking.get("/v1/stats", collection="mine", bucket="a").body["unanswered"]["queries"] == asked
        assert asking.get("/v1/stats", collection="mine").status == 403


def test_a_token_reaches_its_buckets(server: Server, secrets: dict[str, str]) -> None:
    narrow = token("whole", buckets=["mine/b", "theirs"])
    with started(server, "search", narrow) as peer:
        assert peer.results(f'QUERY mine b "{OUTSIDE}"') == ["o1"]
        told = "ERR not_permitted(the token of the key whole does not reach mine/a; it reaches mine/b, theirs/*)"
        assert peer.ask(f'QUERY mine a "{OUTSIDE}"') == told
        told = "ERR not_permitted(the key whole does not reach theirs/a; it reaches mine/*)"
        assert peer.ask(f'QUERY theirs a "{OUTSIDE}"') == told
    with Asking(http_port(server), narrow) as asking:
        assert asking.get("/v1/query", collection="mine", bucket="b", text=OUTSIDE).status == 200
        assert asking.get("/v1/query", collection="mine", bucket="a", text=OUTSIDE).status == 403
    with Asking(http_port(server), token("whole", exp=int(time.time()) - 3600)) as asking:
        assert "has expired" in asking.get("/v1/query", collection="mine", bucket="b", text="a").body["detail"]
    with Asking(http_port(server), token("whole", exp="soon")) as asking:
        answer = asking.get("/v1/query", collection="mine", bucket="b", text="a")
        assert answer.status == 403, "the signature is right: this is no wrong password"
        assert "exp of the token is 'soon'" in answer.body["detail"]


def test_a_revoked_key_ends_on_open_connections(server: Server, tmp_path: Path) -> None:
    store, secret = KeyStore(server.folder / "store"), new_secret("gone")
    store.put(make_key("gone", hash_of(secret.encode()), {"scopes": ["mine"], "rate": 50}))
    with started(server, "search", secret) as peer:
        assert peer.results('QUERY mine a "word"')[:1]
        store.remove("gone")
        time.sleep(FRESH_S + 0.05)
        assert "was revoked or changed" in peer.ask('QUERY mine a "word"')
    with Peer(server) as peer:
        peer.line()
        assert peer.ask(f"START search {secret}") == "ENDED authentication_failed"


def test_each_of_several_queries_counts_for_the_rate(server: Server) -> None:
    store, secret = KeyStore(server.folder / "store"), new_secret("seldom")
    store.put(make_key("seldom", hash_of(secret.encode()), {"scopes": ["mine"], "rate": 3}))
    query = {"collection": "mine", "bucket": "a", "text": "word"}
    with Asking(http_port(server), secret) as asking:
        answers = asking.post("/v1/query/many", queries=[query] * 60).body["answers"]
    statuses = [answer.get("status") for answer in answers]
    assert statuses[:3] == [None] * 3
    assert statuses.count(429) >= 40 and set(statuses) == {None, 429}


def test_every_command_has_a_verb() -> None:
    assert set(VERB_OF) == set(Command.__args__)
    assert commands.Query in VERB_OF
