"""Tests of the summary of a test run, and of the time limits of tests."""

import time

import pytest

from tests.support import patience
from tests.support.patience import WAIT_S, is_within, until
from tests.support.skips import OTHERS, kind_of

pytest_plugins = ["pytester"]

CONFTEST = "from tests.conftest import pytest_terminal_summary"
TESTS = """
import pytest

@pytest.mark.parametrize("number", range(20))
def test_of_data(number):
    pytest.skip(f"needs ../shared/data/{number}.tsv, which is not on this machine")

@pytest.mark.parametrize("number", range(10))
def test_of_sonic(number):
    pytest.skip("no Sonic: neither SONIC_BIN nor sonic on the PATH")

def test_that_fails():
    assert 1 == 2

def test_of_its_own():
    pytest.skip("nothing to do")
"""
REASONS = {
    "needs the extra [ja]": "packages of an extra",
    "needs the extras [zh] and [ja]": "packages of an extra",
    "needs pandas: pip install 'sonicpy-search[notebook]'": "packages of an extra",
    "schemathesis is not installed": "packages of an extra",
    "needs node and npm": "a program",
    "needs /proc to see the processes": "something of the system or its rights",
    "only lists in the order of objects have impacts": OTHERS,
}


def test_a_run_ends_with_what_failed_behind_a_line_for_each_kind_of_skips(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(TESTS)
    lines = pytester.runpytest("-n", "0", "-q").outlines
    assert [line for line in lines if " skipped for " in line] == [
        "20 skipped for lack of files of real text in ../shared/data",
        "10 skipped for lack of the original Sonic as a program",
        "1 skipped for other reasons",
    ]
    assert not [line for line in lines if line.startswith("SKIPPED")]
    *_, failed, closing = lines
    assert "::test_that_fails" in failed
    assert closing.startswith("1 failed, 31 skipped")


def test_each_skip_is_named_if_that_is_asked_for(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(TESTS)
    lines = pytester.runpytest("-n", "0", "-q", "-rs").outlines
    assert not [line for line in lines if " skipped for " in line]
    assert len([line for line in lines if line.startswith("SKIPPED")]) >= 3


@pytest.mark.parametrize("reason", REASONS)
def test_kinds_of_reasons(reason: str) -> None:
    assert kind_of(reason) == REASONS[reason]


def test_a_wait_ends_as_soon_as_it_can_and_fails_at_its_end() -> None:
    calls = iter([0, "", [], "found"])
    assert until(lambda: next(calls), pause_s=0) == "found"
    with pytest.raises(AssertionError, match="not within 0 s: nothing comes"):
        until(lambda: False, "nothing comes", pause_s=0.001, most_s=0.01)
    assert WAIT_S >= 60


def test_a_limit_is_longer_on_a_machine_that_is_slow_now(monkeypatch: pytest.MonkeyPatch) -> None:
    began_s = time.monotonic() - 10
    monkeypatch.setattr(patience, "measured_slowness", lambda: 1.0)
    assert is_within(20, began_s)
    assert not is_within(5, began_s)
    monkeypatch.setattr(patience, "measured_slowness", lambda: 4.0)
    assert is_within(5, began_s)
    assert not is_within(2, began_s)
