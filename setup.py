"""Compile the native modules and pack the tables they read; pyproject.toml holds everything else.

The lists and switches below are the only place that names an extension or a compiler directive. The environment
chooses the kind of build: SONICPY_DEBUG=1 (no optimisation, debug information, bounds checks of Cython),
SONICPY_SANITIZE=1 (AddressSanitizer), SONICPY_PROFILE=1 (as released, with debug information for profilers) or
SONICPY_QUICK=1 (hardly any optimisation, in half of the time).
"""

import multiprocessing
import os
import sys
import sysconfig
from multiprocessing.pool import ThreadPool
from pathlib import Path

import Cython
from Cython.Build import cythonize
from Cython.Build.Dependencies import DependencyTree
from setuptools import Extension, setup
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext
from setuptools.modified import newer, newer_group

ROOT = Path(__file__).parent
sys.path.insert(0, str(ROOT / "ext"))  # PEP 517 builds do not put the project on the path

import compiler  # noqa: E402
from tables import chinese, chinese_words, language_words, languages, stopwords, unicode  # noqa: E402

COMPILE = {
    "release": ["-g0", "-w"],  # warnings, of which the C of Cython has many, take a tenth of the time
    "profile": ["-g"],
    "quick": ["-g0", "-w"],
    "debug": ["-O0", "-g"],
    "sanitize": ["-O1", "-g", "-fsanitize=address", "-fno-omit-frame-pointer"],
}
KIND = next((kind for kind in COMPILE if os.environ.get(f"SONICPY_{kind.upper()}") == "1"), "release")
LINK = ["-fsanitize=address"] if KIND == "sanitize" else []
LIBRARY = "sonicpy._native.compiled"  # which sonicpy/_native/__init__.py opens
GENERATED = "build/generated"
LAST_KIND = ROOT / GENERATED / "kind"  # of the modules beside the sources: another kind compiles all of them again

MODULES = [
    "add_terms", "admitted", "analyzer", "answer_cache", "begun_words", "bm25", "brief_filter", "bucket",
    "bucket_cache", "bucket_words", "chinese_words", "clauses", "column_mask", "column_window", "completions",
    "corrector", "counters", "cut_terms", "dense_changes", "dense_records", "digest", "edit_automaton", "expansions",
    "explained", "filling", "find", "graph", "graph_builder", "growing_record", "held", "held_together", "hits", "ids",
    "impact_rows", "inner_words", "keys", "kin", "known_digests", "language", "leading_words", "length_masks",
    "lengths", "letter_folding", "likeness", "lines", "mask", "merged_list", "name_map", "name_rows", "named_terms",
    "named_tuples", "nearest", "neighbours", "newest_pages", "numbered_terms", "object_change", "object_record",
    "object_scores", "object_table", "objects", "one_thread", "ordered", "ordered_rows", "orders", "parts", "phrase",
    "plain", "plan", "planner", "postings", "query_state", "quoting", "readers", "records", "remove_terms", "replies",
    "score_bounds", "similar_plan", "slot_scores", "small_rows", "sonic_table", "sphere", "stem_ends", "stems",
    "stop_set", "stop_votes", "stored_postings", "table_access", "tag_rows", "tails", "term_cache", "term_mask",
    "term_rows", "term_windows", "terms", "together", "turn", "varint", "vectors", "waiting_rows", "walk",
    "walk_choice", "wanted_blocks", "window_bounds", "window_choice", "window_scores", "word_break", "word_notes",
    "word_lists", "word_range", "word_source", "word_text", "word_walks",
]  # fmt: skip
HOT = {
    "add_terms", "analyzer", "column_window", "corrector", "dense_records", "impact_rows", "language", "likeness",
    "mask", "merged_list", "name_map", "name_rows", "plain", "postings", "records", "tails", "term_cache", "term_mask",
    "term_windows", "vectors", "window_choice", "window_scores", "word_walks",
}  # fmt: skip
"""Modules in which a stage of `benchmarks.instructions` spends 2 % or more, or whose loops go over postings: -O3."""
RARE = {
    "answer_cache", "bm25", "digest", "expansions", "explained", "filling", "held", "held_together", "ids", "keys",
    "kin", "leading_words", "length_masks", "lengths", "named_terms", "neighbours", "object_table", "one_thread",
    "ordered_rows", "quoting", "readers", "remove_terms", "replies", "slot_scores", "sonic_table", "stem_ends",
    "stop_set", "tag_rows", "turn", "wanted_blocks", "window_bounds", "word_lists", "word_range", "word_source",
}  # fmt: skip
"""Modules in which each stage spends less than 1 %: -O1 compiles them in two thirds of the time of -O2."""
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": KIND == "debug",
    "wraparound": False,
    "cdivision": True,
    "initializedcheck": KIND == "debug",
    # Functions of C instead of Cython's own: modules are a fifth smaller, and compile sooner.
    "binding": False,
    "embedsignature": True,
    "embedsignature.format": "clinic",  # what inspect.signature reads
    # Nothing pickles these objects, and the C compiler takes an eighth less time without functions for it.
    "auto_pickle": False,
    "emit_code_comments": KIND not in ("release", "quick"),
}
SECONDS_A_MODULE = 1.3
"""About how long one core translates and compiles a module."""
CYTHON = str(Path(Cython.__file__).parent)
COMPILING = {"bdist_wheel", "build", "build_ext", "develop", "editable_wheel", "install"}
"""Commands of setuptools that compile. The others ask for names and versions, or pack the sources."""
# Cython translates in several processes, which only fork starts without running this file once more.
PROCESSES = (os.cpu_count() or 0) if multiprocessing.get_start_method() == "fork" else 0


class BuildNative(build_ext):
    """build_ext that first writes the C tables and afterwards packs the data files beside the package."""

    def finalize_options(self) -> None:
        if self.editable_mode:
            self._keep_objects()
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()
        self.build_temp = os.path.join(self.build_temp, KIND)
        self.force = self.force or self._last_kind() != KIND

    def _keep_objects(self) -> None:
        """Build in the folders of every other build: an editable install names temporary ones, which are removed."""
        ordinary = build(self.distribution)
        ordinary.ensure_finalized()
        self.build_lib, self.build_temp = ordinary.build_platlib, ordinary.build_temp

    def _last_kind(self) -> str:
        return LAST_KIND.read_text() if LAST_KIND.exists() else "release"

    def run(self) -> None:
        header = ROOT / GENERATED
        header.mkdir(parents=True, exist_ok=True)
        unicode.write_headers(header)
        LAST_KIND.write_text(KIND)
        super().run()
        package = ROOT / "sonicpy" if self.inplace else Path(self.build_lib) / "sonicpy"
        folder = package / "data"
        folder.mkdir(parents=True, exist_ok=True)
        languages.write_profiles(folder / "languages.bin")
        stopwords.write_lists(folder / "stopwords.marisa")
        language_words.write_words(folder / "language_words.marisa", folder / "language_words.bin")
        chinese.write_pairs(folder / "simplified.bin")
        chinese_words.write_words(folder / "chinese_words.bin")

    def build_extension(self, ext: Extension) -> None:
        """Compile what changed, the longest files first, so that no core waits for the last one; link all of it."""
        with ThreadPool(int(self.parallel)) as pool:
            longest_first = sorted(ext.sources, key=os.path.getsize, reverse=True)
            objects = pool.map(lambda source: self._object(ext, source), longest_first, chunksize=1)
        path = self.get_ext_fullpath(ext.name)
        if self.force or newer_group(objects, path):
            self.compiler.link_shared_object(sorted(objects), path, extra_postargs=LINK, build_temp=self.build_temp)

    def _object(self, ext: Extension, source: str) -> str:
        [made] = self.compiler.object_filenames([source], output_dir=self.build_temp)
        arguments, note = flags(source), Path(f"{made}.flags")
        if self.force or newer(source, made) or (note.exists() and note.read_text() != str(arguments)):
            self.compiler.compile(
                [source], output_dir=self.build_temp, include_dirs=ext.include_dirs, extra_postargs=arguments
            )
        note.write_text(str(arguments))
        return made


def flags(source: str) -> list[str]:
    """Return the arguments of the C compiler for a source."""
    module = Path(source).stem
    if KIND == "quick":
        return [*COMPILE[KIND], "-Og" if module in HOT else "-O0"]
    if KIND not in ("release", "profile"):
        return COMPILE[KIND]
    return [*COMPILE[KIND], "-O3" if module in HOT else "-O1" if module in RARE else "-O2"]


def timestamp(tree: DependencyTree, path: str) -> float:
    """Return when a file that a module depends on was changed; those of Cython itself count as old.

    An editable install translates with a Cython of its own, before pip installs the one of the environment, whose files
    would be newer than the C, though they are the same. C of another version of Cython is translated again anyway.
    """
    return 0.0 if path.startswith(CYTHON) else os.path.getmtime(path)


DependencyTree.timestamp = timestamp


def library(sources: list[str]) -> Extension:
    """Return the library of all modules. It opens in two thirds of the time of a library a module, and links once."""
    return Extension(LIBRARY, sources, include_dirs=[GENERATED])


def extensions() -> list[Extension]:
    """Return the library, translated to C if this command compiles it.

    Raises:
        SystemExit: this machine cannot compile, or not for this Python.
    """
    modules = [Extension(f"sonicpy._native.{name}", [f"ext/sonicpy/_native/{name}.pyx"]) for name in MODULES]
    if COMPILING.isdisjoint(sys.argv):
        return [library([module.sources[0] for module in modules])]
    free_threaded = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    sentence = compiler.refused(free_threaded) or compiler.missing(compiler.compiler(), compiler.headers())
    if sentence is not None:
        raise SystemExit(sentence)
    told = compiler.plan(len(modules), SECONDS_A_MODULE)
    print(told, flush=True)
    if "editable_wheel" in sys.argv and not sys.stdout.isatty():  # pip keeps back what the build prints
        compiler.write_to_terminal(told)
    translated = cythonize(
        modules,
        include_path=["ext"],
        build_dir=f"build/cython-{KIND}",
        compiler_directives=DIRECTIVES,
        nthreads=PROCESSES,
    )
    return [library([module.sources[0] for module in translated])]


setup(ext_modules=extensions(), cmdclass={"build_ext": BuildNative})
