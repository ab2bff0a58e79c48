"""The documentation as files: its pages, and the blocks of code on them in order.

The language of a block decides how it is tested:

    ```python     run; its output is in the comments behind its `print` calls, or in a ```text block right after it
    ```console    lines behind "$ " are run by a shell; the others are their output
    ```text       right after a ```python block: the output of that
    others        not run (installations, commands of other machines, settings)

"..." represents any text in the output.
"""

import ast
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
NOTEBOOKS = sorted(DOCS.rglob("*.ipynb"))
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]

FENCE = re.compile(r"^(?P<indent> *)```(?P<language>[\w-]*)[^\n`]*\n(?P<code>.*?)^(?P=indent)```$", re.M | re.S)
SHOWN_PRINT = re.compile(r"^\s*print\(.*\)\s+# (.*)$")


@dataclass(frozen=True)
class Block:
    """A block of code on a page."""

    language: str
    code: str
    line: int
    output: str | None = None
    """The content of a ```text block after the block."""

    def expected(self) -> str:
        """Return the expected output of a Python block."""
        if self.output is not None:
            return self.output
        said = [found[1] for line in self.code.splitlines() if (found := SHOWN_PRINT.match(line))]
        return "".join(f"{line}\n" for line in said)


def name_of(page: Path) -> str:
    """Return the name of a page in the names of tests."""
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page."""
    text = page.read_text(encoding="utf-8")
    found: list[Block] = []
    end = 0
    for fence in FENCE.finditer(text):
        indent, code = len(fence["indent"]), fence["code"]
        code = "".join(line[indent:] if line.strip() else "\n" for line in code.splitlines(keepends=True))
        follows = bool(found) and found[-1].language == "python" and not text[end : fence.start()].strip()
        if fence["language"] == "text" and follows:
            last = found.pop()
            found.append(Block(last.language, last.code, last.line, code))
        else:
            found.append(Block(fence["language"], code, text.count("\n", 0, fence.start()) + 1))
        end = fence.end()
    return found


def packages_of(page: Path) -> set[str]:
    """Return the packages that the Python of a page imports, without the standard library and sonicpy."""
    return imported_by(python_of(page))


def imported_by(program: str) -> set[str]:
    """Return the packages that a program imports, without the standard library and sonicpy."""
    tree = ast.parse(program)
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    return {name.split(".")[0] for name in names} - sys.stdlib_module_names - {"sonicpy"}


def python_of(page: Path) -> str:
    """Return the Python of a page or a notebook as one program."""
    if page.suffix == ".ipynb":
        cells = json.loads(page.read_text(encoding="utf-8"))["cells"]
        return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code") + "\n"
    return "\n\n".join(block.code for block in blocks(page) if block.language == "python")
