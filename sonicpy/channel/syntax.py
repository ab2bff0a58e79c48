"""How the line of each command is read: one row of COMMANDS for each, and `parse` that follows the row.

Order of checks: shape of the line, META arguments, bounds of LIMIT. A line of another shape is refused with the usage
text of its row, which clients show to people and which therefore never changes.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from sonicpy._native.channel import take_text, take_words
from sonicpy.channel import commands
from sonicpy.channel.commands import Command, Mode, SessionCommand
from sonicpy.channel.lines import LINE_MAX_BYTES
from sonicpy.channel.meta import NO_META, Meta, read_meta
from sonicpy.errors import CommandError

SEARCH = frozenset({Mode.SEARCH})
INGEST = frozenset({Mode.INGEST})
CONTROL = frozenset({Mode.CONTROL})
EVERY_MODE = frozenset(Mode)

ANY_NUMBER = LINE_MAX_BYTES
"""No line has more words than bytes."""

ACTIONS = {"consolidate": "", "backup": " <path>", "restore": " <path>"}
"""What TRIGGER can start, and what follows its name in the usage text."""


OUR_META_KEYS = frozenset({"SCORES"})
"""Sonic knows none of them: unknown in compat mode, and not in the usage texts, which clients compare."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How many results a command gives without LIMIT, and at most."""

    query_default: int = 10
    query_maximum: int = 100
    suggest_default: int = 5
    suggest_maximum: int = 20
    list_default: int = 100
    list_maximum: int = 500


@dataclass(frozen=True, slots=True)
class Rules:
    """What reading a command depends on besides its line."""

    limits: Limits
    lang_codes: frozenset[str]


Build = Callable[[list[str], Meta, Rules], Command | SessionCommand]
"""Makes a command of its words (the text is the last of them) and META arguments."""


@dataclass(frozen=True, slots=True)
class Syntax:
    """The shape of a line: plain words, then perhaps a quoted text, then META arguments."""

    name: str
    modes: frozenset[Mode]
    usage: str
    build: Build
    words: int = 0
    optional_words: int = 0
    has_text: bool = False
    meta_keys: frozenset[str] = frozenset()
    """Without any, nothing may follow the words and the text."""
    is_ours: bool = False
    """Sonic has no such command: unknown in compat mode, and not told by HELP, whose lines clients compare."""


def parse(syntax: Syntax, line: bytes, offset: int, rules: Rules) -> Command | SessionCommand:
    """Return the command in `line`, whose first word led to `syntax` and whose second begins at byte `offset`.

    Raises:
        CommandError: the line breaks a rule; the codes are those of the order of checks.
    """
    words, offset = take_words(line, offset, syntax.words + syntax.optional_words)
    if len(words) < syntax.words:
        raise CommandError("invalid_format", syntax.usage)
    if syntax.has_text:
        text, offset = take_text(line, offset)
        if text is None:
            raise CommandError("invalid_format", syntax.usage)
        words.append(text)
    if offset == len(line):
        return syntax.build(words, NO_META, rules)
    if not syntax.meta_keys:
        raise CommandError("invalid_format", syntax.usage)
    parts, _ = take_words(line, offset)
    return syntax.build(words, read_meta(parts, syntax.meta_keys, rules.lang_codes), rules)


def _query(words: list[str], meta: Meta, rules: Rules) -> Command:
    collection, bucket, text = words
    limit = _within(meta.limit, rules.limits.query_default, rules.limits.query_maximum)
    return commands.Query(collection, bucket, text, limit, meta.offset, meta.lang, meta.scores)


def _explain(words: list[str], meta: Meta, rules: Rules) -> Command:
    collection, bucket, text = words
    limit = _within(meta.limit, rules.limits.query_default, rules.limits.query_maximum)
    return commands.Explain(collection, bucket, text, limit, meta.lang)


def _suggest(words: list[str], meta: Meta, rules: Rules) -> Command:
    collection, bucket, word = words
    limit = _within(meta.limit, rules.limits.suggest_default, rules.limits.suggest_maximum)
    return commands.Suggest(collection, bucket, word, limit)


def _list(words: list[str], meta: Meta, rules: Rules) -> Command:
    collection, bucket = words
    limit = _within(meta.limit, rules.limits.list_default, rules.limits.list_maximum)
    return commands.List(collection, bucket, limit, meta.offset)


def _within(limit: int | None, default: int, maximum: int) -> int:
    if limit is None:
        return default
    if not 1 <= limit <= maximum:
        raise CommandError("policy_reject", "LIMIT out of minimum/maximum bounds")
    return limit


def _push(words: list[str], meta: Meta, rules: Rules) -> Command:
    collection, bucket, oid, text = words
    return commands.Push(collection, bucket, oid, text, meta.lang)


def _trigger(words: list[str], meta: Meta, rules: Rules) -> Command | SessionCommand:
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


def _plain(kind: Callable[..., Command | SessionCommand]) -> Build:
    return lambda words, meta, rules: kind(*words)


def _always(command: Command | SessionCommand) -> Build:
    return lambda words, meta, rules: command


ROWS = (
    Syntax(
        "QUERY",
        SEARCH,
        'QUERY <collection> <bucket> "<terms>" [LIMIT(<count>)]? [OFFSET(<count>)]? [LANG(<locale>)]?',
        _query,
        words=2,
        has_text=True,
        meta_keys=frozenset({"LIMIT", "OFFSET", "LANG", *OUR_META_KEYS}),
    ),
    Syntax(
        "EXPLAIN",
        SEARCH,
        'EXPLAIN <collection> <bucket> "<terms>" [LIMIT(<count>)]? [LANG(<locale>)]?',
        _explain,
        words=2,
        has_text=True,
        meta_keys=frozenset({"LIMIT", "LANG"}),
        is_ours=True,
    ),
    Syntax(
        "SUGGEST",
        SEARCH,
        'SUGGEST <collection> <bucket> "<word>" [LIMIT(<count>)]?',
        _suggest,
        words=2,
        has_text=True,
        meta_keys=frozenset({"LIMIT"}),
    ),
    Syntax(
        "LIST",
        SEARCH,
        "LIST <collection> <bucket> [LIMIT(<count>)]? [OFFSET(<count>)]?",
        _list,
        words=2,
        meta_keys=frozenset({"LIMIT", "OFFSET"}),
    ),
    Syntax(
        "PUSH",
        INGEST,
        'PUSH <collection> <bucket> <object> "<text>" [LANG(<locale>)]?',
        _push,
        words=3,
        has_text=True,
        meta_keys=frozenset({"LANG"}),
    ),
    Syntax("POP", INGEST, 'POP <collection> <bucket> <object> "<text>"', _plain(commands.Pop), words=3, has_text=True),
    Syntax(
        "COUNT",
        INGEST,
        "COUNT <collection> [<bucket> [<object>]?]?",
        _plain(commands.Count),
        words=1,
        optional_words=2,
    ),
    Syntax("COUNTC", INGEST, "COUNTC <collection>", _plain(commands.CountC), words=1),
    Syntax("COUNTB", INGEST, "COUNTB <collection> <bucket>", _plain(commands.CountB), words=2),
    Syntax("COUNTO", INGEST, "COUNTO <collection> <bucket> <object>", _plain(commands.CountO), words=3),
    Syntax("FLUSHC", INGEST, "FLUSHC <collection>", _plain(commands.FlushC), words=1),
    Syntax("FLUSHB", INGEST, "FLUSHB <collection> <bucket>", _plain(commands.FlushB), words=2),
    Syntax("FLUSHO", INGEST, "FLUSHO <collection> <bucket> <object>", _plain(commands.FlushO), words=3),
    Syntax("TRIGGER", CONTROL, "TRIGGER [<action>]? [<data>]?", _trigger, optional_words=ANY_NUMBER),
    Syntax("INFO", CONTROL, "INFO", _always(commands.Info())),
    Syntax(
        "STATS",
        CONTROL,
        "STATS [<collection> [<bucket>]?]?",
        _plain(commands.Stats),
        optional_words=2,
        is_ours=True,
    ),
    Syntax("VERIFY", CONTROL, "VERIFY", _always(commands.Verify()), is_ours=True),
    Syntax("PING", EVERY_MODE, "PING", _always(commands.Ping())),
    Syntax("HELP", EVERY_MODE, "HELP [<manual>]?", _plain(commands.Help), optional_words=1),
    Syntax("QUIT", EVERY_MODE, "QUIT", _always(commands.Quit())),
)

COMMANDS = {row.name: row for row in ROWS}
"""Every command by its name, in the order of HELP."""

COMMANDS_OF_MODE = {mode: {name: row for name, row in COMMANDS.items() if mode in row.modes} for mode in Mode}

SONIC_COMMANDS_OF_MODE = {
    mode: {
        name: replace(row, meta_keys=row.meta_keys - OUR_META_KEYS) for name, row in rows.items() if not row.is_ours
    }
    for mode, rows in COMMANDS_OF_MODE.items()
}
"""Those that Sonic has too."""
