"""Mutants of native code, made by hand: a few wrong changes where a mistake would lose or hide something.

A run compiles a module again for each, so these are few.
"""

from dataclasses import dataclass

NATIVE_FOLDER = "ext/sonicpy/_native"


@dataclass(frozen=True, slots=True)
class NativeMutant:
    """One wrong change of a module.

    Attributes:
        module: the name of the module; of a file that it includes, its name with the suffix .pxd.
        before: a piece of code that occurs in the file once.
        tests: the tests that judge the mutant.
        seconds: the approximate time of these tests in seconds.
    """

    module: str
    before: str
    after: str
    tests: tuple[str, ...]
    seconds: float = 60.0

    @property
    def path(self) -> str:
        """The path of the file, from the root of the checkout."""
        return f"{NATIVE_FOLDER}/{self.module if self.module.endswith('.pxd') else f'{self.module}.pyx'}"


LOG = ("tests/native/test_records.py", "tests/store/test_log.py")
MODEL = ("tests/store/test_bucket.py", "tests/store/test_long_lists.py", "tests/store/test_bucket_rows.py")
BUCKET = (*MODEL, "tests/store/test_mutations.py", "tests/store/test_verify.py")
LISTS = ("tests/native/test_stored_postings.py", "tests/native/test_top_objects.py")
COMMON = ("tests/store/test_common_words.py", *MODEL)
CACHE = ("tests/store/test_waiting_rows.py", *MODEL, "tests/store/test_recover.py")
NAMES = ("tests/native/test_names.py", "tests/store/test_names.py")

NATIVE = (
    NativeMutant("records", "put_u32(out + 4, crc32(out + FRAME_BYTES, size))", "put_u32(out + 4, 0)", LOG),
    NativeMutant("records", "if size > RECORD_MAX:", "if size >= RECORD_MAX:", LOG),
    NativeMutant(
        "records", "        out += FRAME_BYTES + size\n    return framed", "        out += size\n    return framed", LOG
    ),
    NativeMutant(
        "records",
        '    if at[0] != end:\n        raise DamagedBytes("a list of terms has bytes',
        '    if False:\n        raise DamagedBytes("a list of terms has bytes',
        LOG,
    ),
    NativeMutant(
        "stored_postings",
        "if opened.iids[place] <= opened.iids[place - 1]:",
        "if opened.iids[place] < opened.iids[place - 1]:",
        LISTS,
    ),
    NativeMutant("stored_postings", "if count <= 0 or first < block.lower or (", "if count <= 0 or (", LISTS),
    NativeMutant("stored_postings", "if <uint64_t> count < df:", "if False:", LISTS),
    NativeMutant(
        "stored_postings",
        "for number in range(1, self.block_count):\n            if self.blocks[number].lower <= ",
        "for number in range(1, self.block_count):\n            if self.blocks[number].lower < ",
        LISTS,
    ),
    NativeMutant("admitted", "            kept[word] &= kept_bits(term.role, some[word])\n", "", LISTS),
    NativeMutant("score_bounds", "            query.driver_count = at + 1\n", "            pass\n", LISTS),
    NativeMutant("object_scores", "if not brings or (", "if (", LISTS),
    NativeMutant("window_choice", "query.among[word] &= kept_bits(role,", "query.among[word] &= kept_bits(0,", LISTS),
    NativeMutant("term_rows", "if term_id != wanted:", "if False:", COMMON),
    NativeMutant("add_terms", "        edit.word.hidden_df += edit.hidden\n", "", BUCKET),
    NativeMutant("add_terms", "        self.length_change += edit.held.tf\n", "", BUCKET),
    NativeMutant("add_terms", "            edit.word.hidden_df -= 1\n", "", BUCKET),
    NativeMutant("add_terms", "        if (edit.tf > held.tf or", "        if (edit.tf >= held.tf or", BUCKET),
    NativeMutant("remove_terms", "            edit.word.df -= 1\n", "", BUCKET),
    NativeMutant("remove_terms", "            edit.word.hidden_df -= held.hidden\n", "", BUCKET),
    NativeMutant("remove_terms", "            self.length_change -= held.tf\n", "", BUCKET),
    NativeMutant("remove_terms", "            if edit.word.df == 0:", "            if False:", BUCKET),
    NativeMutant(
        "term_cache",
        "if entry.hash == hash and entry.key_size == size and memcmp(entry.key, key, size) == 0:",
        "if entry.hash == hash:",
        CACHE,
    ),
    NativeMutant(
        "term_cache",
        "                entry.key_size = 0\n                self._generation += 1\n            self._dirty_count",
        "                self._generation += 1\n            self._dirty_count",
        CACHE,
    ),
    NativeMutant(
        "cached_rows.pxd",
        "    return last is None or compare(entry, as_bytes(last), PyBytes_GET_SIZE(last)) <= 0",
        "    return last is None or compare(entry, as_bytes(last), PyBytes_GET_SIZE(last)) < 0",
        CACHE,
    ),
    NativeMutant(
        "lengths",
        "        if iid // LENGTHS_PER_ROW != self._last_row:",
        "        if False:",
        (*BUCKET, "tests/native/test_lengths.py"),
    ),
)
