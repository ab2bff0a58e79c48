"""The vectors of texts that an UPSERT without a vector replaces, for a caller that makes the vectors itself."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from sonicpy._native.digest import digest_of
from sonicpy.arguments import language_of
from sonicpy.ids import ObjectName, object_name
from sonicpy.index.ingest.given_orders import upsert_fields
from sonicpy.index.ingest.held_vectors import forget_vectors
from sonicpy.index.ingest.named_texts import given_texts
from sonicpy.index.ingest.tagged import fields_of
from sonicpy.store.changing.mutations import RulesDiffer, UpsertTerms

if TYPE_CHECKING:
    from sonicpy.index.index import Index


def forget_replaced(
    index: "Index",
    names: tuple[str, str, ObjectName],
    text: str | Mapping[str, str],
    lang: str | None,
    column: str,
    others: tuple[Any, Any],
) -> None:
    """Take the vector of another text away from an object, before an `upsert` that gives it none.

    Args:
        names: the names of the collection, the bucket and the object.
        text, lang: as in `upsert`.
        column: the name of the column of vectors; "": all columns.
        others: the tags and the values of the `upsert`.

    Raises the error of the `upsert` if it is refused; the object keeps its vector then.
    """
    collection, bucket, object = names
    oid, given, fields = object_name(object), given_texts(text), fields_of(*others)
    while index.needs_vector(collection, bucket, oid, text, lang, column):
        lexer = index.engine.lexer_of(collection, bucket)
        code = None if lang is None else language_of(lang)
        digest = digest_of(oid, given.text, code, lexer.rules, given.rest if given.named else b"")
        lex = partial(lexer.lex_push, lang=code)
        terms = lex(given.text)
        more = upsert_fields(terms, given, fields, digest, lex)
        try:
            forget_vectors(index.engine, UpsertTerms(collection, bucket, oid, terms, lexer.rules, more), column)
        except RulesDiffer as other:
            index.engine.note_rules(other)
        else:
            return
