"""A pytest plugin that writes the lines of the targets that each test runs, and the CPU time of the test.

pytest -p tests.mutation.measure ...     MUTATION_LINES names the file for the result, MUTATION_TARGETS the targets
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from coverage import Coverage

IMPORTED = ""
"""The context of lines that run before the first test."""


class Measure:
    """Switches the context of the measurement at each test."""

    def __init__(self, targets: list[str], result: Path) -> None:
        self._targets = targets
        self._result = result
        self._seconds: dict[str, float] = {}
        self._coverage = Coverage(data_file=None, include=targets, config_file=False)
        self._coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Measure one test with its fixtures."""
        self._coverage.switch_context(item.nodeid)
        began = cpu_s()
        result = yield
        self._seconds[item.nodeid] = cpu_s() - began
        return result

    def pytest_sessionfinish(self) -> None:
        """Write the result."""
        self._coverage.stop()
        data = self._coverage.get_data()
        lines: dict[str, dict[int, list[str]]] = {}
        for target in self._targets:
            found = data.contexts_by_lineno(str(Path(target).resolve()))
            lines[target] = {line: [test for test in tests if test != IMPORTED] for line, tests in found.items()}
        self._result.write_text(json.dumps({"seconds": self._seconds, "lines": lines}))


def cpu_s() -> float:
    """Return the CPU seconds of this process and of those that it started, which a busy machine affects less than a
    clock.
    """
    return sum(os.times()[:4])


def pytest_configure(config: pytest.Config) -> None:
    """Begin to measure."""
    targets = os.environ["MUTATION_TARGETS"].split(os.pathsep)
    config.pluginmanager.register(Measure(targets, Path(os.environ["MUTATION_LINES"])))
