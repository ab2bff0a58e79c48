"""Write terminal.svg beside this file: a session in a terminal, whose commands really run.

    python docs/pictures/terminal.py

Needs rich, which the extra `test` brings. The gate compares the picture with the output of the commands today.
"""

import io
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.text import Text

PICTURE = Path(__file__).with_name("terminal.svg")
PROJECT = Path(__file__).resolve().parents[2]
WIDTH = 92
COMMANDS = (
    'sonicpy push messages conversation:1 "Hello from Nantes, how is the weather?"',
    'sonicpy push messages conversation:2 "Sunny weather in Lisbon"',
    'sonicpy query messages "nantse wether"',
    "sonicpy suggest messages lis",
    "sonicpy explain messages nantse --limit 1",
)

# Rich's own form loads a font from the network; a picture in a README may not.
FORM = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" role="img" aria-label="A terminal: texts are pushed, queried \
and explained" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{
    font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
    font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width;
}}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>\
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def session(run: Callable[[list[str]], str]) -> Text:
    """Return the commands and what they print.

    Args:
        run: returns what the command line prints for these arguments.
    """
    shown = Text()
    for command in COMMANDS:
        shown.append("$ ", style="bold green")
        shown.append(f"{command}\n", style="bold")
        shown.append(run(shlex.split(command)[1:]))
    return shown


def printed(arguments: list[str], folder: Path) -> str:
    """Return what the command line prints in a folder, stderr included."""
    environ = {name: value for name, value in os.environ.items() if not name.upper().startswith(("SONIC_", "SONICPY_"))}
    done = subprocess.run(
        [sys.executable, "-m", "sonicpy", *arguments],
        cwd=folder,
        env={**environ, "PYTHONPATH": str(PROJECT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    return done.stdout


def picture() -> str:
    """Return the session as SVG."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    with tempfile.TemporaryDirectory() as folder:
        console.print(session(lambda arguments: printed(arguments, Path(folder))), end="")
    return console.export_svg(title="sonicpy", code_format=FORM, unique_id="terminal")


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
