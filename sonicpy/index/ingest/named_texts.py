"""The named texts of an object, from arguments to the field of a record and the rest of a digest."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from sonicpy._native.digest import normal_text
from sonicpy._native.named_terms import pack_named
from sonicpy._native.terms import Terms
from sonicpy._native.varint import pack_varints
from sonicpy.arguments import not_unicode, text_of
from sonicpy.errors import InvalidArgument
from sonicpy.ids import shown
from sonicpy.store.changing.mutations import Fields
from sonicpy.store.fields.all_fields import TEXTS
from sonicpy.store.fields.text_field import pack_texts
from sonicpy.store.rows.named_words import BETWEEN, is_whole
from sonicpy.text_names import name_of_text, texts_of

if TYPE_CHECKING:
    from sonicpy.api.rows import Row

IN_COMPAT = "texts with names are given to an index in compat mode; Sonic has none"


class GivenTexts(NamedTuple):
    """The text of an UPSERT.

    Attributes:
        text: the whole text of the object, in the form that digests are made of.
        named: its parts by name, in the same form; {}: none has a name.
        parts: as `named`, and the part without a name; {}: the text was given as a whole.
    """

    text: str
    named: dict[str, str]
    parts: Mapping[str, str] = MappingProxyType({})

    @property
    def rest(self) -> bytes:
        """The bytes of the named texts that a digest covers. Raises UnicodeEncodeError if a text is not Unicode."""
        return digest_rest(self.named)


def given_texts(text: str | Mapping[str, str], *, compat: bool = False) -> GivenTexts:
    """Return the text of an object, or its texts by name, as UPSERT takes them. Raises InvalidArgument, also for texts
    by name if `compat`."""
    if type(text) is str:
        return GivenTexts(normal_text(text), {})
    if not isinstance(text, Mapping):
        return GivenTexts(normal_text(text_of("text", text)), {})
    if compat:
        raise InvalidArgument(IN_COMPAT)
    parts = {name: normal_text(part) for name, part in texts_of(text).items()}
    return GivenTexts(joined_texts(parts), {name: part for name, part in parts.items() if name}, parts)


def joined_texts(texts: Mapping[str, str]) -> str:
    """Return the whole text of an object with named texts."""
    return " ".join(filter(None, texts.values()))


def digest_rest(named: Mapping[str, str]) -> bytes:
    """Return the bytes of named texts that a digest covers, in any order. Raises UnicodeEncodeError."""
    parts = [part.encode() for name, text in sorted(named.items()) if name for part in (name, text)]
    return b"".join(pack_varints((len(part),)) + part for part in parts)


def normal_row(row: "Row") -> "Row":
    """Return a row with its texts in the form that digests are made of."""
    if row.texts is None:
        text = normal_text(row.text)
        return row if text == row.text else row._replace(text=text)
    given = given_texts(row.texts)
    return row._replace(text=given.text, texts=dict(given.parts))


def text_fields(named: Mapping[str, str], lex: Callable[[str], Terms]) -> Fields:
    """Return the field that gives an object its named texts; (): there are none. Raises UnicodeEncodeError.

    Args:
        lex: cuts a text as PUSH does.
    """
    terms = [(name.encode(), lex(text)) for name, text in sorted(named.items()) if name]
    return ((TEXTS.id, pack_named(terms)),) if terms else ()


def field_of_push(name: str, terms: Terms) -> Fields:
    """Return the field of a PUSH that adds a text to the one with a name."""
    return ((TEXTS.id, pack_named([(name_of_text(name).encode(), terms)])),)


def texts_of_export(held: object, *, compat: bool) -> Fields:
    """Return the field of the named texts of an object of an export, `held`: words by name; None: no text has a name.
    Raises InvalidArgument, also for named texts if `compat`."""
    if held is None:
        return ()
    if compat:
        raise InvalidArgument(IN_COMPAT)
    return ((TEXTS.id, pack_texts(_held_words(held))),)


def named_texts_of_export(held: object) -> dict[str, str]:
    """Return texts, by name, whose words are those of the named texts of an object of an export; {}: it has none.

    Args:
        held: as in `texts_of_export`. Of a text that is there as a whole, the words have their order.

    Raises:
        InvalidArgument: the texts are not allowed.
    """
    return {name: _text_of(words) for name, words in ({} if held is None else _held_words(held)).items()}


def _held_words(held: object) -> dict[str, list[bytes]]:
    if not isinstance(held, Mapping) or not all(_are_words(words) for words in held.values()):
        raise InvalidArgument(f"texts is {shown(held)}; allowed are lists of words by the names of texts")
    try:
        return {name_of_text(name): [word.encode() for word in words] for name, words in held.items()}
    except UnicodeEncodeError as error:
        raise not_unicode("texts", error) from error


def _text_of(words: list[bytes]) -> str:
    wholes = [word for word in words if is_whole(word)]
    chosen = wholes if len(wholes) == 1 else [word for word in words if not is_whole(word)]
    return b" ".join(chosen).replace(BETWEEN, b" ").strip().decode()


def _are_words(words: object) -> bool:
    return isinstance(words, list) and all(isinstance(word, str) and word for word in words)
