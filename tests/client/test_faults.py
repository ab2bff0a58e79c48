"""Clients whose servers break connections, fall silent or stop: they repeat safe commands, and no others."""

import math
import pickle
import time
from collections.abc import Iterator
from itertools import product

import pytest

from sonicpy.client import transport
from sonicpy.errors import ClientError, CommandError, ConnectionLost, NotOffered, NotSonic, TimedOut, WrongPassword
from tests.client.fake import Caller, Fake
from tests.client.ways import ALL_WAYS, EVERY_WAY, Connect
from tests.processes import free_port
from tests.support.patience import SLOWNESS, is_within, until

SOON_S = 0.3 * SLOWNESS


@pytest.fixture(params=EVERY_WAY)
def connect(request: pytest.FixtureRequest) -> Iterator[Connect]:
    yield ALL_WAYS[request.param]


ANSWERS = {
    "QUERY": ["PENDING abcdefgh", "EVENT QUERY abcdefgh one two"],
    "PUSH": ["OK"],
    "POP": ["RESULT 3"],
    "FLUSHC": ["RESULT 1"],
    "PING": ["PONG"],
}
CALLS = {
    "QUERY": lambda client: client.query("c", "b", "text"),
    "PUSH": lambda client: client.push("c", "b", "o", "text"),
    "POP": lambda client: client.pop("c", "b", "o", "text"),
    "FLUSHC": lambda client: client.flush("c"),
}
RESULTS = {"QUERY": ["one", "two"], "PUSH": None, "POP": 3, "FLUSHC": 1}


def serve(fake: Fake, caller: Caller) -> None:
    """Answer like a server, and record the lines."""
    while line := caller.line():
        fake.lines.append(line)
        caller.say(*ANSWERS[line.split()[0]])


def breaking(first: str, how: str) -> Fake:
    """Return a server that breaks the connection when it first reads a line that begins with `first`."""
    broken: list[str] = []

    def script(caller: Caller) -> None:
        caller.greet()
        while line := caller.line():
            fake.lines.append(line)
            if line.startswith(first) and not broken:
                broken.append(line)
                if how == "reset":
                    caller.reset()
                elif how == "half an answer":
                    caller.socket.sendall(ANSWERS[first][-1].encode()[:-1])
                elif how == "one line of two":
                    caller.say("PENDING abcdefgh")
                elif how == "shutting down":
                    caller.say("ERR shutting_down")
                return
            caller.say(*ANSWERS[line.split()[0]])

    fake = Fake(script)
    return fake


def test_reads_and_push_are_repeated(connect: Connect) -> None:
    for command, how in product(["QUERY", "PUSH"], ["close", "reset", "half an answer", "shutting down"]):
        with breaking(command, how) as fake, connect(fake.url) as client:
            assert CALLS[command](client) == RESULTS[command], how
        assert [line.split()[0] for line in fake.lines] == [command, command], how


def test_a_query_is_repeated_when_its_event_does_not_come(connect: Connect) -> None:
    with breaking("QUERY", "one line of two") as fake, connect(fake.url) as client:
        assert client.query("c", "b", "text") == ["one", "two"]


def test_pop_and_flush_are_not_repeated(connect: Connect) -> None:
    for command, how in product(["POP", "FLUSHC"], ["close", "reset", "half an answer"]):
        with breaking(command, how) as fake, connect(fake.url) as client:
            with pytest.raises(ConnectionLost) as caught:
                CALLS[command](client)
            assert caught.value.was_sent, how
            assert len(fake.lines) == 1, how
            assert CALLS[command](client) == RESULTS[command], how


def test_pop_and_flush_are_repeated_on_request(connect: Connect) -> None:
    for command in ["POP", "FLUSHC"]:
        with breaking(command, "close") as fake, connect(fake.url, retry_changes=True) as client:
            assert CALLS[command](client) == RESULTS[command]
        assert len(fake.lines) == 2


def test_what_a_stopping_server_refused_was_not_carried_out(connect: Connect) -> None:
    for command in ["POP", "FLUSHC"]:
        with breaking(command, "shutting down") as fake, connect(fake.url) as client:
            assert CALLS[command](client) == RESULTS[command]
        assert len(fake.lines) == 2


def test_a_connection_that_lay_idle_and_was_closed_is_replaced_before_anything_is_sent(connect: Connect) -> None:
    def script(caller: Caller) -> None:
        caller.greet()
        if caller.number == 1:  # the first one in ingest mode: one command, then "idle for too long"
            fake.lines.append(caller.line())
            caller.say("RESULT 3")
        else:
            serve(fake, caller)

    with Fake(script) as fake, connect(fake.url) as client:
        assert client.pop("c", "b", "o", "one") == 3
        until(lambda: fake.open_connections <= 1)
        time.sleep(0.05)
        assert client.pop("c", "b", "o", "two") == 3
    assert fake.lines == ['POP c b o "one"', 'POP c b o "two"']


def test_silence_ends_in_a_time_out_and_the_late_answer_reaches_nobody(connect: Connect) -> None:
    def script(caller: Caller) -> None:
        caller.greet()
        while line := caller.line():
            fake.lines.append(line)
            if len(fake.lines) == 1:
                time.sleep(2 * SOON_S)
                caller.say("PENDING late", "EVENT QUERY late wrong")
            else:
                caller.say(*ANSWERS["QUERY"])

    with Fake(script) as fake, connect(fake.url, timeout_s=SOON_S) as client:
        began = time.monotonic()
        with pytest.raises(TimedOut, match=f"did not answer within {SOON_S:g} s") as caught:
            client.query("c", "b", "text")
        assert time.monotonic() - began > SOON_S * 0.9
        assert is_within(10 * SOON_S, began)
        assert isinstance(caught.value, TimeoutError)
        assert client.query("c", "b", "text") == ["one", "two"]
        time.sleep(2 * SOON_S)
        assert client.query("c", "b", "text") == ["one", "two"]
    assert len(fake.lines) == 3


@pytest.mark.full
def test_a_flush_with_a_filter_may_take_its_time(connect: Connect) -> None:
    def script(caller: Caller) -> None:
        caller.greet("sonicpy v1.1")
        while line := caller.line():
            fake.lines.append(line)
            time.sleep(2 * SOON_S)
            caller.say("RESULT 3")

    with Fake(script) as fake, connect(fake.url, timeout_s=SOON_S) as client:
        assert client.flush("c", "b", filter="old") == 3
    assert len(fake.lines) == 1


def test_a_server_that_does_not_greet_is_given_up(connect: Connect) -> None:
    def script(caller: Caller) -> None:
        assert caller.line() == ""

    with Fake(script) as fake:
        with pytest.raises(TimedOut):
            connect(fake.url, timeout_s=SOON_S)
        assert fake.connections == 1


def test_settings_that_make_no_sense(connect: Connect) -> None:
    for wrong in [{"timeout_s": 0}, {"timeout_s": float("nan")}, {"retry_s": -1}, {"pool_size": 0}]:
        (name,) = wrong
        with pytest.raises(ValueError, match=f"^{name} is "):
            connect("sonic://127.0.0.1:1", **wrong)


def test_times_without_an_end(connect: Connect) -> None:
    url = f"sonic://127.0.0.1:{free_port()}"
    for endless in (math.inf, 1e20, 10**400):
        with pytest.raises(ConnectionLost, match="cannot be reached: Connection refused"):
            connect(url, timeout_s=endless, retry_s=0)


def test_nobody_listens(connect: Connect) -> None:
    began = time.monotonic()
    with pytest.raises(ConnectionLost, match="cannot be reached: Connection refused") as caught:
        connect(f"sonic://127.0.0.1:{free_port()}")
    assert not caught.value.was_sent
    assert isinstance(caught.value, ConnectionError)
    assert is_within(5, began)


def test_something_else_listens(connect: Connect) -> None:
    def script(caller: Caller) -> None:
        caller.say("HTTP/1.1 400 Bad Request")
        caller.line()

    with Fake(script) as fake, pytest.raises(NotSonic, match=r"HTTP/1\.1 400.*: is it the port of HTTP\?$"):
        connect(fake.url)


def test_a_server_that_waits_for_a_request_is_no_sonic(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "SILENCE_S", 0.2)
    with Fake(lambda _: time.sleep(0.4)) as fake:
        with pytest.raises(NotSonic, match=r"without a greeting: is it the port of HTTP\?$"):
            connect(fake.url)
        assert fake.connections == 1


def test_an_open_client_tries_on_where_greetings_are_missing(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as those of a proxy whose server starts again."""
    monkeypatch.setattr(transport, "SILENCE_S", 0.2)

    def script(caller: Caller) -> None:
        if caller.number in (1, 2):
            time.sleep(0.4 if caller.number == 2 else 0)
            return
        caller.greet()
        if caller.number > 0:
            serve(fake, caller)

    with Fake(script) as fake, connect(fake.url) as client:
        assert client.query("c", "b", "text") == ["one", "two"]
        assert fake.connections == 4
    with Fake(lambda _: None) as closing, pytest.raises(ConnectionLost):
        connect(closing.url)


def test_passwords_are_sent_as_they_are_and_wrong_ones_are_told(connect: Connect) -> None:
    def script(caller: Caller) -> None:
        caller.say("CONNECTED <sonic-server v1.4.9>")
        start = caller.line()
        if start == "START search p@ss/ö%":
            caller.say("STARTED search protocol(1) buffer(20000)")
            caller.line()
        else:
            caller.say("ENDED authentication_failed" if start.count(" ") > 1 else "ENDED authentication_required")

    with Fake(script) as fake:
        host = fake.url.removeprefix("sonic://")
        for url, options in (
            (f"sonic://:p%40ss%2F%C3%B6%25@{host}", {}),
            (f"sonic://{host}?password=p%40ss%2F%C3%B6%25", {}),
            (fake.url, {"password": "p@ss/ö%"}),
        ):
            with connect(url, **options):
                pass
        with pytest.raises(WrongPassword, match="is wrong") as caught:
            connect(f"sonic://:secret@{host}")
        assert "secret" not in str(caught.value)
        with pytest.raises(WrongPassword, match="none was given"):
            connect(fake.url)


def test_a_full_server_is_tried_again(connect: Connect) -> None:
    def script(caller: Caller) -> None:
        if caller.number in (1, 2):
            caller.say("ENDED too_many_connections")
            return
        caller.greet()
        serve(fake, caller)

    with Fake(script) as fake, connect(fake.url) as client:
        assert client.pop("c", "b", "o", "text") == 3  # a session never began: even this is safe
        assert fake.connections == 4


@pytest.mark.parametrize(("retry_s", "delay_s"), [(0, 0), (0.05, 0.2)])
def test_one_retry_is_always_made(connect: Connect, retry_s: float, delay_s: float) -> None:
    """The answer of the first attempt breaks off later than retry_s."""

    def script(caller: Caller) -> None:
        caller.greet()
        line = caller.line()
        if line and not fake.lines:
            fake.lines.append(line)
            time.sleep(delay_s)
            return
        while line:
            fake.lines.append(line)
            caller.say("PONG")
            line = caller.line()

    with Fake(script) as fake, connect(fake.url, retry_s=retry_s) as client:
        client.ping()
        assert fake.lines == ["PING", "PING"]


def test_without_patience_a_second_failure_is_the_end(connect: Connect) -> None:
    def script(caller: Caller) -> None:
        caller.greet()
        if line := caller.line():
            fake.lines.append(line)

    with Fake(script) as fake, connect(fake.url, retry_s=0) as client:
        with pytest.raises(ConnectionLost):
            client.ping()
        assert fake.lines == ["PING", "PING"]


def test_trying_again_ends(connect: Connect) -> None:
    def script(caller: Caller) -> None:
        caller.greet()
        caller.line()

    with Fake(script) as fake, connect(fake.url, retry_s=SOON_S) as client:
        began = time.monotonic()
        with pytest.raises(ConnectionLost):
            client.query("c", "b", "text")
        assert is_within(10 * SOON_S, began)
        assert fake.connections > 2


def test_lines_keep_to_the_buffer_that_was_announced(connect: Connect) -> None:
    def script(caller: Caller) -> None:
        caller.greet(buffer_bytes=200)
        serve(fake, caller)

    text = " ".join(f'wörd"{number}\\' for number in range(1000))
    with Fake(script) as fake, connect(fake.url) as client:
        client.push("c", "b", "o", text, lang="deu")
        pushed = list(fake.lines)
        assert client.pop("c", "b", "o", text) == 3 * (len(fake.lines) - len(pushed))
        with pytest.raises(ClientError, match="at most 200"):
            client.query("c", "b", text)
        with pytest.raises(ClientError, match="no room"):
            client.push("c", "b", "o" * 128, text, lang="deu")
    assert max(len(line.encode()) for line in fake.lines) <= 200
    assert len(pushed) > 64  # more than are sent at once
    assert all(line.startswith('PUSH c b o "') and line.endswith('" LANG(deu)') for line in pushed)


def test_what_is_not_valid_is_refused_before_it_is_sent(connect: Connect) -> None:
    def script(caller: Caller) -> None:
        caller.greet()
        serve(fake, caller)

    with Fake(script) as fake, connect(fake.url) as client:
        for call, code in (
            (lambda: client.push("c d", "b", "o", "text"), "invalid_argument"),
            (lambda: client.query("c", "", "text"), "invalid_argument"),
            (lambda: client.pop("c", "b", "o\n", "text"), "invalid_argument"),
            (lambda: client.push("c", "b", "o", "\ud800"), "invalid_format"),
            (lambda: client.query("c", "b", "\ud800"), "invalid_format"),
            (lambda: client.query("c", "b", "text", lang="a) X(b"), "invalid_meta_value"),
            (lambda: client.backup("/two words"), "invalid_format"),
        ):
            with pytest.raises(CommandError) as caught:
                call()
            assert caught.value.code == code
        for call in (
            lambda: client.flush("c", None, "o"),
            lambda: client.count("c", None, "o"),
            lambda: client.stats(None, "b"),
        ):
            with pytest.raises(ValueError, match="is given without its"):
                call()
        assert fake.lines == []


def test_a_closed_client_says_so(connect: Connect) -> None:
    def script(caller: Caller) -> None:
        caller.greet()
        serve(fake, caller)

    with Fake(script) as fake, connect(fake.url) as client:
        client.close()
        with pytest.raises(ClientError, match="is closed"):
            client.query("c", "b", "text")


def test_old_servers_do_without(connect: Connect) -> None:
    """A client works with Sonic before 1.4, which has neither LIST, INFO nor LANG, and announces no buffer size."""

    def script(caller: Caller) -> None:
        caller.say("CONNECTED <sonic-server v1.0.0>")
        caller.line()
        caller.say(f"STARTED {'search' if caller.number == 0 else 'ingest' if caller.number == 1 else 'control'}")
        while line := caller.line():
            caller.say("ERR invalid_meta_key(LANG[eng])" if "LANG" in line else "ERR unknown_command")

    with Fake(script) as fake, connect(fake.url) as client:
        assert client.server == "sonic-server 1.0.0"
        for call, what in (
            (lambda: client.words("c", "b"), "LIST"),
            (lambda: client.push("c", "b", "o", "text", lang="eng"), "LANG of PUSH"),
            (lambda: client.count_objects("c", "b"), "COUNTB"),
            (lambda: client.info(), "INFO"),
            (lambda: client.stats(), "STATS"),
            (lambda: client.verify(), "VERIFY"),
        ):
            with pytest.raises(ClientError, match=f"^{what} is not offered by this server .sonic-server 1.0.0.$"):
                call()


def test_what_our_server_does_not_offer_names_the_mode(connect: Connect) -> None:
    def script(caller: Caller) -> None:
        caller.greet("sonicpy v1.0.0")
        while caller.line():
            caller.say("ERR unknown_command")

    said = r"^STATS is not offered by this server \(sonicpy 1.0.0\): compat mode offers only the commands of Sonic$"
    with Fake(script) as fake, connect(fake.url) as client, pytest.raises(NotOffered, match=said) as refusal:
        client.stats()
    copied = pickle.loads(pickle.dumps(refusal.value))
    assert (str(copied), copied.what, copied.server) == (str(refusal.value), "STATS", "sonicpy 1.0.0")


@pytest.mark.parametrize("most", [1, 7, 100, 500, 700])
def test_pages_are_put_together_where_the_server_gives_less_at_once(connect: Connect, most: int) -> None:
    words = [f"word{number}" for number in range(1234)]

    def script(caller: Caller) -> None:
        caller.greet()
        while line := caller.line():
            numbers = {part.split("(")[0]: int(part.split("(")[1][:-1]) for part in line.split() if "(" in part}
            if not 1 <= numbers["LIMIT"] <= most:
                caller.say("ERR policy_reject(LIMIT out of minimum/maximum bounds)")
                continue
            start = numbers.get("OFFSET", 0)
            caller.say("PENDING m", f"EVENT LIST m {' '.join(words[start : start + numbers['LIMIT']])}")

    with Fake(script) as fake, connect(fake.url) as client:
        assert client.words("c", "b", limit=5) == words[:5]
        assert client.words("c", "b", limit=20, offset=1230) == words[1230:]
        assert client.words("c", "b", limit=120, offset=7) == words[7:127]
        assert client.words("c", "b", limit=100_000, offset=200) == words[200:]
        assert client.words("c", "b", limit=0) == client.suggest("c", "b", "word", limit=0) == []
        with pytest.raises(CommandError, match="policy_reject"):
            client.suggest("c", "b", "word", limit=701)
