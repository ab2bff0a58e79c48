"""Build-time only: packs n-gram profiles and Unicode's scripts into the table of _native/language.

The file, in the byte order of the machine, every offset counted from its start:

    head       magic, version, CRC-32 of all bytes after the head, size, where the sections are
    languages  one row each: code, prior; those of one script stand together
    scripts    one row each: weight of a letter, its languages, where its n-grams are. Latin is the first; the
               last is "Other": all scripts in which no language of the table is written
    page map   one byte for each 256 code points: the number of their page
    pages      256 classes of 16 bits: script number << 8 | letter; BREAK for what is no letter, MARK for what
               joins the letter before it
    slots      for each script with n-grams a hash table, linear probing: n-gram, number of its row
    rows       one byte for each language of the script, NARROW_ROW or WIDE_ROW: the weight of the n-gram, SCALE to
               one nat

An n-gram is three bytes, oldest letter first, zeros in front of short ones; BORDER stands for the edge of a word.
The same bytes come out of every build.
"""

import math
import struct
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tables.profiles import BORROWED, PROFILES, Probabilities, fold, pairs, script_profiles
from tables.stopwords import all_languages

MAGIC = b"sonicLNG"
VERSION = 1
HEAD = struct.Struct("=8sIIQIIIIIII4x")
LANGUAGE_ROW = struct.Struct("=4si")
SCRIPT_ROW = struct.Struct("=IIIIIII4x")

SMOOTHING = 2e-5
"""Added to every frequency. It changes little from 1e-5 to 3e-5; 2e-6 and 1e-4 lose half a point at 20 bytes."""

SCALE = 25
"""Steps to one nat: the heaviest n-gram, of 10 nats, just fits a byte."""

PRIOR_NATS = {"eng": 6.0, "rus": 3.0, "srp": -4.0, "swa": -2.0, "sqi": -2.0}
"""Chat is mostly English, even where it names hosts and packages. Russian is the most common language in Cyrillic,
Serbian the one closest to all others. Swahili and Albanian are not in the table of languages: their profiles only
keep such texts from being taken for another language."""

BORROWED_PRIOR_NATS = -8.0
"""Of languages with a borrowed profile: rare ones, which must not take texts from their relatives."""

BORDER, UNKNOWN_LETTER = 1, 255
BREAK, MARK = 0, 0xFFFF
FIRST_LETTER = 2
PAGE = 256
CACHE_LINE = 64
NARROW_ROW, WIDE_ROW = 8, 48
KANA = ("Hiragana", "Katakana")


@dataclass
class Script:
    """One script as it is packed."""

    name: str
    weight: int
    languages: list[str]
    probabilities: Probabilities = field(default_factory=dict)
    """Empty where the script alone decides."""
    alphabet: dict[str, int] = field(default_factory=dict)

    def row_bytes(self) -> int:
        """Return the size of one row of weights."""
        if not self.probabilities:
            return 0
        return NARROW_ROW if len(self.languages) <= NARROW_ROW else WIDE_ROW


def write_profiles(path: Path) -> None:
    """Write the packed table to `path`.

    Raises importlib.metadata.PackageNotFoundError where langdetect or stopwordsiso is not installed.
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
    """Return the next offset at which a cache line begins."""
    return -(-offset // CACHE_LINE) * CACHE_LINE


def script_ranges(path: Path) -> Iterator[tuple[int, int, str]]:
    """Return (first, last, script) of every row of Unicode's Scripts.txt, the two kana as one."""
    for line in path.read_text(encoding="utf-8").splitlines():
        fields = line.partition("#")[0].split(";")
        if len(fields) == 2:
            first, _, last = fields[0].strip().partition("..")
            name = fields[1].strip()
            yield int(first, 16), int(last or first, 16), "Kana" if name in KANA else name


def collect_scripts(ranges: list[tuple[int, int, str]]) -> list[Script]:
    """Return the scripts of the table of languages, those with n-grams first, and Other at the end."""
    points = defaultdict(list)
    for first, last, name in ranges:
        points[name].extend(range(first, last + 1))
    written = defaultdict(list)
    for language in all_languages():
        for name in language.scripts:
            written[name].append(language.code)
    written["Han"].remove("jpn")  # Han is Japanese only beside kana, which the reader of the table counts

    scripts = [profiled_script(name, {chr(point) for point in points[name]}) for name in PROFILES]
    for name in sorted(written.keys() - PROFILES.keys()):
        if len(written[name]) != 1:
            raise ValueError(f"{name} is the script of {written[name]}, but no profiles tell them apart")
        scripts.append(Script(name, utf8_bytes(points[name]), written[name]))
    return [*scripts, Script("Other", 2, [])]


def profiled_script(name: str, letters: set[str]) -> Script:
    """Return a script with its n-grams, its letters numbered."""
    languages, probabilities = script_profiles(name, letters)
    if len(languages) > WIDE_ROW:
        raise ValueError(f"{len(languages)} languages of {name} do not fit into a row of {WIDE_ROW} bytes")
    used = sorted({letter for gram in probabilities for letter in gram} - {" "})
    if len(used) > UNKNOWN_LETTER - FIRST_LETTER:
        raise ValueError(f"{len(used)} letters of {name} do not fit into one byte")
    alphabet = {letter: number for number, letter in enumerate(used, FIRST_LETTER)}
    return Script(name, utf8_bytes(map(ord, letters)), languages, probabilities, alphabet)


def utf8_bytes(points: Iterable[int]) -> int:
    """Return how many bytes the first letter of a script takes: what a letter weighs against those of other scripts."""
    return len(chr(min(points)).encode("utf-8"))


def prior(script: Script, code: str) -> int:
    """Return the steps a language is given before any n-gram."""
    borrowed = code in (code for code, _ in pairs(BORROWED.get(script.name, "")))
    return round(PRIOR_NATS.get(code, BORROWED_PRIOR_NATS if borrowed else 0.0) * SCALE)


def pack_classes(ranges: list[tuple[int, int, str]], scripts: list[Script]) -> tuple[bytes, bytes]:
    """Return the page map and the pages."""
    numbers = {script.name: number for number, script in enumerate(scripts)}
    classes = [[BREAK] * PAGE for _ in range(0x110000 // PAGE)]
    for first, last, name in ranges:
        number = numbers.get(name, len(scripts) - 1)
        for point in range(first, last + 1):
            classes[point // PAGE][point % PAGE] = char_class(chr(point), name, number, scripts[number].alphabet)
    page_map = bytearray()
    pages: dict[bytes, int] = {}
    for page in classes:
        packed = struct.pack(f"={PAGE}H", *page)
        page_map.append(pages.setdefault(packed, len(pages)))
    return bytes(page_map), b"".join(pages)


def char_class(char: str, script: str, number: int, alphabet: dict[str, int]) -> int:
    """Return the class of one character of a Unicode script, which has `number` here."""
    if script == "Common":
        return BREAK
    if script == "Inherited":
        return MARK
    letter = alphabet.get(fold(char) or "", UNKNOWN_LETTER) if alphabet else UNKNOWN_LETTER
    return number << 8 | letter


def pack_scripts(scripts: list[Script], grams_at: int) -> tuple[bytes, bytes]:
    """Return the rows of the scripts, and their n-grams, which stand at `grams_at`."""
    rows, grams = bytearray(), bytearray()
    first_language = 0
    for script in scripts:
        slot_bits, slots, weights = pack_grams(script)
        slots_at = align(grams_at + len(grams))
        rows_at = align(slots_at + len(slots))
        rows += SCRIPT_ROW.pack(
            script.weight,
            first_language,
            len(script.languages),
            script.row_bytes(),
            slot_bits,
            slots_at,
            rows_at,
        )
        grams += bytes(slots_at - grams_at - len(grams)) + slots
        grams += bytes(rows_at - grams_at - len(grams)) + weights
        first_language += len(script.languages)
    return bytes(rows), bytes(grams)


def pack_grams(script: Script) -> tuple[int, bytes, bytes]:
    """Return the hash table of a script as (bits of its size, slots, rows)."""
    if not script.probabilities:
        return 0, b"", b""
    rows = {}
    for gram, shares in script.probabilities.items():
        row = bytearray(script.row_bytes())
        for number, code in enumerate(script.languages):
            row[number] = weight(shares.get(code, 0.0))
        rows[gram_number(gram, script.alphabet)] = bytes(row)
    bits = (2 * len(rows) - 1).bit_length()  # at most half full, so that a miss ends after 1.5 probes
    return bits, hash_slots(rows, bits), b"".join(rows.values())


def weight(probability: float) -> int:
    """Return what one n-gram adds to a language's score, in steps: log((p + smoothing) / smoothing).

    All orders weigh the same; other weights were tried and won nothing.
    """
    return min(255, round(math.log1p(probability / SMOOTHING) * SCALE))


def gram_number(gram: str, alphabet: dict[str, int]) -> int:
    """Return the three bytes of an n-gram as one number."""
    number = 0
    for letter in gram:
        number = number << 8 | (BORDER if letter == " " else alphabet[letter])
    return number


def hash_slots(grams: Iterable[int], bits: int) -> bytes:
    """Return the slots of a table of 2^bits; multiplicative hashing as in Knuth, volume 3, section 6.4."""
    slots = [(0, 0)] * (1 << bits)
    for row, gram in enumerate(grams):
        slot = (gram * 0x9E3779B1 & 0xFFFFFFFF) >> (32 - bits)
        while slots[slot][0]:
            slot = (slot + 1) & ((1 << bits) - 1)
        slots[slot] = gram, row
    return b"".join(struct.pack("=II", *slot) for slot in slots)
