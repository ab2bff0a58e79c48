"""`sonicpy serve`: load the settings and run the server until a signal stops it."""

import argparse
import dataclasses
import os
from functools import partial
from pathlib import Path

from sonicpy.cli.arguments import Verbs
from sonicpy.cli.brokers import CLUSTER_VARIABLE, SHOWN_PASSWORD, shows_password
from sonicpy.cli.cluster_room import load_cluster
from sonicpy.cli.settings import SOURCES, add_flags, load_settings
from sonicpy.errors import ConfigError
from sonicpy.server import server

DESCRIPTION = f"Run the server, which speaks the Sonic Channel protocol. {SOURCES}"


def add_verbs(verbs: Verbs) -> None:
    """Add `serve` and its arguments to the command line."""
    parser = verbs.add_parser(
        "serve", description=DESCRIPTION, epilog="example: sonicpy serve --data ./data/store --inet 127.0.0.1:1491"
    )
    add_flags(parser)
    parser.add_argument(
        "--cluster",
        metavar="URLS",
        help="be a node of the cluster on these NATS servers; needs the extra [cluster] (default with --node: "
        f"{CLUSTER_VARIABLE})",
    )
    parser.add_argument("--node", metavar="NAME", help="name of this node, the same at each start; with --cluster")
    parser.add_argument(
        "--consistency",
        choices=("node", "strong"),
        default="node",
        help="changes that a read of a node includes: all that this node has acknowledged, or all of any node",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the server and return its exit status.

    Raises:
        SonicError: the settings are wrong, or the server cannot start.
    """
    loaded = load_settings(arguments)
    quiet = loaded.config.server.log_level in ("off", "error")
    announce = _announce_nothing if quiet else partial(_announce, loaded.source)
    addresses = _brokers(arguments)
    if addresses is None:
        _need_no_cluster(arguments)
        return server.serve(loaded, announce)
    if not arguments.node:
        raise ConfigError("--node is missing; allowed with --cluster is a name of letters, digits, - and _.")
    node = load_cluster("server")
    is_strong = arguments.consistency == "strong"
    if arguments.cluster is not None and shows_password(addresses):
        loaded = dataclasses.replace(loaded, warnings=(*loaded.warnings, SHOWN_PASSWORD))
    status: int = node.serve(loaded, announce, addresses, arguments.node, is_strong=is_strong)
    return status


def _brokers(arguments: argparse.Namespace) -> str | None:
    """Return the addresses of the brokers; None: the server is not a node of a cluster. The environment variable counts
    only beside --node.
    """
    if arguments.cluster is None and arguments.node is not None:
        return os.environ.get(CLUSTER_VARIABLE) or None
    given: str | None = arguments.cluster
    return given


def _need_no_cluster(arguments: argparse.Namespace) -> None:
    if arguments.node is not None or arguments.consistency != "node":
        raise ConfigError(
            "--node and --consistency are for a node; allowed with them is --cluster, or the variable "
            f"{CLUSTER_VARIABLE}."
        )


def _announce(source: Path | None, announcement: server.Announcement) -> None:
    """Print where the server listens, and the settings file, which may have been found by its name alone."""
    print(announcement if source is None else f"{announcement}, its settings are in {source}", flush=True)


def _announce_nothing(announcement: server.Announcement) -> None:
    """Print nothing: at log levels `off` and `error` the server is silent."""
