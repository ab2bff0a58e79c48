"""Changing: the methods of Index that change one object, a bucket or a collection, from arguments to a mutation."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from sonicpy._native.digest import digest_of
from sonicpy._native.ids import SAMPLED_NAMES, is_sampled, push_names
from sonicpy._native.terms import Terms
from sonicpy.api.counted import need_no
from sonicpy.arguments import language_of, not_unicode, nothing_to_tag, switch_of, text_of
from sonicpy.errors import InvalidArgument, StoreError
from sonicpy.ids import ObjectName, check_collection, check_names, object_name, plain_str, shown
from sonicpy.index.ingest.exported import DIGEST_KEY, OTHER_KEYS
from sonicpy.index.ingest.given_digests import digest_of_export
from sonicpy.index.ingest.given_orders import order_of, order_of_export, upsert_fields
from sonicpy.index.ingest.given_vectors import (
    IN_COMPAT,
    Embed,
    embedded,
    packed_fields,
    vector_fields,
    vectors_of_export,
)
from sonicpy.index.ingest.named_texts import (
    IN_COMPAT as NAMED_IN_COMPAT,
)
from sonicpy.index.ingest.named_texts import (
    GivenTexts,
    field_of_push,
    given_texts,
)
from sonicpy.index.ingest.tagged import fields_of, fields_of_export
from sonicpy.index.ingest.terms import NO_TERMS, check_rules, packed_terms
from sonicpy.index.text_engine import TextEngine
from sonicpy.index.texts import lexed
from sonicpy.store.changing.mutations import (
    ChangeFields,
    ChangeSynonyms,
    Fields,
    FlushBucket,
    FlushCollection,
    FlushObject,
    PopTerms,
    RulesDiffer,
    UpsertTerms,
)
from sonicpy.store.changing.synonym_writer import ADD, REPLACE, TOO_MANY
from sonicpy.store.fields.all_fields import DIGESTS, ORDER, VECTORS
from sonicpy.store.fields.field import FieldMode
from sonicpy.store.rows.synonym_rules import pack_synonyms
from sonicpy.store.rows.uses import check_known
from sonicpy.vectors import Vector, is_column

NO_FIELDS: Final[Mapping[str, Any]] = MappingProxyType({})


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
        *,
        tags: Iterable[str] | None = None,
        values: Mapping[str, Any] | None = None,
        field: str | None = None,
    ) -> None:
        """Add a text to an object. Texts add up; the same text again changes nothing.

        A text may hold no word at all: the object exists then, and no query finds it by a word.

        Args:
            collection, bucket: 1 to 128 ASCII characters without white space.
            object: 1 to 128 bytes of UTF-8 without white space and control characters; or a whole number, whose digits
                are the name, or a UUID.
            lang: language of the text as ISO 639-1, ISO 639-3 or BCP 47 (`en`, `eng`, `en-GB`); None: guess; "none": no
                language.
            vector: a vector of the object, of whose numbers the signs are kept; it replaces the former one. See
                [vectors](#vectors). None: the object keeps the one it has, or `embed` of the index makes one.
            tags: all tags of the object, at most 64: they replace those that it had; None: these stay. A tag is 1 to
                128 bytes of UTF-8 without control characters.
            values: whole numbers of 64 bits by name, dates and times (seconds since 1970), True and False, and points
                as (latitude, longitude); None takes a value away, names that are not given stay. A bucket has at most
                16 names.
            field: the name of the text, such as "title", which queries can search or weight: 1 to 64 ASCII letters,
                digits and _ - . with a letter or _ first, at most 8 in a bucket. None: the text has no name.

        Raises:
            InvalidArgument: an argument has a type or a value that is not allowed; the vectors of the bucket have
                another length.
            StoreError: the text was not stored, or is not committed yet, as the message says.
        """
        oid = object if type(object) is str else object_name(object)
        names = push_names(collection, bucket, oid)
        if not names:
            check_names(collection, bucket, oid, compat=self._engine.is_compat, new=True)
            collection, bucket = plain_str(collection), plain_str(bucket)
        if type(text) is not str:
            text = text_of("text", text)
        is_counted = lang is not None or names == SAMPLED_NAMES or (not names and is_sampled(oid))
        engine = self._engine
        fields: Fields = ()
        has_vector = vector is not None or (self._embed is not None and text != "")
        if has_vector or tags is not None or values is not None:
            fields = self._fields(text, tags, values, vector)
        while True:
            lexer = engine.lexer_of(collection, bucket)
            terms = self._lex(lexer.lex_push, text, lang)
            if is_counted:
                lexer.note_language(terms, text, language_of(lang))
            try:
                if fields or field is not None:
                    more = fields  # of these rules alone: the next pass of the loop has others
                    if field is not None or terms.piece is not None:
                        named = () if field is None else self._field_of_push(field, terms)
                        more = (*order_of(terms), *fields, *named)
                    engine.push_with(collection, bucket, oid, terms, more, lexer.rules)
                elif terms.piece is not None:
                    engine.push_with_order(collection, bucket, oid, terms, terms.piece, lexer.rules)
                else:
                    engine.push(collection, bucket, oid, terms, lexer.rules)
            except RulesDiffer as other:
                engine.note_rules(other)
            else:
                return

    def upsert(
        self,
        collection: str,
        bucket: str,
        object: ObjectName,
        text: str | Mapping[str, str],
        lang: str | None = None,
        vector: Vector = None,
        *,
        tags: Iterable[str] | None = None,
        values: Mapping[str, Any] | None = None,
    ) -> bool:
        """Replace the words of an object by those of a text, in one change; return whether anything changed.

        The object is created if it is missing, and keeps its place among the newest if it is not. A text that `upsert`
        gave the object already is recognised by a digest: it is neither analysed nor compared.

        Args:
            collection, bucket, object, lang, vector: as in `push`.
            text: the text; or named texts, such as {"title": "Java", "body": "An island"}, with "" for a part without a
                name. Named texts that are missing here are removed.
            tags, values: as in `push`: those that are not given stay.

        Raises like `push`, and InvalidArgument in compat mode.
        """
        engine = self._engine
        self._check_upsert()
        oid = object if type(object) is str else object_name(object)
        names = push_names(collection, bucket, oid)
        if not names:
            check_names(collection, bucket, oid, new=True)
            collection, bucket = plain_str(collection), plain_str(bucket)
        if lang is not None:
            lang = language_of(lang)
        given = given_texts(text)
        text = given.text
        fields: Fields = ()
        if tags is not None or values is not None or vector is not None:
            fields = self._fields("", tags, values, vector)
        is_embedded = self._embed is not None and vector is None
        is_due, is_emptied = is_embedded and bool(text), is_embedded and not text
        while True:
            lexer = engine.lexer_of(collection, bucket)
            digest = self._digest(oid, given, lang, lexer.rules)
            is_held = engine.has_digest(collection, bucket, oid, digest)
            column = getattr(self._embed, "column", "") if is_due else ""
            if is_held and not (is_due and self._lacks_vector(collection, bucket, oid, column)):
                if not fields or self._holds_parts((collection, bucket, oid), fields):
                    return False
                engine.apply(ChangeFields(collection, bucket, oid, FieldMode.ADD, fields))
                return True
            if is_due:
                fields, is_due = fields + self._fields(text, None, None, None), False
            terms = lexer.lex_push(text, lang)
            if lang is not None or names == SAMPLED_NAMES or (not names and is_sampled(oid)):
                lexer.note_language(terms, text, lang)
            more: Fields = ((DIGESTS.id, digest),)
            if fields or given.named or terms.piece is not None:
                more = upsert_fields(terms, given, fields, digest, partial(lexer.lex_push, lang=lang))
            try:
                if is_emptied:
                    change = UpsertTerms(collection, bucket, oid, terms, lexer.rules, more)
                    self._forget_vector(change, getattr(self._embed, "column", ""))
                engine.upsert(collection, bucket, oid, terms, lexer.rules, more)
            except RulesDiffer as other:
                engine.note_rules(other)
            else:
                return True

    def needs_vector(
        self,
        collection: str,
        bucket: str,
        object: ObjectName,
        text: str | Mapping[str, str],
        lang: str | None = None,
        column: str = "",
    ) -> bool:
        """Return whether an `upsert` needs a vector of its text: the object holds another text, or has no vector. An
        empty text needs none; if it replaces another text, return whether the object has a vector to take away.

        Args:
            collection, bucket, object, text, lang: as in `upsert`.
            column: the name of the column of vectors; "": any column.

        Raises InvalidArgument as `upsert`.
        """
        self._check_upsert()
        oid = object_name(object)
        check_names(collection, bucket, oid, new=True)
        given = given_texts(text)
        digest = self._digest(
            oid, given, None if lang is None else language_of(lang), self._engine.lexer_of(collection, bucket).rules
        )
        is_held = self._engine.has_digest(collection, bucket, oid, digest)
        if not given.text:
            return not is_held and not self._lacks_vector(collection, bucket, oid, column)
        return not is_held or self._lacks_vector(collection, bucket, oid, column)

    def drop_vectors(self, collection: str, bucket: str, column: str = "") -> int:
        """Remove the vectors of a column from every object of a bucket; return the number of columns removed.

        Args:
            column: the name of the column; "": all columns.

        Raises like `push`.
        """
        check_names(collection, bucket)
        name = text_of("column", column)
        if name and not is_column(name):
            raise InvalidArgument(f"column is {shown(name)}; allowed is the name of a column of vectors")
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
            hidden: hidden terms with their frequencies, 0 to 255: parts of runs without blanks, and stop words of
                compat mode.
            rules: the version of the rules that cut the text into words, as `holdings` returned it; 1 for exports of
                version 1.0, which do not name it. None: the rules of the bucket.
            languages: the number of texts of the bucket by language, as `holdings` returned them with its first object.
            fields: tags, values, vectors and so on of the object, as `holdings` returned them. A digest is kept only if
                the object is new, and the other index analysed texts by the same settings.

        Raises:
            CommandError: a name, a term, a frequency, a field or the rules are not valid.
            StoreError: the terms were not stored; the bucket exists and has other rules.
        """
        oid = self._engine.known_name(collection, bucket, object)  # an old name stays as it is
        collection, bucket = plain_str(collection), plain_str(bucket)
        packed = packed_terms(terms, hidden, languages)
        engine = self._engine
        more = order_of_export(fields.get(ORDER.name), packed, compat=self._engine.is_compat)
        more += self._fields_of_export(fields)
        if rules is not None:
            check_rules(rules, compat=engine.is_compat)

        def push(rules: int) -> None:
            if more:
                engine.push_with(collection, bucket, oid, packed, more, rules)
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
            StoreError: the change was not stored, or is not committed yet, as the message says.
        """
        oid = self._engine.known_name(collection, bucket, object)
        if tags is None and values is None:
            raise nothing_to_tag()
        return self._engine.apply(
            ChangeFields(collection, bucket, oid, FieldMode.ADD, self._fields("", tags, values, None))
        )

    def set_synonyms(self, collection: str, rules: Iterable[str], *, add: bool = False) -> int:
        """Change the synonyms of a collection, in one change; return how many rules it has now.

        Queries in all its buckets use them from now on, also for objects that were pushed before.

        Args:
            rules: by `"ny, new york"`, a query with one alternative also looks for the other; by `"tv => television"`,
                a query with `tv` also looks for `television`. An object matches an alternative of several words if it
                holds all of them. A rule has at most 16 words, a collection at most 10,000 rules; []: remove all.
            add: add the rules to the present ones; else replace those.

        Raises:
            InvalidArgument: a rule has another form, or there are too many; or in compat mode. Nothing was changed.
            StoreError: the rules were not stored.
        """
        from sonicpy.index.synonym_texts import NOT_IN_COMPAT, TOO_MANY_RULES, read_rules  # noqa: PLC0415  not often

        check_collection(collection)
        engine = self._engine
        if engine.is_compat:
            raise InvalidArgument(NOT_IN_COMPAT)
        add = switch_of("add", add)
        packed = pack_synonyms(read_rules(rules, engine.lexer))
        count = engine.apply(ChangeSynonyms(collection, ADD if add else REPLACE, packed))
        if count == TOO_MANY:
            raise InvalidArgument(TOO_MANY_RULES)
        return count

    def claim(self, collection: str, bucket: str, owner: str, *, prefix: str = "") -> None:
        """Note that a bucket, or its objects whose names begin with a prefix, follow one source; `mirror` does so.

        The bucket is created if it is missing. Flushing it ends all claims.

        Args:
            owner: the name of the source.
            prefix: the beginning of the names; "": all objects.

        Raises:
            InvalidArgument: another source owns some of these objects, or a claim of another prefix overlaps; or in
                compat mode.
            StoreError: the claim was not stored.
        """
        from sonicpy.index.claims import IN_COMPAT, claim_of  # noqa: PLC0415  not often

        check_names(collection, bucket)
        if self._engine.is_compat:
            raise InvalidArgument(IN_COMPAT)
        change = claim_of(collection, bucket, owner, prefix, self._engine.lexer.rules)
        if not self._is_claimed(collection, bucket, owner, prefix):
            self._engine.apply(change)
            self._is_claimed(collection, bucket, owner, prefix)  # another source may have been faster

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
        """Erase a collection, a bucket or an object.

        Return 1 if the collection or the bucket existed, else 0; for an object, return the number of its words.

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

    def _fields(self, text: str, tags: Any, values: Any, vector: Vector) -> Fields:
        """Return the fields that a change gives an object beside the terms of a text. Raises InvalidArgument."""
        fields: Fields = ()
        if tags is not None or values is not None:
            fields = fields_of(tags, values, compat=self._engine.is_compat)
        if vector is None and self._embed is not None and text:
            (vector,) = embedded(self._embed, [text])
        if vector is not None:
            if self._engine.is_compat:
                raise InvalidArgument(IN_COMPAT)
            fields += packed_fields("vector", vector)
        return fields

    def _fields_of_export(self, given: Mapping[str, Any]) -> Fields:
        """Return the fields of an object of an export. Raises InvalidArgument, or StoreError if a key is not known."""
        check_known(given.keys() - OTHER_KEYS, "the object")
        compat = self._engine.is_compat
        vectors = vectors_of_export(given)
        if vectors is not None and compat:
            raise InvalidArgument(IN_COMPAT)
        digest = digest_of_export(given.get(DIGEST_KEY), self._engine.packed_analyzer)  # before named texts
        return digest + fields_of_export(given, compat=compat) + (() if vectors is None else vector_fields(vectors))

    def _holds_parts(self, names: tuple[str, str, str], fields: Fields) -> bool:
        """Return whether an object has just the tags, and the values and vectors, that a change gives it."""
        return False

    def _is_claimed(self, collection: str, bucket: str, owner: str, prefix: str) -> bool:
        """Return whether a mirror is noted already. Raises InvalidArgument if it cannot be."""
        return False

    def _lacks_vector(self, collection: str, bucket: str, oid: str, column: str) -> bool:
        """Return whether an object has no vector of a column; "": of any column."""
        return False

    def _forget_vector(self, change: UpsertTerms, column: str) -> None:
        """Take the vector of a column away from the object of a change that comes next, because its text goes; "": of
        all columns. Raises the error of the change if it is refused; the object keeps its vector then."""

    def _check_upsert(self) -> None:
        if self._engine.is_compat:
            raise InvalidArgument("upsert is not offered in compat mode: Sonic lacks it")

    def _field_of_push(self, field: str, terms: Terms) -> Fields:
        if self._engine.is_compat:
            raise InvalidArgument(NAMED_IN_COMPAT)
        return field_of_push(field, terms)

    def _digest(self, oid: str, given: GivenTexts, lang: str | None, rules: int) -> bytes:
        try:
            return digest_of(oid, given.text, lang, rules, given.rest if given.named else b"")
        except UnicodeEncodeError as error:
            raise not_unicode("text", error) from error

    def _lex(self, lex: Callable[[str, str | None], Terms], text: str, lang: str | None) -> Terms:
        if lang is not None:
            lang = language_of(lang)
        try:
            return lex(text, lang)
        except UnicodeEncodeError as error:
            raise not_unicode("text", error) from error
