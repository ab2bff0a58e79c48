"""Irregular plurals of English nouns, and a few other forms, which no stemmer finds. In scores they count less than
regular forms.

Verbs are left out: most of those with irregular forms are frequent words, which hardly decide the subject of a text.
"""

from collections.abc import Iterator
from functools import cache

_GROUPS = (
    "foot feet|tooth teeth|goose geese|mouse mice|louse lice|ox oxen|penny pennies pence|die dice|"
    "leaf leaves|wolf wolves|knife knives|life lives|half halves|shelf shelves|loaf loaves|thief thieves|calf calves|"
    "elf elves|scarf scarves|hoof hooves|wharf wharves|self selves|sheaf sheaves|dwarf dwarves|"
    "index indexes indices|matrix matrices|vertex vertices|appendix appendices|vortex vortices|axis axes|crisis crises|"
    "thesis theses|hypothesis hypotheses|diagnosis diagnoses|oasis oases|basis bases|ellipsis ellipses|"
    "synthesis syntheses|parenthesis parentheses|phenomenon phenomena|criterion criteria|"
    "bacterium bacteria|curriculum curricula|stratum strata|erratum errata|stimulus stimuli|fungus fungi|cactus cacti|"
    "nucleus nuclei|radius radii|alumnus alumni|focus foci|larva larvae|formula formulae|antenna antennae|"
    "vertebra vertebrae|alga algae|genus genera|corpus corpora|dying die|lying lie|tying tie"
)
_ENDINGS = {"man": "men", "men": "man", "child": "children", "children": "child", "wife": "wives", "wives": "wife"}
"""Irregular endings of words and compounds (fireman, firemen): ending -> the ending of the other form."""
_COMPOUND_LETTERS = 2
"""The least number of letters before an ending of `_ENDINGS` in a compound."""
_SUPERLATIVE, _PLAIN = "iest", "y"
_ENDS = (*_ENDINGS, _SUPERLATIVE)


def irregular_forms(word: str) -> set[str]:
    """Return the other forms of an English word that its stemmer misses; most words have none. The word is in small
    letters."""
    group = _groups().get(word, ())
    if not group and not word.endswith(_ENDS):
        return set()
    return {*group, *_by_ending(word)} - {word}


def _by_ending(word: str) -> Iterator[str]:
    for ending, other in _ENDINGS.items():
        before = word[: -len(ending)]
        if word.endswith(ending) and (not before or len(before) >= _COMPOUND_LETTERS):
            yield before + other
    if word.endswith(_SUPERLATIVE) and len(word) > len(_SUPERLATIVE) + _COMPOUND_LETTERS:
        yield word[: -len(_SUPERLATIVE)] + _PLAIN


@cache
def _groups() -> dict[str, tuple[str, ...]]:
    groups = [tuple(group.split()) for group in _GROUPS.split("|")]
    return {word: group for group in groups for word in group}
