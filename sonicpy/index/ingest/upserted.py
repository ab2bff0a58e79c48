"""The fields of an UPSERT."""

from collections.abc import Callable

from sonicpy._native.terms import Terms
from sonicpy.index.ingest.given_orders import order_of_texts
from sonicpy.index.ingest.named_texts import GivenTexts, text_fields
from sonicpy.store.changing.mutations import Fields
from sonicpy.store.fields.all_fields import DIGESTS


def upsert_fields(
    terms: Terms, given: GivenTexts, fields: Fields, digest: bytes, lex: Callable[[str], Terms]
) -> Fields:
    """Return all fields of an UPSERT, in their order. Raises UnicodeEncodeError.

    Args:
        terms: the terms of all texts together.
        given: the texts.
        fields: the tags, the values and the vectors.
        digest: the digest of the texts.
        lex: cuts a text as PUSH does.
    """
    named, order = text_fields(given.named, lex), order_of_texts(terms, given.parts.values(), lex)
    return (*order, *fields, *named, (DIGESTS.id, digest))
