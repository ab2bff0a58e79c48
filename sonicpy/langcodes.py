"""The languages that a client may name: ISO 639-3, and in the default mode ISO 639-1 and BCP 47, too.

Every layer may import this file. The lexer holds the data of each language, by its ISO 639-3 code.
"""

from functools import lru_cache

_SONIC = """
    afr aka amh ara aze bel ben bul cat ces cmn cym dan deu ell eng epo est fin fra guj heb hin hrv hun hye ind ita
    jav jpn kan kat khm kor lat lav lit mal mar mkd mya nep nld nob ori pan pes pol por ron rus sin slk slv sna spa
    srp swe tam tel tgl tha tuk tur ukr urd uzb vie yid zul
"""

SONIC_LANG_CODES = frozenset(_SONIC.split())
"""The 70 codes that Sonic accepts; compat mode accepts no others."""

LANG_CODES = SONIC_LANG_CODES | {"hau", "kur", "som", "yor"}
"""The languages of the default mode: Sonic's first list of languages also had Hausa, Kurdish, Somali, Yoruba."""

NO_LANGUAGE = "none"
"""The value of LANG for no language, in lower case."""

_OTHER_TAGS = """
    af:afr ak:aka tw:aka twi:aka am:amh ar:ara az:aze be:bel bn:ben bg:bul ca:cat cs:ces zh:cmn zho:cmn cy:cym da:dan
    de:deu el:ell en:eng eo:epo et:est ekk:est fi:fin fr:fra gu:guj ha:hau he:heb iw:heb hi:hin hr:hrv hu:hun hy:hye
    id:ind in:ind it:ita jv:jav ja:jpn kn:kan ka:kat km:khm ko:kor ku:kur kmr:kur la:lat lv:lav lvs:lav lt:lit ml:mal
    mr:mar mk:mkd my:mya ne:nep npi:nep nl:nld nb:nob no:nob nor:nob or:ori ory:ori pa:pan fa:pes fas:pes pl:pol pt:por
    ro:ron ru:rus si:sin sk:slk sl:slv sn:sna so:som es:spa sr:srp sv:swe ta:tam te:tel tl:tgl fil:tgl th:tha tk:tuk
    tr:tur uk:ukr ur:urd uz:uzb uzn:uzb vi:vie yi:yid yo:yor zu:zul
"""
TAGS = dict(pair.split(":") for pair in _OTHER_TAGS.split()) | {code: code for code in LANG_CODES}
"""The first subtag of a BCP 47 tag -> the code of the language. Subtags are codes of ISO 639-1 and ISO 639-3, and
macrolanguages."""

OTHERS = {
    "bs": "bos", "eu": "eus", "ga": "gle", "gl": "glg", "is": "isl", "ms": "msa", "zsm": "msa", "nn": "nno",
    "sh": "srp", "hbs": "srp", "st": "sot",
}  # fmt: skip
"""The first subtag of a tag -> the code, for languages without a table in the lexer, which still finds forms of their
words."""

SUBTAG_MAX = 8
TAG_MAX = 35
"""The most letters of a subtag, and the most characters of a tag (RFC 5646, section 4.4.1)."""


@lru_cache(maxsize=256)
def language_code(tag: str) -> str | None:
    """Return the ISO 639-3 code of the language of a tag, "none" for "none", or None if the tag is not well-formed.

    Regions, scripts and variants make no difference: en, eng, en-GB, EN_gb and en-Latn-US are all `eng`. A language
    without a table keeps its subtag of two or three letters (und, yue): it has no stop words and no stemmer.
    """
    if tag == NO_LANGUAGE:
        return tag
    first, *others = tag.lower().replace("_", "-").split("-")
    if len(tag) > TAG_MAX or not all(_is_subtag(other) for other in others):
        return None
    return TAGS.get(first) or OTHERS.get(first) or (first if _is_language(first) else None)


def _is_language(subtag: str) -> bool:
    """Return whether a first subtag may name a language: it has two or three letters, as the codes of ISO 639."""
    return subtag.isascii() and subtag.isalpha() and 2 <= len(subtag) <= 3


def _is_subtag(subtag: str) -> bool:
    return subtag.isascii() and subtag.isalnum() and len(subtag) <= SUBTAG_MAX
