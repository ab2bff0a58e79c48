"""The addresses of a cluster's brokers: --cluster, or the variable SONICPY_CLUSTER.

Addresses may hold a password. Every user of a machine reads the arguments of all programs, but not their variables.
"""

import argparse
import os
import sys

from sonicpy.errors import ConfigError

CLUSTER_VARIABLE = "SONICPY_CLUSTER"
"""The name of the variable; it does not begin with SONIC_, unlike those of settings."""
SHOWN_PASSWORD = (
    f"--cluster holds a password, which every user of this machine reads in the list of processes; put the addresses "
    f"into the variable {CLUSTER_VARIABLE} instead."
)


def add_brokers(parser: argparse.ArgumentParser) -> None:
    """Add --cluster."""
    parser.add_argument(
        "--cluster",
        metavar="URLS",
        help=f"addresses of the NATS servers, with commas between (default: {CLUSTER_VARIABLE})",
    )


def brokers(arguments: argparse.Namespace) -> str:
    """Return the addresses of the brokers; warn on stderr if the arguments show a password.

    Raises:
        ConfigError: no addresses are given.
    """
    given: str | None = arguments.cluster
    if given is not None:
        if shows_password(given):
            print(f"sonicpy: {SHOWN_PASSWORD}", file=sys.stderr)
        return given
    found = os.environ.get(CLUSTER_VARIABLE)
    if not found:
        raise ConfigError(
            f"--cluster is missing, and so is the variable {CLUSTER_VARIABLE}; allowed are addresses of NATS servers "
            "such as nats://10.0.0.1:4222, separated by commas."
        )
    return found


def names_cluster(arguments: argparse.Namespace) -> bool:
    """Return whether the arguments name a cluster: by --cluster, or by the variable, unless they name a folder."""
    if arguments.cluster is not None:
        return True
    is_local = arguments.data is not None or arguments.config is not None
    return not is_local and bool(os.environ.get(CLUSTER_VARIABLE))


def shows_password(addresses: str) -> bool:
    """Return whether addresses hold a user, a password or a token."""
    return "@" in addresses
