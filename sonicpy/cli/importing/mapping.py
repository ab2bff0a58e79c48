"""FieldMapping: the fields of a row for the text, the object, its collection, bucket and language."""

import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import Any

from sonicpy.api.missing import is_missing
from sonicpy.api.rows import OBJECT_COLUMNS, TEXT_COLUMN, RowExtras, extras_of_row
from sonicpy.cli.arguments import LANGUAGES
from sonicpy.cli.importing.json_reasons import reason_of
from sonicpy.cli.importing.row_sources import SourceRow
from sonicpy.cli.scoped import DEFAULT_BUCKET
from sonicpy.errors import InvalidArgument, SonicError
from sonicpy.ids import EXACT_MAX, check_names, check_object, object_name
from sonicpy.index.ingest.exported import FIELDS_KEY, facts_of, is_bucket, is_of_synonyms, others_of, terms_of
from sonicpy.langcodes import language_code
from sonicpy.rules import FIRST
from sonicpy.text_names import texts_of
from sonicpy.values import read_text
from sonicpy.vectors import bits_of

COLLECTION_FIELD, BUCKET_FIELD, LANG_FIELD = "collection", "bucket", "lang"
"""The default columns of collection, bucket and language."""
TERMS_FIELD = "terms"
"""The column with the terms of an exported object, instead of a text."""
UNNAMED = {
    ("--id", *OBJECT_COLUMNS): " (--id names another)",
    ("--text", TEXT_COLUMN): " (--text names another)",
    ("--collection-field", COLLECTION_FIELD): " (--collection gives it for all rows)",
}
"""(flag, its default columns) -> remark about their absence, if no flag names another column."""


class InvalidRow(SonicError):
    """A row cannot be indexed; the message holds the reason."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry to push: a text, the terms of an exported object, the facts of a bucket, or synonyms."""

    collection: str
    bucket: str
    object: str
    text: str = ""
    lang: str | None = None
    terms: Mapping[str, int] | None = None
    hidden: Mapping[str, int] = field(default_factory=dict)
    rules: int = FIRST
    languages: str = ""
    facts: Mapping[int, bytes] | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    vector: str | None = None
    tags: list[str] | None = None
    values: dict[str, int | str | None] | None = None
    synonyms: list[str] | None = None
    texts: dict[str, str] | None = None


@dataclass(frozen=True, slots=True)
class FieldMapping:
    """The rules by which rows become entries.

    Attributes:
        id: the field with the name of the object; None: the first of OBJECT_COLUMNS that a row has.
        texts: the fields whose texts are joined and indexed.
        collection, bucket, lang: the value for all rows; None: a field of each row gives it.
        vector: the field with the vector; None: rows have none.
        collection_field, bucket_field, lang_field: the fields that give these values.
        tags: the fields with tags.
        tag_separator: separates the tags of a text; None: a text is one tag.
        values: the field of each value by its name, and the number that it is multiplied by.
        named: the field of each named text by its name; then `texts` are the fields of the text without a name.
    """

    id: str | None = None
    texts: Sequence[str] = (TEXT_COLUMN,)
    collection: str | None = None
    bucket: str | None = None
    lang: str | None = None
    collection_field: str = COLLECTION_FIELD
    bucket_field: str = BUCKET_FIELD
    lang_field: str = LANG_FIELD
    vector: str | None = None
    tags: Sequence[str] = ()
    tag_separator: str | None = None
    values: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    named: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_default(self) -> bool:
        """Whether no option names a column for objects or texts."""
        return self.id is None and tuple(self.texts) == (TEXT_COLUMN,) and not self.named

    def is_exported(self, row: SourceRow) -> bool:
        """Return whether a row is of an export: it has terms, no option names a column for texts or vectors, and it has
        no text.

        Raises:
            StoreError: it has a field that is not known here.
        """
        if self.named or self.vector is not None or tuple(self.texts) != (TEXT_COLUMN,):
            return False
        return TEXT_COLUMN not in row and terms_of(row) is not None

    def missing(self, columns: Collection[str], *, exported: bool = False) -> str | None:
        """Return the end of a sentence about a missing column that is needed or was named; None: no column is missing.

        Args:
            columns: the columns of some rows.
            exported: one of these rows is of an export, so it needs no text.
        """
        needed = [("--id", OBJECT_COLUMNS if self.id is None else (self.id,))]
        if not exported:
            needed += [("--text", (name,)) for name in self.texts]
            needed += [("--field", (name,)) for name in self.named.values()]
        if self.collection is None:
            needed.append(("--collection-field", (self.collection_field,)))
        if self.bucket_field != BUCKET_FIELD:
            needed.append(("--bucket-field", (self.bucket_field,)))
        if self.lang_field != LANG_FIELD:
            needed.append(("--lang-field", (self.lang_field,)))
        if self.vector is not None:
            needed.append(("--vector", (self.vector,)))
        needed += [("--tags", (name,)) for name in self.tags]
        needed += [("--value", (name,)) for name, _ in self.values.values()]
        for flag, names in needed:
            if not any(name in columns for name in names):
                reason = UNNAMED.get((flag, *names), f", which {flag} names")
                return f"no column {' or '.join(map(repr, names))}{reason}"
        return None

    def first_read(self, row: SourceRow, columns: Collection[str]) -> str | None:
        """Return the first of these columns that the entry uses; None: it uses none."""
        given = [
            (self.collection, self.collection_field),
            (self.bucket, self.bucket_field),
            (self.lang, self.lang_field),
        ]
        read = [
            self._id_field(row),
            *self.texts,
            *self.named.values(),
            *self.tags,
            *(name for name, _ in self.values.values()),
            *([] if self.vector is None else [self.vector]),
            *(name for value, name in given if value is None),
        ]
        return next((name for name in read if name in columns), None)

    def entry(self, row: SourceRow) -> Entry:
        """Return the entry of a row. Raises InvalidRow if it cannot be indexed."""
        collection = self.collection or _name(row, self.collection_field, "--collection")
        if is_of_synonyms(row):
            _check_scope(collection, DEFAULT_BUCKET)  # synonyms have none
            return Entry(collection, "", "", synonyms=row["synonyms"])
        bucket = self.bucket or self._bucket(row)
        if is_bucket(row):
            return self._facts(collection, bucket, row)
        oid = _oid(row, self._id_field(row))
        _check_scope(collection, bucket)
        held = terms_of(row)
        if held is not None and self.is_exported(row):
            rules, languages = row.get("rules", FIRST), row.get("languages", "")
            terms, hidden = held[TERMS_FIELD], _mapping(held, "hidden")
            others = others_of(held) if FIELDS_KEY in row else {}
            return Entry(
                collection, bucket, oid, "", None, terms, hidden, rules, languages, fields=others, **_checked(others)
            )
        more = self._tagged(row)
        if self.vector is not None:
            more["vector"] = self._vector(row)
        texts = self._named_texts(row) if self.named else None
        text = self._all_texts(row) if texts is None else " ".join(filter(None, texts.values()))
        return Entry(collection, bucket, oid, text, self._language(row), texts=texts, **more)

    def _vector(self, row: SourceRow) -> str | None:
        try:
            return bits_of("vector", None if self.vector is None else vector_in(row.get(self.vector)))
        except InvalidArgument as error:
            raise InvalidRow(str(error)) from error
        except (ValueError, RecursionError) as error:
            raise InvalidRow(f"its vector is no JSON: {reason_of(error)}") from error

    def _tagged(self, row: SourceRow) -> RowExtras:
        """Return the tags and values of a row. Raises InvalidRow."""
        if not self.tags and not self.values:
            return {}
        try:
            tags = [split_tags(row.get(name), self.tag_separator) for name in self.tags]
            values = {name: scaled(row.get(column), scale) for name, (column, scale) in self.values.items()}
            return extras_of_row(tags, values)
        except InvalidArgument as error:
            raise InvalidRow(str(error)) from error

    def _facts(self, collection: str, bucket: str, row: SourceRow) -> Entry:
        _check_scope(collection, bucket)
        try:
            return Entry(collection, bucket, "", facts=facts_of(row))
        except ValueError as error:
            raise InvalidRow(f"its facts cannot be read: {reason_of(error)}") from error
        except TypeError as error:
            raise InvalidRow(f"its facts cannot be read: {error}") from error

    def _bucket(self, row: SourceRow) -> str:
        return DEFAULT_BUCKET if row.get(self.bucket_field) is None else _text(row, self.bucket_field)

    def _id_field(self, row: SourceRow) -> str:
        if self.id is not None:
            return self.id
        return next((name for name in OBJECT_COLUMNS if name in row), OBJECT_COLUMNS[0])

    def _all_texts(self, row: SourceRow) -> str:
        if len(self.texts) == 1 and isinstance(only := row.get(self.texts[0]), str) and only.isascii():
            return only  # the common case, without the steps below
        if not any(name in row for name in self.texts):
            raise InvalidRow(f"it has no field {' or '.join(map(repr, self.texts))} (--text names the fields of texts)")
        there = [name for name in self.texts if not is_missing(row.get(name))]
        if not there:
            is_null = "is null" if len(self.texts) == 1 else "are null"
            raise InvalidRow(f"its text is missing: {' and '.join(map(repr, self.texts))} {is_null}")
        text = "\n".join(_text(row, name) for name in there)
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError as error:
                raise InvalidRow("its text is not UTF-8 (--encoding names another)") from error
        return text

    def _named_texts(self, row: SourceRow) -> dict[str, str]:
        """Return the named texts of a row, by name; the text without a name comes last. Raises InvalidRow."""
        texts = {name: _text(row, column) for name, column in self.named.items() if not is_missing(row.get(column))}
        if any(not is_missing(row.get(name)) for name in self.texts):
            texts[""] = self._all_texts(row)
        if not texts:
            columns = [*self.named.values(), *self.texts]
            raise InvalidRow(f"its text is missing: it has no {' and no '.join(map(repr, columns))}")
        try:
            "".join(texts.values()).encode()
            return texts_of(texts)
        except UnicodeEncodeError as error:
            raise InvalidRow("its text is not UTF-8 (--encoding names another)") from error
        except InvalidArgument as error:
            raise InvalidRow(str(error)) from error

    def _language(self, row: SourceRow) -> str | None:
        lang = row.get(self.lang_field)
        if self.lang is not None or lang == "" or is_missing(lang):
            return self.lang
        code = language_code(_text(row, self.lang_field))
        if code is None:
            raise InvalidRow(f"{lang!a} is not a language: allowed are {LANGUAGES}")
        return code


@lru_cache(maxsize=1024)
def _check_scope(collection: str, bucket: str) -> None:
    try:
        check_names(collection, bucket)
    except InvalidArgument as error:
        raise InvalidRow(str(error)) from error


def _oid(row: SourceRow, name: str) -> str:
    value = row.get(name)
    if is_missing(value):
        raise InvalidRow(f"it has no field {name!r} (--id names another)")
    try:
        oid = object_name(value)
        check_object(oid, new=True)
    except InvalidArgument as error:
        raise InvalidRow(str(error)) from error
    return oid


def _checked(others: Mapping[str, Any]) -> RowExtras:
    """Return the tags and values of an exported object. Raises InvalidRow."""
    try:
        return extras_of_row([others.get("tags")], others.get("values", {}))
    except (InvalidArgument, TypeError, AttributeError) as error:
        raise InvalidRow(f"its tags or values cannot be read: {error}") from error


def split_tags(value: object, separator: str | None) -> object:
    """Return the tags of a field: a text is one tag or, with a separator, several; empty tags are left out."""
    if isinstance(value, int | float | Decimal) and not is_missing(value):
        value = str(value)
    if not isinstance(value, str):
        return value
    parts = [part.strip() for part in (value.split(separator) if separator else [value])]
    return [part for part in parts if part] or None


def scaled(value: object, scale: int) -> object:
    """Return the value of a field, multiplied by `scale` if it is a number; a text that is a number, a date or a time
    is read. A number that can be no value, because it cannot be multiplied, such as 1e999999, or is a float from 2**53
    on, stays as it is."""
    if isinstance(value, str):
        value = read_text(value)
    if isinstance(value, float) and abs(value) >= EXACT_MAX:
        return value
    if scale != 1 and isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        with suppress(ArithmeticError):
            return Decimal(str(value)) * scale
    return value


def vector_in(value: Any) -> Any:
    """Return the vector that a field holds, perhaps as JSON; None: it holds none. Raises ValueError."""
    if isinstance(value, str):
        return json.loads(value) if value.startswith(("[", "{")) else value or None
    return None if is_missing(value) else value


def _name(row: SourceRow, name: str, flag: str) -> str:
    if row.get(name) is None:
        raise InvalidRow(f"it has no field {name!r} ({flag} gives it for all rows)")
    return _text(row, name)


def text_of_field(value: Any) -> str | None:
    """Return the text of a field: of a number its digits, of a list its texts in lines; None: it holds no text."""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return f"{value:f}" if isinstance(value, Decimal) else str(value)
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return "\n".join(value)
    return None


def _text(row: SourceRow, name: str) -> str:
    text = text_of_field(row[name])
    if text is None:
        raise InvalidRow(f"its field {name!r} is neither a text nor a number")
    return text


def _mapping(row: SourceRow, name: str) -> Mapping[str, int]:
    value: Any = row.get(name, {})
    if not isinstance(value, Mapping):
        raise InvalidRow(f"its field {name!r} is not an object of words and numbers")
    return value
