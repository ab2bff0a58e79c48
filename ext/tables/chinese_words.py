"""Build-time only: packs the Chinese words of jieba for sonicpy._native.chinese_words, which describes the file.

chinese_words.txt.xz has a line a word, in order: the number of first characters it shares with the line before, the
rest of it, its frequency. NOTICE names the source. `python ext/tables/chinese_words.py dict.txt` makes it anew from the
dict.txt of the package jieba.
"""

import lzma
import math
import os
import sys
from array import array
from pathlib import Path

WORDS = Path(__file__).with_name("chinese_words.txt.xz")
MAGIC = b"SPYCHIN1"
CHARACTERS = 1 << 16


def write_words(path: Path) -> None:
    """Write the dictionary to `path`. Raises ValueError if a character does not fit into 16 bits."""
    shared, rests, counts = lzma.decompress(WORDS.read_bytes()).decode().split("\n\n")
    frequencies = [int(count) for count in counts.split("\n")]
    numbers_of = {count: number for number, count in enumerate(sorted(set(frequencies)), 1)}
    if len(numbers_of) >= CHARACTERS or max(rests) >= chr(CHARACTERS):
        raise ValueError(f"{WORDS} does not fit into 16 bits")
    total = math.log(sum(frequencies))
    labels, first, numbers = [array("H", [0])], [array("I", [0])], [array("H", [0])]
    for kept, rest, frequency in zip(shared, rests.split("\n"), frequencies, strict=True):
        for depth, character in enumerate(rest, ord(kept) - ord("0") + 1):
            if depth == len(labels):
                labels.append(array("H"))
                first.append(array("I"))
                numbers.append(array("H"))
            labels[depth].append(ord(character))
            numbers[depth].append(0)
            first[depth].append(len(labels[depth + 1]) if depth + 1 < len(labels) else 0)
        numbers[depth][-1] = numbers_of[frequency]
    _write(path, labels, first, numbers, [0.0, *(math.log(count) - total for count in numbers_of)], -total)


def _write(
    path: Path,
    labels: list["array[int]"],
    first: list["array[int]"],
    numbers: list["array[int]"],
    weights: list[float],
    unknown: float,
) -> None:
    """Write the nodes, which are given by their depth, one depth after the other."""
    nodes, starts = 0, array("I")
    for level in range(len(labels)):
        nodes += len(labels[level])
        starts.extend([nodes + child for child in first[level]])
    starts.append(nodes)
    roots = array("H", bytes(2 * CHARACTERS))
    for node, label in enumerate(labels[1], 1):
        roots[label] = node
    written = path.with_suffix(".new")
    with written.open("wb") as file:
        file.write(MAGIC + array("I", [nodes, len(weights)]).tobytes() + array("d", [unknown, *weights]).tobytes())
        file.write(starts.tobytes())
        for columns in (labels, numbers):
            for column in columns:
                file.write(column.tobytes())
        file.write(roots.tobytes())
    written.replace(path)  # running processes keep the file that they have mapped


def main(dictionary: Path) -> None:
    """Make chinese_words.txt.xz of the dict.txt of jieba."""
    lines = [line.split(" ") for line in dictionary.read_text(encoding="utf-8").splitlines()]
    frequencies = {word: int(count) for word, count, _ in lines}
    shared, rests, before = [], [], ""
    for word in sorted(frequencies):
        kept = len(os.path.commonprefix([before, word]))
        shared.append(chr(ord("0") + kept))
        rests.append(word[kept:])
        before = word
    counts = "\n".join(str(frequencies[word]) for word in sorted(frequencies))
    text = "\n\n".join(["".join(shared), "\n".join(rests), counts])
    WORDS.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
