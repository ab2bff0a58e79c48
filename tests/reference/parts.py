"""The parts of a compound, found by regular expressions and lists: the reference implementation of
sonicpy._native.parts.
"""

import re
import unicodedata

APOSTROPHES = "'\u2019\u2018\u02bb\u02bc\uff07"
BETWEEN_DIGITS = ".,:\u066b\u066c" + APOSTROPHES
HEBREW_MARKS = '"\u05f3\u05f4'
ARTICLES = ("بال", "فال", "كال", "وال", "ال", "لل")
HUMP = "\2"
NON_JOINER = "\u200c"


def parts_of(word: str) -> list[str]:
    """Return the parts of a word, which may have a HUMP where a small letter meets a capital one."""
    has_letters = any(kind(letter) == "L" for letter in word) or word.startswith("_") or word.endswith("_")
    if not has_letters or re.fullmatch("[0-9a-f]{0,4}(:[0-9a-f]{0,4}){3,}", word):
        return []
    pieces = [_tokens(piece) for piece in _pieces(_without_article(word))]
    pieces = [piece for piece in pieces if piece]
    found: list[str] = []
    for piece in pieces:
        if not _is_code(piece):
            found += [token for token, _ in piece]
    found += [_text(piece) for piece in pieces if len(piece) > 1 or _is_code(piece)]
    found += _runs(word, pieces)
    found += [token[at:] for piece in pieces for token, _ in piece for at in _tails(token)]
    whole = word.replace(HUMP, "")
    parts = [part for part in found if _is_part(part) and part != whole]
    return list(dict.fromkeys(parts))


def _tails(token: str) -> range:
    """Return the places at which the tails of a token in Hangul begin."""
    return range(2, len(token) - 1) if re.fullmatch("[\uac00-\ud7a3]{4,}", token) else range(0)


def kind(char: str) -> str:
    """Return L for a letter, D for a digit, A for a mark on the letter before, S for a sign."""
    category = unicodedata.category(char)
    if category == "Nd":
        return "D"
    if category[0] in "LN":
        return "L"
    return "A" if category[0] == "M" or category == "Cf" or char in HEBREW_MARKS else "S"


def is_latin(letter: str) -> bool:
    """Return whether a letter is on one of Unicode's pages of Latin or Greek letters."""
    return letter < "\u0400" or "\u1e00" <= letter < "\u2000"


def is_behind_arabic(begun: str) -> bool:
    """Return whether a word ends in an Arabic letter, perhaps with marks."""
    last = next((char for char in reversed(begun) if kind(char) != "A"), "")
    return kind(last) == "L" and "\u0600" <= last < "\u0780" if last else False


def _without_article(word: str) -> str:
    """Return a word with a HUMP behind its article, if enough letters follow."""
    for article in ARTICLES:
        if word.startswith(article):
            behind = [kind(char) for char in word[len(article) :]]
            marked = "".join(behind)
            return f"\0{HUMP}{word[len(article) :]}" if re.match("A*(LA*){3}", marked) else word
    return word


def _pieces(word: str) -> list[str]:
    """Return the pieces of a word, cut at signs except those inside numbers and before clitics."""
    pieces = [""]
    at = 0
    while at < len(word):
        char = word[at]
        if char == NON_JOINER and is_behind_arabic(word[:at]):
            pieces.append("")
            at += 1
            continue
        last = next((other for other in reversed(word[:at]) if kind(other) != "A"), " ")
        before = kind(last)
        behind = "".join(map(kind, word[at + 1 :]))
        if char in HUMP + "\0" or kind(char) != "S" or before == "D" and char in BETWEEN_DIGITS and behind[:1] == "D":
            pieces[-1] += char
        elif before == "L" and char in APOSTROPHES and _is_clitic(last, word[at + 1 :]):
            pieces[-1] += word[at:]
            break
        else:
            pieces.append("")
        at += 1
    return pieces


def _is_clitic(letter: str, text: str) -> bool:
    """Return whether a text is one or two letters of the script of a letter before an apostrophe."""
    letters = [char for char in text if kind(char) == "L"]
    is_short = re.fullmatch("A*LA*(LA*)?", "".join(map(kind, text))) is not None
    return is_short and all(is_latin(char) == is_latin(letter) for char in letters)


def _tokens(piece: str) -> list[tuple[str, bool]]:
    """Return the letters and the numbers of a piece, each with whether a HUMP precedes it."""
    tokens: list[tuple[str, bool]] = []
    last, is_humped = "", False
    letter = ""
    for char in piece:
        found = kind(char)
        if found == last == "L" and is_latin(letter) != is_latin(char):
            last, is_humped = "", True
        letter = char if found == "L" else letter
        if char in HUMP + "\0":
            is_humped, last = bool(tokens) or is_humped or char == "\0", ""
            continue
        if found in "LD" and found != last:
            tokens.append((char, is_humped))
            last, is_humped = found, False
        elif tokens and last:
            tokens[-1] = tokens[-1][0] + char, tokens[-1][1]
    return tokens


def _is_code(piece: list[tuple[str, bool]]) -> bool:
    changes = [
        not is_humped and before[0].isascii() and token[0].isascii()
        for (before, _), (token, is_humped) in zip(piece, piece[1:], strict=False)
    ]
    for (before, _), (middle, one), (after, two) in zip(piece, piece[1:], piece[2:], strict=False):
        digits = [char for char in middle if kind(char) == "D"]
        is_between = len(digits) == 1 and not one and not two and before[0].isascii() and after[0].isascii()
        if is_between and (middle[0] == "0" or [kind(char) for char in after].count("L") < 3):
            return True
    singles = sum(sum(kind(char) in "LD" for char in token) == 1 for token, _ in piece)
    return sum(changes) > (4 if singles < 2 else 2)


def _text(piece: list[tuple[str, bool]]) -> str:
    return "".join(token for token, _ in piece)


def _runs(word: str, pieces: list[list[tuple[str, bool]]]) -> list[str]:
    """Return the runs from each joint to the end of the word, the shortest first."""
    starts: list[tuple[int, int]] = []
    for number, piece in enumerate(pieces):
        for place, (_, is_humped) in enumerate(piece):
            is_joint = place == 0 or is_humped or not piece[place - 1][0][0].isascii() or number == len(pieces) - 1
            if is_joint and (place == 0 or not _is_code(piece)):
                starts.append((number, place))
    return [_run(word, pieces, *start) for start in reversed(starts)]


def _run(word: str, pieces: list[list[tuple[str, bool]]], number: int, place: int) -> str:
    """Return the part of the word from a token to the end of the last token of the word.

    Args:
        number, place: the piece of the token, and the token in the piece, both counted from 0.
    """
    plain = word.replace(HUMP, "")
    rest = [token for token, _ in pieces[number][place:]] + [
        token for piece in pieces[number + 1 :] for token, _ in piece
    ]
    for end in range(len(plain), 0, -1):
        if plain[:end].endswith(rest[-1]):
            plain = plain[:end]
            break
    at = len(plain)
    for token in reversed(rest):
        at = plain.rindex(token, 0, at)
    return plain[at:]


def _is_part(part: str) -> bool:
    kinds = [kind(char) for char in part]
    letters, digits = kinds.count("L"), kinds.count("D")
    return letters >= 2 or digits >= 3 or (letters > 0 and digits > 0)
