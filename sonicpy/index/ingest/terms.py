"""Terms exported by another index: checked, and converted to the form of a text's terms."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from sonicpy._native.parts import JOINT_MARK
from sonicpy._native.terms import STOP, Terms
from sonicpy.errors import CommandError, InvalidArgument
from sonicpy.ids import shown
from sonicpy.rules import FIRST, KNOWN

FREQUENCY_MAX = 255

JOINT = JOINT_MARK.decode()
"""The beginning of a hidden term that names the parts of a word in camelCase, and has a frequency of 0."""

NO_TERMS: Mapping[str, int] = MappingProxyType({})


def check_rules(rules: int, *, compat: bool) -> None:
    """Raise CommandError if a version of the rules is not known or, with `compat`, is not the first one."""
    known = (FIRST,) if compat else sorted(KNOWN)
    if rules not in known:
        named = " and ".join(map(str, known))
        raise CommandError("invalid_format", f"the terms were cut by the rules {shown(rules)}, known are {named} here")


LANGUAGES_FORM = r"(?:[a-z]{2,3} [1-9]\d{0,8}(?:,(?!$)|$))*"
"""The pattern of the number of texts by language, as an export has it: `eng 120,deu 3`."""


def packed_terms(terms: Mapping[str, int], hidden: Mapping[str, int], languages: str = "") -> Terms:
    """Return terms as the lexer does, hidden ones flagged as stop words: the store only records that they are hidden.

    Args:
        languages: as `ExportedObject.languages`.

    Raises:
        CommandError: a term is empty, not Unicode, or in both mappings; or a frequency is not 1 to 255, or 0 for hidden
            terms with the parts of a word in camelCase; or the languages have another form.
    """
    if not isinstance(languages, str) or not re.fullmatch(LANGUAGES_FORM, languages):
        raise CommandError("invalid_format", f"languages is {shown(languages)}; allowed are such as 'eng 120,deu 3'")
    for argument, given in (("terms", terms), ("hidden", hidden)):
        if not isinstance(given, Mapping):
            raise InvalidArgument(f"{argument} is {shown(given)}; allowed is a mapping of words to frequencies")
    joints = {term for term, frequency in hidden.items() if frequency == 0 and str(term).startswith(JOINT)}
    both = terms.keys() & hidden.keys()
    if both:
        raise CommandError("invalid_format", f"the term {min(both)!r} is in both terms and hidden")
    held = {**terms, **hidden}
    for term, frequency in held.items():
        if type(frequency) is not int or not 0 < frequency <= FREQUENCY_MAX and term not in joints:
            raise CommandError("invalid_format", f"the frequency of {term!r} is not 1 to {FREQUENCY_MAX}")
        if not isinstance(term, str) or not term:
            raise CommandError("invalid_format", f"{term!r} is no term")
    try:
        words = [term.encode() for term in held]
    except UnicodeEncodeError as error:
        raise CommandError("invalid_format", f"the term {error.object!r} is not Unicode") from error
    return Terms(
        words, bytes(held.values()), bytes(len(terms)) + bytes((STOP,)) * len(hidden), languages=languages.encode()
    )
