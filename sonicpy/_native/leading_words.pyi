from sonicpy._native.letter_folding import Folding
from sonicpy._native.word_source import WordSource

def leading_words(sources: list[WordSource], letters: bytes, folding: Folding) -> dict[bytes, int]: ...
