"""Random fixed filters, filters of tokens and queries within this process: answers show nothing outside, by the
reference implementation of filters.
"""

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

import sonicpy
from sonicpy.access.admission import Permit
from sonicpy.access.grant import Grant
from sonicpy.access.key import make_key
from sonicpy.access.rates import Rates
from sonicpy.channel.commands import CountFacets, Query, Suggest
from sonicpy.server.connections.dispatch import CALLS, Postponed, Take
from sonicpy.server.connections.fixed_filters import coarse_reply, within
from sonicpy.server.connections.permits import guarded
from sonicpy.server.connections.serving import CommandKind
from sonicpy.server.watching.server_statistics import Tally
from tests.reference.filters import Condition, Thing, condition_by, meets, text_of

WORDS = ["river", "rivers", "harbour", "bridge", "market", "bread", "mountain"]
TAGS = ["size:s", "size:m", "team:a", "team:b", 'odd "tag"', "draft"]


@pytest.fixture(scope="module")
def things() -> list[Thing]:
    chance = random.Random(5)
    found = []
    for number in range(60):
        words = {*chance.sample(WORDS, 2), f"only{'abcdefghij'[number % 10]}{'klmnop'[number // 10]}"}
        tags = set(chance.sample(TAGS, chance.randint(0, 3)))
        values = {name: chance.randint(-50, 50) for name in ("price", "time") if chance.random() < 0.7}
        found.append(Thing(f"o{number}", number, words, tags, values))
    return found


@pytest.fixture(scope="module")
def index(things: list[Thing]) -> Iterator[sonicpy.Index]:
    with sonicpy.open(":memory:") as made:
        for thing in things:
            made.push("c", "b", thing.name, " ".join(sorted(thing.words)), tags=sorted(thing.tags), values=thing.values)
        yield made


def kinds_of(grant: Grant) -> dict[type, CommandKind]:
    """Return the kinds of commands of a connection with a key."""
    key = make_key("web", bytes(32), {"scopes": ["c"]})
    permit = Permit(grant, key, lambda name: key, Rates())
    kinds = {kind: CommandKind(call, Tally("QUERY"), False, False) for kind, call in CALLS.items()}
    return guarded(kinds, permit)


def asks(index: sonicpy.Index, things: list[Thing], chance: random.Random, questions: int) -> None:
    """Send random queries with a random key, and compare the answers with the reference implementation."""
    fixed = [condition_by(chance, TAGS, 2) for _ in range(chance.randint(1, 2))]
    grant = Grant("web", filters=tuple(text_of(each, chance) for each in fixed))
    kinds = kinds_of(grant)

    def passing(asked: Condition | None) -> list[Thing]:
        every = fixed if asked is None else [*fixed, asked]
        return [thing for thing in things if all(meets(each, thing) for each in every)]

    for _ in range(questions):
        asked = condition_by(chance, TAGS, 1) if chance.random() < 0.6 else None
        filter = None if asked is None else text_of(asked, chance)
        seen = passing(asked)
        words: set[str] = set().union(*(thing.words for thing in seen))
        text = " ".join(chance.sample([*WORDS, "onlyak", "rivr", "ma", "onl"], chance.randint(1, 2)))
        sort = chance.choice([None, None, "price", "-time", "newest"])
        signs = chance.choice(["", "", f"-{chance.choice(WORDS)}", f"-{chance.choice(WORDS)} {text}"])
        query = Query(
            "c", "b", signs or chance.choice([text, " "]), 100, 0, None, total=True, whole=True, scores=True,
            filter=filter, sort=sort, boost=chance.choice([None, "price"]) if sort is None else None,
            complete=chance.random() < 0.5, how=chance.random() < 0.3, syntax="web" if signs else "plain",
        )  # fmt: skip
        total, whole, *items = ask(kinds, index, query)
        items = items[query.how :]
        names = {item.split(":")[0] for item in items}
        assert names <= {thing.name for thing in seen}
        assert int(total) == len(items)
        assert int(whole) <= int(total) if query.is_by_score else whole == "-"
        if not query.text.strip() and (filter is not None or sort is not None):
            assert names == {thing.name for thing in seen}
        assert set(ask(kinds, index, Suggest("c", "b", text.split()[-1], 20, filter))) <= words
        apart = chance.random() < 0.5
        facets = CountFacets("c", "b", "", 100, None, filter=filter, of="*", ranges="price: 0,20", apart=apart)
        counted = json.loads(kinds[CountFacets].call(index, facets).decode().partition("RESULT ")[2])
        assert counted["total"] == len(seen)
        among = passing(None) if apart else seen
        for tag, count in counted["tags"][""].items():
            assert count <= sum(tag in thing.tags for thing in among)
            assert apart or count == sum(tag in thing.tags for thing in among)
        prices = sum(count for _, _, count in counted["ranges"]["price"])
        assert prices <= sum("price" in thing.values for thing in among)


def ask(kinds: dict[type, CommandKind], index: sonicpy.Index, command: Any) -> list[str]:
    event = kinds[type(command)].call(index, command).decode().split("\r\n")[1]
    return [item for item in event.split(" ")[3:] if item]


def test_nothing_outside_is_shown(index: sonicpy.Index, things: list[Thing]) -> None:
    for seed in range(25):
        asks(index, things, random.Random(seed), 8)


@pytest.mark.full
def test_nothing_outside_is_shown_to_many(index: sonicpy.Index, things: list[Thing]) -> None:
    for seed in range(1_000, 1_500):
        asks(index, things, random.Random(seed), 40)


def test_answers_of_other_nodes_are_coarse_too() -> None:
    grant = Grant("web", filters=("a",))
    given: list[Any] = []

    def postpone(target: Any, command: Query) -> bytes:
        assert command.filter == "(a)"
        raise Postponed(answer)

    def answer(take: Take) -> None:
        take(b"PENDING x\r\nEVENT QUERY x o1:2.345678\r\n")
        take(None)

    kinds: dict[type, CommandKind] = {Query: CommandKind(postpone, Tally("QUERY"), False, False)}
    key = make_key("web", bytes(32), {"scopes": ["c"]})
    calls = guarded(kinds, Permit(grant, key, lambda name: key, Rates()))
    with pytest.raises(Postponed) as postponed:
        calls[Query].call(None, Query("c", "b", "x", 10, 0, None, scores=True))
    assert postponed.value.ask is not None
    postponed.value.ask(given.append)
    assert given[0].endswith(b" o1:2.340000\r\n")
    assert given[1] is None


def test_commands_that_take_long_are_bounded_too() -> None:
    grant = Grant("web", filters=("a", "b OR c"))
    asked = Query("c", "b", "x", 10, 0, None, scores=True, filter="d")
    assert within(grant, asked).filter == "(a) AND (b OR c) AND (d)"  # type: ignore[union-attr]
    assert coarse_reply(asked, b"ERR invalid_argument(x)\r\n") == b"ERR invalid_argument(x)\r\n"
