"""Print the cost of queries and push_many in an asyncio program: called on the event loop, and on another thread.

    python -m benchmarks.in_asyncio [TEXTS]

Texts are chat messages, queries are neighbouring words of random messages (tests/support/texts.py). Times are
wall-clock times. While rows are pushed, a task wakes up every millisecond, and its longest delay is printed: the
longest time that the event loop was blocked.
"""

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from statistics import quantiles

import sonicpy
from benchmarks.command_line import parse_count
from tests.support.texts import messages, oid, queries

TEXTS = 50_000
QUERIES = 3_000
TICK_S = 0.001
C, B = "messages", "default"


def main() -> None:
    count = parse_count("in_asyncio", __doc__, "TEXTS", TEXTS)
    texts = messages(count)
    print(f"{count} texts of {sum(map(len, texts)) / count:.0f} characters")
    with tempfile.TemporaryDirectory() as folder, sonicpy.open(folder) as index:
        asyncio.run(measure(index.bucket(C, B), texts))


async def measure(bucket: sonicpy.Bucket, texts: list[str]) -> None:
    rows = [(oid(number), text) for number, text in enumerate(texts)]
    half = len(rows) // 2

    async def inline() -> None:
        bucket.push_many(rows[:half])

    async def on_a_thread() -> None:
        await asyncio.to_thread(bucket.push_many, rows[half:])

    await push("push_many, inline", inline, half)
    await push("push_many, asyncio.to_thread", on_a_thread, len(rows) - half)
    for text in queries(texts, 2, 3 * QUERIES)[2 * QUERIES :]:
        bucket.query(text)  # warm up with other queries than the timed ones
    inline_s, on_a_thread_s = [], []
    for text, other in zip(*[iter(queries(texts, 2, 2 * QUERIES))] * 2, strict=True):  # in turn: other work hits both
        began = time.perf_counter()
        bucket.query(text)
        between = time.perf_counter()
        await asyncio.to_thread(bucket.query, other)
        inline_s.append(between - began)
        on_a_thread_s.append(time.perf_counter() - between)
    show("query of 2 words, inline", inline_s)
    show("query of 2 words, asyncio.to_thread", on_a_thread_s)


async def push(name: str, work: Callable[[], Awaitable[None]], count: int) -> None:
    """Print the rate of a push, and the longest time that the event loop was blocked."""
    waits = [0.0]

    async def tick() -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(TICK_S)
            waits.append(time.perf_counter() - began - TICK_S)

    ticking = asyncio.create_task(tick())
    await asyncio.sleep(2 * TICK_S)
    began = time.perf_counter()
    await work()
    seconds = time.perf_counter() - began
    await asyncio.sleep(2 * TICK_S)
    ticking.cancel()
    print(f"{name:38} {count / seconds:8.0f} texts/s   the loop waited for at most {max(waits) * 1e3:7.1f} ms")


def show(name: str, times: list[float]) -> None:
    percentiles = quantiles(times, n=100)
    print(f"{name:38} {percentiles[9] * 1e6:8.0f} us (p10) {percentiles[49] * 1e6:8.0f} us (p50)")


if __name__ == "__main__":
    main()
