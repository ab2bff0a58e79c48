"""Consolidation by real servers: its time, the delays of other work, and the faults that it survives."""

import os
import re
import select
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import sonicpy
from sonicpy.server.jobs.maintenance import MEDIUM_WORDS
from sonicpy.server.server import CONSOLIDATE_S
from sonicpy.store.disk.log import HEADER
from sonicpy.store.disk.table_numbers import PENDING, WORDS
from sonicpy.store.rows.keys import word_key
from tests.index.shorthand import open_index
from tests.processes import Server
from tests.server.fair import ping_s
from tests.server.peer import Peer
from tests.server.streams import word_of
from tests.server.test_info import info, wait_for
from tests.server.test_workers import builds_graphs, children
from tests.support import proc
from tests.support.patience import is_below, until

COMPAT = {"server.compat": "sonic"}
AT_ONCE = 100
"""The number of words in one PUSH."""
SEVERAL = 30_000
"""The number of words whose graph takes a worker about 50 ms."""
VERY_MANY = 50_000
LARGE = MEDIUM_WORDS + AT_ONCE
"""The lowest number of words, pushed AT_ONCE at a time, whose graph a worker builds."""
ROUNDS = 3
PING_S = 0.050
"""The longest wait of a PING: for the commit of VERY_MANY new words. The graph takes many times as long."""


def push_words(server: Server, bucket: str, numbers: range) -> None:
    """Push made-up words, AT_ONCE in each PUSH, all into one collection."""
    firsts = range(numbers.start, numbers.stop, AT_ONCE)
    with Peer(server, "ingest") as ingest:
        for place in range(0, len(firsts), 50):
            lines = [
                push_line(bucket, range(first, min(first + AT_ONCE, numbers.stop))) for first in firsts[place:][:50]
            ]
            ingest.send_lines(*lines)
            assert set(ingest.lines(len(lines))) == {"OK"}


def push_line(bucket: str, numbers: range) -> str:
    return f'PUSH c {bucket} o{numbers.start} "{" ".join(map(made_up, numbers))}" LANG(none)'


def made_up(number: int) -> str:
    """Return a word of six letters that no other number has, and that has little in common with the next."""
    return word_of(number * 7_368_787 % 20**6)


def count_words(peer: Peer, bucket: str) -> int:
    return int(peer.ask(f"COUNT c {bucket}").removeprefix("RESULT "))


def graph_files(server: Server) -> set[str]:
    return {path.name for path in (server.folder / "store" / "graph").glob("*")}


def workers_of(server: Server) -> list[int]:
    return list(filter(builds_graphs, children(server)))


def lines_with(text: str, server: Server) -> list[str]:
    return [line for line in server.log().splitlines() if text in line]


class TestWhen:
    @pytest.mark.full
    def test_by_time_and_closed_when_idle(self, tmp_path: Path) -> None:
        settings = {"store.fst.graph.consolidate_after": 1, "store.fst.pool.inactive_after": 2}
        with (
            Server(tmp_path, {**COMPAT, **settings}) as server,
            Peer(server, "ingest") as ingest,
            Peer(server, "search") as search,
            Peer(server, "control") as control,
        ):
            began = time.monotonic()
            assert ingest.ask('PUSH c b o "valeriane" LANG(none)') == "OK"
            assert (search.results("LIST c b"), count_words(ingest, "b")) == ([], 0)
            assert info(control)["fst_consolidate_count"] == 1
            until(lambda: search.results("LIST c b") == ["valeriane"], "the words show")
            assert time.monotonic() - began >= 1, "not before their time"
            assert (count_words(ingest, "b"), ingest.ask("COUNT c")) == (1, "RESULT 1")
            figures = info(control)
            assert (figures["kv_open_count"], figures["fst_open_count"], figures["fst_consolidate_count"]) == (1, 1, 0)
            end = time.monotonic() + 2.5
            while time.monotonic() < end:
                assert search.results("LIST c b") == ["valeriane"]
                assert info(control)["fst_open_count"] == 1, "it is used"
                time.sleep(0.1)
            wait_for(control, "fst_open_count", 0)
            assert search.results('SUGGEST c b "valer"') == ["valeriane"]
            figures = info(control)
            assert (figures["kv_open_count"], figures["fst_open_count"]) == (1, 1)
            assert graph_files(server) == {"0-1.graph"}
            assert children(server) == set(), "one word is no work for a process"

    @pytest.mark.full
    def test_by_number_of_pending_words(self, server: Server) -> None:
        with Peer(server, "control") as control, Peer(server, "search") as search:
            push_words(server, "few", range(1_900))
            push_words(server, "many", range(1_900, 4_500))
            until(lambda: graph_files(server) == {"1-1.graph"}, "a graph appears, although none is due for minutes")
            wait_for(control, "fst_consolidate_count", 1)
            assert workers_of(server) == [], "a thread builds it"
            last = made_up(4_499)
            assert search.results(f'SUGGEST c many "{last[:5]}"') == [last]
            time.sleep(1.5)
            assert info(control)["fst_consolidate_count"] == 1, "1,900 words can wait"
            assert graph_files(server) == {"1-1.graph"}

    @pytest.mark.full
    def test_once_nothing_is_pushed_the_log_goes_and_no_transaction_stays_open(self, server: Server) -> None:
        log = server.folder / "store" / "log"
        with Peer(server, "control") as control:
            push_words(server, "b", range(1_000))
            assert control.ask("TRIGGER consolidate") == "OK"
            until(lambda: [path.stat().st_size for path in log.iterdir()] == [HEADER.size], "one segment, empty")
            with (
                sonicpy.open(server.folder / "store", read_only=True) as index,
                index.engine.store.reading() as view,
            ):
                assert view.transaction.count(PENDING) == 0

    def test_trigger_answers_when_all_is_folded_in(self, tmp_path: Path) -> None:
        with (
            Server(tmp_path, COMPAT) as server,
            Peer(server, "ingest") as ingest,
            Peer(server, "search") as search,
            Peer(server, "control") as control,
            Peer(server, "control") as other,
        ):
            small = [f"small{number}" for number in range(120)]
            for number, bucket in enumerate(small):
                ingest.send_lines(push_line(bucket, range(number, number + 20)))
            assert set(ingest.lines(len(small))) == {"OK"}
            push_words(server, "thousand", range(1_000))
            assert info(control)["fst_consolidate_count"] == 121
            assert control.ask("TRIGGER consolidate") == "OK"
            assert {count_words(ingest, bucket) for bucket in small} == {20}
            assert search.results("LIST c small7 LIMIT(500)") == sorted(map(made_up, range(7, 27)))
            assert (count_words(ingest, "thousand"), ingest.ask("COUNT c")) == (1_000, "RESULT 121")
            assert children(server) == set(), "no process for graphs of a thousand words"

            assert ingest.ask(push_line("thousand", range(1_000, 1_001))) == "OK"
            assert ingest.ask(push_line("small3", range(50, 51))) == "OK"
            push_words(server, "large", range(5_000, 8_000))
            assert control.ask("TRIGGER consolidate") == "OK"
            counts = [count_words(ingest, bucket) for bucket in ("thousand", "small3", "large", "small4")]
            assert counts == [1_001, 21, 3_000, 20]
            assert children(server) == set(), "a thread builds such graphs"
            assert info(control)["fst_consolidate_count"] == 0

            assert ingest.ask(push_line("large", range(8_000, 8_001))) == "OK"
            control.send_lines("TRIGGER consolidate")
            assert ingest.ask(push_line("large", range(8_001, 8_002))) == "OK"
            other.send_lines("TRIGGER CONSOLIDATE")
            assert (control.line(), other.line()) == ("OK", "OK")
            assert count_words(ingest, "large") == 3_002, "the second one waits for what the first did not see"
            until(lambda: len(graph_files(server)) == 122, "older ones are gone")

    @pytest.mark.full
    def test_ping_beside_a_thread(self, server: Server) -> None:
        rounds: list[float] = []
        while len(rounds) < ROUNDS and not (rounds and is_below(min(rounds), PING_S)):
            bucket = f"medium{len(rounds)}"
            push_words(server, bucket, range(MEDIUM_WORDS))
            with Peer(server, "ingest") as ingest, Peer(server, "control") as control:
                rounds.append(max(pings_beside(server, control, "TRIGGER consolidate", "OK")))
                assert count_words(ingest, bucket) == MEDIUM_WORDS
            assert children(server) == set()
        assert is_below(min(rounds), PING_S), rounds

    def test_stops_while_a_thread_builds(self, server: Server) -> None:
        push_words(server, "medium", range(MEDIUM_WORDS))
        with Peer(server, "control") as control, Peer(server, "search") as search:
            control.send_lines("TRIGGER consolidate")
            assert search.ask("PING") == "PONG"
            assert server.stop() == 0
        assert server.log() == "", "nothing went wrong"
        server.start()
        with Peer(server, "search") as search:
            last = made_up(MEDIUM_WORDS - 1)
            assert search.results(f'SUGGEST c medium "{last[:5]}" LIMIT(1)') == [last]
        (graph,) = graph_files(server)
        assert re.fullmatch(r"0-\d+\.graph", graph), "it may have begun a first one while the words were pushed"

    @pytest.mark.full
    @pytest.mark.parametrize("in_the_middle", [False, True])
    def test_at_the_stop(self, tmp_path: Path, in_the_middle: bool) -> None:
        with Server(tmp_path, COMPAT) as server:
            for number in range(20):
                push_words(server, f"small{number}", range(number, number + 10))
            push_words(server, "large", range(LARGE))
            with Peer(server, "ingest") as ingest, Peer(server, "control") as control:
                assert count_words(ingest, "large") == 0
                if in_the_middle:
                    control.send_lines("TRIGGER consolidate")
                    until(lambda: workers_of(server) != [], "a worker is started")
                began_s = time.monotonic()
                assert server.stop() == 0
                took_s = time.monotonic() - began_s
            server.start()
            with (
                Peer(server, "ingest") as ingest,
                Peer(server, "search") as search,
                Peer(server, "control") as control,
            ):
                if info(control)["fst_consolidate_count"]:
                    assert took_s > CONSOLIDATE_S, "it had time for all words"
                    assert control.ask("TRIGGER consolidate") == "OK"
                assert count_words(ingest, "large") == LARGE
                assert search.results("LIST c large LIMIT(3)") == sorted(map(made_up, range(LARGE)))[:3]
                assert {count_words(ingest, f"small{number}") for number in range(20)} == {10}
            assert server.log() == "", "nothing went wrong"


@pytest.mark.full
def test_damaged_rows_of_one_bucket_hold_up_no_other_and_are_not_read_each_second(
    in_tables: None, tmp_path: Path
) -> None:
    with sonicpy.open(tmp_path / "store") as index:
        for bucket in ("a", "b", "c"):
            index.push("c", bucket, "o", "valeriane", lang="none")
        index.engine.commit()
        row = word_key(0, b"valeriane")
        index.engine.store.maintain(lambda view: view.transaction.put(WORDS, row, b"\xff"))
        index.engine.commit()
    with Server(tmp_path, {"store.fst.graph.consolidate_after": 5}) as server:
        until(lambda: graph_files(server) == {"1-1.graph", "2-1.graph"}, "the other buckets have graphs")
        until(lambda: len(lines_with("cut off", server)) == 1, "the damage is logged")
        time.sleep(3)  # three rounds of the periodic work
        assert len(lines_with("cut off", server)) == 1
        with Peer(server, "control") as control:
            assert control.ask("TRIGGER consolidate").startswith("ERR ")


@pytest.fixture(scope="module")
def large_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that consolidates only on TRIGGER, and has started a worker already."""
    settings = {**COMPAT, "store.fst.graph.consolidate_after": 1_000, "store.fst.pool.inactive_after": 2_000}
    with Server(tmp_path_factory.mktemp("large"), settings) as server:
        push_words(server, "first", range(LARGE))
        with Peer(server, "control") as control:
            assert control.ask("TRIGGER consolidate") == "OK"
        yield server


class TestLarge:
    def test_ping_beside_it(self, large_server: Server) -> None:
        """While all words are pending, the server builds, publishes and prunes, and a client pings."""
        rounds: list[list[float]] = []
        while len(rounds) < ROUNDS and not (rounds and is_below(min(times[-1] for times in rounds), PING_S)):
            bucket = f"large{len(rounds)}"
            push_words(large_server, bucket, range(VERY_MANY))
            with Peer(large_server, "ingest") as ingest, Peer(large_server, "control") as control:
                rounds.append(sorted(pings_beside(large_server, control, "TRIGGER consolidate", "OK")))
                assert count_words(ingest, bucket) == VERY_MANY
        assert min(len(times) for times in rounds) > 50, "the consolidation blocked the server"
        assert is_below(min(times[-1] for times in rounds), PING_S), [
            [round(1e3 * time) for time in times[-5:]] for times in rounds
        ]

    def test_a_worker_killed_in_the_middle_of_its_job(self, large_server: Server) -> None:
        push_words(large_server, "killed", range(SEVERAL))
        with Peer(large_server, "control") as control, Peer(large_server, "ingest") as ingest:
            for extra in range(SEVERAL, SEVERAL + 10):  # the job may end before the test acts
                assert ingest.ask(push_line("killed", range(extra, extra + 1))) == "OK"
                killed = in_the_middle(
                    large_server, control, lambda worker: os.kill(worker, signal.SIGKILL), has_store_open
                )
                assert control.line() == "OK"
                assert count_words(ingest, "killed") == extra + 1
                if killed:
                    break
            assert killed, "never caught in the middle: the test judged nothing"
            assert len(workers_of(large_server)) == 1 and killed not in workers_of(large_server)
            assert info(control)["fst_consolidate_count"] == 0
        assert len(lines_with("worker process died", large_server)) == 1
        with Peer(large_server, "search") as search:
            last = made_up(SEVERAL)
            assert last in search.results(f'SUGGEST c killed "{last[:5]}" LIMIT(20)')
        assert not [name for name in graph_files(large_server) if name.endswith(".new")]

    @pytest.mark.full
    @pytest.mark.parametrize("written", [False, True])
    def test_a_bucket_flushed_in_the_middle_of_its_job(self, large_server: Server, written: bool) -> None:
        def flush(_: int) -> None:
            assert ingest.ask(push_line("flushed", range(SEVERAL, SEVERAL + 50))) == "OK"
            assert ingest.ask("FLUSHB c flushed") == "RESULT 1"
            time.sleep(0.2)  # the flush is committed, and its rows are deleted

        def is_written(_: int) -> bool:
            return bool(graph_files(large_server) - before)

        moment = is_written if written else has_store_open
        with (
            Peer(large_server, "control") as control,
            Peer(large_server, "ingest") as ingest,
            Peer(large_server, "search") as search,
        ):
            before = graph_files(large_server)
            flushed = None
            for _ in range(10):  # the job may end before the test acts
                push_words(large_server, "flushed", range(SEVERAL))
                flushed = in_the_middle(large_server, control, flush, moment)
                assert control.line() == "OK"
                if flushed:
                    break
                assert ingest.ask("FLUSHB c flushed") == "RESULT 1"
            assert flushed, "never caught in the middle: the test judged nothing"
            assert (count_words(ingest, "flushed"), search.results("LIST c flushed")) == (0, [])
            assert search.results(f'QUERY c flushed "{made_up(7)}"') == []
            wait_for(control, "fst_consolidate_count", 0)
            until(lambda: graph_files(large_server) <= before, "graphs of what was flushed go")
            assert ingest.ask('PUSH c flushed o "valeriane" LANG(none)') == "OK"
            assert control.ask("TRIGGER consolidate") == "OK"
            assert search.results("LIST c flushed") == ["valeriane"]
            assert ingest.ask("FLUSHB c flushed") == "RESULT 1"

    @pytest.mark.full
    def test_ping_beside_the_end_of_many_buckets(self, large_server: Server) -> None:
        rounds: list[float] = []
        before = graph_files(large_server)
        while len(rounds) < ROUNDS and not (rounds and is_below(min(rounds), PING_S)):
            with Peer(large_server, "ingest") as ingest, Peer(large_server, "control") as control:
                lines = [f'PUSH many b{number} o "valeriane" LANG(none)' for number in range(400)]
                ingest.send_lines(*lines)
                assert set(ingest.lines(len(lines))) == {"OK"}
                assert control.ask("TRIGGER consolidate") == "OK"
                rounds.append(max(pings_beside(large_server, ingest, "FLUSHC many", "RESULT 1")))
                until(lambda: graph_files(large_server) <= before, "their graphs go")
        assert is_below(min(rounds), PING_S), rounds


def pings_beside(server: Server, other: Peer, line: str, answer: str) -> list[float]:
    """Return the times of PINGs in seconds while another connection waits for its answer, and for a second after that.

    The server commits, prunes and deletes old files after its answer.
    """
    took = []
    with Peer(server, "search") as peer:
        other.send_lines(line)
        end = None
        while end is None or time.perf_counter() < end:
            took.append(ping_s(server, peer))
            if end is None and is_answered(other, 0.0005):
                assert other.line() == answer
                end = time.perf_counter() + 1
    return took


def is_answered(peer: Peer, seconds: float) -> bool:
    """Return whether the peer has bytes to read within `seconds`."""
    return bool(select.select([peer.socket], [], [], seconds)[0])


def in_the_middle(
    server: Server, control: Peer, act: Callable[[int], None], moment: Callable[[int], bool]
) -> int | None:
    """Send TRIGGER consolidate, stop the worker once `moment` holds, and act; the answer is left to be read.

    Returns:
        The process id of the worker; None: the job ended before `moment` was seen.
    """
    [worker] = workers_of(server)
    control.send_lines("TRIGGER consolidate")
    while not is_answered(control, 0):
        if moment(worker):
            os.kill(worker, signal.SIGSTOP)
            try:
                if moment(worker):
                    act(worker)
                    return worker
            finally:
                os.kill(worker, signal.SIGCONT)
    return None


def has_store_open(worker: int) -> bool:
    return any(name.endswith("/data.mdb") for name in proc.descriptors(worker).values())


class TestFiles:
    WORDS = "anker birne dampf"

    @pytest.mark.full
    def test_what_is_missing_or_damaged_is_built_again(self, in_tables: None, tmp_path: Path) -> None:
        buckets = ["missing", "half", "flipped", "whole"]
        with open_index(tmp_path) as index:
            for bucket in buckets:
                index.push("c", bucket, "o", self.WORDS, "none")
            index.consolidate()
            folder = index.engine.graphs.folder
            missing, half, flipped, whole = (index.engine.graphs.path(number, 1) for number in range(4))
        content = whole.read_bytes()
        missing.unlink()
        half.write_bytes(half.read_bytes()[:50])
        damaged = bytearray(flipped.read_bytes())
        damaged[60] ^= 4
        flipped.write_bytes(damaged)
        for name in ("3-2.graph", "3-2.graph.new", "3-1.graph.new", "8-1.graph"):
            (folder / name).write_bytes(content)
        (folder / "mine.txt").write_text("not of a server")
        with Server(tmp_path) as server, Peer(server, "search") as search, Peer(server, "ingest") as ingest:
            for bucket in ("half", "flipped", "whole"):
                assert search.results(f'QUERY c {bucket} "birne" LANG(none)') == ["o"]
                assert search.results(f"LIST c {bucket}") == self.WORDS.split()
                assert count_words(ingest, bucket) == 3
            rebuilt = {"0-2.graph", "1-2.graph", "2-2.graph", "3-1.graph", "mine.txt"}
            until(lambda: graph_files(server) == rebuilt, "three are built again, and nobody asked for the missing one")
            for bucket in buckets:
                assert search.results(f'SUGGEST c {bucket} "birme"') == ["birne"]
                assert search.results(f'QUERY c {bucket} "birme" LANG(none)') == ["o"]
            assert len(lines_with(" level=error ", server)) == 2, server.log()
            assert len(lines_with("1-1.graph", server)) == len(lines_with("2-1.graph", server)) == 1
            assert children(server) == set()

    def test_a_graph_that_cannot_be_written(self, tmp_path: Path) -> None:
        in_the_way = tmp_path / "store" / "graph" / "0-1.graph.new"
        in_the_way.mkdir(parents=True)
        with (
            Server(tmp_path, COMPAT) as server,
            Peer(server, "ingest") as ingest,
            Peer(server, "control") as control,
        ):
            for bucket in ("a", "b"):
                assert ingest.ask(f'PUSH c {bucket} o "{self.WORDS}" LANG(none)') == "OK"
            assert control.ask("TRIGGER consolidate") == "ERR internal_error"
            assert control.ask("PING") == "PONG"
            assert len(lines_with("cannot write the word graph", server)) == 1, "what the client is not told is logged"
            assert (count_words(ingest, "a"), count_words(ingest, "b")) == (0, 3), "the others are not held up"
            assert info(control)["fst_consolidate_count"] == 1
            in_the_way.rmdir()
            assert control.ask("TRIGGER consolidate") == "OK"
            assert (count_words(ingest, "a"), count_words(ingest, "b")) == (3, 3)


class TestLimits:
    def test_compat_mode_keeps_five_words(self, tmp_path: Path) -> None:
        settings = {**COMPAT, "store.fst.graph.max_words": 5, "server.log_level": "warn"}
        with (
            Server(tmp_path, settings) as server,
            Peer(server, "ingest") as ingest,
            Peer(server, "search") as search,
            Peer(server, "control") as control,
        ):
            for bucket in ("mw1", "mw2"):
                assert ingest.ask(f'PUSH c {bucket} o "xa xb xc" LANG(none)') == "OK"
                assert control.ask("TRIGGER consolidate") == "OK"
                assert count_words(ingest, bucket) == 3
                assert ingest.ask(f'PUSH c {bucket} o "aa ab ac ad" LANG(none)') == "OK"
                assert control.ask("TRIGGER consolidate") == "OK"
                assert count_words(ingest, bucket) == 5
                assert search.results(f"LIST c {bucket}") == ["aa", "ab", "ac", "ad", "xa"]
                assert search.results(f'QUERY c {bucket} "xc" LANG(none)') == ["o"]
            assert len(lines_with("bucket c/mw1 has 5 words in its word graph", server)) == 1, server.log()
            assert len(lines_with("max_words is 5", server)) == len(server.log().splitlines()) == 1, server.log()
            push_words(server, "large", range(2_000))
            assert control.ask("TRIGGER consolidate") == "OK"
            assert search.results("LIST c large") == sorted(map(made_up, range(5))), (
                "by a worker too: the first that came"
            )

    def test_a_small_file(self, tmp_path: Path) -> None:
        settings = {**COMPAT, "store.fst.graph.max_size": 3, "server.log_level": "warn"}
        with (
            Server(tmp_path, settings) as server,
            Peer(server, "ingest") as ingest,
            Peer(server, "search") as search,
            Peer(server, "control") as control,
        ):
            push_words(server, "large", range(2_000))
            assert control.ask("TRIGGER consolidate") == "OK"
            [file] = (tmp_path / "store" / "graph").iterdir()
            assert file.stat().st_size <= 3 * 1024
            kept = count_words(ingest, "large")
            assert 20 < kept < 2_000
            assert search.results(f"LIST c large LIMIT({kept + 1})") == sorted(map(made_up, range(2_000)))[:kept]
            assert len(lines_with("max_size 3 KiB", server)) == len(server.log().splitlines()) == 1, server.log()

    def test_the_default_mode_only_says_so(self, tmp_path: Path) -> None:
        settings = {"store.fst.graph.max_words": 5, "store.fst.graph.max_size": 1, "server.log_level": "warn"}
        with Server(tmp_path, settings) as server, Peer(server, "control") as control, Peer(server, "search") as search:
            words = sorted(map(made_up, range(300)))
            for bucket in ("a", "b"):
                push_words(server, bucket, range(300))
                assert control.ask("TRIGGER consolidate") == "OK"
                assert search.results(f"LIST c {bucket} LIMIT(500)") == words
                assert search.results(f'SUGGEST c {bucket} "{words[-1]}x" LIMIT(1)') == [words[-1]]
            assert len(lines_with("bucket c/a has 300 words (", server)) == 1, server.log()
            assert len(lines_with("max_words is 5", server)) == len(server.log().splitlines()) == 1, server.log()
