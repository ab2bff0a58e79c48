"""The syntax of each command: a row of COMMANDS for each, and `parse`, which reads a line by its row.

Nearly all lines are plain: clients write them as expected. `plain_reader` makes the compiled reader of these, which
leaves all other lines to `parse`.

The checks come in this order: shape of the line, META arguments, bounds of LIMIT. The error for a wrong shape holds the
usage text of the row, which clients show to people and which therefore never changes.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from types import MappingProxyType
from typing import Any

from sonicpy._native.plain import PlainLine, PlainReader
from sonicpy._native.quoting import take_text, take_words
from sonicpy.channel import commands
from sonicpy.channel.commands import Command, Mode, SessionCommand
from sonicpy.channel.line_buffer import LINE_MAX_BYTES
from sonicpy.channel.meta_arguments import keys_given, read_meta
from sonicpy.errors import CommandError
from sonicpy.langcodes import NO_LANGUAGE
from sonicpy.option_kinds import Languages
from sonicpy.options import BUCKETS, LIMIT_CEILING, OPTIONS, Option

SEARCH = frozenset({Mode.SEARCH})
INGEST = frozenset({Mode.INGEST})
CONTROL = frozenset({Mode.CONTROL})
EVERY_MODE = frozenset(Mode)

ANY_NUMBER = LINE_MAX_BYTES
"""The most words of a line, which has no more words than bytes."""

ACTIONS = {"consolidate": "", "backup": " <path>", "restore": " <path>"}
"""Action of TRIGGER -> its arguments in the usage text."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The default and the maximum of LIMIT, for each command that takes it."""

    query_default: int = 10
    query_maximum: int = 100
    suggest_default: int = 5
    suggest_maximum: int = 20
    list_default: int = 100
    list_maximum: int = 500


@dataclass(frozen=True, slots=True)
class LineRules:
    """The state of a session that affects how a line is read."""

    limits: Limits
    languages: Languages


EMPTY = b'""'
ABOUT_ALL = frozenset({"FILTER", "SORT", "GROUP", "PHRASE"})
"""The options with which a command may have an empty text, which means all objects."""
NO_META: Mapping[str, Any] = MappingProxyType({})

Build = Callable[[list[str], Mapping[str, Any], LineRules], Command | SessionCommand]
"""A function that makes a command from its words (the text is the last one) and the values of its options by name."""


@dataclass(frozen=True, slots=True)
class Syntax:
    """The shape of a line: words, then perhaps a quoted text, then META arguments."""

    name: str
    modes: frozenset[Mode]
    usage: str
    build: Build
    words: int = 0
    optional_words: int = 0
    has_text: bool = False
    options: Mapping[str, Option] = field(default_factory=dict)
    """META key -> its option. Without options, nothing may follow the words and the text."""
    is_ours: bool = False
    """Whether Sonic lacks the command: compat mode refuses it, and HELP, whose lines clients compare, does not name
    it.
    """
    has_texts: bool = False
    """Whether any number of quoted texts, or one word, follow."""

    @property
    def is_bare(self) -> bool:
        """Whether the command has no options in Sonic."""
        return not self.is_ours and all(option.is_ours for option in self.options.values())


def parse(syntax: Syntax, line: bytes, offset: int, rules: LineRules) -> Command | SessionCommand:
    """Return the command in `line`, whose first word is that of `syntax` and whose second begins at byte `offset`.

    Raises:
        CommandError: the line breaks a rule; the first failed check gives the code.
    """
    words, offset = _words(syntax, line, offset)
    if len(words) < syntax.words:
        raise CommandError("invalid_format", syntax.usage)
    if syntax.has_text:
        text, offset = take_text(line, offset)
        if text is None and _is_about_all(syntax, line, offset):
            text, offset = "", offset + len(EMPTY)
        if text is None:
            raise CommandError("invalid_format", syntax.usage)
        words.append(text)
    if syntax.has_texts:
        more, offset = _texts(line, offset)
        words += more
    if offset == len(line):
        return syntax.build(words, NO_META, rules)
    if not syntax.options or (syntax.is_bare and not _begins_option(syntax, line, offset)):
        raise CommandError("invalid_format", syntax.usage)
    return syntax.build(words, read_meta(line, offset, syntax.options, rules.languages), rules)


def _begins_option(syntax: Syntax, line: bytes, offset: int) -> bool:
    words, _ = take_words(line, offset, 1)
    return any(words[0].startswith(f"{key}(") for key in syntax.options)


def _words(syntax: Syntax, line: bytes, offset: int) -> tuple[list[str], int]:
    """Return the words of a line, and the offset behind them. An option may be in the place of the last optional word;
    before it, a word that begins as an option does is a name.
    """
    count = syntax.words + syntax.optional_words
    if not (syntax.optional_words and syntax.options):
        return take_words(line, offset, count)
    words, offset = take_words(line, offset, count - 1)
    last, behind = take_words(line, offset, 1)
    if not last or any(last[0].startswith(f"{key}(") for key in syntax.options):
        return words, offset
    return words + last, behind


@dataclass(frozen=True, slots=True)
class CommandBuilder:
    """Makes a command whose fields are its words, its text, and its options by name.

    Attributes:
        words: the number of fields that are words or a text.
        bounds: returns the default and the maximum of LIMIT; None: the command has no LIMIT.
    """

    kind: type[Any]
    words: int
    bounds: Callable[[Limits], tuple[int, int]] | None = None

    def __call__(self, words: list[str], values: Mapping[str, Any], rules: LineRules) -> Any:
        """Return the command."""
        return self.kind(*words, *self.rest(values, rules))

    def rest(self, values: Mapping[str, Any], rules: LineRules) -> tuple[Any, ...]:
        """Return the fields that follow the words. Raises CommandError if LIMIT is out of bounds."""
        defaults, places = _rest_of(self.kind, self.words)  # type: ignore[arg-type]  # a class can be hashed
        rest = list(defaults)
        for name, value in values.items():
            if name in places:
                rest[places[name]] = value
        if self.bounds is not None and "limit" in places:
            rest[places["limit"]] = _within(values.get("limit"), *self.bounds(rules.limits))
        return tuple(rest)


@cache
def _rest_of(kind: type[Any], words: int) -> tuple[tuple[Any, ...], dict[str, int]]:
    """Return the fields of a command behind its words, as for a line without options, and their places by name."""
    names = kind._fields[words:]
    return tuple(EVERY_DEFAULT[name] for name in names), {name: place for place, name in enumerate(names)}


class CountBuilder(CommandBuilder):
    """Makes COUNT, whose options follow a bucket."""

    def __call__(self, words: list[str], values: Mapping[str, Any], rules: LineRules) -> Any:
        """Return the command. Raises CommandError if there are options, but the words name something else than a
        bucket.
        """
        if values and len(words) != len(BUCKET.split()):
            raise CommandError("invalid_format", f"COUNT {BUCKET} [{BUCKETS.usage}]?")
        return self.kind(*words, **values)


EVERY_DEFAULT = {option.name: option.default for options in OPTIONS.values() for option in options}
"""Option -> its value in a line that does not give it; LIMIT is missing."""


def _texts(line: bytes, offset: int) -> tuple[list[str], int]:
    """Return the quoted texts from `offset` on, or one word, and the offset behind them."""
    if not line.startswith(b'"', offset):
        return take_words(line, offset, 1)
    texts: list[str] = []
    while True:
        text, offset = take_text(line, offset)
        if text is None:
            return texts, offset
        texts.append(text)


def _is_about_all(syntax: Syntax, line: bytes, offset: int) -> bool:
    """Return whether an empty text at `offset` of the line means all objects: it does in FACETS, and in other commands
    if an option such as a filter follows it.
    """
    if not line.startswith(EMPTY, offset) or ABOUT_ALL.isdisjoint(syntax.options):
        return False
    return syntax.name == "FACETS" or not ABOUT_ALL.isdisjoint(keys_given(line, offset + len(EMPTY), syntax.options))


def plain_reader(rows: Iterable[Syntax], rules: LineRules, answers: Mapping[str, bytes]) -> PlainReader:
    """Return a reader of plain lines of `rows`, and of lines that consist of a key of `answers`."""
    lines = [
        _plain_line(row, row.build, rules)
        for row in rows
        if isinstance(row.build, CommandBuilder) and not row.optional_words
    ]
    return PlainReader([*lines, *(PlainLine(name.encode(), answer) for name, answer in answers.items())])


def _plain_line(row: Syntax, builder: CommandBuilder, rules: LineRules) -> PlainLine:
    return PlainLine(
        row.name.encode(),
        builder.kind,
        row.words,
        row.has_text,
        builder.rest(NO_META, rules),
        limit_maximum=0 if builder.bounds is None else min(builder.bounds(rules.limits)[1], LIMIT_CEILING),
        has_offset="OFFSET" in row.options,
        lang_codes=rules.languages.codes | {NO_LANGUAGE} if "LANG" in row.options else frozenset(),
    )


def _of_query(limits: Limits) -> tuple[int, int]:
    return limits.query_default, limits.query_maximum


def _of_suggest(limits: Limits) -> tuple[int, int]:
    return limits.suggest_default, limits.suggest_maximum


def _of_list(limits: Limits) -> tuple[int, int]:
    return limits.list_default, limits.list_maximum


def _within(limit: int | None, default: int, maximum: int) -> int:
    if limit is None:
        return default
    if not 1 <= limit <= maximum:
        raise CommandError("policy_reject", "LIMIT out of minimum/maximum bounds")
    return limit


def _trigger(words: list[str], values: Mapping[str, Any], rules: LineRules) -> Command | SessionCommand:
    if not words:
        return commands.Actions()
    action, *arguments = words
    action = action.lower()
    if action not in ACTIONS:
        raise CommandError("not_found")
    takes = 1 if ACTIONS[action] else 0
    if len(arguments) != takes:
        raise CommandError("invalid_format", f"TRIGGER {action}{ACTIONS[action]}")
    return commands.Trigger(action, arguments[0] if arguments else None)


POSITION_DIGITS = 10
SYNONYMS = "SYNONYMS <collection> [LIST [<position>]? | SET [<rule>]* | ADD [<rule>]*]?"


def _synonyms(words: list[str], values: Mapping[str, Any], rules: LineRules) -> Command | SessionCommand:
    collection, *rest = words
    action, given = (rest[0].upper(), rest[1:]) if rest else ("LIST", [])
    if action == "LIST" and len(given) <= 1 and all(map(_is_position, given)):
        return commands.Synonyms(collection, *map(int, given))
    if action not in ("SET", "ADD"):
        raise CommandError("invalid_format", SYNONYMS)
    return commands.SetSynonyms(collection, tuple(given), action == "ADD")


def _is_position(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) <= POSITION_DIGITS


def _always(command: Command | SessionCommand) -> Build:
    return lambda words, values, rules: command


def _row(
    name: str,
    modes: frozenset[Mode],
    arguments: str,
    kind: type[Any],
    bounds: Callable[[Limits], tuple[int, int]] | None = None,
    *,
    optional_words: int = 0,
    is_ours: bool = False,
    make: type[CommandBuilder] = CommandBuilder,
) -> Syntax:
    """Return the row of a command whose fields are its arguments and its options.

    Args:
        name: the first word of the line.
        modes: the modes of a session that allow the command.
        arguments: the arguments as the usage text names them: words, `"<text>"` for a quoted text, optional words at
            the end.
        kind: the type of the command.
        bounds: returns the default and the maximum of LIMIT; None: the command has no LIMIT.
        optional_words: the number of words that may be missing.
        is_ours: whether Sonic lacks the command.
        make: the class that makes the command from a line.
    """
    options = OPTIONS.get(name, ())
    named = [f"[{option.usage}]?" for option in options if is_ours or not option.is_ours]
    has_text = '"<' in arguments
    words = arguments.count("<") - has_text - optional_words
    return Syntax(
        name,
        modes,
        " ".join(filter(None, (name, arguments, *named))),
        make(kind, words + optional_words + has_text, bounds),
        words,
        optional_words,
        has_text,
        {option.key: option for option in options},
        is_ours,
    )


BUCKET = "<collection> <bucket>"
OBJECT = f"{BUCKET} <object>"

ROWS = (
    _row("QUERY", SEARCH, f'{BUCKET} "<terms>"', commands.Query, _of_query),
    _row("EXPLAIN", SEARCH, f'{BUCKET} "<terms>"', commands.Explain, _of_query, is_ours=True),
    _row("FACETS", SEARCH, f'{BUCKET} "<terms>"', commands.CountFacets, _of_list, is_ours=True),
    _row("SUGGEST", SEARCH, f'{BUCKET} "<word>"', commands.Suggest, _of_suggest),
    _row("LIST", SEARCH, BUCKET, commands.List, _of_list),
    _row("COLLECTIONS", SEARCH, "", commands.Collections, _of_list, is_ours=True),
    _row("BUCKETS", SEARCH, "<collection>", commands.Buckets, _of_list, is_ours=True),
    _row("OBJECTS", SEARCH, BUCKET, commands.Objects, _of_list, is_ours=True),
    _row("EXISTS", SEARCH, OBJECT, commands.Exists, is_ours=True),
    _row("SIMILAR", SEARCH, OBJECT, commands.Similar, _of_query, is_ours=True),
    _row("PUSH", INGEST, f'{OBJECT} "<text>"', commands.Push),
    _row("UPSERT", INGEST, f'{OBJECT} "<text>"', commands.Upsert, is_ours=True),
    _row("TAG", INGEST, OBJECT, commands.Tag, is_ours=True),
    _row("POP", INGEST, f'{OBJECT} "<text>"', commands.Pop),
    _row("COUNT", INGEST, "<collection> [<bucket> [<object>]?]?", commands.Count, optional_words=2, make=CountBuilder),
    _row("COUNTC", INGEST, "<collection>", commands.CountC),
    _row("COUNTB", INGEST, BUCKET, commands.CountB),
    _row("COUNTO", INGEST, OBJECT, commands.CountO),
    _row("FLUSHC", INGEST, "<collection>", commands.FlushC),
    _row("FLUSHB", INGEST, BUCKET, commands.FlushB),
    _row("FLUSHO", INGEST, OBJECT, commands.FlushO),
    _row("FLUSHV", INGEST, f"{BUCKET} [<column>]?", commands.FlushV, optional_words=1, is_ours=True),
    _row("FLUSH", INGEST, BUCKET, commands.FlushPassing, is_ours=True),
    _row("CLAIM", INGEST, f'{BUCKET} "<owner>"', commands.Claim, is_ours=True),
    Syntax("SYNONYMS", INGEST, SYNONYMS, _synonyms, 1, 1, has_texts=True, is_ours=True),
    Syntax("TRIGGER", CONTROL, "TRIGGER [<action>]? [<data>]?", _trigger, optional_words=ANY_NUMBER),
    Syntax("INFO", CONTROL, "INFO", _always(commands.Info())),
    _row("STATS", CONTROL, "[<collection> [<bucket>]?]?", commands.Stats, optional_words=2, is_ours=True),
    Syntax("VERIFY", CONTROL, "VERIFY", _always(commands.Verify()), is_ours=True),
    Syntax("PING", EVERY_MODE, "PING", _always(commands.Ping())),
    _row("HELP", EVERY_MODE, "[<manual>]?", commands.Help, optional_words=1),
    Syntax("QUIT", EVERY_MODE, "QUIT", _always(commands.Quit())),
)

COMMANDS = {row.name: row for row in ROWS}
"""Every command by its name, in the order of HELP."""

COMMANDS_OF_MODE = {mode: {name: row for name, row in COMMANDS.items() if mode in row.modes} for mode in Mode}


def additions(mode: Mode) -> list[str]:
    """Return the usage of the commands and options of a mode that Sonic lacks."""
    rows = COMMANDS_OF_MODE[mode].values()
    return [
        f"{row.name} {option.usage}"
        for row in rows
        if not row.is_ours
        for option in row.options.values()
        if option.is_ours
    ] + [row.usage for row in rows if row.is_ours]


def _of_sonic(row: Syntax) -> dict[str, Option]:
    return {key: option for key, option in row.options.items() if not option.is_ours}


SONIC_COMMANDS_OF_MODE = {
    mode: {name: replace(row, options=_of_sonic(row)) for name, row in rows.items() if not row.is_ours}
    for mode, rows in COMMANDS_OF_MODE.items()
}
"""Mode -> the commands that Sonic has, too, by name."""
