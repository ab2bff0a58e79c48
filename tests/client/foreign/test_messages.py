"""Real messages through one asonic connection, compared with a plain model before and after restarts.

The model is deliberately simple: the words of a message are its pieces between blanks that consist of ASCII letters. A
server may find more words, but a query for such a word must find every message with it, and only messages whose text
contains it.
"""

import asyncio
import random
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from unicodedata import normalize

import pytest
from asonic import Client
from asonic.enums import Channel
from asonic.exceptions import ServerError

from sonicpy.lexer.irregular import irregular_forms
from tests.client.foreign.test_asonic import connected
from tests.processes import Server
from tests.server.peer import Peer
from tests.support.shared_data import shared_data

SETTINGS = {"search.query_alternates_try": 0}
RARE = 10
SAMPLE = 400
REFUSED_MAX = 5
PAGE = 100
PAGES_MAX = 5
JOINTS = re.compile(r"[\W_]")
MORE = 500
"""The number of further messages that are pushed after the first restart."""


@dataclass(frozen=True, slots=True)
class Message:
    """One line of messages.tsv."""

    oid: str
    text: str

    def words(self) -> set[str]:
        return {piece.lower() for piece in self.text.split() if piece.isascii() and piece.isalpha()}


def messages(count: int) -> list[Message]:
    """Return the first `count` messages."""
    read = []
    with open(shared_data("messages/messages.tsv"), encoding="utf-8", newline="\n") as file:
        for line in file:
            number, _, text = line.rstrip("\n").split("\t", 2)
            read.append(Message(f"m{number}", text))
            if len(read) == count:
                break
    return read


@dataclass(frozen=True, slots=True)
class Model:
    """The messages that hold each of some rare words."""

    texts: dict[str, str]
    holders: dict[str, set[str]]

    @classmethod
    def of(cls, pushed: list[Message], chance: random.Random) -> "Model":
        counts = Counter(word for message in pushed for word in message.words())
        rarest = (min(message.words(), key=lambda word: (counts[word], word), default="") for message in pushed)
        rare = sorted({word for word in rarest if 0 < counts[word] < RARE})
        holders: dict[str, set[str]] = {word: set() for word in chance.sample(rare, min(SAMPLE, len(rare)))}
        for message in pushed:
            for word in message.words() & holders.keys():
                holders[word].add(message.oid)
        return cls({message.oid: message.text.lower() for message in pushed}, holders)

    def check(self, answers: dict[str, list[str]]) -> None:
        """Compare answers with the expected messages, word by word."""
        assert answers.keys() == self.holders.keys()
        for word, found in answers.items():
            assert len(found) == len(set(found)), word
            if len(found) < PAGE * PAGES_MAX:  # else objects with other forms of the word may have all these places
                assert self.holders[word] <= set(found), f"{word!r} does not find {self.holders[word] - set(found)}"
            for oid in found:  # a word also finds its other forms, which begin alike, and itself with joints (e.x.)
                text = self.texts[oid]
                spelled = "" if text.isascii() else normalize("NFKD", text)  # in other letters, too (aa: å)
                is_there = word[:2] in text or word[:2] in JOINTS.sub("", text) or word[0] in spelled
                is_there = is_there or any(form in text for form in irregular_forms(word))
                assert is_there, f"{word!r} finds {oid}: {text!r}"


async def push_all(server: Server, wanted: list[Message]) -> list[Message]:
    """Push messages one after the other; return the accepted ones, which are all but a few that the client cannot
    encode.
    """
    taken = []
    async with connected(server, Channel.INGEST, REFUSED_MAX + 1) as client:  # a refusal costs it a connection
        for message in wanted:
            try:
                assert await client.push("messages", "default", message.oid, message.text) == b"OK"
            except ServerError:
                assert "\\" in message.text, "it escapes quotes, but no backslashes"
            else:
                taken.append(message)
    assert len(wanted) - len(taken) <= REFUSED_MAX
    return taken


async def query_all(server: Server, texts: Iterable[str]) -> dict[str, list[str]]:
    async def found(client: Client, text: str) -> list[str]:
        oids: list[str] = []
        while len(oids) % PAGE == 0:
            page = await client.query("messages", "default", text, limit=PAGE, offset=len(oids))
            oids += [oid.decode() for oid in page]
            if not page or len(oids) == PAGES_MAX * PAGE:
                break
        return oids

    async with connected(server, Channel.SEARCH) as client:
        return {text: await found(client, text) for text in texts}


def count_objects(server: Server) -> int:
    with Peer(server, "ingest") as peer:
        return int(peer.ask("COUNTB messages default").removeprefix("RESULT "))


def push_query_restart(folder: Path, count: int) -> None:
    wanted = messages(count)
    chance = random.Random(count)
    server = Server(folder, SETTINGS)
    with server:
        first = asyncio.run(push_all(server, wanted[:-MORE]))
        texts = [message.text for message in first if "\\" not in message.text]  # the client escapes no backslash
        sentences = chance.sample(texts, SAMPLE // 2)
        assert count_objects(server) == len(first)
        model = Model.of(first, chance)
        by_word = asyncio.run(query_all(server, model.holders))
        model.check(by_word)
        by_sentence = asyncio.run(query_all(server, sentences))
        assert sum(map(bool, by_sentence.values())) > 0.9 * len(by_sentence), "real sentences find something"
    with server:
        assert count_objects(server) == len(first)
        assert asyncio.run(query_all(server, model.holders)) == by_word
        assert asyncio.run(query_all(server, sentences)) == by_sentence
        pushed = first + asyncio.run(push_all(server, wanted[-MORE:]))
        model = Model.of(pushed, chance)
        by_word = asyncio.run(query_all(server, model.holders))
        by_sentence = asyncio.run(query_all(server, sentences))
        server.kill()
    with server:
        assert count_objects(server) == len(pushed)
        model.check(by_word)
        assert asyncio.run(query_all(server, model.holders)) == by_word
        assert asyncio.run(query_all(server, sentences)) == by_sentence


@pytest.mark.full
def test_some_messages(tmp_path: Path) -> None:
    push_query_restart(tmp_path, 800)


@pytest.mark.full
@pytest.mark.timeout(900)
def test_all_messages(tmp_path: Path) -> None:
    push_query_restart(tmp_path, 330_000)
