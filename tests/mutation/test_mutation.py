"""The mutants are as expected, and the reasons for harmless ones still fit the code."""

import ast
from pathlib import Path

import pytest

from tests.mutation.harmless import HARMLESS
from tests.mutation.judge import Judge, Lines, Verdict
from tests.mutation.mutants import mutants_of, one_line, sample
from tests.mutation.native import NATIVE
from tests.mutation.targets import MUTANTS_MAX, TARGETS
from tests.support.paths import ROOT

SOURCE = '''\
"""Text."""
LIMIT = 10
def work(self, limit: int | None = 3) -> bool:
    """Do it: 1 + 2."""
    with self.lock:
        self.count += limit
    logger.error("%d", 1 + 1)
    if not self.ready and limit < LIMIT:
        raise ValueError(f"{limit + 1} is too many")
    return self.count == -1 in zip([], [], strict=True)
'''
EXPECTED = [
    (3, "3", "(4)"),
    (5, "with self.lock: self.count += limit", "if True: self.count += limit"),
    (6, "self.count += limit", "pass"),
    (8, "limit < LIMIT", "(limit <= LIMIT)"),
    (8, "not self.ready", "(self.ready)"),
    (8, "not self.ready and limit < LIMIT", "(not self.ready or limit < LIMIT)"),
    (9, 'raise ValueError(f"{limit + 1} is too many")', "pass"),
    (10, "return self.count == -1 in zip([], [], strict=True)", "return None"),
    (10, "self.count == -1 in zip([], [], strict=True)", "(self.count != -1 in zip([], [], strict=True))"),
    (10, "self.count == -1 in zip([], [], strict=True)", "(self.count == -1 not in zip([], [], strict=True))"),
]


def test_every_wrong_change_that_means_something_is_made_once() -> None:
    mutants = mutants_of("work.py", SOURCE)
    assert [(mutant.line, one_line(mutant.before), one_line(mutant.after)) for mutant in mutants] == EXPECTED
    for mutant in mutants:
        assert ast.dump(ast.parse(mutant.source)) != ast.dump(ast.parse(SOURCE)), mutant.name
    assert sample(mutants, 100) == mutants
    few = sample(mutants, 4)
    assert len(few) == 4 and [mutant for mutant in mutants if mutant in few] == few == sample(mutants, 4)


def test_there_are_not_too_many() -> None:
    assert sum(target.most for target in TARGETS.values()) + len(NATIVE) <= MUTANTS_MAX
    for target in TARGETS.values():
        for test in (*target.tests, *target.always):
            assert (ROOT / test.partition("::")[0]).exists(), test


@pytest.mark.parametrize("mutant", NATIVE, ids=lambda mutant: f"{mutant.module}: {one_line(mutant.before)}")
def test_mutants_of_native_code_can_be_made(mutant: object) -> None:
    assert isinstance(mutant, type(NATIVE[0]))
    assert (ROOT / mutant.path).read_text().count(mutant.before) == 1
    assert mutant.before != mutant.after


@pytest.mark.full
def test_what_is_called_harmless_is_a_mutant() -> None:
    for (path, code, before, after), why in HARMLESS.items():
        mutants = mutants_of(path, (ROOT / path).read_text())
        names = {(mutant.code, one_line(mutant.before), one_line(mutant.after)) for mutant in mutants}
        assert (code, before, after) in names, f"{path}: {code}"
        assert len(why.split()) > 3, f"{path}: {code}"


def test_a_mutant_is_judged_by_the_tests_that_run_its_line() -> None:
    lines = Lines(
        {"slow": 9.0, "quick": 1.0, "other": 2.0, "endless": 100.0},
        {"a.py": {3: ["slow", "quick"], 5: ["other"], 9: ["endless"]}},
    )
    assert lines.judges("a.py", 3) == lines.judges("a.py", 4) == ["quick", "slow"]
    assert lines.judges("a.py", 5) == ["other"]
    assert lines.judges("a.py", 20) == ["endless"], "at least one, however long it takes"
    assert lines.judges("a.py", 1) == ["quick", "other", "slow"], "it runs at import"
    assert lines.judges("b.py", 1) == []


@pytest.mark.full
def test_a_run_tells_killed_mutants_from_survivors(tmp_path: Path) -> None:
    path = "sonicpy/server/connections/passwords.py"
    judge = Judge(ROOT, tmp_path / "tree")
    lines = judge.measure(path, TARGETS[path])
    verdicts = {}
    for mutant in mutants_of(path, (ROOT / path).read_text()):
        if mutant.code in ("if attempts.wrong <= FREE:", "self.wrong = 0"):
            judge.put(path, mutant.source)
            tests = lines.judges(path, mutant.line)
            verdicts[mutant.code, mutant.after] = judge.verdict(tests, sum(lines.seconds[test] for test in tests))
    assert set(verdicts.values()) == {Verdict.KILLED, Verdict.SURVIVED}
    assert verdicts["if attempts.wrong <= FREE:", "(attempts.wrong < FREE)"] is Verdict.KILLED
    assert verdicts["self.wrong = 0", "pass"] is Verdict.SURVIVED
