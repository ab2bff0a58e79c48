"""Changing: the methods of Index that change one object, a bucket or a collection, from arguments to a mutation."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from sonicpy._native.ids import SAMPLED_NAMES, is_sampled, push_names
from sonicpy._native.terms import Terms
from sonicpy.api.counted import need_no
from sonicpy.arguments import language_of, not_unicode, text_of
from sonicpy.errors import InvalidArgument, StoreError
from sonicpy.ids import ObjectName, check_collection, check_names, object_name
from sonicpy.index.ingest.exported import OTHER_FIELDS
from sonicpy.index.ingest.given_vectors import IN_COMPAT, Embed, embedded, fields_of, packed_fields, vectors_of_export
from sonicpy.index.ingest.terms import NO_TERMS, check_rules, packed_terms
from sonicpy.index.text_engine import TextEngine
from sonicpy.index.texts import lexed
from sonicpy.store.changing.mutations import (
    ChangeFields,
    FlushBucket,
    FlushCollection,
    FlushObject,
    PopTerms,
    PushWith,
    RulesDiffer,
)
from sonicpy.store.fields.all_fields import VECTORS
from sonicpy.store.fields.field import FieldMode
from sonicpy.store.rows.uses import check_known
from sonicpy.vectors import COLUMN, Vector

NO_FIELDS: Mapping[str, Any] = MappingProxyType({})


class Changing:
    """The methods of an index that change something."""

    _engine: TextEngine
    _embed: Embed | None = None

    def push(
        self,
        collection: str,
        bucket: str,
        object: ObjectName,
        text: str,
        lang: str | None = None,
        vector: Vector = None,
    ) -> None:
        """Add a text to an object. Texts add up; the same text again changes nothing.

        A text may hold no word at all: the object exists then, and no query finds it.

        Args:
            collection, bucket: 1 to 128 ASCII characters without white space.
            object: 1 to 128 bytes of UTF-8 without white space and control characters; or a whole number, whose digits
                are the name, or a UUID.
            lang: language of the text as ISO 639-1, ISO 639-3 or BCP 47 (`en`, `eng`, `en-GB`); None: guess; "none": no
                language.
            vector: a vector of the object, of which the signs are kept; it replaces the one before. See
                [vectors](#vectors). None: the object keeps the one it has, or `embed` of the index makes one.

        Raises:
            InvalidArgument: an argument has a type or a value that is not allowed; the vectors of the bucket have
                another length.
            StoreError: the text was not stored.
        """
        oid = object if type(object) is str else object_name(object)
        names = push_names(collection, bucket, oid)
        if not names:
            check_names(collection, bucket, oid, compat=self._engine.is_compat, new=True)
        if vector is not None or (self._embed is not None and text):
            self._push_with(collection, bucket, oid, text, lang, vector)
            return
        is_counted = lang is not None or names == SAMPLED_NAMES or (not names and is_sampled(oid))
        engine = self._engine
        while True:
            lexer = engine.lexer_of(collection, bucket)
            terms = self._lex(lexer.lex_push, text, lang)
            if is_counted:
                lexer.note_language(terms, text, language_of(lang))
            try:
                engine.push(collection, bucket, oid, terms, lexer.rules)
            except RulesDiffer as other:
                engine.note_rules(other)
            else:
                return

    def _push_with(self, collection: str, bucket: str, oid: str, text: str, lang: str | None, vector: Vector) -> None:
        engine = self._engine
        if vector is None and self._embed is not None:
            (vector,) = embedded(self._embed, [text_of("text", text)])
        fields = packed_fields("vector", vector)
        if engine.is_compat:
            raise InvalidArgument(IN_COMPAT)
        while True:
            lexer = engine.lexer_of(collection, bucket)
            terms = self._lex(lexer.lex_push, text, lang)
            if lang is not None or is_sampled(oid):
                lexer.note_language(terms, text, language_of(lang))
            try:
                engine.push_with(PushWith(collection, bucket, oid, terms, fields, lexer.rules))
            except RulesDiffer as other:
                engine.note_rules(other)
            else:
                return

    def drop_vectors(self, collection: str, bucket: str, column: str = "") -> int:
        """Take the vectors of a column from every object of a bucket; return how many columns went.

        Args:
            column: its name; "": of all columns.

        Raises like `push`.
        """
        check_names(collection, bucket)
        name = text_of("column", column)
        if name and not COLUMN.fullmatch(name):
            raise InvalidArgument(f"column is {name!r}; allowed is the name of a column of vectors")
        fields = ((VECTORS.id, name.encode()),)
        return self._engine.apply(ChangeFields(collection, bucket, "", FieldMode.REPLACE, fields))

    def push_terms(
        self,
        collection: str,
        bucket: str,
        object: ObjectName,
        terms: Mapping[str, int],
        hidden: Mapping[str, int] = NO_TERMS,
        rules: int | None = None,
        languages: str = "",
        fields: Mapping[str, Any] = NO_FIELDS,
    ) -> None:
        """Add the terms to an object that `holdings` of another index returned for it.

        Args:
            terms: words in their normal form, each with its frequency, 1 to 255.
            hidden: the same of parts of runs without blanks, and of stop words that compat mode keeps; a frequency may
                be 0.
            rules: by which the text was cut, as `holdings` returned them; exports of version 1.0 do not name them,
                and mean 1. None: those of the bucket.
            languages: texts of the bucket by language, as `holdings` returned them with its first object.
            fields: other values of the object, as `holdings` returned them.

        Raises:
            CommandError: a name, a term, a frequency or the rules are not valid.
            StoreError: the terms were not stored; the bucket exists and has other rules.
        """
        oid = self._engine.known_name(collection, bucket, object)  # an old name stays as it is
        packed = packed_terms(terms, hidden, languages)
        engine = self._engine
        if rules is not None:
            check_rules(rules, compat=engine.is_compat)
        check_known(fields.keys() - OTHER_FIELDS, "the object")
        vectors = vectors_of_export(fields)
        if vectors is not None and engine.is_compat:
            raise InvalidArgument(IN_COMPAT)
        more = () if vectors is None else fields_of(vectors)

        def push(rules: int) -> None:
            if more:
                engine.push_with(PushWith(collection, bucket, oid, packed, more, rules))
            else:
                engine.push(collection, bucket, oid, packed, rules)

        try:
            push(engine.lexer.rules if rules is None else rules)
        except RulesDiffer as other:
            if rules is None:
                push(other.rules)
                return
            raise StoreError(
                f"the bucket {bucket} of {collection} has the rules {other.rules}, the terms of {oid} were cut by the "
                f"rules {rules}: import them into another bucket, or flush this one first"
            ) from other

    def pop(self, collection: str, bucket: str, object: ObjectName, text: str) -> int:
        """Remove the words of a text from an object; return how many were removed. Raises like `push`."""
        oid = self._engine.known_name(collection, bucket, object)
        text = text_of("text", text)
        words = lexed(self._engine.read_lexer(collection, bucket).lex_every_way, text)
        # Flags and counts do not matter for a removal.
        return self._engine.apply(
            PopTerms(collection, bucket, oid, Terms(words, b"\1" * len(words), bytes(len(words))))
        )

    def flush(self, collection: str, bucket: str | None = None, object: ObjectName | None = None) -> int:
        """Erase a collection, a bucket or an object; return 1 or 0 (it existed or not), or how many words it held.

        Raises like `push`, also for an object without its bucket.
        """
        if bucket is None:
            need_no(object)
            return self.flush_collection(collection)
        if object is None:
            return self.flush_bucket(collection, bucket)
        return self.flush_object(collection, bucket, object)

    def flush_collection(self, collection: str) -> int:
        """Erase a collection; return 1 if it existed, else 0. Raises like `push`."""
        check_collection(collection)
        return self._engine.apply(FlushCollection(collection))

    def flush_bucket(self, collection: str, bucket: str) -> int:
        """Erase a bucket; return 1 if it existed, else 0. Raises like `push`."""
        check_names(collection, bucket)
        return self._engine.apply(FlushBucket(collection, bucket))

    def flush_object(self, collection: str, bucket: str, object: ObjectName) -> int:
        """Erase an object; return how many words it held. Raises like `push`."""
        return self._engine.apply(FlushObject(collection, bucket, self._engine.known_name(collection, bucket, object)))

    def _lex(self, lex: Callable[[str, str | None], Terms], text: str, lang: str | None) -> Terms:
        if type(text) is not str:
            text = text_of("text", text)
        if lang is not None:
            lang = language_of(lang)
        try:
            return lex(text, lang)
        except UnicodeEncodeError as error:
            raise not_unicode("text", error) from error
