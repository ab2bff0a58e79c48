"""The command line of the programs here that take one number."""

import argparse


def parse_count(program: str, description: str, metavar: str, default: int) -> int:
    """Return the number on the command line, or the default; print the help or an error and exit otherwise.

    Args:
        program: the name of the module below `benchmarks`.
        description: the docstring of the module; the help shows its first line.
        metavar: the name of the number in the help.
    """
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{program}", description=description.splitlines()[0])
    parser.add_argument("count", nargs="?", type=int, default=default, metavar=metavar, help=f"default {default:,}")
    count: int = parser.parse_args().count
    return count
