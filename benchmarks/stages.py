"""The stages of PUSH and QUERY. Each stage is separate and works on the results of the stage before it.

A stage is a function that takes texts and an empty folder, prepares its data, and returns its work: a function that
does operation `n` and returns the result. Operations that make changes must be called once each, in order.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sonicpy import Config
from sonicpy._native import find
from sonicpy._native.add_terms import AddTerms
from sonicpy._native.bm25 import BM25_B, BM25_K1, idf
from sonicpy._native.object_record import ObjectRecord
from sonicpy._native.query_state import QueryState
from sonicpy._native.stored_postings import StoredPostings
from sonicpy._native.term_cache import TermCache
from sonicpy._native.terms import Terms
from sonicpy.channel import replies
from sonicpy.channel.session import Session
from sonicpy.channel.syntax import Limits
from sonicpy.graph.builder import WordGraphBuilder
from sonicpy.graph.word_graph import WordGraph
from sonicpy.index.index import Index
from sonicpy.lexer.language import LanguageGuesser
from sonicpy.lexer.lexer import Lexer
from sonicpy.server.connections.dispatch import CALLS
from sonicpy.store.changing.mutations import PushTerms, pack_mutation
from sonicpy.store.disk.log import Log
from sonicpy.store.disk.table_numbers import POSTINGS
from sonicpy.store.views.bucket_reader import BucketReader
from sonicpy.version import VERSION
from tests.support.texts import oid, queries, quoted

Work = Callable[[int], object]
Stage = Callable[[list[str], Path], Work]

COLLECTION, BUCKET = "messages", "default"
COMMIT_EVERY = 1024
"""The number of changes per commit; the operations that `benchmarks.instructions` counts include one commit."""
MAP_BYTES = 1 << 30
"""The size of the map in bytes: large enough for every stage, small enough for tools that instrument memory."""


def parse_push(texts: list[str], folder: Path) -> Work:
    """Return work that parses a PUSH line into a command."""
    return read_lines("ingest", push_lines(texts))


def parse_query(texts: list[str], folder: Path) -> Work:
    """Return work that parses a QUERY line into a command."""
    return read_lines("search", query_lines(texts, 2))


def encode_event(texts: list[str], folder: Path) -> Work:
    """Return work that encodes the reply to a QUERY that found ten objects."""
    found = [oid(number) for number in range(100_000, 100_010)]
    return lambda number: replies.event("QUERY", found)


def guess_language(texts: list[str], folder: Path) -> Work:
    """Return work that guesses the language of a text."""
    guesser = LanguageGuesser()
    guesser.prepare()
    return lambda number: guesser.guess(texts[number % len(texts)])


def analyze_text(texts: list[str], folder: Path) -> Work:
    """Return work that analyzes a text in a known language into terms."""
    lexer = prepared_lexer()
    return lambda number: lexer.lex(texts[number % len(texts)], "eng")


def pack_record(texts: list[str], folder: Path) -> Work:
    """Return work that packs the log record of a PUSH."""
    mutations = pushes(texts)
    return lambda number: pack_mutation(mutations[number % len(mutations)])


def append_record(texts: list[str], folder: Path) -> Work:
    """Return work that appends one record to the log."""
    records = [pack_mutation(mutation) for mutation in pushes(texts)]
    log = Log(folder)
    log.start(0)
    return lambda number: log.append([records[number % len(records)]])


def add_terms(texts: list[str], folder: Path) -> Work:
    """Return work that adds a new object to the postings of its terms, only in native code, and makes rows after
    COMMIT_EVERY objects.
    """
    terms = lexed(texts)
    cache = TermCache()
    next_term = 0

    def work(number: int) -> AddTerms:
        nonlocal next_term
        record = ObjectRecord.empty(oid(number).encode())
        change = AddTerms(0, number, terms[number % len(terms)], record, next_term, cache)
        change.take_blocks(change.take_rows([]))
        change.finish()
        change.new_terms()
        change.record()
        if number % COMMIT_EVERY == COMMIT_EVERY - 1:
            cache.rows()
        next_term = change.next_term
        return change

    return work


def store_push(texts: list[str], folder: Path) -> Work:
    """Return work that changes the rows of the store for a PUSH, and commits after COMMIT_EVERY of them."""
    index = small_index(folder)
    mutations = pushes(texts)

    def work(number: int) -> None:
        mutation = mutations[number % len(mutations)]
        index.engine.store.push(mutation.collection, mutation.bucket, oid(number), mutation.terms)
        if number % COMMIT_EVERY == COMMIT_EVERY - 1:
            index.engine.commit()

    return work


def complete_prefix(texts: list[str], folder: Path) -> Work:
    """Return work that finds the first five words that begin with a prefix."""
    words = distinct_words(texts)
    graph = word_graph(words)
    typed = [word[: len(word) // 2] for word in words]
    return lambda number: graph.complete(typed[number % len(typed)], 5)


def correct_word(texts: list[str], folder: Path) -> Work:
    """Return work that finds every word within two edits of a word whose middle letter is missing."""
    words = distinct_words(texts)
    graph = word_graph(words)
    typed = [word[: len(word) // 2] + word[len(word) // 2 + 1 :] for word in words if 7 <= len(word) <= 9]
    return lambda number: graph.correct(typed[number % len(typed)], 2, transpositions=True)


def score_objects(texts: list[str], folder: Path) -> Work:
    """Return work that scores the objects of two words and selects the best ten, only in native code."""
    cases: list[tuple[list[tuple[StoredPostings, float]], float]] = []
    blocks: dict[bytes, bytes] = {}
    lexer = prepared_lexer()
    with filled_index(texts, folder) as index, index.engine.store.snapshot() as view:
        state = view.bucket(COLLECTION, BUCKET)
        assert state is not None
        reader = BucketReader(view, state)
        lengths = bytes(reader.lengths())
        blocks.update(view.transaction.rows(POSTINGS, b""))
        for text in queries(texts, 2, len(texts)):
            words = [word for word in reader.words(lexer.lex(text, "eng").words) if word is not None]
            postings = [(reader.postings(word), idf(state.objects, word.df)) for word in words]
            cases.append((postings, state.average_length))
            for stored, _ in postings:
                read_all(reader, stored)

    def work(number: int) -> list[tuple[int, int, float]]:
        postings, average = cases[number % len(cases)]
        query = QueryState(lengths, average, BM25_K1, BM25_B, 1.0)
        for stored, weight in postings:
            find.add_term(query, weight)
            find.add_words(query, [stored], weight)
        find.begin(query, 10)
        while keys := find.run(query):
            find.give(query, [(key, blocks[key]) for key in keys])
        return find.best(query, 0)

    return work


def read_all(reader: BucketReader, postings: StoredPostings) -> None:
    """Read every block of a postings list."""
    query = QueryState(b"", 1.0, BM25_K1, BM25_B, 1.0)
    find.add_term(query, 1.0)
    find.add_words(query, [postings], 1.0)
    find.give(query, reader.read_blocks(find.blocks_to_count(query)))


def whole_push(texts: list[str], folder: Path) -> Work:
    """Return work that executes a PUSH line as the server does for a client that waits for each reply."""
    return execute_pushes(texts, small_index(folder), session("ingest"))


def compat_push(texts: list[str], folder: Path) -> Work:
    """Return work that executes a PUSH line in compat mode, with the installed extras."""
    return execute_pushes(texts, small_index(folder, compat=True), session("ingest", compat=True))


def execute_pushes(texts: list[str], index: Index, reading: Session) -> Work:
    """Return the work of executing PUSH lines and sealing each."""
    lines = push_lines(texts)

    def work(number: int) -> bytes:
        reply = execute(index, reading, lines[number % len(lines)])
        index.engine.store.seal()
        if number % COMMIT_EVERY == COMMIT_EVERY - 1:
            index.engine.commit()
        return reply

    return work


def whole_upsert(texts: list[str], folder: Path) -> Work:
    """Return work that executes an UPSERT line that gives an object the text of another one."""
    lines = [
        f"UPSERT {COLLECTION} {BUCKET} {oid(number)} {quoted(texts[number - 1])}\n".encode()
        for number in range(len(texts))
    ]
    return execute_changes(texts, folder, [[line] for line in lines])


def flush_and_push(texts: list[str], folder: Path) -> Work:
    """Return work that executes a FLUSHO line of an object, and a PUSH line that gives it the text again."""
    flushes = [f"FLUSHO {COLLECTION} {BUCKET} {oid(number)}\n".encode() for number in range(len(texts))]
    return execute_changes(texts, folder, [list(pair) for pair in zip(flushes, push_lines(texts), strict=True)])


def execute_changes(texts: list[str], folder: Path, changes: list[list[bytes]]) -> Work:
    """Return the work of executing the lines of a change and sealing each, on an index that holds the texts."""
    index, reading = small_index(folder), session("ingest")
    for line in push_lines(texts):
        execute(index, reading, line)
    index.engine.commit()

    def work(number: int) -> list[bytes]:
        replies = []
        for line in changes[number % len(changes)]:
            replies.append(execute(index, reading, line))
            index.engine.store.seal()
        if number % COMMIT_EVERY == COMMIT_EVERY - 1:
            index.engine.commit()
        return replies

    return work


def whole_query(texts: list[str], folder: Path) -> Work:
    """Return work that executes a QUERY line of two words."""
    return execute_lines(texts, folder, query_lines(texts, 2))


def whole_suggest(texts: list[str], folder: Path) -> Work:
    """Return work that executes a SUGGEST line."""
    typed = [word[: len(word) // 2].decode() for word in distinct_words(texts)]
    return execute_lines(texts, folder, [f'SUGGEST {COLLECTION} {BUCKET} "{word}"\n'.encode() for word in typed])


STAGES: dict[str, Stage] = {
    stage.__name__: stage
    for stage in (
        parse_push,
        parse_query,
        encode_event,
        guess_language,
        analyze_text,
        pack_record,
        append_record,
        add_terms,
        store_push,
        complete_prefix,
        correct_word,
        score_objects,
        whole_push,
        compat_push,
        whole_upsert,
        flush_and_push,
        whole_query,
        whole_suggest,
    )
}


def do(work: Work, operations: Iterable[int]) -> list[object]:
    """Do the operations and return their results."""
    return [work(number) for number in operations]


def read_lines(mode: str, lines: list[bytes]) -> Work:
    reading = session(mode)

    def work(number: int) -> object:
        reading.feed(lines[number % len(lines)])
        return reading.next()

    return work


def execute_lines(texts: list[str], folder: Path, lines: list[bytes]) -> Work:
    """Return the work of executing lines that only read, on an index filled, consolidated and opened again."""
    with filled_index(texts, folder):
        pass
    index = small_index(folder)
    reading = session("search")
    return lambda number: execute(index, reading, lines[number % len(lines)])


def execute(index: Index, reading: Session, line: bytes) -> bytes:
    """Return the reply to a line."""
    reading.feed(line)
    command = reading.next()
    return CALLS[type(command)](index, command)


def session(mode: str, *, compat: bool = False) -> Session:
    """Return a session that was started in `mode`, as in compat mode if `compat`."""
    started = Session(VERSION, None, Limits(), compat=compat)
    started.feed(f"START {mode}\n".encode())
    started.next()
    return started


def small_index(folder: Path, *, compat: bool = False) -> Index:
    """Return an index, in compat mode if `compat`, that commits only on request."""
    settings = {"server": {"compat": "sonic" if compat else "none"}, "store": {"kv": {"map_size_mb": MAP_BYTES >> 20}}}
    config = Config.model_validate(settings)
    index = Index(folder, config, autocommit=False)
    index.engine.lexer.prepare()
    return index


@contextmanager
def filled_index(texts: list[str], folder: Path) -> Iterator[Index]:
    """Yield an index that holds the texts and their word graph, open inside a `with` block."""
    with small_index(folder) as index:
        for number, text in enumerate(texts):
            index.push(COLLECTION, BUCKET, oid(number), text)
        index.consolidate()
        yield index


def pushes(texts: list[str]) -> list[PushTerms]:
    """Return the mutations that push texts."""
    return [PushTerms(COLLECTION, BUCKET, oid(number), terms) for number, terms in enumerate(lexed(texts))]


def lexed(texts: list[str]) -> list[Terms]:
    lexer = prepared_lexer()
    return [lexer.lex(text, "eng") for text in texts]


def prepared_lexer() -> Lexer:
    """Return a lexer whose tables are loaded."""
    config = Config()
    lexer = Lexer(config.normalization, config.tokenization, config.stopwords, compat=False)
    lexer.prepare()
    return lexer


def distinct_words(texts: list[str]) -> list[bytes]:
    """Return the words of the texts with 4 to 20 letters, in byte order."""
    words = {word for terms in lexed(texts) for word in terms.words}
    return sorted(word for word in words if word.isalpha() and 4 <= len(word) <= 20)


def word_graph(words: list[bytes]) -> WordGraph:
    builder = WordGraphBuilder()
    for word in words:
        builder.add(word)
    return WordGraph.from_bytes(builder.finish(1, 1))


def push_lines(texts: list[str]) -> list[bytes]:
    return [f"PUSH {COLLECTION} {BUCKET} {oid(number)} {quoted(text)}\n".encode() for number, text in enumerate(texts)]


def query_lines(texts: list[str], words: int) -> list[bytes]:
    asked = queries(texts, words, len(texts))
    return [f"QUERY {COLLECTION} {BUCKET} {quoted(text)}\n".encode() for text in asked]
