"""Any bytes as input of the channel and the lexer: a few in the gate, and a minute of a coverage-guided fuzzer."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.fuzz.targets import TARGETS, Target, channel, lexer, seeds
from tests.support.examples import examples

ROOT = Path(__file__).resolve().parents[2]
FUZZ_S = 60
INPUT_BYTES = 25_000
"""The number of bytes of an input: more than a line may have."""

SEEDS = list(seeds())
TORN = st.tuples(st.sampled_from(SEEDS), st.integers(0), st.integers(0), st.binary(max_size=8)).map(
    lambda drawn: mutated(*drawn)
)
FED = st.binary(max_size=400) | TORN


def mutated(seed: bytes, start: int, end: int, put: bytes) -> bytes:
    """Return the seed with the bytes between two places replaced."""
    first, last = sorted((start % (len(seed) + 1), end % (len(seed) + 1)))
    return seed[:first] + put + seed[last:]


@settings(deadline=None, max_examples=examples(300))
@given(FED)
@example(b"\x02\x00" + b"x" * 20_002)
@example(b"\x00\x09" + b"x" * 20_001 + b"\n")
def test_any_bytes_into_the_channel(fed: bytes) -> None:
    channel(fed)


@settings(deadline=None, max_examples=examples(300))
@given(FED | st.text(max_size=200).map(lambda text: b"\x00\x01" + text.encode("utf-8", "surrogatepass")))
def test_any_text_into_the_lexer(fed: bytes) -> None:
    lexer(fed)


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_every_seed_passes(target: Target) -> None:
    assert len(SEEDS) > 100
    for number, seed in enumerate(SEEDS):
        target(bytes([number % 4]) + seed[1:])


@pytest.mark.full
@pytest.mark.timeout(3 * FUZZ_S)
@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="needs the extra [fuzz]")
@pytest.mark.parametrize("name", TARGETS)
def test_a_minute_of_fuzzing(tmp_path: Path, name: str) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(SEEDS):
        (corpus / str(number)).write_bytes(seed)
    done = subprocess.run(
        [
            sys.executable, "-m", "tests.fuzz.run", name, str(corpus),
            f"-max_total_time={FUZZ_S}", f"-max_len={INPUT_BYTES}", f"-artifact_prefix={tmp_path}/", "-seed=1",
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4_000:]
    assert "DONE" in done.stderr or "Done" in done.stderr, done.stderr[-1_000:]
