"""Build-time only: packs n-gram profiles and Unicode's scripts into the table of _native/language.

The file, in the byte order of the machine, every offset counted from its start:

    head       magic, version, CRC-32 of all bytes after the head, size, offsets of the sections
    languages one row each: code, prior; languages of one script are neighbours
    scripts    one row each: weight of a letter, its languages, offset of its n-grams. The first is Latin, the
               last "Other": all scripts that no language of the table uses
    page map   one byte for each 256 code points: the number of their page
    pages      256 classes of 16 bits: script number << 8 | letter; BREAK for characters that are not letters,
               MARK for those that join the letter before them
    pairs      for each script with n-grams: for every two letters, BORDER among them, the number of their row
    pair rows  16 bits for each language of the script: the weight of both letters plus that of the second alone
    slots      a hash table, linear probing: n-gram of three letters, number of its row
    rows       8 bits for each language of the script: the weight of the n-gram

A row has NARROW_ROW or WIDE_ROW weights, SCALE to one nat. An n-gram of three letters is three bytes, first letter
first; BORDER means the edge of a word. Nearly every letter of a text is the last one of three n-grams, whose weights
are in two rows. Every build gives the same bytes.
"""

import math
import struct
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from tables.profiles import BORROWED, PROFILES, Probabilities, fold, pairs, script_profiles
from tables.stopwords import all_languages

MAGIC = b"sonicLNG"
VERSION = 2
HEAD = struct.Struct("=8sIIQIIIIIII4x")
LANGUAGE_ROW = struct.Struct("=4si")
SCRIPT_ROW = struct.Struct("=10I")

SMOOTHING = 2e-5
"""The number that is added to every frequency. Values from 1e-5 to 3e-5 differ little; 2e-6 and 1e-4 cost half a
percentage point at 20 bytes."""

SCALE = 25
"""The number of steps per nat: the heaviest n-gram, of 10 nats, just fits into a byte."""

PRIOR_NATS = {"eng": 6.0, "rus": 3.0, "srp": -4.0, "swa": -2.0, "sqi": -2.0}
"""Language -> its prior in nats. Chat is mostly English, even with names of hosts and packages. Russian is the most
common language in Cyrillic, and Serbian is closest to all others. Swahili and Albanian are not in the table of
languages: their profiles keep such texts from being assigned to another language."""

BORROWED_PRIOR_NATS = -8.0
"""The prior of languages with a borrowed profile: they are rare and must not win the texts of their relatives."""

BREAK, MARK = 0, 0xFFFF
BORDER, FIRST_LETTER = 1, 2
MAX_LETTERS = 256 - FIRST_LETTER
PAGE = 256
CACHE_LINE = 64
NARROW_ROW, WIDE_ROW = 8, 48
KANA = ("Hiragana", "Katakana")


@dataclass
class Script:
    """One script, in the form in which it is packed."""

    name: str
    weight: int
    languages: list[str]
    probabilities: Probabilities = field(default_factory=dict)
    """The probabilities of the script's n-grams; empty if the script alone decides the language."""
    alphabet: dict[str, int] = field(default_factory=dict)

    def row_weights(self) -> int:
        """Return the number of weights in a row."""
        if not self.probabilities:
            return 0
        return NARROW_ROW if len(self.languages) <= NARROW_ROW else WIDE_ROW

    def letter_count(self) -> int:
        """Return the number of different letters: the letters of the alphabet, and one for all others."""
        return len(self.alphabet) + 1

    def number(self, letter: str) -> int:
        """Return the number of a letter; a blank means the edge of a word."""
        return BORDER if letter == " " else self.alphabet.get(letter, FIRST_LETTER + len(self.alphabet))


def write_profiles(path: Path) -> None:
    """Write the packed table to `path`.

    Raises:
        importlib.metadata.PackageNotFoundError: langdetect or stopwordsiso is not installed.
    """
    path.write_bytes(pack())


def pack() -> bytes:
    """Return the packed table."""
    ranges = list(script_ranges(Path(__file__).parent / "unicode" / "Scripts.txt"))
    scripts = collect_scripts(ranges)
    page_map, pages = pack_classes(ranges, scripts)
    languages = [(script, code) for script in scripts for code in script.languages]
    languages_at = align(HEAD.size)
    scripts_at = align(languages_at + LANGUAGE_ROW.size * len(languages))
    page_map_at = align(scripts_at + SCRIPT_ROW.size * len(scripts))
    pages_at = align(page_map_at + len(page_map))
    grams_at = align(pages_at + len(pages))
    script_rows, grams = pack_scripts(scripts, grams_at)
    sections = {
        languages_at: b"".join(LANGUAGE_ROW.pack(code.encode(), prior(script, code)) for script, code in languages),
        scripts_at: script_rows,
        page_map_at: page_map,
        pages_at: pages,
        grams_at: grams,
    }
    body = bytearray(grams_at + len(grams) - HEAD.size)
    for offset, section in sections.items():
        body[offset - HEAD.size : offset - HEAD.size + len(section)] = section
    names = [script.name for script in scripts]
    head = HEAD.pack(
        MAGIC,
        VERSION,
        zlib.crc32(body),
        HEAD.size + len(body),
        languages_at,
        len(languages),
        scripts_at,
        len(scripts),
        page_map_at,
        pages_at,
        names.index("Han") << 16 | names.index("Kana"),
    )
    return head + body


def align(offset: int) -> int:
    """Return the first offset, from the given one on, at which a cache line begins."""
    return -(-offset // CACHE_LINE) * CACHE_LINE


def script_ranges(path: Path) -> Iterator[tuple[int, int, str]]:
    """Yield (first, last, script) of every row of Unicode's Scripts.txt, with both kana as one script."""
    for line in path.read_text(encoding="utf-8").splitlines():
        fields = line.partition("#")[0].split(";")
        if len(fields) == 2:
            first, _, last = fields[0].strip().partition("..")
            name = fields[1].strip()
            yield int(first, 16), int(last or first, 16), "Kana" if name in KANA else name


def collect_scripts(ranges: list[tuple[int, int, str]]) -> list[Script]:
    """Return the scripts of the table of languages, those with n-grams first, and Other at the end. Raises ValueError
    if several languages share a script without profiles.
    """
    points = defaultdict(list)
    for first, last, name in ranges:
        points[name].extend(range(first, last + 1))
    written = defaultdict(list)
    for language in all_languages():
        for name in language.scripts:
            written[name].append(language.code)
    written["Han"].remove("jpn")  # Han is Japanese only beside kana, which native code counts

    scripts = [profiled_script(name, {chr(point) for point in points[name]}) for name in PROFILES]
    for name in sorted(written.keys() - PROFILES.keys()):
        if len(written[name]) != 1:
            raise ValueError(f"{name} is the script of {written[name]}, but there are no profiles for it")
        scripts.append(Script(name, utf8_bytes(points[name]), written[name]))
    return [*scripts, Script("Other", 2, [])]


def profiled_script(name: str, letters: set[str]) -> Script:
    """Return a script with its n-grams and numbered letters. Raises ValueError if it has too many languages or
    letters.
    """
    languages, probabilities = script_profiles(name, letters)
    if len(languages) > WIDE_ROW:
        raise ValueError(f"{len(languages)} languages of {name} do not fit into a row of {WIDE_ROW} bytes")
    used = sorted({letter for gram in probabilities for letter in gram} - {" "})
    if len(used) >= MAX_LETTERS:
        raise ValueError(f"{len(used)} letters of {name} do not fit into one byte")
    alphabet = {letter: number for number, letter in enumerate(used, FIRST_LETTER)}
    return Script(name, utf8_bytes(map(ord, letters)), languages, probabilities, alphabet)


def utf8_bytes(points: Iterable[int]) -> int:
    """Return the number of bytes of the first letter of a script: the weight of its letters relative to other
    scripts."""
    return len(chr(min(points)).encode("utf-8"))


def prior(script: Script, code: str) -> int:
    """Return the prior of a language, in steps."""
    borrowed = code in (code for code, _ in pairs(BORROWED.get(script.name, "")))
    return round(PRIOR_NATS.get(code, BORROWED_PRIOR_NATS if borrowed else 0.0) * SCALE)


def pack_classes(ranges: list[tuple[int, int, str]], scripts: list[Script]) -> tuple[bytes, bytes]:
    """Return the page map and the pages."""
    numbers = {script.name: number for number, script in enumerate(scripts)}
    classes = [[BREAK] * PAGE for _ in range(0x110000 // PAGE)]
    for first, last, name in ranges:
        number = numbers.get(name, len(scripts) - 1)
        for point in range(first, last + 1):
            classes[point // PAGE][point % PAGE] = char_class(chr(point), name, number, scripts[number])
    page_map = bytearray()
    pages: dict[bytes, int] = {}
    for page in classes:
        packed = struct.pack(f"={PAGE}H", *page)
        page_map.append(pages.setdefault(packed, len(pages)))
    return bytes(page_map), b"".join(pages)


def char_class(char: str, name: str, number: int, script: Script) -> int:
    """Return the class of one character of the Unicode script `name`, which is `script` in the table."""
    if name == "Common":
        return BREAK
    if name == "Inherited":
        return MARK
    return number << 8 | script.number(fold(char) or "")


def pack_scripts(scripts: list[Script], grams_at: int) -> tuple[bytes, bytes]:
    """Return the rows of the scripts, and their n-grams, which begin at `grams_at`."""
    rows, grams = bytearray(), bytearray()
    first_language = 0
    for script in scripts:
        pairs, pair_rows = pack_pairs(script)
        slot_bits, slots, weights = pack_triples(script)
        places = []
        for section in (pairs, pair_rows, slots, weights):
            places.append(align(grams_at + len(grams)))
            grams += bytes(places[-1] - grams_at - len(grams)) + section
        pairs_at, pair_rows_at, slots_at, rows_at = places
        rows += SCRIPT_ROW.pack(
            script.weight,
            first_language,
            len(script.languages),
            script.row_weights(),
            script.letter_count(),
            pairs_at,
            pair_rows_at,
            slot_bits,
            slots_at,
            rows_at,
        )
        first_language += len(script.languages)
    return bytes(rows), bytes(grams)


def pack_pairs(script: Script) -> tuple[bytes, bytes]:
    """Return the numbers of the rows of all pairs of letters, and the rows."""
    if not script.probabilities:
        return b"", b""
    letters = {script.number(letter): letter for letter in [" ", *script.alphabet]}
    rows: dict[tuple[int, ...], int] = {}
    numbers = []
    for before, last in product(range(FIRST_LETTER + script.letter_count()), repeat=2):
        pair, single = weights(script, letters.get(before, "?") + letters.get(last, "?")), [0] * script.row_weights()
        if last != BORDER:
            single = weights(script, letters.get(last, "?"))
        row = tuple(map(sum, zip(pair, single, strict=True)))
        numbers.append(rows.setdefault(row, len(rows)))
    packed = b"".join(struct.pack(f"={len(row)}H", *row) for row in rows)
    return struct.pack(f"={len(numbers)}H", *numbers), packed


def pack_triples(script: Script) -> tuple[int, bytes, bytes]:
    """Return the hash table of the n-grams of three letters as (bits of its size, slots, rows)."""
    rows = {
        triple_number(gram, script): bytes(weights(script, gram)) for gram in script.probabilities if len(gram) == 3
    }
    if not rows:
        return 0, b"", b""
    bits = (2 * len(rows) - 1).bit_length()  # at most half full, so that a miss ends after 1.5 probes
    return bits, hash_slots(rows, bits), b"".join(rows.values())


def weights(script: Script, gram: str) -> list[int]:
    """Return the steps that an n-gram adds to the score of each language of a script; zeros for an unknown n-gram."""
    shares = script.probabilities.get(gram, {})
    found = [weight(shares.get(code, 0.0)) for code in script.languages]
    return found + [0] * (script.row_weights() - len(found))


def weight(probability: float) -> int:
    """Return the steps that one n-gram adds to the score of a language: log((p + smoothing) / smoothing).

    N-grams of one, two and three letters weigh the same; other weights gave no better guesses.
    """
    return min(255, round(math.log1p(probability / SMOOTHING) * SCALE))


def triple_number(gram: str, script: Script) -> int:
    """Return the three bytes of an n-gram as one number."""
    number = 0
    for letter in gram:
        number = number << 8 | script.number(letter)
    return number


def hash_slots(grams: Iterable[int], bits: int) -> bytes:
    """Return the slots of a hash table of 2^bits; multiplicative hashing as in Knuth, volume 3, section 6.4."""
    slots = [(0, 0)] * (1 << bits)
    for row, gram in enumerate(grams):
        slot = (gram * 0x9E3779B1 & 0xFFFFFFFF) >> (32 - bits)
        while slots[slot][0]:
            slot = (slot + 1) & ((1 << bits) - 1)
        slots[slot] = gram, row
    return b"".join(struct.pack("=II", *slot) for slot in slots)
