"""How to read the line of each command: one row of COMMANDS for each, and `parse`, which follows the row.

Nearly all lines are plain: clients write them as expected. `plain_reader` makes the compiled reader of these, which
leaves all other lines to `parse`.

The checks come in this order: shape of the line, META arguments, bounds of LIMIT. The error for a wrong shape holds the
usage text of the row, which clients show to people and which therefore never changes.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from sonicpy._native.plain import PlainLine, PlainReader
from sonicpy._native.quoting import take_text, take_words
from sonicpy.channel import commands
from sonicpy.channel.commands import Command, Mode, SessionCommand
from sonicpy.channel.lines import LINE_MAX_BYTES
from sonicpy.channel.meta import LANG_NONE, LIMIT_CEILING, NO_META, Meta, read_meta
from sonicpy.errors import CommandError

SEARCH = frozenset({Mode.SEARCH})
INGEST = frozenset({Mode.INGEST})
CONTROL = frozenset({Mode.CONTROL})
EVERY_MODE = frozenset(Mode)

ANY_NUMBER = LINE_MAX_BYTES
"""No line has more words than bytes."""

ACTIONS = {"consolidate": "", "backup": " <path>", "restore": " <path>"}
"""The actions of TRIGGER, and what follows each name in the usage text."""


OUR_META_KEYS = frozenset({"SCORES", "STEM", "TOTAL", "PREFIX", "AFTER", "POSITION"})
"""Keys that Sonic lacks: compat mode refuses them, and usage texts, which clients compare, do not name them."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The number of results of a command without LIMIT, and the maximum of LIMIT."""

    query_default: int = 10
    query_maximum: int = 100
    suggest_default: int = 5
    suggest_maximum: int = 20
    list_default: int = 100
    list_maximum: int = 500


@dataclass(frozen=True, slots=True)
class Rules:
    """What decides, beside the line, which command it is."""

    limits: Limits
    lang_codes: frozenset[str]
    has_tags: bool = False
    """LANG also takes every other tag of these languages."""


Rest = Callable[[Meta, Rules], tuple[object, ...]]
"""Returns the fields of a command that follow its words and its text."""

Build = Callable[[list[str], Meta, Rules], Command | SessionCommand]
"""Makes a command from its words (the text is the last of them) and its META arguments."""


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
    meta_keys: frozenset[str] = frozenset()
    """If there are none, nothing may follow the words and the text."""
    is_ours: bool = False
    """Sonic lacks the command: compat mode refuses it, and HELP, whose lines clients compare, does not name it."""


def parse(syntax: Syntax, line: bytes, offset: int, rules: Rules) -> Command | SessionCommand:
    """Return the command in `line`, whose first word is that of `syntax` and whose second begins at byte `offset`.

    Raises:
        CommandError: the line breaks a rule; the first failed check gives the code.
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
    meta = read_meta(parts, syntax.meta_keys, rules.lang_codes, has_tags=rules.has_tags)
    return syntax.build(words, meta, rules)


@dataclass(frozen=True, slots=True)
class CommandBuilder:
    """Makes a command whose fields are its words, then `rest`."""

    kind: Callable[..., Command | SessionCommand]
    rest: Rest
    bounds: Callable[[Limits], tuple[int, int]] | None = None
    """Returns the default and the maximum of LIMIT; None: the command has no LIMIT."""

    def __call__(self, words: list[str], meta: Meta, rules: Rules) -> Command | SessionCommand:
        """Return the command."""
        return self.kind(*words, *self.rest(meta, rules))


def plain_reader(rows: Iterable[Syntax], rules: Rules, answers: Mapping[str, bytes]) -> PlainReader:
    """Return a reader of plain lines of `rows`, and of lines that hold only a name of `answers`."""
    lines = [
        _plain_line(row, row.build, rules)
        for row in rows
        if isinstance(row.build, CommandBuilder) and not row.optional_words
    ]
    return PlainReader([*lines, *(PlainLine(name.encode(), answer) for name, answer in answers.items())])


def _plain_line(row: Syntax, builder: CommandBuilder, rules: Rules) -> PlainLine:
    return PlainLine(
        row.name.encode(),
        builder.kind,
        row.words,
        row.has_text,
        builder.rest(NO_META, rules),
        limit_maximum=0 if builder.bounds is None else min(builder.bounds(rules.limits)[1], LIMIT_CEILING),
        has_offset="OFFSET" in row.meta_keys,
        lang_codes=rules.lang_codes | {LANG_NONE} if "LANG" in row.meta_keys else frozenset(),
    )


def _query(meta: Meta, rules: Rules) -> tuple[object, ...]:
    limit = _within(meta.limit, *_of_query(rules.limits))
    return limit, meta.offset, meta.lang, meta.scores, meta.stem, meta.total


def _explain(meta: Meta, rules: Rules) -> tuple[object, ...]:
    return _within(meta.limit, *_of_query(rules.limits)), meta.lang, meta.stem


def _suggest(meta: Meta, rules: Rules) -> tuple[object, ...]:
    return (_within(meta.limit, *_of_suggest(rules.limits)),)


def _list(meta: Meta, rules: Rules) -> tuple[object, ...]:
    return _within(meta.limit, *_of_list(rules.limits)), meta.offset, meta.prefix, meta.after


def _names(meta: Meta, rules: Rules) -> tuple[object, ...]:
    return _within(meta.limit, *_of_list(rules.limits)), meta.after


def _objects(meta: Meta, rules: Rules) -> tuple[object, ...]:
    return _within(meta.limit, *_of_list(rules.limits)), meta.prefix, meta.after, meta.position


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


def _push(meta: Meta, rules: Rules) -> tuple[object, ...]:
    return (meta.lang,)


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
    return CommandBuilder(kind, lambda meta, rules: ())


def _always(command: Command | SessionCommand) -> Build:
    return lambda words, meta, rules: command


ROWS = (
    Syntax(
        "QUERY",
        SEARCH,
        'QUERY <collection> <bucket> "<terms>" [LIMIT(<count>)]? [OFFSET(<count>)]? [LANG(<locale>)]?',
        CommandBuilder(commands.Query, _query, _of_query),
        words=2,
        has_text=True,
        meta_keys=frozenset({"LIMIT", "OFFSET", "LANG", "SCORES", "STEM", "TOTAL"}),
    ),
    Syntax(
        "EXPLAIN",
        SEARCH,
        'EXPLAIN <collection> <bucket> "<terms>" [LIMIT(<count>)]? [LANG(<locale>)]? [STEM(0)]?',
        CommandBuilder(commands.Explain, _explain, _of_query),
        words=2,
        has_text=True,
        meta_keys=frozenset({"LIMIT", "LANG", "STEM"}),
        is_ours=True,
    ),
    Syntax(
        "SUGGEST",
        SEARCH,
        'SUGGEST <collection> <bucket> "<word>" [LIMIT(<count>)]?',
        CommandBuilder(commands.Suggest, _suggest, _of_suggest),
        words=2,
        has_text=True,
        meta_keys=frozenset({"LIMIT"}),
    ),
    Syntax(
        "LIST",
        SEARCH,
        "LIST <collection> <bucket> [LIMIT(<count>)]? [OFFSET(<count>)]?",
        CommandBuilder(commands.List, _list, _of_list),
        words=2,
        meta_keys=frozenset({"LIMIT", "OFFSET", "PREFIX", "AFTER"}),
    ),
    Syntax(
        "COLLECTIONS",
        SEARCH,
        "COLLECTIONS [LIMIT(<count>)]? [AFTER(<collection>)]?",
        CommandBuilder(commands.Collections, _names, _of_list),
        meta_keys=frozenset({"LIMIT", "AFTER"}),
        is_ours=True,
    ),
    Syntax(
        "BUCKETS",
        SEARCH,
        "BUCKETS <collection> [LIMIT(<count>)]? [AFTER(<bucket>)]?",
        CommandBuilder(commands.Buckets, _names, _of_list),
        words=1,
        meta_keys=frozenset({"LIMIT", "AFTER"}),
        is_ours=True,
    ),
    Syntax(
        "OBJECTS",
        SEARCH,
        "OBJECTS <collection> <bucket> [LIMIT(<count>)]? [PREFIX(<letters>)]? [AFTER(<object>)]? [POSITION(<number>)]?",
        CommandBuilder(commands.Objects, _objects, _of_list),
        words=2,
        meta_keys=frozenset({"LIMIT", "PREFIX", "AFTER", "POSITION"}),
        is_ours=True,
    ),
    Syntax("EXISTS", SEARCH, "EXISTS <collection> <bucket> <object>", _plain(commands.Exists), words=3, is_ours=True),
    Syntax(
        "PUSH",
        INGEST,
        'PUSH <collection> <bucket> <object> "<text>" [LANG(<locale>)]?',
        CommandBuilder(commands.Push, _push),
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
    mode: {name: replace(row, meta_keys=row.meta_keys - OUR_META_KEYS) for name, row in rows.items() if not row.is_ours}
    for mode, rows in COMMANDS_OF_MODE.items()
}
"""The commands that Sonic has too."""
