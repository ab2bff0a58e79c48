"""Terms that were cut before, to be pushed once more: checked, then in the form in which texts give them."""

from collections.abc import Mapping
from types import MappingProxyType

from sonicpy._native.terms import STOP, Terms
from sonicpy.errors import CommandError

FREQUENCY_MAX = 255

NO_TERMS: Mapping[str, int] = MappingProxyType({})


def packed_terms(terms: Mapping[str, int], hidden: Mapping[str, int]) -> Terms:
    """Return terms as the lexer would; hidden ones as stop words, of which the store tells parts of runs no more apart.

    Raises:
        CommandError: a term is empty, not Unicode, or in both; or a frequency is not 1 to 255.
    """
    both = terms.keys() & hidden.keys()
    if both:
        raise CommandError("invalid_format", f"the term {min(both)!r} is hidden and not hidden")
    held = {**terms, **hidden}
    for term, frequency in held.items():
        if type(frequency) is not int or not 0 < frequency <= FREQUENCY_MAX:
            raise CommandError("invalid_format", f"the frequency of {term!r} is not 1 to {FREQUENCY_MAX}")
        if not isinstance(term, str) or not term:
            raise CommandError("invalid_format", f"{term!r} is no term")
    try:
        words = [term.encode() for term in held]
    except UnicodeEncodeError as error:
        raise CommandError("invalid_format", f"the term {error.object!r} is not Unicode") from error
    return Terms(words, bytes(held.values()), bytes(len(terms)) + bytes((STOP,)) * len(hidden))
