"""The limits of HTTP, measured by the benchmark that prints them; and the figures of many buckets."""

import json
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="needs the extra [http]")

from tests.http.test_server import WithHttp
from tests.server.peer import Peer
from tests.support.patience import WAIT_S

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[2]
QUERY_CPU_MAX = 4.0
BULK_RATE_MIN = 0.6
PING_MS_MAX = 20.0
ROUNDS = 3
"""The number of rounds, of which the best counts, because other programs may use the machine for a while."""
BUCKETS = 20_000
HITS, WORDS = 150, 4_000


def test_queries_and_rows_keep_their_bars() -> None:
    ratios, rates, pings = [], [], []
    for _ in range(ROUNDS):
        command = [sys.executable, "-m", "benchmarks.http", "500"]
        said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=3 * WAIT_S, check=True).stdout
        ratios.append(float(found(r"^  HTTP +\d+ +([\d.]+) x", said)))
        rates.append(float(found(r"bulk .* ([\d.]+) x", said)))
        late_ms = float(found(r"bulk .* late by ([\d.]+)", said))
        pings.append(float(found(r"bulk .* p99 ([\d.]+),", said)) - 2 * late_ms)
    assert min(ratios) <= QUERY_CPU_MAX
    assert max(rates) >= BULK_RATE_MIN
    assert min(pings) <= PING_MS_MAX


def found(pattern: str, text: str) -> str:
    match = re.search(pattern, text, re.MULTILINE)
    assert match is not None, text
    return match[1]


def test_figures_of_many_buckets_do_not_occupy_the_server(tmp_path: Path) -> None:
    rows = [
        json.dumps({"collection": "users", "bucket": f"user{number}", "object": "o", "text": "note"}).encode() + b"\n"
        for number in range(BUCKETS)
    ]
    with WithHttp(tmp_path) as server, server.asking() as asking:
        assert asking.stream("/v1/bulk", [b"".join(rows)]).body["pushed"] == BUCKETS
        began = time.perf_counter()
        assert asking.get("/v1/figures").body["index"]["buckets"] == BUCKETS
        first_s = time.perf_counter() - began
        began = time.perf_counter()
        for _ in range(20):
            assert asking.get("/v1/figures").status == 200
        assert time.perf_counter() - began < max(first_s * 5, 1.0), "the figures are shared"
        assert len(asking.get("/v1/buckets", collection="users").body["names"]) == 1_000


def test_the_words_of_many_hits_do_not_occupy_the_server(tmp_path: Path) -> None:
    words = [f"word{number}" for number in range(WORDS)]
    rows = [
        json.dumps({"collection": "c", "bucket": "b", "object": f"o{number}", "text": f"all {' '.join(words)}"}) + "\n"
        for number in range(HITS)
    ]
    shares = []
    with WithHttp(tmp_path) as server, server.asking() as asking, Peer(server, "search") as peer:
        assert asking.stream("/v1/bulk", [row.encode() for row in rows]).body["pushed"] == HITS
        for _ in range(ROUNDS):
            with ThreadPoolExecutor(1) as pool:
                began = time.perf_counter()
                asked = {"collection": "c", "bucket": "b", "text": "all", "limit": HITS, "shown": True}
                answer = pool.submit(asking.get, "/v1/search", **asked)
                longest_s = 0.0
                while not answer.done():
                    sent = time.perf_counter()
                    assert peer.ask("PING") == "PONG"
                    longest_s = max(longest_s, time.perf_counter() - sent)
            shares.append(longest_s / (time.perf_counter() - began))
            assert [len(each["words"]) for each in answer.result().body["shown"]] == [200] * HITS
    assert min(shares) < 0.5
