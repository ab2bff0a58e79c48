"""Mutate the code that must not lose anything, and print the wrong changes that no test noticed.

    python -m tests.mutation                          all targets, about two hours on one core
    python -m tests.mutation sonicpy/store/disk/folder.py  some of them; "native" means native code
    python -m tests.mutation --most 10                at most this many mutants of each

Results are written to --results, one JSON object per line, and a second run continues after them. The exit status is 1
if more than 5 % survive, or if a survivor was not reviewed yet.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.mutation.harmless import HARMLESS
from tests.mutation.judge import Judge, Verdict
from tests.mutation.mutants import Mutant, mutants_of, one_line, sample
from tests.mutation.native import NATIVE
from tests.mutation.targets import MUTANTS_MAX, TARGETS
from tests.support.paths import ROOT

NATIVE_NAME = "native"
SURVIVORS_MAX = 0.05


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one mutant."""

    path: str
    line: int
    code: str
    before: str
    after: str
    verdict: str
    seconds: float

    @property
    def name(self) -> str:
        """A description of the mutant in one line."""
        return f"{self.path}:{self.line}: {self.before} -> {self.after}"

    @property
    def why_harmless(self) -> str | None:
        """The reason why the mutant is harmless, if it was reviewed."""
        return HARMLESS.get((self.path, self.code, self.before, self.after))


class Results:
    """The results so far, in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.all = [Result(**json.loads(line)) for line in path.read_text().splitlines()] if path.exists() else []
        self._known = {result.name for result in self.all}

    def knows(self, name: str) -> bool:
        """Return whether a mutant has a result already."""
        return name in self._known

    def add(self, result: Result) -> None:
        """Add a result, and print it."""
        self.all.append(result)
        self._known.add(result.name)
        with open(self._path, "a") as file:
            file.write(json.dumps(asdict(result)) + "\n")
        print(f"{result.verdict:8} {result.seconds:5.1f} s  {result.name}"[:200], flush=True)


def mutate_python(judge: Judge, path: str, most: int, results: Results) -> None:
    """Judge the mutants of one Python file."""
    target = TARGETS[path]
    mutants = sample(mutants_of(path, (ROOT / path).read_text()), min(target.most, most))
    new = [mutant for mutant in mutants if not results.knows(mutant.name)]
    if not new:
        return
    lines = judge.measure(path, target)
    for mutant in new:
        began = time.monotonic()
        judge.put(path, mutant.source)
        tests = lines.judges(path, mutant.line)
        verdict = judge.verdict(tests, sum(lines.seconds[test] for test in tests)) if tests else Verdict.SURVIVED
        if verdict is Verdict.SURVIVED and target.always:
            verdict = judge.verdict([*target.always], START_S)
        results.add(result_of(mutant, verdict, began))
    judge.restore(path)


def result_of(mutant: Mutant, verdict: Verdict, began: float) -> Result:
    """Return the result of a mutant whose tests began at `began`."""
    seconds = round(time.monotonic() - began, 1)
    before, after = one_line(mutant.before), one_line(mutant.after)
    return Result(mutant.path, mutant.line, mutant.code, before, after, verdict.value, seconds)


START_S = 10.0
"""The approximate time in seconds of the tests that judge every mutant."""


def mutate_native(judge: Judge, most: int, results: Results) -> None:
    """Judge the mutants of native code, which were made by hand."""
    for made in NATIVE[:most]:
        source = (ROOT / made.path).read_text()
        assert source.count(made.before) == 1, f"{made.path} has not once {made.before!r}"
        line = source[: source.index(made.before)].count("\n") + 1
        code = source.splitlines()[line - 1].strip()
        changed = source.replace(made.before, made.after)
        mutant = Mutant(made.path, line, code, made.before, made.after, changed)
        if results.knows(mutant.name):
            continue
        began = time.monotonic()
        judge.put(made.path, changed)
        verdict = judge.verdict([*made.tests], made.seconds) if judge.build() else Verdict.KILLED
        results.add(result_of(mutant, verdict, began))
        judge.restore(made.path)
        judge.build()


def report(results: Results) -> int:
    """Print a table of all results and the survivors; return the exit status."""
    by_path: dict[str, Counter[str]] = {}
    for result in results.all:
        by_path.setdefault(result.path, Counter())[result.verdict] += 1
    print(f"\n{'file':44} {'mutants':>7} {'killed':>7} {'hang':>5} {'survived':>8}")
    for path, counted in sorted(by_path.items()):
        total = counted.total()
        print(f"{path:44} {total:7} {counted['killed']:7} {counted['hangs']:5} {counted['survived']:8}")
    survivors = [result for result in results.all if result.verdict == Verdict.SURVIVED]
    share = len(survivors) / max(1, len(results.all))
    print(f"\n{len(survivors)} of {len(results.all)} mutants survived: {share:.1%}")
    for result in survivors:
        print(f"  {result.name}\n      {result.why_harmless or 'NOT LOOKED AT'}")
    return int(share > SURVIVORS_MAX or any(result.why_harmless is None for result in survivors))


def main() -> int:
    """Run the command; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("targets", nargs="*", help=f"files, or {NATIVE_NAME}; default: all")
    parser.add_argument("--most", type=int, default=MUTANTS_MAX, help="mutants of each target")
    parser.add_argument("--results", type=Path, default=Path("mutation.jsonl"), help="default: %(default)s")
    arguments = parser.parse_args()
    chosen = arguments.targets or [*TARGETS, NATIVE_NAME]
    unknown = [name for name in chosen if name not in TARGETS and name != NATIVE_NAME]
    if unknown:
        parser.error(f"{unknown[0]} is no target; allowed are {', '.join([*TARGETS, NATIVE_NAME])}")
    results = Results(arguments.results)
    with tempfile.TemporaryDirectory(prefix="sonicpy-mutation-") as folder:
        judge = Judge(ROOT, Path(folder) / "tree")
        for name in chosen:
            if name == NATIVE_NAME:
                mutate_native(judge, arguments.most, results)
            else:
                mutate_python(judge, name, arguments.most, results)
    return report(results)


if __name__ == "__main__":
    sys.exit(main())
