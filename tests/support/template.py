"""The process that forks servers for tests, as a program, which `tests/support/forked.py` starts and sends messages to.

It imports sonicpy once, and never runs it: a server does all of its work after the fork. Each message is a line of JSON
over the socket whose descriptor is the first argument; the other arguments are modules to import, too. When the process
ends, the servers get SIGTERM, so that those of an aborted run end, too.
"""

import gc
import importlib
import json
import os
import resource
import runpy
import signal
import socket
import sys
from typing import Any, NoReturn

import sonicpy.cli.serve  # noqa: F401
import sonicpy.index.maintenance.maintainer  # noqa: F401
import sonicpy.server.server  # noqa: F401
from sonicpy.children import ends_with_parent
from sonicpy.cli.main import main  # noqa: F401
from sonicpy.late import import_now


def serve(descriptor: int) -> None:
    """Answer messages until the tests end; in a forked server, return from its `main`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_too = ends_with_parent()
    with socket.socket(fileno=descriptor) as asker, asker.makefile("rwb") as messages:
        gc.collect()
        gc.freeze()  # the servers share these pages; each would freeze what is imported, too
        for line in messages:
            asked = json.loads(line)
            if "wait" in asked:
                answer = ended(asked["wait"])
            elif (answer := os.fork()) == 0:
                break
            messages.write(json.dumps(answer).encode() + b"\n")
            messages.flush()
        else:
            return
    if end_too is not None:
        end_too()
    become_server(asked)


def ended(child: int) -> int | None:
    """Return the exit status of a child, negative for a signal; None: the child runs."""
    found, status = os.waitpid(child, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if found else None


def become_server(asked: dict[str, Any]) -> NoReturn:
    """Turn this process into `python -m sonicpy`, and run it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in (os.devnull, asked["log"]):
        descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(descriptor, 1 if name == os.devnull else 2)
        os.close(descriptor)
    resource.setrlimit(resource.RLIMIT_NOFILE, tuple(asked["files"]))
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.path[0] = asked["folder"]
    sys.argv[:] = ["sonicpy", *asked["arguments"]]
    runpy.run_module("sonicpy", run_name="__main__", alter_sys=True)
    sys.exit(0)


if __name__ == "__main__":
    for module in sys.argv[2:]:
        importlib.import_module(module)
    import_now()
    serve(int(sys.argv[1]))
