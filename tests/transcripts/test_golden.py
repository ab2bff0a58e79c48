"""The golden transcripts: replay.py plays each whole file against a new server over a socket."""

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processes import environment, free_port
from tests.support.patience import WAIT_S

FOLDER = Path(__file__).parent
SERVE = f"{shlex.quote(sys.executable)} -m sonicpy serve -c {{config}}"
COMPAT = f"/usr/bin/env SONIC_SERVER__COMPAT=sonic {SERVE}"
COMPAT_WITHOUT_EXPANSIONS = f"/usr/bin/env SONIC_SERVER__COMPAT=sonic SONIC_SEARCH__QUERY_ALTERNATES_TRY=0 {SERVE}"

COMMON = ("--skip-quirks",)
GROUPS = 4
"""The number of parts of the recorded scenarios, which can be played at the same time."""
EXACT_THEMES = ("04", "06", "09", "15", "18", "20")
"""The beginnings of names of files about queries and words, in which no answer depends on expansions."""
SET_THEMES = ("01", "02", "03", "04", "08", "22", "23", "25")


WAITING = ("01-handshake.txt", "profile-autoconsolidate.txt", "profile-idle2.txt")
"""The files that wait for clocks, most of them ten seconds. They are played while the tests of the others run."""

Replay = subprocess.Popen[str]


def replay(command: str, files: list[str], *options: str) -> Replay:
    options = (*COMMON, *options, "--timeout", str(WAIT_S), "--port", str(free_port()), "--spawn", command)
    return subprocess.Popen(
        [sys.executable, str(FOLDER / "replay.py"), *options, *files],
        env=environment({}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.fixture(scope="module", autouse=True)
def waiting() -> Iterator[list[Replay]]:
    """Play each file that waits, in parallel with all tests of this module."""
    played = [replay(COMPAT, [str(FOLDER / "golden" / name)]) for name in WAITING]
    yield played
    for one in played:
        if one.poll() is None:  # its test was not selected, or failed before
            os.killpg(one.pid, signal.SIGTERM)  # its server, too
        one.communicate()


def themes(numbers: tuple[str, ...]) -> list[str]:
    return [str(path) for number in numbers for path in sorted((FOLDER / "golden").glob(f"{number}-*.txt"))]


def ended(played: Replay) -> subprocess.CompletedProcess[str]:
    said, errors = played.communicate(timeout=2 * WAIT_S)
    return subprocess.CompletedProcess(played.args, played.returncode, said, errors)


def check(done: subprocess.CompletedProcess[str], files: int) -> None:
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert f"total: {files} files, " in done.stdout
    assert "FAIL" not in done.stdout


@pytest.mark.full
def test_compat_mode_without_expansions_gives_the_same_exact_answers() -> None:
    files = themes(EXACT_THEMES)
    check(ended(replay(COMPAT_WITHOUT_EXPANSIONS, files)), len(files))


@pytest.mark.parametrize("group", range(GROUPS))
def test_compat_mode_answers_every_recorded_scenario_exactly(group: int) -> None:
    every = sorted(str(path) for path in (FOLDER / "golden").glob("*.txt") if path.name not in WAITING)
    files = every[group::GROUPS]
    check(ended(replay(COMPAT, files)), len(files))


def test_the_default_mode_speaks_the_same_protocol() -> None:
    # There names of objects may have letters of every script, emoji are words, words are shown up to 50 letters, and
    # every well-formed tag of a language is taken.
    options = ("--order", "set", "--skip-tag", "ascii-objects,first-rules,known-languages")
    check(ended(replay(SERVE, themes(SET_THEMES), *options)), len(SET_THEMES))


@pytest.mark.parametrize("place", range(len(WAITING)), ids=WAITING)
def test_compat_mode_answers_what_waits_for_clocks_exactly(place: int, waiting: list[Replay]) -> None:
    check(ended(waiting[place]), 1)
