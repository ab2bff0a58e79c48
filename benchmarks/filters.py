"""Print the CPU time of queries with filters, orders and facets beside the bars of the project.

    python -m benchmarks.filters [OBJECTS] [FOLDER]

An index in this process holds OBJECTS short texts, each with a vector, a time, a price, tags of 10 holders to half of
all, one of 100 colors and one of 10,000 shops. Each kind of question is asked in rounds, each time with another text,
tag or bound, after a round that is not counted; the figures are the median and the 99th percentile in microseconds of
CPU. FOLDER is kept for the next run. Then a server answers facets, with PINGs beside them.
"""

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median, quantiles
from typing import Any, NamedTuple

import sonicpy
from benchmarks.corpora import vocabulary
from benchmarks.pings import print_pings
from benchmarks.versus.workload import BUCKET, COLLECTION
from tests.support.texts import SEED

OBJECTS = 1_000_000
WORDS = 3
ASKED = 300
"""The number of questions of a kind."""
SLOW_ASKED = 15
"""The number of those that count over all objects."""
FACETS_ASKED = 200
START_S = 1_700_000_000
PRICE_MAX = 1_000_000
NUMBERS = 384
"""The numbers of a vector."""
HOLDERS = (10, 100, 1_000, 10_000, 100_000, 500_000)
"""The numbers of holders of tags in 1,000,000 objects."""
COLORS, SHOPS = 100, 10_000

Ask = Callable[[], object]


class Kind(NamedTuple):
    """A kind of questions.

    Attributes:
        make: returns a new question.
        bar_us: the most microseconds; None: see `beside`.
        beside: the kind to whose 99th percentile the own one is compared.
        asked: how many are asked.
    """

    make: Callable[[], Ask]
    bar_us: float | None = None
    beside: str | None = None
    asked: int = ASKED


def main() -> None:
    """Fill the index, ask, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.filters", description=__doc__.splitlines()[0])
    parser.add_argument("count", nargs="?", type=int, default=OBJECTS, metavar="OBJECTS")
    parser.add_argument("folder", nargs="?", type=Path, metavar="FOLDER")
    arguments = parser.parse_args()
    count = arguments.count
    with tempfile.TemporaryDirectory() as work:
        folder = (arguments.folder or Path(work)) / "store"
        is_filled = folder.exists()
        with sonicpy.open(folder) as index:
            if not is_filled:
                index.push_many(
                    rows(count), collection=COLLECTION, bucket=BUCKET, lang="none", new=True, tags="tags",
                    values=["time", "price"], vector="vector",
                )  # fmt: skip
                index.consolidate()
            print(f"{count:,} objects; CPU us of a question: median, p99, bar", flush=True)
            measure(kinds(index, count))
        print_pings(folder.parent, {f"facets of {of}": [facets_of(of)] * FACETS_ASKED for of in ("color:*", "shop:*")})


def facets_of(of: str) -> Callable[[sonicpy.Client], object]:
    """Return a question for facets over all objects."""
    return lambda client: client.facets(COLLECTION, BUCKET, "", of=of)


def rows(count: int) -> Iterator[dict[str, Any]]:
    """Yield `count` objects with random texts, tags, times and prices; every call yields the same."""
    chance, words, bits = random.Random(SEED), vocabulary(), random.Random(SEED)
    weights = [1 / (rank + 10) for rank in range(len(words))]
    texts = chance.choices(words, weights, k=count * WORDS)
    for number in range(count):
        tags = [f"one:{holders}" for holders in HOLDERS if chance.random() * OBJECTS < holders]
        tags += [f"color:{chance.randrange(COLORS)}", f"shop:{chance.randrange(SHOPS)}"]
        text = " ".join(texts[number * WORDS : (number + 1) * WORDS])
        price = chance.randrange(PRICE_MAX)
        more = {"time": START_S + 60 * number, "price": price, "vector": bits.randbytes(NUMBERS // 8)}
        yield {"id": str(number), "text": text, "tags": tags, **more}


def kinds(index: sonicpy.Index, count: int) -> dict[str, Kind]:
    """Return the kinds of questions about an index of `count` objects, by name."""
    chance, words = random.Random(SEED + 1), vocabulary()[:2_000]

    def asks(filter: Callable[[], str] | None, text: bool = False, **options: Any) -> Callable[[], Ask]:
        def make() -> Ask:
            asked = " ".join(chance.sample(words, 2)) if text else ""
            more = options if filter is None else {**options, "filter": filter()}
            return lambda: index.query(COLLECTION, BUCKET, asked, limit=10, lang="none", **more)

        return make

    def counts(**options: Any) -> Callable[[], Ask]:
        return lambda: lambda: index.facets(COLLECTION, BUCKET, "", **options)

    def tag(holders: int) -> Callable[[], str]:
        return lambda: f"one:{holders}"

    def prices(share: float) -> str:
        low = chance.randrange(round(PRICE_MAX * (1 - share)))
        return f"price > {low} AND price < {low + round(PRICE_MAX * share)}"

    def times(share: float) -> str:
        first = START_S + 60 * chance.randrange(round(count * (1 - share)))
        return f"time >= {first} AND time < {first + 60 * round(count * share)}"

    def meant() -> Ask:
        return asks(None, text=True, vector=chance.randbytes(NUMBERS // 8))()

    found = {"two words": Kind(asks(None, text=True)), "two words and a vector": Kind(meant, beside="two words")}
    for holders in HOLDERS:
        found[f"two words, a tag of {holders:,}"] = Kind(asks(tag(holders), text=True), beside="two words")
    found["two words, a tag and a range"] = Kind(
        asks(lambda: f"color:{chance.randrange(COLORS)} AND {prices(0.5)}", text=True), beside="two words"
    )
    for holders in HOLDERS:
        found[f"no text, a tag of {holders:,}"] = Kind(asks(tag(holders)), 50 if holders == HOLDERS[0] else 15)
    found |= {
        "no text, one of 10,000 tags": Kind(asks(lambda: f"shop:{chance.randrange(SHOPS)}"), 15),
        "no text, one of 10,000 tags, a range": Kind(
            asks(lambda: f"shop:{chance.randrange(SHOPS)} AND {prices(0.5)}"), 15
        ),
        "a range of times": Kind(asks(lambda: times(0.01)), 100),
        "a range of prices": Kind(asks(lambda: prices(0.1)), 150),
        "a narrow range of prices": Kind(asks(lambda: prices(0.001)), 150),
        "a range of prices with the total": Kind(asks(lambda: prices(0.1), total=True), 900, asked=SLOW_ASKED),
        "by time, one of 100 tags": Kind(asks(lambda: f"color:{chance.randrange(COLORS)}", sort="time"), 50),
        "by time, the newest first": Kind(asks(lambda: times(0.5), sort="-time"), 50),
        "by price of a tenth": Kind(asks(lambda: "one:100000", sort="price"), 1_000, asked=SLOW_ASKED),
        "facets of 100 tags": Kind(counts(of="color:*"), 3_000, asked=SLOW_ASKED),
        "facets of 10,000 tags": Kind(counts(of="shop:*"), 30_000, asked=SLOW_ASKED),
    }
    return found


def measure(found: dict[str, Kind]) -> None:
    """Ask the questions of each kind, and print a line for each."""
    highest: dict[str, float] = {}
    for name, kind in found.items():
        for warm in [kind.make() for _ in range(kind.asked)]:
            warm()
        times = sorted(spent_us(ask) for ask in [kind.make() for _ in range(kind.asked)])
        highest[name] = quantiles(times, n=100)[98]
        line = f"  {name:40}{median(times):10.1f}{highest[name]:10.1f}"
        if kind.beside is not None:
            line += f"   {highest[name] / highest[kind.beside]:.2f} x p99 of {kind.beside}"
        print(line if kind.bar_us is None else f"{line}{kind.bar_us:10,.0f}", flush=True)


def spent_us(ask: Ask) -> float:
    """Return the CPU microseconds of a question."""
    began = time.thread_time_ns()
    ask()
    return (time.thread_time_ns() - began) / 1_000


if __name__ == "__main__":
    main()
