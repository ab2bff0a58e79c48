"""The stages of PUSH and QUERY, each alone, on what the stage before it gives.

A stage is prepared from texts and an empty folder, and gives its work: a function that does operation `n` and returns
what came of it. Operations that change something are meant to be done in order, each once.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.data import queries
from sonicpy import Config
from sonicpy._native.bm25 import idf
from sonicpy._native.object_change import AddTerms
from sonicpy._native.postings import ObjectRecord
from sonicpy._native.ranking import Ranker
from sonicpy._native.term_cache import TermCache
from sonicpy._native.text import Terms
from sonicpy.channel import replies
from sonicpy.channel.session import Session
from sonicpy.channel.syntax import Limits
from sonicpy.graph.builder import WordGraphBuilder
from sonicpy.graph.word_graph import WordGraph
from sonicpy.index.index import Index
from sonicpy.index.search.ranking import BM25_B, BM25_K1
from sonicpy.lexer.language import LanguageGuesser
from sonicpy.lexer.lexer import Lexer
from sonicpy.lexer.stopwords import StopWords
from sonicpy.server.dispatch import CALLS
from sonicpy.server.service import COMMIT_CHANGES
from sonicpy.store.bucket_reader import BucketReader
from sonicpy.store.log import Log
from sonicpy.store.mutations import Push, pack_mutation
from sonicpy.version import VERSION

Work = Callable[[int], object]
Stage = Callable[[list[str], Path], Work]

COLLECTION, BUCKET = "messages", "default"
WINDOW = 1_000
"""The default of store.kv.retain_word_objects."""
MAP_BYTES = 1 << 30
"""Large enough for every stage, and small enough for tools that watch memory."""


def push_to_command(texts: list[str], folder: Path) -> Work:
    """Read a PUSH line."""
    return read_lines("ingest", push_lines(texts))


def query_to_command(texts: list[str], folder: Path) -> Work:
    """Read a QUERY line."""
    return read_lines("search", query_lines(texts, 2))


def event_to_bytes(texts: list[str], folder: Path) -> Work:
    """Write the reply to a QUERY that found ten objects."""
    found = [oid(number) for number in range(100_000, 100_010)]
    return lambda number: replies.event("QUERY", found)


def guess_language(texts: list[str], folder: Path) -> Work:
    """Guess the language of a text."""
    guesser = LanguageGuesser(StopWords())
    guesser.prepare()
    return lambda number: guesser.guess(texts[number % len(texts)])


def cut_text(texts: list[str], folder: Path) -> Work:
    """Cut a text in a known language into terms."""
    lexer = prepared_lexer()
    return lambda number: lexer.lex(texts[number % len(texts)], "eng")


def pack_record(texts: list[str], folder: Path) -> Work:
    """Pack the log record of a PUSH."""
    mutations = pushes(texts)
    return lambda number: pack_mutation(mutations[number % len(mutations)])


def append_record(texts: list[str], folder: Path) -> Work:
    """Append one record to the log."""
    records = [pack_mutation(mutation) for mutation in pushes(texts)]
    log = Log(folder)
    log.start(0)
    return lambda number: log.append([records[number % len(records)]])


def link_terms(texts: list[str], folder: Path) -> Work:
    """Add a new object to the postings of its terms, in compiled code alone; one of COMMIT_CHANGES gives the rows."""
    terms = lexed(texts)
    cache = TermCache()
    next_term = 0

    def work(number: int) -> AddTerms:
        nonlocal next_term
        record = ObjectRecord.empty(oid(number).encode())
        link = AddTerms(0, number, terms[number % len(terms)], record, next_term, cache)
        link.take_blocks(link.take_rows([]))
        link.finish()
        link.new_terms()
        link.record()
        if number % COMMIT_CHANGES == COMMIT_CHANGES - 1:
            cache.rows()
        next_term = link.next_term
        return link

    return work


def store_push(texts: list[str], folder: Path) -> Work:
    """Change the rows of the store for a PUSH; one of COMMIT_CHANGES also commits."""
    index = small_index(folder)
    mutations = pushes(texts)

    def work(number: int) -> int:
        result = index.maintainer.engine.store.apply(mutations[number % len(mutations)]._replace(oid=oid(number)))
        if number % COMMIT_CHANGES == COMMIT_CHANGES - 1:
            index.maintainer.commit()
        return result

    return work


def complete_word(texts: list[str], folder: Path) -> Work:
    """Find the first five words that begin as typed."""
    words = distinct_words(texts)
    graph = word_graph(words)
    typed = [word[: len(word) // 2] for word in words]
    return lambda number: graph.complete(typed[number % len(typed)], 5)


def correct_word(texts: list[str], folder: Path) -> Work:
    """Find every word within two edits of a word that lacks its middle letter."""
    words = distinct_words(texts)
    graph = word_graph(words)
    typed = [word[: len(word) // 2] + word[len(word) // 2 + 1 :] for word in words if 7 <= len(word) <= 9]
    return lambda number: graph.correct(typed[number % len(typed)], 2, transpositions=True)


def score_objects(texts: list[str], folder: Path) -> Work:
    """Score the objects of two words and pick the best ten, in compiled code alone."""
    cases: list[tuple[list[tuple[list[bytes], int, float]], float]] = []
    lexer = prepared_lexer()
    with filled_index(texts, folder) as index, index.maintainer.engine.store.snapshot() as view:
        state = view.bucket(COLLECTION, BUCKET)
        assert state is not None
        reader = BucketReader(view, state)
        lengths = bytes(reader.lengths())
        for text in queries(texts, 2, len(texts)):
            words = [word for word in reader.words(lexer.lex(text, "eng").words) if word is not None]
            postings = [(reader.blocks(word), word.dead, idf(state.objects, word.holders)) for word in words]
            cases.append((postings, state.average_length))

    def work(number: int) -> list[int]:
        postings, average = cases[number % len(cases)]
        ranker = Ranker()
        for blocks, dead, weight in postings:
            ranker.add(blocks, dead, weight)
        ranker.bm25(lengths, average, BM25_K1, BM25_B)
        return ranker.best(0, 10)

    return work


def whole_push(texts: list[str], folder: Path) -> Work:
    """Carry out a PUSH line as the server does for a client that waits for each reply."""
    index = small_index(folder)
    reading = session("ingest")
    lines = push_lines(texts)

    def work(number: int) -> bytes:
        reply = carry_out(index, reading, lines[number % len(lines)])
        index.maintainer.seal()
        if number % COMMIT_CHANGES == COMMIT_CHANGES - 1:
            index.maintainer.commit()
        return reply

    return work


def whole_query(texts: list[str], folder: Path) -> Work:
    """Carry out a QUERY line of two words."""
    return asking(texts, folder, query_lines(texts, 2))


def whole_suggest(texts: list[str], folder: Path) -> Work:
    """Carry out a SUGGEST line."""
    typed = [word[: len(word) // 2].decode() for word in distinct_words(texts)]
    return asking(texts, folder, [f'SUGGEST {COLLECTION} {BUCKET} "{word}"\n'.encode() for word in typed])


STAGES: dict[str, Stage] = {
    stage.__name__: stage
    for stage in (
        push_to_command,
        query_to_command,
        event_to_bytes,
        guess_language,
        cut_text,
        pack_record,
        append_record,
        link_terms,
        store_push,
        complete_word,
        correct_word,
        score_objects,
        whole_push,
        whole_query,
        whole_suggest,
    )
}


def do(work: Work, operations: Iterable[int]) -> list[object]:
    """Do operations and return what came of them."""
    return [work(number) for number in operations]


def read_lines(mode: str, lines: list[bytes]) -> Work:
    reading = session(mode)

    def work(number: int) -> object:
        reading.feed(lines[number % len(lines)])
        return reading.next()

    return work


def asking(texts: list[str], folder: Path, lines: list[bytes]) -> Work:
    """Return the work of carrying out lines that read, on an index that was filled, consolidated and opened again."""
    with filled_index(texts, folder):
        pass
    index = small_index(folder)
    reading = session("search")
    return lambda number: carry_out(index, reading, lines[number % len(lines)])


def carry_out(index: Index, reading: Session, line: bytes) -> bytes:
    """Return the reply to a line."""
    reading.feed(line)
    command = reading.next()
    return CALLS[type(command)](index, command)


def session(mode: str) -> Session:
    """Return a session in a mode."""
    started = Session(VERSION, None, Limits(), compat=False)
    started.feed(f"START {mode}\n".encode())
    started.next()
    return started


def small_index(folder: Path) -> Index:
    """Return an index that commits when it is told to."""
    config = Config.model_validate({"store": {"kv": {"map_size_mb": MAP_BYTES >> 20}}})
    index = Index(folder, config, autocommit=False)
    index.maintainer.prepare()
    return index


@contextmanager
def filled_index(texts: list[str], folder: Path) -> Iterator[Index]:
    """An index that holds the texts and has its graph, for the length of a `with` block."""
    with small_index(folder) as index:
        for number, text in enumerate(texts):
            index.push(COLLECTION, BUCKET, oid(number), text)
        index.consolidate()
        yield index


def pushes(texts: list[str]) -> list[Push]:
    """Return the mutations of texts."""
    return [Push(COLLECTION, BUCKET, oid(number), terms, WINDOW) for number, terms in enumerate(lexed(texts))]


def lexed(texts: list[str]) -> list[Terms]:
    lexer = prepared_lexer()
    return [lexer.lex(text, "eng") for text in texts]


def prepared_lexer() -> Lexer:
    """Return a lexer that has read its tables."""
    config = Config()
    lexer = Lexer(config.normalization, config.tokenization, config.stopwords, compat=False)
    lexer.prepare()
    return lexer


def distinct_words(texts: list[str]) -> list[bytes]:
    """Return the words of texts in byte order, those of at least four letters."""
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


def oid(number: int) -> str:
    return f"message:{number}"


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
