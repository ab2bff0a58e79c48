"""The language codes that a client may give in LANG(...): ISO 639-3, lower case.

Every layer may import this file. The lexer holds the data of each language.
"""

_SONIC = """
    afr aka amh ara aze bel ben bul cat ces cmn cym dan deu ell eng epo est fin fra guj heb hin hrv hun hye ind ita
    jav jpn kan kat khm kor lat lav lit mal mar mkd mya nep nld nob ori pan pes pol por ron rus sin slk slv sna spa
    srp swe tam tel tgl tha tuk tur ukr urd uzb vie yid zul
"""

SONIC_LANG_CODES = frozenset(_SONIC.split())
"""The 70 codes that Sonic accepts, and all that compat mode accepts."""

LANG_CODES = SONIC_LANG_CODES | {"hau", "kur", "som", "yor"}
"""The codes that the default mode accepts: Sonic's first list of languages also had Hausa, Kurdish, Somali, Yoruba."""
