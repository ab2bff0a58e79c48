"""Live words over the channel: other connections see a word from OK on, through kill -9, until FLUSHO or POP."""

from collections.abc import Iterator

import pytest

from tests.index.living_words import WORDS, Living
from tests.processes import Server
from tests.server.peer import Peer

NUMBERED = list(enumerate(WORDS))


@pytest.fixture
def server(shared_server: Server) -> Iterator[Server]:
    """A server whose collection is empty."""
    with Peer(shared_server, "ingest") as ingest:
        ingest.ask("FLUSHC c")
    yield shared_server


def push_all(server: Server) -> None:
    with Peer(server, "ingest") as ingest:
        for number, word in NUMBERED:
            assert ingest.ask(f'PUSH c b{number} o "{word.pushed}" LANG(none)') == "OK"
            check_shown(server, word, number, ingest)


def restart(server: Server) -> None:
    server.kill()
    server.start()


def consolidate(server: Server) -> None:
    with Peer(server, "control") as control:
        assert control.ask("TRIGGER consolidate") == "OK"


def check_all(server: Server, shown: bool = True) -> None:
    with Peer(server, "ingest") as ingest:
        assert ingest.ask("COUNT c") == f"RESULT {len(WORDS) if shown else 0}"
        for number, word in NUMBERED:
            (check_shown if shown else check_gone)(server, word, number, ingest)


def check_shown(server: Server, word: Living, number: int, ingest: Peer) -> None:
    """Check that every answer, even on a connection that did not send the PUSH, holds the word and its object."""
    assert ingest.ask(f"COUNT c b{number}") == "RESULT 1"
    assert ingest.ask(f"COUNTO c b{number} o") == "RESULT 1"
    with Peer(server, "search") as search:
        assert search.results(f"LIST c b{number}") == [word.shown]
        for typed in (word.pushed, word.prefix, word.misspelt):
            assert search.results(f'SUGGEST c b{number} "{typed}"') == [word.shown], typed
            assert search.results(f'QUERY c b{number} "{typed}" LANG(none)') == ["o"], typed


def check_gone(server: Server, word: Living, number: int, ingest: Peer) -> None:
    assert ingest.ask(f"COUNT c b{number}") == "RESULT 0"
    assert ingest.ask(f"COUNTO c b{number} o") == "RESULT 0"
    with Peer(server, "search") as search:
        assert search.results(f"LIST c b{number}") == []
        for typed in (word.pushed, word.prefix, word.misspelt):
            assert search.results(f'SUGGEST c b{number} "{typed}"') == [], typed
            assert search.results(f'QUERY c b{number} "{typed}" LANG(none)') == [], typed


def test_words_live_through_kill_and_consolidation(server: Server) -> None:
    push_all(server)
    restart(server)
    check_all(server)
    consolidate(server)
    check_all(server)
    restart(server)
    check_all(server)


@pytest.mark.parametrize("consolidated", [False, True])
def test_words_go_at_once_and_stay_away(server: Server, consolidated: bool) -> None:
    push_all(server)
    if consolidated:
        consolidate(server)
    with Peer(server, "ingest") as ingest:
        for number, word in NUMBERED:
            line = f"FLUSHO c b{number} o" if number % 2 else f'POP c b{number} o "{word.pushed}"'
            assert ingest.ask(line) == "RESULT 1"
            check_gone(server, word, number, ingest)
    restart(server)
    check_all(server, shown=False)
    consolidate(server)
    check_all(server, shown=False)
    push_all(server)


def test_words_pushed_between_two_consolidations(server: Server) -> None:
    with Peer(server, "ingest") as ingest, Peer(server, "search") as search:
        for text in ("planet", "planetary", "planer"):
            assert ingest.ask(f'PUSH c b {text} "{text}" LANG(none)') == "OK"
            assert text in search.results('SUGGEST c b "plane"')
            assert search.results(f'QUERY c b "{text}x" LANG(none)')[0] == text
            consolidate(server)
        assert search.results('SUGGEST c b "planet"') == ["planet", "planetary", "planer"]
        assert search.results('QUERY c b "planet" LANG(none)') == ["planet", "planetary", "planer"]
        assert ingest.ask("FLUSHO c b planetary") == "RESULT 1"
        assert search.results('SUGGEST c b "planet"') == ["planet", "planer"]
        assert search.results("LIST c b") == ["planer", "planet"]
        assert ingest.ask("COUNT c b") == "RESULT 2"
