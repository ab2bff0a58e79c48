"""Random scenarios: the commands of clients, in order. Equal seeds make equal scenarios."""

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

COLLECTION = "{c}"
"""The placeholder for the scenario's own collection, so that servers need no restart between scenarios."""
SEARCH, INGEST, CONTROL = "search", "ingest", "control"
TOGETHER = "together"
"""The connection of a step whose lines several connections send at the same time."""
WRITERS = 4
"""The number of connections of a step TOGETHER."""

PROFILES: dict[str, dict[str, object]] = {
    "default": {},
    "window of 3": {"store.kv.retain_word_objects": 3},
    "window of 1": {"store.kv.retain_word_objects": 1},
    "stemming": {"normalization.stemming_enabled": "true"},
    "folding": {"normalization.diacritic_folding_enabled": "true"},
    "nfkc": {"normalization.unicode_normalization": '"nfkc"'},
    "whole patterns": {"tokenization.compat_split_special_patterns": "false"},
    "no patterns": {"tokenization.detect_special_patterns": "false"},
    "no expansions": {"search.query_alternates_try": 0},
    "small graph": {"store.fst.graph.max_words": 5},
}
"""Name of a configuration -> its settings that differ from the defaults."""
WEIGHTS = (8, 2, 1, 2, 2, 1, 2, 1, 2, 1)
LIMITED_PROFILE = "small graph"
"""The configuration of scenarios with one bucket, because Sonic counts the words of all graphs that it builds at once,
in random order.
"""
STEMMING_PROFILE = "stemming"
WRITERS_PROFILE = "no expansions"
"""The configuration of scenarios with concurrent writers, because the result of an expansion depends on the order of
writers, in Sonic, too.
"""

WORDS = {
    "latin": "hello hallo help world word words alice bob running runner runs café cafe résumé naïve straße ÅNGSTRÖM "
    "office ﬁsh don't rock'n'roll responsibility responsibilities wonderful engine engines a I ox it".split(),
    "identifiers": "alice@example.com https://example.com/a?b=c #topic @Alice snake_case covid-19 running-42 v1.2.3 "
    "192.168.0.1 2024-01-31 +33612345678 _-_ foo_bar-baz CamelCase x-ray 3.14 1,000 #1 -1".split(),
    "greek": "ἕνα ὁδός λόγος Λόγος σοφός σοφόσ και".split(),
    "cyrillic": "привет мир книга книги був була вам Йод ёлка Ꙋма".split(),
    "cjk": "日本語 東京都 漢字 ひらがな カタカナ 今天天气 你好世界".split(),
    "hangul": "한국어 안녕하세요 한 국".split(),
    "arabic": "سلام كتاب الكتاب كِتَابٌ شكرا".split(),
    "hebrew": "שלום ספר הספר".split(),
    "thai": "สวัสดี ภาษาไทย ไทย".split(),
    "indic": "नमस्ते हिन्दी तमिळ ि தமிழ் বাংলা".split(),
    "odd": "𝐁oo ａｂｃ ⴁ İstanbul ß ẞ e\u0301te\u0301 \u0301 \u0345 👍 👩‍👩‍👧 ♥ ½ ² Ⅷ a\u00adb z\u200dz".split(),
    "other scripts": "አማርኛ ቋንቋ ភាសាខ្មែរ ខ្មែរ ພາສາລາວ བོད་སྐད མြန်မာ Հայերեն ქართული සිංහල ગુજરાતી ਪੰਜਾਬੀ "
    "ꯃꯤꯇꯩ ᐃᓄᒃ 𐐀𐐨 ⵜⴰ".split(),
    "marks": "שָׁלוֹם שָלום كِتَابٌ مُحَمَّد ﷺ e\u0301\u0323 e\u0323\u0301 \u1ec7 q\u0307\u0323 ｶﾞ ガ Å Å Ω ŉ ǅ ﬃ ſ İ ı".split(),
    "signs": [
        "👨‍👩‍👧‍👦",
        "🇫🇷🇩🇪",
        "👍🏽",
        "1️⃣",
        "a\u0001b",
        "a\u007fb",
        "a\u200bb",
        "\ufeffbom",
        "\u202edex",
        "a_",
        "_a",
        "__",
        "a--b",
        "a''b",
        "1,5",
        "a.b.c",
        "'",
        "(x)",
        "LIMIT(1)",
        "LANG(eng)",
        "x\u2028y",
        "x\u0085y",
        "x\u000by",
    ],
    "long": [letter * count for letter in "bw" for count in (12, 20, 38, 40, 41, 60)] + ["é" * 20, "é" * 21, "語" * 14],
}
LANGUAGES = ("none", "eng", "fra", "deu", "spa", "rus", "ell", "jpn", "cmn", "kor", "ara", "hin", "tha", "tur", "xxx")
OBJECTS = ("A", "B", "C", "D", "E", "conversation:1")
BUCKETS = ("b", "b", "b", "other")
GAPS = (
    " ",
    " ",
    " ",
    "  ",
    "\\n",
    ", ",
    ". ",
    "-",
    "/",
    "\u00a0",
    "\t",
    "\u2028",
    "\u200b",
    "\u3000",
    " — ",
    "…",
    "\\t",
    "\u000c",
)
NUMBERS = (
    "0", "1", "2", "3", "10", "20", "100", "101", "1000", "-1", "x", "", "70000", "01", "+1", " 1", "1 ", "1.0",
    "1e1", "-0", "\u0663", "\uff11", "65535", "65536", "4294967296", "99999999999999999999",
)  # fmt: skip
"""The values of LIMIT and OFFSET; those in the first half are more frequent."""
FREQUENT_NUMBERS = 13
ODD_METAS = (
    " LIMIT", " FOO(1)", " LIMIT(1", " LANG", " limit(2)", " OFFSET(1) OFFSET(2)", "LIMIT(1)", " LIMIT)", " LIMIT()",
    " LIMIT(1)OFFSET(1)", " LIMIT(2) LIMIT(x)", " LANG(eng) LANG(none)", " LANG(ENG)", " LANG(en)", " LANG()",
    " LANG(None)", " (1)", " x", ' "x"', " LIMIT(1))", " LIMIT((1))", " LIMIT[1]", "\tLIMIT(1)", "  LIMIT(1)  ",
    " LIMIT(1)\u3000OFFSET(0)", " PREFIX(a)", " AFTER(a)", " SCORES(1)", " TOTAL(1)", " STEM(0)", "\u200b", " \u0001",
)  # fmt: skip
ODD_LINES = (
    "PING", "ping now", "HELP", "HELP commands", "HELP x", "NOTHING", "QUERY", "QUERY {c}", "PUSH {c} b",
    "PUSH {c} b {name} {text}", "COUNT {c} {name}", "SUGGEST {c} b", "LIST {c} b x", "FLUSHO {c} b", "TRIGGER",
    "TRIGGER nothing", "QUERY {c} {name} {text}", "START search", "ſuggest", "  PING  ", "QUIT", "quit now",
    "START ingest x", "HELP COMMANDS", "HELP commands x", "TRIGGER consolidate now", "TRIGGER CONSOLIDATE",
    "TRIGGER backup", "TRIGGER restore", "TRIGGER backup /dev/null/x", "TRIGGER restore /dev/null/x",
    "push {c} b {name} {text}", "Query {c} b {text}", "LIST {c} b{meta}", "list {c} {name}{meta}",
    "COUNT {c} b {name} x", "COUNTB {c}", "COUNTC", "FLUSHB {c} b x", "FLUSHC", "\u00a0PING", "PING\u0000",
    "POP {c} b {name} {text}", "POP {c} b A {text}{meta}", "SUGGEST {c} {name} {text}{meta}",
)  # fmt: skip
LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Step:
    """A step: a line that a connection sends, or an action on the server."""

    connection: str
    """The mode and a number, such as `search 1`; TOGETHER; or empty for a restart."""
    line: bytes
    """The line without its end; empty for a restart; for TOGETHER, all lines, separated by line breaks."""
    is_set: bool = False
    """Whether the order of the objects in the answer is ignored."""

    @property
    def is_restart(self) -> bool:
        """Whether the server is stopped and started again in this step."""
        return not self.connection


RESTART = Step("", b"")
INFO = Step(f"{CONTROL} 1", b"INFO")
CONSOLIDATE = Step(f"{CONTROL} 1", b"TRIGGER consolidate")
PLACE = COLLECTION.encode()
TEXT = re.compile(
    rb'^(?P<head>(?P<command>PUSH|QUERY|POP|SUGGEST) [^"]*)"(?P<text>(?:[^"\\]|\\.)*(?:\\(?="$))?)"(?P<meta>.*)$',
    re.DOTALL,
)
"""The pattern of a line with a text, as most scenarios write it; the quotation mark that ends the line may be
escaped.
"""


@dataclass(frozen=True, slots=True)
class Scenario:
    """The steps for a server of one configuration."""

    seed: int
    profile: str
    steps: tuple[Step, ...]
    is_fresh: bool = False
    """Whether the server has to be without data, for the figures of INFO."""

    def with_steps(self, steps: Sequence[Step]) -> "Scenario":
        """Return the scenario with other steps."""
        return replace(self, steps=tuple(steps))


class Maker:
    """Makes the scenario of a seed."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._words = self._some_words()
        self._buckets: tuple[str, ...] = BUCKETS
        self._asks_language = self._chance.random() < 0.8
        """Whether every line with a text has a LANG; without it, Sonic guesses the language."""

    def scenario(self, seed: int) -> Scenario:
        """Return the scenario."""
        chance = self._chance
        profile = chance.choices(list(PROFILES), WEIGHTS)[0]
        if profile == LIMITED_PROFILE:
            self._buckets = BUCKETS[:1]
        steps = [self._push() for _ in range(chance.randint(1, 6))]
        for _ in range(chance.randint(4, 18)):
            step = chance.choices(list(ACTS), [weight for weight, _ in ACTS.values()])[0]
            act: Callable[[Maker], Sequence[Step]] = ACTS[step][1]
            steps += act(self)
        is_fresh = chance.random() < 0.01
        if is_fresh:
            for _ in range(3):
                steps.insert(chance.randrange(len(steps) + 1), INFO)
        for _ in range(2):
            if chance.random() < 0.03:
                steps.insert(chance.randrange(len(steps)), RESTART)
        if chance.random() < 0.1:
            profile = WRITERS_PROFILE
            steps += self.together()
        return Scenario(seed, profile, tuple(steps), is_fresh)

    def _some_words(self) -> list[str]:
        scripts = self._chance.sample(list(WORDS), self._chance.choice((1, 1, 2, 3)))
        words = [word for script in scripts for word in WORDS[script]]
        return self._chance.sample(words, min(len(words), self._chance.randint(3, 12)))

    # -- parts of lines --------------------------------------------------------------------------------------------

    def _word(self) -> str:
        word = self._chance.choice(self._words)
        return self._chance.choice((word, word, word, word, word.upper(), word.title()))

    def _typed(self) -> str:
        """Return a word as a user types it: whole, cut off, or with a mistake."""
        word = self._word()
        how = self._chance.random()
        if how < 0.45 or len(word) < 2:
            return word
        at = self._chance.randrange(1, len(word))
        letter = self._chance.choice(LETTERS)
        if how < 0.7:
            return word[:at]
        return self._chance.choice((word[:at] + letter + word[at:], word[:at] + letter + word[at + 1 :],
                                    word[:at] + word[at + 1 :]))  # fmt: skip

    def _text(self, word: Callable[[], str]) -> str:
        parts = [word()]
        for _ in range(self._chance.choice((0, 0, 1, 1, 2, 3, 5))):
            parts += [self._chance.choice(GAPS), word()]
        return self._quoted("".join(parts))

    def _quoted(self, text: str) -> str:
        how = self._chance.random()
        if how < 0.93:
            return f'"{text}"'
        return self._chance.choice(
            (f'"{text}\\"', text, '""', '" "', f'"\\\\ {text} \\q"', f'"{text}', f"'{text}'", f'"\\"{text}\\""',
             f'"{text} LIMIT(1)"', f'"{text}" "{text}"', f'"{text}"x', f'LIMIT(2) "{text}"', f'"{text}\\\\"',
             f'"a\\tb\\r\\n{text}"', f'"{text}\\\\\\""', '"\\n"',
             f'"\\u0041 {text}"', f'"" "{text}"', f'"{text}"LIMIT(1)')
        )  # fmt: skip

    def _meta(self, *keys: str) -> str:
        found = ""
        for key in self._chance.sample(keys, len(keys)):
            if key == "LANG":
                if self._asks_language or self._chance.random() < 0.2:
                    found += f" LANG({self._chance.choice(LANGUAGES)})"
            elif self._chance.random() < 0.3:
                frequent = self._chance.random() < 0.9
                value = self._chance.choice(NUMBERS[:FREQUENT_NUMBERS] if frequent else NUMBERS)
                found += f" {key}({value})"
        if self._chance.random() < 0.02:
            found += self._chance.choice(ODD_METAS)
        return found

    def _scope(self) -> str:
        return f"{COLLECTION} {self._chance.choice(self._buckets)}"

    def _object(self) -> str:
        return self._chance.choice(OBJECTS)

    def _step(self, mode: str, line: str) -> Step:
        data = line.encode()
        if self._chance.random() < 0.004:
            at = self._chance.randrange(len(data) + 1)
            data = data[:at] + self._chance.choice((b"\xff", b"\xc3", b"\xed\xa0\x80", b"\x00", b"\x1c")) + data[at:]
        return Step(f"{mode} {self._chance.choice((1, 1, 1, 2))}", data)

    # -- acts ------------------------------------------------------------------------------------------------------

    def _push(self) -> Step:
        return self._step(INGEST, f"PUSH {self._scope()} {self._object()} {self._text(self._word)}{self._meta('LANG')}")

    def push(self) -> list[Step]:
        """Return a PUSH of a text, sometimes twice."""
        step = self._push()
        return [step, step] if self._chance.random() < 0.1 else [step]

    def pop(self) -> list[Step]:
        """Return a POP of words of an object."""
        return [self._step(INGEST, f"POP {self._scope()} {self._object()} {self._text(self._word)}")]

    def flush(self) -> list[Step]:
        """Return a step that erases an object, a bucket or the collection."""
        line = self._chance.choice((f"FLUSHO {self._scope()} {self._object()}",) * 3 + (f"FLUSHB {self._scope()}",
                                   f"FLUSHC {COLLECTION}"))  # fmt: skip
        return [self._step(INGEST, line)]

    def again(self) -> list[Step]:
        """Return steps that remove an object or one of its words, push it again and search for the word."""
        scope, name, word = self._scope(), self._object(), self._word()
        gone = self._chance.choice((f"FLUSHO {scope} {name}", f'POP {scope} {name} "{word}"'))
        steps = [self._step(INGEST, gone), self._step(INGEST, f'PUSH {scope} {name} "{word}"{self._meta("LANG")}')]
        return [*steps, self._step(SEARCH, f'QUERY {scope} "{word}" LANG(none)')]

    def together(self) -> list[Step]:
        """Return steps that write on several connections at the same time, and then read the resulting state."""
        chance = self._chance
        lines = [
            f'PUSH {self._scope()} {self._object()} "{self._word()} {self._word()}" LANG(none)'
            for _ in range(chance.randint(8, 24))
        ]
        gone = "gone"  # an object that no other line of this step writes to
        first = [self._step(INGEST, f'PUSH {COLLECTION} b {gone} "{word}" LANG(none)') for word in self._words[:3]]
        lines.insert(chance.randrange(len(lines)), chance.choice((f"FLUSHO {COLLECTION} b {gone}", "PING")))
        asked = [CONSOLIDATE]
        for bucket in sorted(set(BUCKETS)):
            scope = f"{COLLECTION} {bucket}"
            counts = [f"COUNT {scope}", f"COUNTB {scope}", *(f"COUNTO {scope} {name}" for name in OBJECTS)]
            asked += [Step(f"{INGEST} 1", line.encode()) for line in counts]
            asked.append(Step(f"{SEARCH} 1", f"LIST {scope} LIMIT(100)".encode()))
            for word in self._words:
                line = f'QUERY {scope} "{word}" LIMIT(100) LANG(none)'
                asked.append(Step(f"{SEARCH} 1", line.encode(), is_set=True))
        return [*first, Step(TOGETHER, "\n".join(lines).encode()), *asked]

    def query(self) -> list[Step]:
        """Return steps that query a text, sometimes page by page."""
        text = self._text(self._typed)
        line = f"QUERY {self._scope()} {text}{self._meta('LIMIT', 'OFFSET', 'LANG')}"
        return [*self._consolidated(), self._step(SEARCH, line)]

    def suggest(self) -> list[Step]:
        """Return steps that complete or correct a word."""
        line = f"SUGGEST {self._scope()} {self._quoted(self._typed())}{self._meta('LIMIT')}"
        return [*self._consolidated(), self._step(SEARCH, line)]

    def words(self) -> list[Step]:
        """Return steps that list the words."""
        line = f"LIST {self._scope()}{self._meta('LIMIT', 'OFFSET')}"
        return [*self._consolidated(), self._step(SEARCH, line)]

    def count(self) -> list[Step]:
        """Return steps that count."""
        bucket, name = self._chance.choice(BUCKETS), self._object()
        line = self._chance.choice((f"COUNT {COLLECTION}", f"COUNT {COLLECTION} {bucket}", f"COUNTC {COLLECTION}",
                                    f"COUNT {COLLECTION} {bucket} {name}", f"COUNTB {COLLECTION} {bucket}",
                                    f"COUNTO {COLLECTION} {bucket} {name}"))  # fmt: skip
        return [*self._consolidated(), self._step(INGEST, line)]

    def odd(self) -> list[Step]:
        """Return steps with lines that clients send by mistake."""
        chance = self._chance
        mode = chance.choice((SEARCH, INGEST, CONTROL))
        name = chance.choice(("é", "x" * 128, "x" * 129, "a.b", "a/b", "*", "LIMIT(1)", '"A"', "-", "a\u0001"))
        line = chance.choice(ODD_LINES).replace("{name}", name).replace("{text}", self._text(self._typed))
        line = line.replace("{meta}", chance.choice(ODD_METAS))
        return [self._step(mode, line)]

    def packet(self) -> list[Step]:
        """Return steps that send several lines at once."""
        chance, scope, word = self._chance, self._scope(), self._word()
        searching = (
            f'QUERY {scope} "{word}" LANG(none)',
            f'SUGGEST {scope} "{word}"',
            f"LIST {scope}",
            "HELP",
            "x",
            "",
        )
        changing = (
            f'PUSH {scope} A "{word}" LANG(none)',
            f"COUNT {scope} A",
            f"COUNTB {scope}",
            f"FLUSHO {scope} A",
            "x",
            "",
        )
        mode, lines = chance.choice(((SEARCH, searching), (INGEST, changing)))
        return [Step(f"{mode} 1", "\n".join(chance.choices(lines, k=chance.randint(2, 6))).encode())]

    def long(self) -> list[Step]:
        """Return steps that push a text that fills the line, or is too long for it."""
        head, tail = f'PUSH {COLLECTION} b A "{self._word()} ', '" LANG(none)'
        room = self._chance.choice((19_000, 19_999, 20_000, 20_000, 20_001, 20_002, 30_000)) - len(
            (head + tail).encode()
        )
        return [Step(f"{INGEST} 1", (head + ("word " * room)[:room] + tail).encode())]

    def _consolidated(self) -> list[Step]:
        """Return, mostly, a step that consolidates, because SUGGEST, LIST and expansions see only consolidated
        words.
        """
        return [CONSOLIDATE] if self._chance.random() < 0.85 else []


ACTS: dict[str, tuple[float, Callable[[Maker], list[Step]]]] = {
    "push": (6, Maker.push),
    "pop": (3, Maker.pop),
    "flush": (2, Maker.flush),
    "again": (1, Maker.again),
    "query": (8, Maker.query),
    "suggest": (4, Maker.suggest),
    "list": (2, Maker.words),
    "count": (5, Maker.count),
    "odd": (2, Maker.odd),
    "packet": (1, Maker.packet),
    "long": (0.05, Maker.long),
}
"""Kind of step -> (frequency, method that makes it)."""


def make(seed: int) -> Scenario:
    """Return the scenario of a seed."""
    return Maker(seed).scenario(seed)
