"""Several addresses, a Unix socket, and starts that fail completely."""

import asyncio
import contextlib
import errno
import os
import signal
import socket
import stat
import subprocess
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import uvloop

from sonicpy.client.address import read_url
from sonicpy.config import ChannelConfig, split_address
from sonicpy.errors import SonicError
from sonicpy.server.connections.descriptors import Room
from sonicpy.server.connections.listeners import BACKLOG, Listeners, addresses_of, bind_tcp, bind_unix, url_of
from tests.processes import HOST, Server, environment, free_port, refused_start, serve_command
from tests.server.peer import Peer
from tests.server.test_start import is_one_sentence
from tests.support.patience import WAIT_S, until


@contextmanager
def announced(folder: Path, inet: str, settings: dict[str, object] | None = None) -> Iterator[str]:
    """Run a server inside a `with` block; yield the line that it prints when it accepts connections."""
    process = subprocess.Popen(
        serve_command("--inet", inet, "--data", str(folder / "store")),
        cwd=folder,
        env=environment(settings or {}),
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().decode()
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(WAIT_S) == 0
        process.stdout.close()


def greeting(host: str, port: int) -> bytes:
    with socket.create_connection((host, port), timeout=WAIT_S) as connection:
        return connection.recv(100)


def is_open(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=WAIT_S).close()
    except OSError:
        return False
    return True


def test_every_address_is_served_and_announced(tmp_path: Path) -> None:
    path = tmp_path / "s.sock"
    with announced(tmp_path, f"{HOST}:0,{HOST}:0", {"channel.unix_socket": path}) as line:
        listens = line.split("listens on ")[1].split(", its index")[0].split(", ")
        *inets, unix = listens
        assert unix == str(path)
        ports = [int(inet.removeprefix(f"{HOST}:")) for inet in inets]
        assert len(set(ports)) == 2
        assert all(greeting(HOST, port).startswith(b"CONNECTED <sonicpy") for port in ports)


@pytest.mark.parametrize(("inet", "ipv4", "why"), [
    ("[::]:{port}", True, "as Sonic: any address takes IPv4 too"),
    ("[::]:{port},127.0.0.1:{port}", True, "both, side by side"),
    ("[::1]:{port}", False, "IPv6 alone"),
])  # fmt: skip
def test_ipv6_and_ipv4(tmp_path: Path, inet: str, ipv4: bool, why: str) -> None:
    try:
        port = free_port("::1")
    except OSError:
        pytest.skip("this machine has no IPv6")
    with announced(tmp_path, inet.format(port=port)):
        assert is_open("::1", port)
        assert is_open(HOST, port) == ipv4, why


def test_localhost_is_both_loopback_addresses_on_one_port(tmp_path: Path) -> None:
    try:
        free_port("::1")
    except OSError:
        pytest.skip("this machine has no IPv6")
    with announced(tmp_path, "localhost:0") as line:
        first, second = line.split("listens on ")[1].split(", its index")[0].split(", ")
        port = int(first.removeprefix(f"{HOST}:"))
        assert second == f"[::1]:{port}"
        for host in (HOST, "::1"):
            assert greeting(host, port).startswith(b"CONNECTED <sonicpy")


def test_an_address_that_is_listed_twice_is_served_once(tmp_path: Path) -> None:
    port = free_port()
    with announced(tmp_path, f"{HOST}:{port},{HOST}:{port}") as line:
        assert line.split("listens on ")[1].split(", its index")[0] == f"{HOST}:{port}"
        assert greeting(HOST, port).startswith(b"CONNECTED <sonicpy")


def test_a_name_stands_for_its_addresses(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    names = {"two.example": [HOST, "127.0.0.2", HOST], "none.example": []}

    def look_up(host: str, port: None, **_: object) -> list[tuple[object, ...]]:
        if not names[host]:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0)) for address in names[host]]

    monkeypatch.setattr("sonicpy.server.connections.listeners.socket.getaddrinfo", look_up)
    assert addresses_of("two.example") == [HOST, "127.0.0.2"]
    arguments = ["--inet", "none.example:1592", "--data", str(tmp_path / "store")]
    status, said = refused_start(arguments, tmp_path)
    assert (status, is_one_sentence(said)) == (1, True), said
    assert "cannot listen on none.example:1592: Name or service not known; set channel.inet or --inet" in said


URLS = [
    (f"{HOST}:{{port}}", False, f"sonic://{HOST}:{{port}}"),
    ("0.0.0.0:{port}", False, f"sonic://{HOST}:{{port}}"),
    (f"{HOST}:{{port}}", True, f"sonics://{HOST}:{{port}}"),
]


@pytest.mark.parametrize(("inet", "is_tls", "url"), URLS)
def test_the_url_for_clients_of_this_machine(inet: str, is_tls: bool, url: str) -> None:
    port = free_port()
    host = split_address(inet.format(port=port))[0]
    with bind_tcp(host, port) as bound:
        assert url_of(bound, is_tls=is_tls) == url.format(port=port)


def test_the_url_of_a_unix_socket(tmp_path: Path) -> None:
    with bind_unix(tmp_path / "a b.sock") as bound:
        assert read_url(url_of(bound, is_tls=False)).unix == tmp_path / "a b.sock"


def test_one_address_in_use_stops_the_start_and_none_stays_open(tmp_path: Path) -> None:
    path = tmp_path / "s.sock"
    free = free_port()
    with socket.create_server((HOST, 0)) as taken:
        used = taken.getsockname()[1]
        arguments = ["--inet", f"{HOST}:{free},{HOST}:{used}", "--data", str(tmp_path / "store")]
        status, said = refused_start(arguments, tmp_path, {"channel.unix_socket": path})
    assert (status, is_one_sentence(said)) == (1, True), said
    assert f"{HOST}:{used}" in said
    assert not path.exists()


def test_a_failed_start_accepts_nobody() -> None:
    async def start(taken: int, free: int) -> bool:
        listeners = Listeners(ChannelConfig(inet=(f"{HOST}:{free}", f"{HOST}:{taken}")), None, Room())
        with pytest.raises(SonicError, match=f"cannot listen on {HOST}:{taken}: "):
            await listeners.start(asyncio.Protocol)
        return await asyncio.get_running_loop().run_in_executor(None, is_open, HOST, free)

    with socket.create_server((HOST, 0)) as used:
        assert not asyncio.run(start(used.getsockname()[1], free_port()))


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_accepted_sockets_are_kept_alive(run) -> None:  # type: ignore[no-untyped-def]
    async def connect() -> int:
        accepted: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        class Looked(asyncio.Protocol):
            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                with socket.socket(fileno=os.dup(transport.get_extra_info("socket").fileno())) as same:
                    accepted.set_result(same.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE))
                transport.close()  # type: ignore[attr-defined]

        listeners = Listeners(ChannelConfig(inet=(f"{HOST}:0",)), None, Room())
        await listeners.start(Looked)
        _, writer = await asyncio.open_connection(HOST, int(listeners.names[0].rpartition(":")[2]))
        kept_alive = await accepted
        writer.close()
        await writer.wait_closed()
        await listeners.close()
        return kept_alive

    assert run(connect()) == 1


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_a_connection_accepted_as_the_server_closes_is_served(
    run: Callable[[Coroutine[None, None, None]], None],
) -> None:
    async def close_after(passes: int) -> tuple[bool, bool]:
        """Return whether a connection was accepted, and whether it got its protocol, if the server closes after
        `passes` passes of the event loop.
        """
        made = asyncio.Event()

        class Noted(asyncio.Protocol):
            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                made.set()
                transport.close()

        listeners = Listeners(ChannelConfig(inet=(f"{HOST}:0",)), None, Room())
        await listeners.start(Noted)
        with socket.create_connection((HOST, int(listeners.names[0].rpartition(":")[2])), WAIT_S) as peer:
            for _ in range(passes):
                await asyncio.sleep(0)
            await listeners.close()
            await asyncio.sleep(0.01)
            try:
                accepted = peer.recv(1) == b""
            except ConnectionResetError:  # it still waited to be accepted
                accepted = False
        return accepted, made.is_set()

    async def close_at_each_pass() -> None:
        ends = [await close_after(passes) for passes in range(4)]
        assert set(ends) <= {(True, True), (False, False)}
        assert (True, True) in ends

    run(close_at_each_pass())


@pytest.mark.skipif(not Path("/proc/sys/net/core/somaxconn").exists(), reason="needs Linux")
def test_many_may_connect_at_once(tmp_path: Path) -> None:
    clients = min(BACKLOG, int(Path("/proc/sys/net/core/somaxconn").read_text())) - 20
    with Server(tmp_path) as server, contextlib.ExitStack() as stack:
        os.kill(server.pid, signal.SIGSTOP)  # it accepts no client meanwhile
        try:
            waiting = []
            for _ in range(min(clients, 400)):  # few files may be open
                client = stack.enter_context(socket.socket())
                client.setblocking(False)
                assert client.connect_ex((server.host, server.port)) in (0, errno.EINPROGRESS)
                waiting.append(client)
        finally:
            os.kill(server.pid, signal.SIGCONT)
        for client in waiting:
            client.settimeout(WAIT_S)
            assert client.recv(100).startswith(b"CONNECTED <")


def accepts(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0


class TestUnixSocket:
    """A Unix socket beside the port."""

    def test_it_is_served_and_removed_at_the_stop(self, tmp_path: Path) -> None:
        path = tmp_path / "s.sock"
        with Server(tmp_path, {"channel.unix_socket": path}) as server:
            assert stat.S_IMODE(path.stat().st_mode) == 0o660
            with Peer(server, "ingest", unix=path) as peer:
                assert peer.ask('PUSH c b o "durch die Datei"') == "OK"
                peer.send(b"PING\n" * 5_000)
                peer.half_close()
                assert peer.rest() == b"PONG\r\n" * 5_000
        assert not path.exists()

    def test_it_can_be_the_only_address(self, tmp_path: Path) -> None:
        path = tmp_path / "s.sock"
        (tmp_path / "only.cfg").write_text(f'[channel]\ninet = []\nunix_socket = "{path}"\n')
        command = serve_command("-c", "only.cfg", "--data", str(tmp_path / "store"))
        process = subprocess.Popen(command, cwd=tmp_path, env=environment({}), stdout=subprocess.PIPE)
        try:
            assert process.stdout is not None
            assert f"listens on {path}, its index" in process.stdout.readline().decode()
        finally:
            process.terminate()
            assert process.wait(WAIT_S) == 0
            process.stdout.close()

    def test_one_left_by_a_dead_server_is_replaced(self, tmp_path: Path) -> None:
        path = tmp_path / "s.sock"
        server = Server(tmp_path, {"channel.unix_socket": path})
        with server:
            server.kill()
            assert path.is_socket(), "nobody was there to remove it"
            server.start()
            until(lambda: accepts(path))  # it accepts on TCP first, and the socket that was left refuses
            with Peer(server, "search", unix=path) as peer:
                assert peer.ask("PING") == "PONG"

    def test_one_in_use_stops_the_start(self, tmp_path: Path) -> None:
        path = tmp_path / "s.sock"
        with Server(tmp_path, {"channel.unix_socket": path}) as server:
            arguments = ["--inet", f"{HOST}:{free_port()}", "--data", str(tmp_path / "other")]
            status, said = refused_start(arguments, tmp_path, {"channel.unix_socket": path})
            assert (status, is_one_sentence(said)) == (1, True), said
            assert f"{path}: another process listens there; set channel.unix_socket" in said
            with Peer(server, "search", unix=path) as peer:
                assert peer.ask("PING") == "PONG", "the first one goes on"

    def test_a_file_in_its_place_is_left_alone(self, tmp_path: Path) -> None:
        path = tmp_path / "s.sock"
        path.write_text("precious")
        arguments = ["--inet", f"{HOST}:{free_port()}", "--data", str(tmp_path / "store")]
        status, said = refused_start(arguments, tmp_path, {"channel.unix_socket": path})
        assert (status, is_one_sentence(said)) == (1, True), said
        assert f"{path}: there is a file that is no socket" in said
        assert path.read_text() == "precious"

    def test_one_of_another_server_is_not_removed_at_the_stop(self, tmp_path: Path) -> None:
        path = tmp_path / "s.sock"
        with Server(tmp_path, {"channel.unix_socket": path}) as server:
            path.unlink()
            with socket.socket(socket.AF_UNIX) as other:
                other.bind(str(path))
                server.stop()
                assert path.is_socket()

    def test_a_path_that_cannot_be_used(self, tmp_path: Path) -> None:
        for name, reason in (("x" * 200, "too long"), ("none/s.sock", "No such file")):
            arguments = ["--inet", f"{HOST}:{free_port()}", "--data", str(tmp_path / "store")]
            status, said = refused_start(arguments, tmp_path, {"channel.unix_socket": tmp_path / name})
            assert (status, is_one_sentence(said)) == (1, True), said
            assert reason in said
