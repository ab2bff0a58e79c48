"""A client waits longer than a node of a cluster, so that it receives the error of the node."""

import inspect

import pytest

import sonicpy

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")
from sonicpy.cluster.log.limits import ANSWER_S

ON_THE_WAY_S = 2.0
"""The time in seconds for the error to arrive, over a busy event loop."""


@pytest.mark.parametrize("connect", [sonicpy.connect, sonicpy.connect_async])
def test_a_client_waits_longer_than_a_node(connect: object) -> None:
    assert callable(connect)
    waits_s = inspect.signature(connect).parameters["timeout_s"].default
    assert waits_s >= ANSWER_S + ON_THE_WAY_S
