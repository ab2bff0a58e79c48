"""Print the CPU time of each stage of PUSH and QUERY in microseconds, in one process and without a socket.

    python -m benchmarks.costs [TEXTS]

Times are CPU times of the process, divided by the number of texts. Each stage is timed alone, on the results of the
stage before it.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.command_line import parse_count
from benchmarks.stages import BUCKET, COLLECTION, push_lines, session
from sonicpy import Config
from sonicpy.channel import replies
from sonicpy.channel.session import Session
from sonicpy.index.index import Index
from sonicpy.index.search.lexicon import Lexicons
from sonicpy.index.search.query import query
from sonicpy.lexer.lexer import Lexer
from sonicpy.search import Search
from sonicpy.server.connections.dispatch import CALLS
from sonicpy.server.jobs.committer import COMMIT_CHANGES, COMMIT_CHANGES_SHARED
from sonicpy.store.changing.mutations import PushTerms, pack_mutation
from tests.support.texts import messages, oid, queries, quoted

QUERIES = 5_000
PUSHES_BETWEEN = 16


def cpu_us(work: Callable[[], object], operations: int) -> float:
    """Return the CPU time of `work` in microseconds per operation."""
    began = time.process_time()
    work()
    return (time.process_time() - began) / operations * 1e6


def main() -> None:
    count = parse_count("costs", __doc__, "TEXTS", 100_000)
    texts = messages(count)
    characters = sum(map(len, texts)) / count
    print(f"{count} texts of {characters:.0f} characters, {QUERIES} queries each; CPU us per operation")
    lexer = Lexer(Config().normalization, Config().tokenization, Config().stopwords, compat=False)
    lexer.prepare()
    lines = push_lines(texts)
    print("\nPUSH")
    push_stages(texts, lines, lexer)
    with tempfile.TemporaryDirectory() as folder, Index(Path(folder, "whole"), autocommit=False) as index:
        index.engine.lexer.prepare()
        row("  all of it", cpu_us(lambda: push_all(index, lines), count))
        index.consolidate()
        for words in (1, 2, 3):
            print(f"\nQUERY of {words}")
            query_stages(index, queries(texts, words, QUERIES), lexer)
        print(f"\nQUERY of 3, {PUSHES_BETWEEN} PUSHes before each, a commit every {COMMIT_CHANGES_SHARED}")
        queries_between_pushes(index, queries(texts, 3, QUERIES), texts)


def push_stages(texts: list[str], lines: list[bytes], lexer: Lexer) -> None:
    """Print the CPU time per text of each stage of PUSH."""
    count = len(texts)
    row("  line to command", cpu_us(lambda: read_all(session("ingest"), lines), count))
    row("  text to terms", cpu_us(lambda: [lexer.lex_push(text, None) for text in texts], count))
    terms = [lexer.lex_push(text, None) for text in texts]
    mutations = [PushTerms(COLLECTION, BUCKET, oid(number), found) for number, found in enumerate(terms)]
    row("  log record", cpu_us(lambda: [pack_mutation(mutation) for mutation in mutations], count))
    applying = sealing = committing = 0.0
    with tempfile.TemporaryDirectory() as folder, Index(Path(folder, "stages"), autocommit=False) as index:
        for number, mutation in enumerate(mutations):
            began = time.process_time()
            index.engine.store.apply(mutation)
            applied = time.process_time()
            index.engine.store.seal()
            sealed = time.process_time()
            if number % COMMIT_CHANGES == 0:
                index.engine.commit()
            applying += applied - began
            sealing += sealed - applied
            committing += time.process_time() - sealed
    row("  rows into the write transaction, log record", applying / count * 1e6)
    row("  log record into the log", sealing / count * 1e6)
    row(f"  commit, one per {COMMIT_CHANGES} changes", committing / count * 1e6)


def push_all(index: Index, lines: list[bytes]) -> None:
    """Read and execute PUSH lines as the server does for a client that waits for each reply."""
    ingest = session("ingest")
    for number, line in enumerate(lines):
        ingest.feed(line)
        command = ingest.next()
        CALLS[type(command)](index, command)
        index.engine.store.seal()
        if number % COMMIT_CHANGES == 0:
            index.engine.commit()


def query_stages(index: Index, texts: list[str], lexer: Lexer) -> None:
    """Print the CPU time per text of each stage of QUERY."""
    count = len(texts)
    lines = [f"QUERY {COLLECTION} {BUCKET} {quoted(text)}\n".encode() for text in texts]
    search = index.config.search.model_copy(update={"query_alternates_try": 0})
    exact_only = index.config.model_copy(update={"search": search})
    terms = [lexer.lex(text, None) for text in texts]
    lexicons = Lexicons(index.engine.graphs, live=True)

    def rank(config: Config) -> None:
        with index.engine.store.reading() as view:
            for found in terms:
                lexicon = lexicons.of(view, COLLECTION, BUCKET)
                assert lexicon is not None
                query(lexicon, found, config, Search(COLLECTION, BUCKET, "", 10, 0, None))

    def ask() -> None:
        searching = session("search")
        for line in lines:
            searching.feed(line)
            command = searching.next()
            if not isinstance(command, bytes):
                CALLS[type(command)](index, command)

    row("  line to command", cpu_us(lambda: read_all(session("search"), lines), count))
    row("  language and terms", cpu_us(lambda: [lexer.lex(text, None) for text in texts], count))
    row("  postings, ranking, names", cpu_us(lambda: rank(exact_only), count))
    row("  the same with expansions", cpu_us(lambda: rank(index.config), count))
    row("  reply", cpu_us(lambda: [replies.event("QUERY", [oid(100_000)] * 10) for _ in texts], count))
    row("  all of it", cpu_us(ask, count))


def queries_between_pushes(index: Index, asked: list[str], texts: list[str]) -> None:
    """Print the times of queries alone, and again between uncommitted changes, as a server answers them."""

    def ask(text: str, limit: int = 10) -> None:
        index.query_ids(COLLECTION, BUCKET, text, limit=limit)

    def ask_all(limit: int) -> float:  # another one, so that no answer was kept
        return cpu_us(lambda: [ask(text, limit) for text in asked], len(asked))

    row("  in peace, asked before", min(ask_all(11), ask_all(12)))
    asking = 0.0
    for number, text in enumerate(asked):
        for place in range(number * PUSHES_BETWEEN, (number + 1) * PUSHES_BETWEEN):
            index.push(COLLECTION, BUCKET, f"more:{place}", texts[place % len(texts)])
        index.engine.store.seal()
        began = time.process_time()
        ask(text)
        asking += time.process_time() - began
        if index.engine.store.uncommitted >= COMMIT_CHANGES_SHARED:
            index.engine.commit()
    row("  between changes", asking / len(asked) * 1e6)


def read_all(reading: Session, lines: list[bytes]) -> None:
    """Read lines one by one."""
    for line in lines:
        reading.feed(line)
        reading.next()


def row(name: str, microseconds: float) -> None:
    print(f"{name:52}{microseconds:8.1f}")


if __name__ == "__main__":
    main()
