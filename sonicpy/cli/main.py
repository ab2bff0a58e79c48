"""The command `sonicpy`: runs a verb, and turns errors into an exit status.

Results go to stdout, and nothing else does; an error is one sentence on stderr. Exit status:

    0    done; also if nothing was found
    1    the verb failed, or verify found faults
    2    wrong arguments or settings
    3    import: done, but some rows were refused
    130  interrupted        141  the reader of the output has left
"""

import argparse
import io
import os
import sys
from collections.abc import Callable

from sonicpy.cli.parser import parse
from sonicpy.cli.passwords import remark_visible
from sonicpy.disk import fill_standard_descriptors
from sonicpy.errors import CommandError, ConfigError, SonicError, sentence_of

FAILED = 1
WRONG_SETTINGS = 2
INTERRUPTED = 130
READER_LEFT = 141
"""The exit status that shells show for a process ended by SIGPIPE; INTERRUPTED is the one for SIGINT."""
INVALID = "invalid_"
"""The beginning of the codes of errors about arguments."""
REMARKS = {"internal_error": ": the server failed; its log has the reason"}
"""Code of an error reply -> text that follows it in the message."""


def main(argv: list[str] | None = None) -> int:
    """Run one verb and return the exit status.

    Args:
        argv: the arguments behind the name of the command; None: those of the process.

    Raises:
        SystemExit: from argparse, for --help, --version and wrong arguments.
    """
    _replace_closed_streams()
    arguments = parse(sys.argv[1:] if argv is None else argv)
    run: Callable[[argparse.Namespace], int] = arguments.run
    _set_encoding(arguments)
    if argv is None:  # a line of `sonicpy shell` is in no list of processes
        remark_visible(arguments)
    try:
        status = run(arguments)
        sys.stdout.flush()
    except ConfigError as error:
        return _fail(error, WRONG_SETTINGS)
    except CommandError as error:
        status = WRONG_SETTINGS if error.code.startswith(INVALID) else FAILED
        remark = REMARKS.get(error.code, "") if error.detail is None else ""
        return _fail(f"{sentence_of(error)}{remark}", status)
    except SonicError as error:
        return _fail(error, FAILED)
    except BrokenPipeError:
        _drop_output()
        return READER_LEFT
    except OSError as error:  # such as a full disk that stdout is written to
        try:
            sys.stdout.flush()
        except OSError:
            _drop_output()
        return _fail(f"{error.filename or 'the output'}: {error.strerror or error}", FAILED)
    except KeyboardInterrupt:
        return _fail("interrupted", INTERRUPTED)
    return status


def _replace_closed_streams() -> None:
    """Open /dev/null for those of the descriptors 0, 1 and 2 that the caller closed.

    uvloop ends a process that closes a connection with such a number. A closed stdin stays closed for verbs that read
    it.
    """
    fill_standard_descriptors()
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)


def _set_encoding(arguments: argparse.Namespace) -> None:
    """Make print() escape characters that the encoding of stdout lacks, instead of raising. JSON and TOML are UTF-8
    wherever they go: an escape of another kind would make them unreadable.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        is_utf8 = vars(arguments).get("json") or vars(arguments).get("is_utf8")
        sys.stdout.reconfigure(encoding="utf-8" if is_utf8 else None, errors="backslashreplace")


def _drop_output() -> None:
    """Redirect stdout to nothing, so that the interpreter does not complain when it flushes stdout at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _fail(error: SonicError | str, status: int) -> int:
    print(f"sonicpy: {error}", file=sys.stderr)
    return status
