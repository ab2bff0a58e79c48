"""COLLECTIONS, BUCKETS, OBJECTS, EXISTS and LIST by prefix over real connections."""

import json
import time
from pathlib import Path
from typing import Any

from tests.processes import Server
from tests.server.peer import Peer
from tests.support.patience import is_within


def told(search: Peer, line: str) -> Any:
    kind, _, value = search.ask(line).partition(" ")
    assert kind == "RESULT", value
    return json.loads(value)


def items(search: Peer, line: str) -> list[str]:
    assert search.ask(line).startswith("PENDING ")
    return search.line().split(" ")[3:]


def test_what_there_is(server: Server) -> None:
    with Peer(server, "ingest") as ingest, Peer(server, "search") as search:
        assert told(search, "COLLECTIONS") == []
        for number in range(7):
            assert ingest.ask(f'PUSH many b{number % 3} é({number}) "text word{number}" LANG(en-GB)') == "OK"
        assert ingest.ask('PUSH other b 5 "text"') == "OK"
        assert told(search, "COLLECTIONS") == ["many", "other"]
        assert told(search, "COLLECTIONS LIMIT(1) AFTER(many)") == ["other"]
        assert told(search, "BUCKETS many LIMIT(2)") == ["b0", "b1"]
        assert told(search, "BUCKETS many AFTER(b1)") == ["b2"]
        assert told(search, "BUCKETS unknown") == []
        assert told(search, "OBJECTS many b0") == {"objects": ["é(0)", "é(3)", "é(6)"], "next": None}
        first = told(search, "OBJECTS many b0 LIMIT(2)")
        assert first["objects"] == ["é(0)", "é(3)"]
        assert told(search, f"OBJECTS many b0 POSITION({first['next']})")["objects"] == ["é(6)"]
        assert told(search, "OBJECTS many b0 AFTER(é(0)) LIMIT(1)")["objects"] == ["é(3)"]
        assert told(search, "OBJECTS many b0 PREFIX(é(6)")["objects"] == ["é(6)"]
        assert told(search, "OBJECTS many unknown") == {"objects": [], "next": None}
        assert search.ask("OBJECTS many b0 AFTER(gone)") == "ERR not_found"
        assert search.ask("OBJECTS many b0 LIMIT(501)") == "ERR policy_reject(LIMIT out of minimum/maximum bounds)"
        assert search.ask("EXISTS many b0 é(3)") == "RESULT 1"
        assert search.ask("EXISTS many b1 é(3)") == search.ask("EXISTS many unknown x") == "RESULT 0"
        assert items(search, "LIST many b0 PREFIX(WORD) AFTER(word0)") == ["word3", "word6"]
        assert items(search, "LIST many b0 AFTER(text) LIMIT(1)") == ["word0"]
        assert items(search, 'QUERY many b0 "text" LIMIT(1) LANG(fr-CA)') == ["é(6)"]
        for line, name in (
            ("BUCKETS é", "Collection"),
            ("OBJECTS many é", "Bucket"),
            (f"EXISTS many b {'x' * 129}", "Object"),
        ):
            assert search.ask(line) == f"ERR invalid_argument(Invalid{name})"


def test_compat_mode_knows_none_of_it(tmp_path: Path) -> None:
    with (
        Server(tmp_path, {"server.compat": "sonic"}) as server,
        Peer(server, "search") as search,
        Peer(server, "ingest") as ingest,
    ):
        for line in ("COLLECTIONS", "BUCKETS c", "OBJECTS c b", "EXISTS c b o"):
            assert search.ask(line) == "ERR unknown_command"
        assert search.ask("LIST c b AFTER(x)") == "ERR invalid_meta_key(AFTER[x])"
        assert search.ask("LIST c b PREFIX(a(b))") == "ERR invalid_meta_key(PREFIX[a(b)])"
        assert ingest.ask('PUSH c b o "x" LANG(en)') == "ERR invalid_meta_value(LANG[en])"
        assert ingest.ask('PUSH c b é "x"') == "ERR invalid_argument(InvalidObject)"


def test_long_lists_keep_nobody_waiting(server: Server) -> None:
    """A command that has to skip every name of a large bucket is answered in parts."""
    with Peer(server, "ingest") as ingest, Peer(server, "search") as search, Peer(server, "search") as other:
        lines = "".join(f'PUSH c b o{number} "x" LANG(none)\n' for number in range(10_000))
        ingest.send(lines.encode())
        assert [ingest.line() for _ in range(10_000)] == ["OK"] * 10_000
        parts, position = 0, 0
        while position is not None:
            began = time.monotonic()
            page = told(search, f"OBJECTS c b PREFIX(none) POSITION({position})")
            assert other.ask("PING") == "PONG"
            assert is_within(0.5, began)
            assert page["objects"] == []
            position = page["next"]
            parts += 1
        assert parts == 3
