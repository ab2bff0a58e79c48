"""Execute a line in one process, from its bytes to the bytes of its reply: everything except the socket."""

from benchmarks import stages
from benchmarks.conftest import Timed


def test_push(timed_afresh: Timed) -> None:
    assert set(timed_afresh(stages.whole_push)) == {b"OK\r\n"}


def test_push_in_compat_mode(timed_afresh: Timed) -> None:
    assert set(timed_afresh(stages.compat_push)) == {b"OK\r\n"}


def test_query(timed: Timed, texts: list[str]) -> None:
    replies = timed(stages.whole_query)
    assert sum(b"message:" in reply for reply in replies) > len(texts) * 0.9


def test_suggest(timed: Timed) -> None:
    assert all(reply.startswith(b"PENDING ") and b"EVENT SUGGEST" in reply for reply in timed(stages.whole_suggest))


def test_upsert(timed_afresh: Timed) -> None:
    assert all(replies == [b"OK\r\n"] for replies in timed_afresh(stages.whole_upsert))


def test_flush_and_push(timed_afresh: Timed) -> None:
    assert all(
        replies[0].startswith(b"RESULT ") and replies[1] == b"OK\r\n" for replies in timed_afresh(stages.flush_and_push)
    )
