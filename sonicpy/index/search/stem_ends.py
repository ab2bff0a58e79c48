"""The endings that Snowball's algorithms replace in words of the letters a to z, for the algorithms used most.

The tables were derived from the algorithms' results for the words of six languages, for words with all endings of up to
three letters, and for words with two common endings; `tests/index/test_stem_ends.py` compares them with the algorithms.
"""

from sonicpy._native.stem_ends import StemEnds

_SHORT = 2
"""The most letters of a stem that counts as short; few words have one."""

_TAKEN = {
    "english": (
        "ab al an at be bi d de di dl ds e ea ed ee ef ei el em en eo er es fe fi fu ge gi i ib ic ie ii in io is it"
        " iv iz l la le lf li lm ln lo ls ly me mi ne ni or ou pe pi re ri s te ti y ye yi ys"
    ),
    "french": (
        "a ab ai am an as at e ea em er es eu ez i ic ie if im io iq ir is it iv l la le li ls me n na ne ni ns s si"
        " t ta te ti ts x"
    ),
    "german": "e ee eh ei ek el em en er es et eu he ig ik is ke li n ns s se st un",
    "italian": (
        "a aa ab ae ai am an ao ar as at au av az e ea ee ei em en eo er et eu ev h ha he hi hm ho hu i ia ib ic ie"
        " ii im io ir is it iu iv me o oa oe oi om on oo os ou si ut zi"
    ),
    "portuguese": (
        "a ab ad ai am an ar as at av e ea ee ei em en eo er es eu ez i ia ic id ie ii im in io ir is iu iv me o os"
        " ou ue"
    ),
    "spanish": (
        "a aa ab ac ad ae ai am an ao ar as at ci e ea ed ee ei em en eo er es ib ic id ie im ir is iv me o oa oe oi"
        " om oo os ue ya ye yo"
    ),
}
"""Algorithm -> the first two letters of each removed ending, or its only letter."""

_TAKEN_OF_SHORT = {
    "english": "be bi d de di ed es fe fi fu ge gi in li ly me mi ne ni pe pi re ri s te ti",
    "french": "a ai am an as e ea em er es ez is l li ls n ni ns s t ti ts",
    "german": "e",
    "italian": "am",
    "portuguese": "am",
    "spanish": "am ue",
}
"""Algorithm -> the first letters of each ending whose removal leaves a stem of one or two letters."""

_CHANGED = {
    "english": {"e": "i", "i": "y", "l": "i", "y": "i"},  # using, carry, capability, skies
    "french": {"i": "y", "l": "iu", "t": "c", "x": "s"},  # essayer, notabilite, chevaux, presence, heureuse
    "german": dict.fromkeys("abcdefghijklmnopqrstuvwxyz", "e"),  # in ae, oe and ue it replaces marks
    "italian": {"t": "z"},  # presenza
    "portuguese": {"t": "c"},  # presenca
    "spanish": {"t": "c"},  # presencia
}
"""Algorithm -> last letters of a stem -> their replacements in some words that have the stem."""

_CHANGED_OF_SHORT = {"french": {"i": "y"}, "german": _CHANGED["german"]}

_ENDS = {algorithm: StemEnds(["", *taken.split()], _CHANGED[algorithm]) for algorithm, taken in _TAKEN.items()}
_ENDS_OF_SHORT = {
    algorithm: StemEnds(["", *taken.split()], _CHANGED_OF_SHORT.get(algorithm, {}))
    for algorithm, taken in _TAKEN_OF_SHORT.items()
}


def stem_ends(algorithm: str, stem: str) -> StemEnds | None:
    """Return the endings of words that may have a stem; None: the algorithm has no table."""
    return (_ENDS_OF_SHORT if len(stem) <= _SHORT else _ENDS).get(algorithm)
