"""The order of the words of an object, from a text or an export to the field of a record."""

from collections.abc import Callable, Iterable

from sonicpy._native.orders import pack_given
from sonicpy._native.terms import Terms
from sonicpy.errors import InvalidArgument
from sonicpy.ids import shown
from sonicpy.index.ingest.named_texts import GivenTexts, text_fields
from sonicpy.store.changing.mutations import Fields
from sonicpy.store.fields.all_fields import DIGESTS, ORDER

GAP = -1


def order_of(terms: Terms) -> Fields:
    """Return the field with the order of the terms of a text, as the only piece; (): their order is not kept."""
    return () if terms.piece is None else ((ORDER.id, terms.piece),)


def order_of_texts(terms: Terms, texts: Iterable[str], lex: Callable[[str], Terms]) -> Fields:
    """Return the field with the order of the terms of named texts: each text is a piece, and no phrase crosses pieces.

    Args:
        terms: the terms of all texts together.
        lex: cuts a text as PUSH does. A word that the terms lack leaves a gap.
    """
    parts = [text for text in texts if text]
    if terms.piece is None or len(parts) < 2:
        return order_of(terms)
    numbers = {word: number for number, word in enumerate(terms.words)}
    pieces: list[list[int]] = []
    for part in map(lex, parts):
        piece = [numbers.get(part.words[each], GAP) for each in part.order or ()]
        if piece and piece not in pieces:
            pieces.append(piece)
    return ((ORDER.id, pack_given(pieces)),)


def order_of_export(held: object, terms: Terms, *, compat: bool) -> Fields:
    """Return the field of the order of an object of an export.

    Args:
        held: lists of the words of the object, None for a gap; None: the object has no order.
        terms: the terms of the object.
        compat: whether the index is in compat mode, which keeps no order.

    Raises:
        InvalidArgument: `held` is no order, or has other words than the object; or there is an order in compat mode.
    """
    if held is None:
        return ()
    if compat:
        raise InvalidArgument("order is given to an index in compat mode; Sonic keeps none")
    numbers: dict[object, int] = {word.decode(): number for number, word in enumerate(terms.words)}
    numbers[None] = GAP
    try:
        pieces = [[numbers[word] for word in piece] for piece in held]  # type: ignore[attr-defined]
    except (TypeError, KeyError) as error:
        raise InvalidArgument(f"order is {shown(held)}; allowed are lists of words of the object") from error
    return ((ORDER.id, pack_given(pieces)),)


def upsert_fields(
    terms: Terms, given: GivenTexts, fields: Fields, digest: bytes, lex: Callable[[str], Terms]
) -> Fields:
    """Return all fields of an UPSERT, in their order. Raises UnicodeEncodeError if a text holds a lone surrogate.

    Args:
        terms: the terms of all texts together.
        given: the texts.
        fields: the tags, the values and the vectors.
        digest: the digest of the texts.
        lex: cuts a text as PUSH does.
    """
    named, order = text_fields(given.named, lex), order_of_texts(terms, given.parts.values(), lex)
    return (*order, *fields, *named, (DIGESTS.id, digest))
