"""Tests of push_many and batch: every row is acknowledged or refused with its reason, even over connections that
break.
"""

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from sonicpy.api.rows import Refused
from sonicpy.errors import CommandError, ConnectionLost, NotOffered
from tests.client.fake import Caller, Fake
from tests.client.ways import ALL_WAYS, EVERY_WAY, Connect
from tests.processes import Server

ROWS = 8_000


@pytest.fixture(params=EVERY_WAY)
def connect(request: pytest.FixtureRequest) -> Connect:
    return ALL_WAYS[request.param]


def collection_of(request: pytest.FixtureRequest) -> str:
    return "".join(letter for letter in request.node.name if letter.isalpha())


def url_of(server: Server) -> str:
    return f"sonic://{server.host}:{server.port}"


def test_many_rows(connect: Connect, shared_server: Server, request: pytest.FixtureRequest) -> None:
    collection = collection_of(request)
    done: list[int] = []
    with connect(url_of(shared_server)) as client:
        report = client.push_many(
            ((f"o:{number}", f"text number{number} of many") for number in range(ROWS)),
            collection=collection,
            bucket="b",
            lang="none",
            progress=done.append,
        )
        assert (report.indexed, report.refused, report.refused_count) == (ROWS, [], 0)
        assert client.count_objects(collection, "b") == ROWS
        for number in (0, ROWS // 2, ROWS - 1):
            assert client.query(collection, "b", f"number{number}", limit=1) == [f"o:{number}"]
    assert done == sorted(done)
    assert done[-1] == ROWS


def test_rows_are_refused_one_by_one(connect: Connect, shared_server: Server, request: pytest.FixtureRequest) -> None:
    collection = collection_of(request)
    long_text = "zebra " * 20_000
    rows = [
        ("o:0", "zebra"),
        ("two words", "zebra"),
        ("o:2", None),
        ("o:3", "\ud800"),
        ("o:4", long_text),
        {"id": "o:5", "text": "zebra", "lang": "eng"},
        {"text": "nobody"},
        (collection, "b2", "o:7", "zebra"),
        (7, 8, 9, 10, 11, 12),
        ("o:9", "zebra"),
    ]
    with connect(url_of(shared_server)) as client:
        report = client.push_many(rows, collection=collection, bucket="b")
        assert report.indexed == 5
        assert [row.row for row in report.refused] == [1, 2, 3, 6, 8]
        assert report.refused_count == 5
        assert report.refused[0].object == "two words"
        assert "lone surrogate" in report.refused[2].reason
        assert client.count_objects(collection, "b") == 4
        assert client.count_objects(collection, "b2") == 1
        with pytest.raises(NotOffered, match="new of push_many"):
            client.push_many(rows, collection=collection, bucket="b", new=True)
        with pytest.raises(TypeError):
            client.push_many("text", collection=collection, bucket="b")


def acknowledging(fake_lines: list[str], caller: Caller, count: int) -> None:
    """Acknowledge some lines, and break the connection in the middle of the next answer; the acknowledgements
    arrive.
    """
    for _ in range(count):
        line = caller.line()
        if not line:
            return
        fake_lines.append(line)
        caller.say("OK")
    caller.line()
    caller.socket.sendall(b"O")
    caller.socket.shutdown(socket.SHUT_WR)
    while caller.line():
        pass


def test_what_was_not_acknowledged_is_pushed_again(connect: Connect) -> None:
    def script(caller: Caller) -> None:
        caller.greet()
        acknowledging(fake.lines, caller, 100)

    with Fake(script) as fake, connect(fake.url) as client:
        report = client.push_many(((f"o:{number}", "text") for number in range(1000)), collection="c", bucket="b")
    assert (report.indexed, report.refused) == (1000, [])
    assert {line.split()[3] for line in fake.lines} == {f"o:{number}" for number in range(1000)}
    assert fake.connections >= 10


def test_all_lines_of_a_long_text_are_sent_again(connect: Connect) -> None:
    def script(caller: Caller) -> None:
        caller.greet(buffer_bytes=500)
        acknowledging(fake.lines, caller, 3 if caller.number < 3 else 10_000)

    words = [f"word{number}" for number in range(500)]
    with Fake(script) as fake, connect(fake.url) as client:
        report = client.push_many([("o", " ".join(words))], collection="c", bucket="b")
    assert report.indexed == 1
    last_try = fake.lines[6:]  # of two connections three lines each were acknowledged
    assert " ".join(line.split('"')[1].strip() for line in last_try).split() == words


def test_a_server_that_does_not_come_back_ends_it_with_a_note(connect: Connect) -> None:
    def script(caller: Caller) -> None:
        if caller.number <= 1:
            caller.greet()
            acknowledging(fake.lines, caller, 100)

    with Fake(script) as fake, connect(fake.url, retry_s=0.2) as client, pytest.raises(ConnectionLost) as caught:
        client.push_many(((f"o:{number}", "text") for number in range(1000)), collection="c", bucket="b")
    (note,) = caught.value.__notes__
    assert "rows were indexed before" in note


def test_a_stopping_server_hands_its_rows_to_the_next(connect: Connect) -> None:
    def script(caller: Caller) -> None:
        caller.greet()
        for number in range(10_000):
            line = caller.line()
            if not line:
                return
            if caller.number == 1 and number >= 10:
                caller.say("ERR shutting_down")
            else:
                fake.lines.append(line)
                caller.say("OK")

    with Fake(script) as fake, connect(fake.url) as client:
        report = client.push_many([(f"o:{number}", "text") for number in range(100)], collection="c", bucket="b")
    assert report.indexed == 100
    assert sorted(fake.lines) == sorted(f'PUSH c b o:{number} "text"' for number in range(100))


def test_what_the_server_refuses_of_some_rows(connect: Connect) -> None:
    def script(caller: Caller) -> None:
        caller.greet()
        while line := caller.line():
            caller.say("ERR internal_error" if "o:7 " in line else "OK")

    with Fake(script) as fake, connect(fake.url) as client:
        report = client.push_many([(f"o:{number}", "text") for number in range(20)], collection="c", bucket="b")
        assert report.indexed == 19
        assert report.refused == [Refused(7, "o:7", "internal_error")]


def test_rows_that_end_in_an_error_are_settled_first(
    connect: Connect, shared_server: Server, request: pytest.FixtureRequest
) -> None:
    def rows() -> Iterator[tuple[str, str]]:
        for number in range(700):
            yield f"o:{number}", "zebra"
        raise LookupError("the source has gone")

    collection = collection_of(request)
    with connect(url_of(shared_server)) as client:
        with pytest.raises(LookupError, match="the source has gone"):
            client.push_many(rows(), collection=collection, bucket="b")
        assert client.count_objects(collection, "b") == 700


def test_a_batch_keeps_the_order_of_things(
    connect: Connect, shared_server: Server, request: pytest.FixtureRequest
) -> None:
    collection = collection_of(request)
    with connect(url_of(shared_server)) as client:
        with client.batch() as batch:
            for number in range(1000):
                batch.push(collection, "b", f"o:{number}", "zebra kiwi", lang="none")
            assert batch.pop(collection, "b", "o:999", "kiwi") == 1
            batch.push(collection, "b", "o:999", "mango", lang="none")
            assert batch.count_object_words(collection, "b", "o:999") == 2
            batch.push(collection, "b", "o:1000", "zebra")
            with pytest.raises(CommandError, match="object is 'two words'; allowed are"):
                batch.push(collection, "b", "two words", "zebra")
            batch.push(collection, "b", "o:1", "from the batch", lang="none")
            batch.push_many([("o:1", "after it")], collection=collection, bucket="b", lang="none")
        assert client.count_objects(collection, "b") == 1001
        assert client.count_object_words(collection, "b", "o:1") == 7
        with pytest.raises(KeyError), client.batch() as batch:
            batch.push(collection, "b", "o:1001", "zebra")
            raise KeyError
        assert client.count_objects(collection, "b") == 1002
        with pytest.raises(CommandError, match="lang is 'klingon'; allowed are"), client.batch() as batch:
            batch.push(collection, "b", "o:1002", "zebra", lang="klingon")


def away(fake_lines: list[str], caller: Caller, is_away: threading.Event) -> None:
    """Acknowledge lines; while the server is away, end every session, the first one in the middle."""
    caller.greet()
    while not (is_away.is_set() and len(fake_lines) >= 700) and (line := caller.line()):
        if line == "PING":
            caller.say("PONG")
            continue
        fake_lines.append(line)
        caller.say("OK")


def objects_of(lines: list[str]) -> set[str]:
    return {line.split()[3] for line in lines}


def test_a_batch_keeps_what_was_not_acknowledged(connect: Connect) -> None:
    is_away = threading.Event()
    is_away.set()
    with (
        Fake(lambda caller: away(fake.lines, caller, is_away)) as fake,
        connect(fake.url, retry_s=0) as client,
        client.batch() as batch,
    ):
        errors = []
        for number in range(2000):
            try:
                batch.push("c", "b", f"o:{number}", "text", lang="none")
            except ConnectionLost as error:
                errors.append(error)
                left = len(batch.waiting)
                is_away.clear()
        (error,) = errors
        (note,) = error.__notes__
        assert f"not acknowledged, and so kept in the batch (`waiting`; `send` tries again): {left} pushes, of " in note
        assert 0 < left <= 512
    assert batch.waiting == []
    assert objects_of(fake.lines) == {f"o:{number}" for number in range(2000)}


def test_a_block_that_ends_in_an_error_names_what_is_left(connect: Connect) -> None:
    is_away = threading.Event()
    is_away.set()
    with Fake(lambda caller: away(fake.lines, caller, is_away)) as fake, connect(fake.url, retry_s=0) as client:
        with pytest.raises(ConnectionLost) as caught, client.batch() as batch:
            for number in range(2000):
                batch.push("c", "b", f"o:{number}", "text", lang="none")
        with pytest.raises(KeyError) as other, batch:
            raise KeyError
        left = batch.waiting
        for error in (caught.value, other.value):
            (note,) = error.__notes__
            assert f": {len(left)} pushes, of '{left[0].object}', '{left[1].object}', " in note
        pushed = objects_of(fake.lines) | {row.object for row in left}
        assert pushed == {f"o:{number}" for number in range(len(pushed))}
        is_away.clear()
        report = client.push_many(left)
        assert report.indexed == len(left)
        batch.send()
        assert (batch.waiting, objects_of(fake.lines)) == ([], pushed)


def test_a_refusal_of_a_batch_names_its_objects(connect: Connect) -> None:
    def script(caller: Caller) -> None:
        caller.greet()
        while line := caller.line():
            caller.say("ERR internal_error" if "7 " in line else "OK")

    with Fake(script) as fake, connect(fake.url) as client:
        with pytest.raises(CommandError, match="internal_error") as caught, client.batch() as batch:
            for number in range(20):
                batch.push("c", "b", f"o:{number}", "text", lang="none")
        assert caught.value.__notes__ == ["refused for 2 pushes, of 'o:7', 'o:17'"]
        assert batch.waiting == []
        batch.send()


def test_whatever_ends_push_many_says_where_to_go_on(connect: Connect) -> None:
    """After any exception, rows before the one that the note names are done; `Stop` is the exception of a signal or a
    cancellation.
    """

    class Stop(BaseException):
        pass

    def stop(done: int) -> None:
        raise Stop

    def script(caller: Caller) -> None:
        caller.greet()
        while line := caller.line():
            fake.lines.append(line)
            caller.say("ERR internal_error" if "o:7 " in line else "OK")

    with Fake(script) as fake, connect(fake.url) as client:
        with pytest.raises(Stop) as caught:
            client.push_many(
                ((f"o:{number}", "text") for number in range(2000)), collection="c", bucket="b", progress=stop
            )
        (note,) = caught.value.__notes__
        assert note.startswith("511 rows were indexed before, 1 refused; row 512, counted from 0, is the first that is")
        rest = client.push_many([(f"o:{number}", "text") for number in range(512, 2000)], collection="c", bucket="b")
        assert rest.indexed == 2000 - 512
    assert objects_of(fake.lines) == {f"o:{number}" for number in range(2000)}


@pytest.mark.parametrize("options", [{}, {"lang": "eng"}, {"lang": "fra", "tags": ["one", "two"]}])
@pytest.mark.parametrize("run", ["a" * 45_000, "ab_" * 9_000, "한" * 9_000, "a photo " + "f" * 21_000 + " end"])
def test_pop_takes_back_the_pieces_of_push(
    connect: Connect, shared_server: Server, request: pytest.FixtureRequest, run: str, options: dict[str, Any]
) -> None:
    place = (collection_of(request), "b", f"o{len(run)}:{len(options)}")
    with connect(url_of(shared_server)) as client:
        client.push(*place, run, **options)
        assert client.pop(*place, run) > 0
        assert client.count_object_words(*place) == 0
        assert client.exists(*place) == ("tags" in options)
