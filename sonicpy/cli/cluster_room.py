"""Loads modules of sonicpy.cluster on demand, because they need packages of an extra."""

import importlib
from typing import Any

from sonicpy.errors import ConfigError


def load_cluster(module: str) -> Any:
    """Return a module of sonicpy.cluster.

    Raises:
        ConfigError: the package nats-py is not installed.
    """
    try:
        return importlib.import_module(f"sonicpy.cluster.{module}")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "nats":
            raise
        raise ConfigError(
            "the package nats-py, which a cluster needs, is not installed: run pip install 'sonicpy-search[cluster]'."
        ) from error
