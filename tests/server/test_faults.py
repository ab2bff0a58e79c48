"""The machine fails under a running server: the server logs a sentence, loses no acknowledged change, and works again
as soon as possible.
"""

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import sonicpy
from tests.disk import disk, fill
from tests.processes import HOST, Server, free_port, refused_start
from tests.server.peer import Peer
from tests.support import proc
from tests.support.patience import is_within, until

resource = pytest.importorskip("resource")

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="needs what only Linux offers")


def comes_back(peer: Peer, line: str) -> bool:
    """Wait until the server accepts a change again, without a restart; return whether it does."""
    return until(lambda: peer.ask(line) == "OK", "it accepts a change again", pause_s=0.05)


def faults(server: Server) -> list[str]:
    """Return the distinct errors of the log, without their times."""
    return sorted({line.partition(" msg=")[2] for line in server.log().splitlines() if "level=error" in line})


def all_are_there(server: Server, oids: list[str]) -> bool:
    """Return whether the bucket holds exactly these objects, each found by its own word."""
    with Peer(server, "ingest") as ingest, Peer(server, "search") as search:
        search.send_lines(*(f'QUERY disk b "own{oid}" LANG(none)' for oid in oids))
        events = search.lines(2 * len(oids))[1::2]
        return [event.split()[3:] for event in events] == [[oid] for oid in oids] and ingest.ask(
            "COUNTB disk b"
        ) == f"RESULT {len(oids)}"


@pytest.mark.full
@LINUX
@pytest.mark.parametrize("durability", ["interval", "commit"])
def test_a_full_disk_that_gets_room_again(tmp_path: Path, durability: str) -> None:
    settings = {"store.kv.durability": durability, "search.query_alternates_try": 0}
    with disk(tmp_path / "disk") as folder:
        server = Server(folder, settings)
        held = [f"o{number}" for number in range(50)]
        with server, Peer(server, "ingest") as ingest:
            for oid in held:
                assert ingest.ask(f'PUSH disk b {oid} "own{oid} common" LANG(none)') == "OK"
            time.sleep(0.2)
            filler = fill(folder)
            refused = 0
            for number in range(50, 1_500):
                answer = ingest.ask(f'PUSH disk b o{number} "owno{number} {f"w{number} " * 300}" LANG(none)')
                if answer == "OK":
                    held.append(f"o{number}")
                elif (refused := refused + 1) == 100:
                    break
            assert refused == 100, "the disk was hardly ever full"
            assert all_are_there(server, held), "reading goes on, and what was refused did not happen"
            filler.unlink()
            assert comes_back(ingest, 'PUSH disk b later "ownlater"')
            held.append("later")
            assert all_are_there(server, held)
            server.kill()
        with server:
            assert all_are_there(server, held)


@LINUX
def test_a_disk_that_can_only_be_read(tmp_path: Path) -> None:
    with disk(tmp_path / "disk") as folder:
        store = folder / "store"
        arguments = ["--inet", f"{HOST}:{free_port()}", "--data", str(store)]
        for exists in (False, True):
            if exists:
                subprocess.run(["mount", "-o", "remount,rw", str(folder)], check=True)
                with sonicpy.Index(store) as index:
                    index.push("disk", "b", "o", "text")
            subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
            status, said = refused_start(arguments, tmp_path)
            assert status == 1
            assert re.fullmatch(rf"sonicpy: cannot write the store folder {store}: Read-only file system\n", said), said


def limit_files(server: Server, more: int | None) -> None:
    """Limit the server to `more` further open files; None: no limit."""
    _, hard = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)
    used = max(proc.descriptors(server.pid)) + 1
    resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (hard if more is None else used + more, hard))


@LINUX
@pytest.mark.full
def test_out_of_descriptors(tmp_path: Path) -> None:
    """Without a new segment, a sync, a worker or a graph, the server still accepts changes, and loses none."""
    text = "x" * 19_000
    pushes = 1_000  # more than a segment of the log holds
    with Server(tmp_path, {"search.query_alternates_try": 0}) as server:
        with Peer(server, "ingest") as ingest, Peer(server, "control") as control, Peer(server, "search") as search:
            ingest.send_lines(*(f'PUSH disk b o{number} "owno{number} rest{number}"' for number in range(2_000)))
            assert ingest.lines(2_000) == ["OK"] * 2_000
            limit_files(server, 0)
            for _ in range(pushes // 50):
                ingest.send_lines(*[f'PUSH disk b o0 "{text}" LANG(none)'] * 50)
                assert ingest.lines(50) == ["OK"] * 50
            assert control.ask("TRIGGER consolidate") == "ERR internal_error"
            assert search.results('QUERY disk b "owno77"') == ["o77"]
            assert ingest.ask('PUSH disk b late "ownlate"') == "OK"
            until(lambda: any("cannot sync the log" in line for line in faults(server)), "a sync fails", pause_s=0.1)
            said = faults(server)
            assert any("cannot sync the log" in line and "Too many open files" in line for line in said), said
            assert any("cannot begin the log file" in line and "Too many open files" in line for line in said), said
            limit_files(server, None)
            assert control.ask("TRIGGER consolidate") == "OK"
            assert ingest.ask('PUSH disk b later "ownlater"') == "OK"
            assert len(list((tmp_path / "store" / "log").glob("*.log"))) >= 1
        server.kill()
        server.start()
        held = [f"o{number}" for number in range(2_000)] + ["late", "later"]
        assert all_are_there(server, held)


CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>

/* A system clock that goes back by an hour every second. */
static long back(long seconds) { return seconds - 3600 * (seconds % 1000); }

int clock_gettime(clockid_t id, struct timespec *now)
{
    static int (*real)(clockid_t, struct timespec *);
    if (!real)
        real = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(id, now);
    if (!failed && id == CLOCK_REALTIME)
        now->tv_sec = back(now->tv_sec);
    return failed;
}

int gettimeofday(struct timeval *now, void *zone)
{
    struct timespec exact;
    int failed = clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return failed;
}

time_t time(time_t *at)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at)
        *at = now.tv_sec;
    return now.tv_sec;
}
"""


@LINUX
@pytest.mark.full
def test_a_clock_that_goes_backwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs a C compiler to replace the clock of the server")
    (tmp_path / "clock.c").write_text(CLOCK)
    library = tmp_path / "clock.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, tmp_path / "clock.c", "-ldl"], check=True)
    settings = {
        "channel.tcp_timeout": 2, "store.fst.graph.consolidate_after": 1, "search.query_alternates_try": 0
    }  # fmt: skip
    monkeypatch.setenv("LD_PRELOAD", str(library))
    code = "import time; a = time.time(); time.sleep(1.5); print(time.time() < a)"
    assert subprocess.check_output([sys.executable, "-c", code]) == b"True\n", "else it tests nothing"
    server = Server(tmp_path, settings)
    with server, Peer(server, "ingest") as ingest, Peer(server, "search") as search, Peer(server) as idle:
        held = [f"o{number}" for number in range(40)]
        for oid in held:
            assert ingest.ask(f'PUSH disk b {oid} "own{oid}"') == "OK"
            assert search.ask("PING") == "PONG"
            time.sleep(0.1)
        assert idle.line().startswith("CONNECTED <"), "it has ten seconds, by whatever clock"
        with Peer(server, "control") as control:
            uptime = int(control.ask("INFO").split("uptime(")[1].split(")")[0])
            assert 3 <= uptime <= 30
            until(lambda: "fst_consolidate_count(0)" in control.ask("INFO"), "it is consolidated")
        began = time.monotonic()
        assert search.rest() == b""
        assert is_within(4, began), "silent for longer than the idle time"
        ingest.close()
        server.kill()
        server.start()
        assert all_are_there(server, held)


def test_no_decision_depends_on_the_system_clock() -> None:
    wall = re.compile(r"\btime\.time(_ns)?\(|datetime\.(now|utcnow|today)|from time import|localtime|gmtime")
    sources = {path.name: path for path in Path(sonicpy.__file__).parent.rglob("*.py")}
    assert len(sources) > 50
    del sources["logs.py"]  # shows times to people
    del sources["moves.py"]  # compares the ages of folders that are not needed any more
    for name in ("key.py", "tokens.py", "admission.py"):
        del sources[name]  # keys and tokens end at a date, which their makers give
    del sources["registry.py"]  # numbers that rise even if the clock does not: all are larger than those before
    assert [name for name, path in sources.items() if wall.search(path.read_text(encoding="utf-8"))] == []
