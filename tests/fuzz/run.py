"""Run a coverage-guided fuzzer that searches for bytes that break a target; the exit status is not 0 if it finds any.

    python -m tests.fuzz.run channel|lexer CORPUS -max_total_time=60

CORPUS is a folder; inputs that reach new code are added to it, and a crash is left in the working folder. Only the
Python code is instrumented.
"""

import sys

import atheris

with atheris.instrument_imports(include=["sonicpy"]):
    from tests.fuzz.targets import TARGETS

if __name__ == "__main__":
    target = TARGETS[sys.argv[1]]
    atheris.Setup([sys.argv[0], *sys.argv[2:]], target)
    atheris.Fuzz()
