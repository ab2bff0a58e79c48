"""Compile the native modules and pack the tables they read; everything else is in pyproject.toml.

The lists and switches below are the only place that names an extension or a compiler directive.
Set SONICPY_SANITIZE=1 to build with AddressSanitizer and without optimisation.
"""

import os
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).parent
sys.path.insert(0, str(ROOT / "ext"))  # PEP 517 builds do not put the project on the path

from tables import languages, stopwords, unicode  # noqa: E402

SANITIZE = os.environ.get("SONICPY_SANITIZE") == "1"
COMPILE = ["-O1", "-g", "-fsanitize=address", "-fno-omit-frame-pointer"] if SANITIZE else ["-O3"]
LINK = ["-fsanitize=address"] if SANITIZE else []
GENERATED = "build/generated"

MODULES = [
    "add_terms", "analyzer", "bm25", "bucket", "bucket_cache", "corrector", "graph", "graph_builder", "ids", "keys",
    "language", "lengths", "lines", "name_map", "name_rows", "object_change", "object_record", "object_table",
    "objects", "plain", "plan", "postings", "quoting", "ranking", "readers", "records", "remove_terms", "replies",
    "sonic_table", "stop_set", "term_cache", "term_rows", "terms", "varint", "walking", "word_break",
]  # fmt: skip
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": False,
    "wraparound": False,
    "cdivision": True,
    "initializedcheck": False,
    "embedsignature": True,
}


class BuildNative(build_ext):
    """build_ext that first writes the C tables and afterwards packs the data files beside the package."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()

    def run(self) -> None:
        header = ROOT / GENERATED
        header.mkdir(parents=True, exist_ok=True)
        unicode.write_header(header / "unicode_tables.h")
        super().run()
        package = ROOT / "sonicpy" if self.inplace else Path(self.build_lib) / "sonicpy"
        folder = package / "data"
        folder.mkdir(parents=True, exist_ok=True)
        languages.write_profiles(folder / "languages.bin")
        stopwords.write_lists(folder / "stopwords.marisa")


def extension(name: str) -> Extension:
    return Extension(
        f"sonicpy._native.{name}",
        [f"ext/sonicpy/_native/{name}.pyx"],
        include_dirs=[GENERATED],
        extra_compile_args=COMPILE,
        extra_link_args=LINK,
    )


setup(
    ext_modules=cythonize(
        [extension(name) for name in MODULES],
        include_path=["ext"],
        build_dir="build/cython",
        compiler_directives=DIRECTIVES,
    ),
    cmdclass={"build_ext": BuildNative},
)
