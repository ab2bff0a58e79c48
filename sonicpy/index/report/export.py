"""The export of a bucket, object by object: pushed in this order, the objects make an index with equal answers.

Objects come in the order of their creation, each with its words. In compat mode, lists are in the order of association:
if a text was added to an object after newer objects were pushed, the object follows these in the postings of some
words. For each late word, such objects wait in a queue until a newer object that holds the word is due; then the first
object of the queue comes a second time, with every word in whose queue it is the first.
"""

from array import array
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from sonicpy._native.postings import unpack_block
from sonicpy._native.term_rows import TermInfo
from sonicpy.ids import Scope
from sonicpy.rules import FIRST
from sonicpy.store.fields.all_fields import beside_terms
from sonicpy.store.fields.facts import OF_OBJECTS
from sonicpy.store.rows import uses
from sonicpy.store.rows.bucket_rules import RULES
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.keys import is_staged
from sonicpy.store.rows.language_counts import LANGUAGES, counted_texts
from sonicpy.store.rows.synonym_rules import collections_with
from sonicpy.store.rows.vector_columns import VECTOR_COLUMNS
from sonicpy.store.views.bucket_reader import BucketReader
from sonicpy.store.views.view import View

ON_OBJECTS = OF_OBJECTS | {LANGUAGES, RULES, VECTOR_COLUMNS}
"""Kinds of facts that an export does not list as facts of a bucket: older versions read some of them on the lines of
objects, the others follow from these lines.
"""


@dataclass(frozen=True, slots=True)
class ExportedObject:
    """An object and some of its words, each with its frequency (1 to 255).

    Attributes:
        terms: words that are suggested, listed and counted.
        hidden: parts of runs without blanks, and stop words that compat mode keeps: they are only searched. The term
            with the parts of a word in camelCase has the frequency 0.
        rules: the version of the rules that cut the texts of the bucket into words; see `sonicpy.rules`.
        languages: the number of texts of the bucket in each language, as "eng 120,deu 3"; only the first object of a
            bucket has it.
        fields: the other contents of the object (tags, values and so on) by the name of the field.
    """

    collection: str
    bucket: str
    object: str
    terms: dict[str, int]
    hidden: dict[str, int]
    rules: int = FIRST
    languages: str = ""
    fields: dict[str, Any] = field(default_factory=dict)


def lines(view: View, collection: str | None, bucket: str | None) -> Iterator[dict[str, Any]]:
    """Yield the lines of an export as dicts for JSON.

    The first line names the features in use, if the store uses more than format 5 has. Each bucket begins with its
    first object, which gives an imported bucket its rules; its facts follow, with the rules if it has no objects, then
    the other objects. The synonyms of a collection come before its first bucket. An export of nothing is empty.
    """
    scopes = scopes_of(view, collection, bucket)
    synonyms = synonyms_of(view, collection) if bucket is None else {}
    if (scopes or synonyms) and (names := view.uses() - uses.OF_ROWS):
        yield {"uses": sorted(names)}
    for scope, state in scopes:
        if bucket is None and scope.collection in synonyms:
            yield synonym_line(scope.collection, synonyms.pop(scope.collection))
        facts = facts_of(view, state, with_rules=not state.objects)
        objects = map(line_of, holdings(view, scope, state))
        yield from islice(objects, 1)
        if facts:
            yield {**scope._asdict(), "facts": {str(kind): fact.hex() for kind, fact in facts.items()}}
        yield from objects
    for name, rules in synonyms.items():  # collections without buckets
        yield synonym_line(name, rules)


def synonyms_of(view: View, collection: str | None) -> dict[str, list[str]]:
    """Return the synonyms of a collection, or of all that have some, by its name."""
    if uses.SYNONYMS not in view.uses():
        return {}
    names = collections_with(view.transaction)
    return {name: [rule.text for rule in view.synonym_rules(name)] for name in names if collection in (None, name)}


def synonym_line(collection: str, rules: list[str]) -> dict[str, Any]:
    """Return the line with the synonyms of a collection, its rules as text."""
    return {"collection": collection, "synonyms": rules}


def line_of(exported: ExportedObject) -> dict[str, Any]:
    """Return the line of an object. Fields are named so that older versions, which cannot read them, find no terms in
    the line and refuse it.
    """
    line: dict[str, Any] = {"collection": exported.collection, "bucket": exported.bucket, "object": exported.object}
    held: dict[str, Any] = {"terms": exported.terms}
    if exported.hidden:
        held["hidden"] = exported.hidden
    if exported.languages:
        line["languages"] = exported.languages
    if exported.rules != FIRST:  # else as version 1.0 writes it
        line["rules"] = exported.rules
    return line | ({"fields": held | exported.fields} if exported.fields else held)


def scopes_of(view: View, collection: str | None, bucket: str | None) -> list[tuple[Scope, BucketState]]:
    """Return the buckets of the store or of a collection, or a single one, in order of name; no staged ones."""
    found = view.all_states(collection)
    return [(scope, state) for scope, state in found if not is_staged(scope) and bucket in (None, scope.bucket)]


def facts_of(view: View, state: BucketState, *, with_rules: bool) -> dict[int, bytes]:
    """Return the facts of a bucket that do not follow from its objects, such as its mirrors; {}: it has none.

    Args:
        with_rules: whether facts come with the rules of the bucket, which a bucket that they create needs.
    """
    held = view.facts(state.bucket)
    facts = {kind: fact for kind, fact in held.items() if kind not in ON_OBJECTS}
    if facts and with_rules and RULES in held:
        facts[RULES] = held[RULES]
    return facts


def holdings(view: View, scope: Scope, state: BucketState) -> Iterator[ExportedObject]:
    """Yield the objects of a bucket; an object with late words more than once."""
    reader = BucketReader(view, state)
    languages = counted_texts(reader.fact(LANGUAGES))
    for holding in _holdings(view, reader, scope):
        yield replace(holding, languages=languages) if languages else holding
        languages = ""


def _holdings(view: View, reader: BucketReader, scope: Scope) -> Iterator[ExportedObject]:
    late = LateWords()
    if view.by_association:
        late.find(reader)
    queues = Queues()
    for iid, record in reader.objects():
        held = {term_id: (tf, hidden) for term_id, tf, hidden, _ in record.terms()}
        for term_id in late.of_object(iid):
            del held[term_id]
        for older, term_ids in queues.release(held):
            yield _second(reader, scope, older, term_ids)
        holding = _holding(reader, scope, record.oid, held)
        for each in beside_terms():
            holding.fields.update(each.export(reader, iid, record))
        yield holding
        queues.add(late.after(iid))
    for older, term_ids in queues.release_all():
        yield _second(reader, scope, older, term_ids)


class LateWords:
    """The late words of a bucket: words that objects gained after newer objects had them."""

    def __init__(self) -> None:
        self._after: dict[int, array[int]] = {}
        self._of_object: dict[int, array[int]] = {}

    def find(self, reader: BucketReader) -> None:
        """Compare the order of every word's postings with that of the objects."""
        for _, row in reader.lexicon(b""):
            highest = -1
            for iid in living(reader, row):
                if iid > highest:
                    highest = iid
                else:
                    self._after.setdefault(highest, array("Q")).extend((row.term_id, iid))
                    self._of_object.setdefault(iid, array("Q")).append(row.term_id)

    def after(self, iid: int) -> Iterator[tuple[int, int]]:
        """Yield (term id, IID) of the late words behind an object, the oldest of each word first."""
        pairs = self._after.get(iid, array("Q"))
        return zip(pairs[::2], pairs[1::2], strict=True)

    def of_object(self, iid: int) -> Iterable[int]:
        """Return the ids of the late words of an object."""
        return self._of_object.get(iid, ())


class Queues:
    """The objects that wait for a late word, in a queue for each word."""

    def __init__(self) -> None:
        self._waiting: dict[int, deque[int]] = {}
        self._first_in: dict[int, set[int]] = {}

    def add(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Append objects to the queues: pairs of term id and IID."""
        for term_id, iid in pairs:
            queue = self._waiting.setdefault(term_id, deque())
            queue.append(iid)
            if len(queue) == 1:
                self._first_in.setdefault(iid, set()).add(term_id)

    def release(self, term_ids: Iterable[int]) -> Iterator[tuple[int, list[int]]]:
        """Empty the queues of some words: yield IIDs, each with the words in whose queues it is first."""
        for term_id in term_ids:
            while term_id in self._waiting:
                iid = self._waiting[term_id][0]
                ready = sorted(self._first_in.pop(iid))
                for term in ready:
                    self._step_on(term)
                yield iid, ready

    def release_all(self) -> Iterator[tuple[int, list[int]]]:
        """Yield, as `release` does, everything that is left in the queues."""
        return self.release(list(self._waiting))

    def _step_on(self, term_id: int) -> None:
        queue = self._waiting[term_id]
        queue.popleft()
        if queue:
            self._first_in.setdefault(queue[0], set()).add(term_id)
        else:
            del self._waiting[term_id]


def living(reader: BucketReader, row: TermInfo) -> list[int]:
    """Return the objects in a word's postings, in the order in which they got the word."""
    return [iid for block in reader.blocks(row) for iid, _ in unpack_block(block)]


def _second(reader: BucketReader, scope: Scope, iid: int, term_ids: list[int]) -> ExportedObject:
    record = reader.object_numbered(iid)
    held = {term_id: (tf, hidden) for term_id, tf, hidden, _ in record.terms()}
    return _holding(reader, scope, record.oid, {term_id: held[term_id] for term_id in term_ids})


def _holding(reader: BucketReader, scope: Scope, oid: bytes, held: dict[int, tuple[int, bool]]) -> ExportedObject:
    holding = ExportedObject(*scope, oid.decode(), {}, {}, reader.rules)
    for word, (tf, hidden) in zip(reader.terms(list(held)), held.values(), strict=True):
        (holding.hidden if hidden else holding.terms)[word] = tf
    return holding
