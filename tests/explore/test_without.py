"""Without the extra [notebook]: the package does not need it, and explore names the missing package."""

import subprocess
import sys

from tests.support.patience import WAIT_S


def run(code: str) -> str:
    """Return the output of a fresh interpreter; its stderr if it fails."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=WAIT_S, check=False)
    return done.stderr if done.returncode else done.stdout


def test_the_package_imports_neither_pandas_nor_matplotlib() -> None:
    opened = "import sys, sonicpy; sonicpy.open(':memory:').close()"
    assert run(f"{opened}; print({{'pandas', 'matplotlib', 'numpy'}} & set(sys.modules))") == "set()\n"


def test_explore_says_what_to_install() -> None:
    said = run("import sys; sys.modules['pandas'] = None; import sonicpy.explore")
    assert said.splitlines()[-1] == (
        "ImportError: sonicpy.explore needs pandas and matplotlib: pip install 'sonicpy-search[notebook]'"
    )
