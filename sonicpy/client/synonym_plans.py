"""The plans of a client's methods about synonyms; see plans.py."""

import json
from collections.abc import Iterable, Iterator

from sonicpy.arguments import switch_of, text_of
from sonicpy.channel.commands import Mode
from sonicpy.channel.quoting import quoted
from sonicpy.client.conversation import AnswerKind, ServerInfo
from sonicpy.client.exchange import CallPlan, Exchange
from sonicpy.client.lines import one_line, sendable
from sonicpy.errors import InvalidArgument
from sonicpy.ids import check_collection, is_iterable, plain_str


def synonyms(collection: str) -> CallPlan[list[str]]:
    """Plan as many SYNONYMS commands as the list needs; the result is the rules of a collection."""
    check_collection(collection)
    found: list[str] = []
    while True:
        reply = yield _exchange([f"SYNONYMS {plain_str(collection)} LIST {len(found)}"])
        more: list[str] = json.loads(reply.answers[0])
        if not more:
            return found
        found += more


def set_synonyms(collection: str, rules: Iterable[str], *, add: bool = False) -> CallPlan[int]:
    """Plan SYNONYMS with rules, which replace the present ones unless `add`; the result is the number of rules
    afterwards. Raises InvalidArgument if the rules are not in a list.
    """
    check_collection(collection)
    add = switch_of("add", add)
    if isinstance(rules, str | bytes) or not is_iterable(rules):
        raise InvalidArgument(f"rules is a {type(rules).__name__}; allowed is a list of texts")
    texts = [text_of("rule", rule) for rule in rules]
    for text in texts:
        sendable("rule", text)
    reply = yield Exchange(
        Mode.INGEST,
        "SYNONYMS",
        AnswerKind.RESULT,
        lambda server: list(_lines(server, f"SYNONYMS {plain_str(collection)}", texts, add=add)),
        changes=add,
    )
    return int(reply.answers[-1])


def _exchange(lines: list[str]) -> Exchange:
    return Exchange(Mode.INGEST, "SYNONYMS", AnswerKind.RESULT, lambda server: lines)


def _lines(server: ServerInfo, head: str, texts: list[str], *, add: bool) -> Iterator[str]:
    """Yield lines that begin with `head`, with the rules `texts`: the first line replaces the present rules, unless
    `add`; the others add to them."""
    line = f"{head} {'ADD' if add else 'SET'}"
    size = len(line.encode())
    for text in map(quoted, texts):
        more = len(text.encode()) + 1
        if size + more > server.buffer_bytes and line.endswith('"'):
            yield one_line(server, line)
            line = f"{head} ADD"
            size = len(line)
        line, size = f"{line} {text}", size + more
    yield one_line(server, line)
