"""Terms exported by another index: checked, and converted to the form of a text's terms."""

from collections.abc import Mapping
from types import MappingProxyType

from sonicpy._native.terms import STOP, Terms
from sonicpy.errors import CommandError, InvalidArgument
from sonicpy.ids import shown

FREQUENCY_MAX = 255

NO_TERMS: Mapping[str, int] = MappingProxyType({})


def packed_terms(terms: Mapping[str, int], hidden: Mapping[str, int]) -> Terms:
    """Return terms as the lexer does, hidden ones flagged as stop words: the store only records that they are hidden.

    Raises:
        CommandError: a term is empty, not Unicode, or in both mappings; or a frequency is not 1 to 255.
    """
    for argument, given in (("terms", terms), ("hidden", hidden)):
        if not isinstance(given, Mapping):
            raise InvalidArgument(f"{argument} is {shown(given)}; allowed is a mapping of words to frequencies")
    both = terms.keys() & hidden.keys()
    if both:
        raise CommandError("invalid_format", f"the term {min(both)!r} is in both terms and hidden")
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
