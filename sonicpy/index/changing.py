"""Changing: the methods of Index that change one object, a bucket or a collection, from arguments to a mutation."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from sonicpy._native.ids import SAMPLED_NAMES, is_sampled, push_names
from sonicpy._native.terms import Terms
from sonicpy.api.counted import need_no
from sonicpy.arguments import language_of, not_unicode, nothing_to_tag, text_of
from sonicpy.errors import StoreError
from sonicpy.ids import ObjectName, check_collection, check_names, object_name
from sonicpy.index.ingest.tagged import fields_of, fields_of_export
from sonicpy.index.ingest.terms import NO_TERMS, check_rules, packed_terms
from sonicpy.index.text_engine import TextEngine
from sonicpy.index.texts import lexed
from sonicpy.store.changing.mutations import (
    ChangeFields,
    FlushBucket,
    FlushCollection,
    FlushObject,
    PopTerms,
    RulesDiffer,
)
from sonicpy.store.fields.field import FieldMode

NO_FIELDS: Final[Mapping[str, Any]] = MappingProxyType({})


class Changing:
    """The methods of an index that change something."""

    _engine: TextEngine

    def push(
        self,
        collection: str,
        bucket: str,
        object: ObjectName,
        text: str,
        lang: str | None = None,
        *,
        tags: Iterable[str] | None = None,
        values: Mapping[str, Any] | None = None,
    ) -> None:
        """Add a text to an object. Texts add up; the same text again changes nothing.

        A text may hold no word at all: the object exists then, and no query finds it by a word.

        Args:
            collection, bucket: 1 to 128 ASCII characters without white space.
            object: 1 to 128 bytes of UTF-8 without white space and control characters; or a whole number, whose digits
                are the name, or a UUID.
            lang: language of the text as ISO 639-1, ISO 639-3 or BCP 47 (`en`, `eng`, `en-GB`); None: guess; "none": no
                language.
            tags: all tags of the object, at most 64: they replace those that it had; None: these stay. A tag is 1 to
                128 bytes of UTF-8 without control characters.
            values: whole numbers of 64 bits by name, dates and times (seconds since 1970), True and False, and points
                as (latitude, longitude); None takes a value away, names that are not given stay. A bucket has at most
                16 names.

        Raises:
            InvalidArgument: an argument has a type or a value that is not allowed.
            StoreError: the text was not stored.
        """
        oid = object if type(object) is str else object_name(object)
        names = push_names(collection, bucket, oid)
        if not names:
            check_names(collection, bucket, oid, compat=self._engine.is_compat, new=True)
        is_counted = lang is not None or names == SAMPLED_NAMES or (not names and is_sampled(oid))
        engine = self._engine
        fields = () if tags is None and values is None else fields_of(tags, values, compat=engine.is_compat)
        while True:
            lexer = engine.lexer_of(collection, bucket)
            terms = self._lex(lexer.lex_push, text, lang)
            if is_counted:
                lexer.note_language(terms, text, language_of(lang))
            try:
                if fields:
                    engine.push_fields(collection, bucket, oid, terms, lexer.rules, fields)
                else:
                    engine.push(collection, bucket, oid, terms, lexer.rules)
            except RulesDiffer as other:
                engine.note_rules(other)
            else:
                return

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
            fields: tags and values of the object, as `holdings` returned them.

        Raises:
            CommandError: a name, a term, a frequency, a field or the rules are not valid.
            StoreError: the terms were not stored; the bucket exists and has other rules.
        """
        oid = self._engine.known_name(collection, bucket, object)  # an old name stays as it is
        packed = packed_terms(terms, hidden, languages)
        engine = self._engine
        others = fields_of_export(fields, compat=engine.is_compat)
        push = partial(engine.push_fields, fields=others) if others else engine.push
        if rules is not None:
            check_rules(rules, compat=engine.is_compat)
        try:
            push(collection, bucket, oid, packed, engine.lexer.rules if rules is None else rules)
        except RulesDiffer as other:
            if rules is None:
                push(collection, bucket, oid, packed, other.rules)
                return
            raise StoreError(
                f"the bucket {bucket} of {collection} has the rules {other.rules}, the terms of {oid} were cut by the "
                f"rules {rules}: import them into another bucket, or flush this one first"
            ) from other

    def tag(
        self,
        collection: str,
        bucket: str,
        object: ObjectName,
        tags: Iterable[str] | None = None,
        *,
        values: Mapping[str, Any] | None = None,
    ) -> int:
        """Change the tags or values of an object that exists; return 1, or 0 if there is no such object.

        Args:
            tags: all tags of the object; []: none any more; None: they stay.
            values: as in `push`.

        Raises:
            InvalidArgument: an argument is not valid, or both are None.
            StoreError: the change was not stored.
        """
        oid = self._engine.known_name(collection, bucket, object)
        if tags is None and values is None:
            raise nothing_to_tag()
        fields = fields_of(tags, values, compat=self._engine.is_compat)
        return self._engine.apply(ChangeFields(collection, bucket, oid, FieldMode.ADD, fields))

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
