"""Build-time only: packs the simplified forms of traditional Chinese characters for sonicpy.lexer.variants.

simplified.txt holds pairs, the traditional character first; NOTICE names their source.
"""

from pathlib import Path

PAIRS = Path(__file__).with_name("simplified.txt")


def write_pairs(path: Path) -> None:
    """Write the pairs one after the other in UTF-8 to `path`. Raises ValueError if simplified.txt has something
    else."""
    pairs = "".join(PAIRS.read_text(encoding="utf-8").split())
    traditional, simplified = pairs[::2], pairs[1::2]
    if len(traditional) != len(simplified) or len(set(traditional)) != len(traditional):
        raise ValueError(f"{PAIRS} holds no pairs of different characters")
    path.write_text(pairs, encoding="utf-8")
