"""Sinks: the targets of an import, a folder or a server."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Protocol

from sonicpy.api.rows import Refused, Row
from sonicpy.cli.importing.mapping import Entry
from sonicpy.client.blocking.client import Client
from sonicpy.errors import FAILED, CommandError, InvalidArgument, NotOffered, SonicError
from sonicpy.index.index import Index
from sonicpy.index.ingest.exported import change_of_facts
from sonicpy.index.ingest.given_vectors import vectors_of_export
from sonicpy.index.ingest.named_texts import named_texts_of_export
from sonicpy.index.ingest.terms import packed_terms
from sonicpy.langcodes import NO_LANGUAGE

RefusedEntry = tuple[int, str]
"""The position of a refused entry among those that were pushed, from 0 on, and the reason."""


TEXTS, TERMS, FACTS, SYNONYMS = range(4)

NO_TEXT = "it has words of an export, not the text of its object: import it without --replace"


def _kind(entry: Entry) -> int:
    if entry.synonyms is not None:
        return SYNONYMS
    if entry.facts is not None:
        return FACTS
    return TEXTS if entry.terms is None else TERMS


class Sink(Protocol):
    """Takes the entries of an import."""

    def push(self, entries: Sequence[Entry]) -> list[RefusedEntry]:
        """Push entries; return the refused ones. Raises SonicError if the index accepts no more."""

    def sync(self) -> None:
        """Return when everything pushed is stored durably. Raises SonicError."""

    def objects(self, collection: str) -> int | None:
        """Return the number of objects in a collection; None: it is not known. Raises SonicError."""


class FolderSink:
    """Pushes into an index, in the order of the entries.

    Args:
        replace: whether each text replaces the words of its object.
    """

    def __init__(self, index: Index, *, replace: bool = False) -> None:
        self._index = index
        self._replace = replace

    def push(self, entries: Sequence[Entry]) -> list[RefusedEntry]:
        """Push entries; return the refused ones."""
        refused: list[RefusedEntry] = []
        done = 0
        takes = {TEXTS: self._texts, TERMS: self._terms, FACTS: self._facts, SYNONYMS: self._synonyms}
        for kind, group in groupby(entries, _kind):
            some = list(group)
            refused += ((done + place, reason) for place, reason in takes[kind](some))
            done += len(some)
        return refused

    def sync(self) -> None:
        """Commit and wait for the disk: a saved position must not survive a crash that loses its rows."""
        self._index.engine.commit()
        self._index.engine.store.sync()

    def objects(self, collection: str) -> int:
        """Return the number of objects in a collection."""
        return self._index.count(collection, of="objects")

    def _texts(self, entries: list[Entry]) -> Iterator[RefusedEntry]:
        return _places(self._index.push_many([_row(entry) for entry in entries], upsert=self._replace).refused)

    def _terms(self, entries: list[Entry]) -> Iterator[RefusedEntry]:
        if self._replace:
            yield from ((place, NO_TEXT) for place, _ in enumerate(entries))
            return
        with self._index.batch():
            for place, entry in enumerate(entries):
                try:
                    self._index.push_terms(
                        entry.collection,
                        entry.bucket,
                        entry.object,
                        entry.terms or {},
                        entry.hidden,
                        entry.rules,
                        entry.languages,
                        entry.fields,
                    )
                except CommandError as error:
                    yield place, _reason(error)

    def _synonyms(self, entries: list[Entry]) -> Iterator[RefusedEntry]:
        return _set_synonyms(self._index, enumerate(entries))

    def _facts(self, entries: list[Entry]) -> Iterator[RefusedEntry]:
        for entry in entries:
            change = change_of_facts(entry.collection, entry.bucket, entry.facts or {})
            self._index.maintainer.engine.apply(change)
        return iter(())


class ServerSink:
    """Pushes to a server. Exported terms are pushed as a text with LANG(none); facts are not, because the server notes
    its own.

    Args:
        replace: as in `FolderSink`.
    """

    def __init__(self, client: Client, *, replace: bool = False) -> None:
        self._client = client
        self._replace = replace

    def push(self, entries: Sequence[Entry]) -> list[RefusedEntry]:
        """Push entries; return the refused ones. Raises SonicError if the server has begun to fail."""
        refused: list[RefusedEntry] = []
        places, rows = [], []
        refused += _set_synonyms(self._client, enumerate(entries))
        for place, entry in enumerate(entries):
            if entry.facts is not None or entry.synonyms is not None:
                continue
            if self._replace and entry.terms is not None:
                refused.append((place, NO_TEXT))
                continue
            try:
                rows.append(_row(entry))
                places.append(place)
            except CommandError as error:
                refused.append((place, _reason(error)))
        report = self._client.push_many(rows, upsert=self._replace)
        failed = [one.row for one in report.refused if one.reason == FAILED]
        if len(failed) > 1 and failed[-1] == len(rows) - 1:  # one may fail by itself, as a text without a vector does
            raise SonicError(f"the server failed, {len(failed):,} rows up to the last one sent; its log has the reason")
        refused += ((places[place], reason) for place, reason in _places(report.refused))
        return refused

    def sync(self) -> None:
        """Do nothing: a server answers OK once a push is stored."""

    def objects(self, collection: str) -> int | None:
        """Return the number of objects in a collection; None from a server that does not count them, such as Sonic."""
        try:
            return self._client.count(collection, of="objects")
        except (CommandError, NotOffered):
            return None


def _set_synonyms(index: Index | Client, entries: Iterable[tuple[int, Entry]]) -> Iterator[RefusedEntry]:
    """Add the rules in entries with synonyms to those of their collections; yield the refused entries."""
    for place, entry in entries:
        if entry.synonyms is not None:
            try:
                index.set_synonyms(entry.collection, entry.synonyms, add=True)
            except CommandError as error:
                yield place, _reason(error)


def _reason(error: CommandError) -> str:
    """Return the reason why an entry is refused: the sentence of the error, without the code for the wire."""
    return str(error) if isinstance(error, InvalidArgument) else error.detail or error.code


def _row(entry: Entry) -> Row:
    text, lang = (entry.text, entry.lang) if entry.terms is None else (_text_of(entry), NO_LANGUAGE)
    vector = entry.vector if entry.terms is None else vectors_of_export(entry.fields)
    texts = entry.texts if entry.terms is None else _texts_of(entry, text)
    return Row(entry.collection, entry.bucket, entry.object, text, lang, vector, entry.tags, entry.values, texts)


def _texts_of(entry: Entry, text: str) -> dict[str, str] | None:
    """Return the named texts of an exported object, after the text with all its terms; None: it has no named texts.
    Raises InvalidArgument if they are not valid.
    """
    named = named_texts_of_export(entry.fields.get("texts"))
    return {"": text, **named} if named else None


def _text_of(entry: Entry) -> str:
    """Return a text whose terms are those of the entry. Raises CommandError if the terms are not valid."""
    packed_terms(entry.terms or {}, entry.hidden)
    terms = {**(entry.terms or {}), **entry.hidden}
    return " ".join(word for word, frequency in terms.items() for _ in range(frequency))


def _places(refused: Sequence[Refused]) -> Iterator[RefusedEntry]:
    return ((one.row, one.reason) for one in refused)
