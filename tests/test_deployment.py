"""Dockerfile, compose file and systemd unit: paths, port, user and command lines fit together and fit the program."""

import fnmatch
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sonicpy.cli.parser import make_parser
from sonicpy.config import load
from tests.support.patience import WAIT_S

ROOT = Path(__file__).resolve().parents[1]
CONFIGS = ROOT / "configs"
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
UNIT = (CONFIGS / "sonicpy.service").read_text(encoding="utf-8")

# Where Sonic's own image keeps them, so that its volumes and files can stay where they are mounted.
SETTINGS = "/etc/sonic.cfg"
STORE = "/var/lib/sonic/store"
PORT = 1491


def instructions(dockerfile: str) -> list[list[tuple[str, str]]]:
    """Return (instruction, its arguments) by build stage; text before the first FROM is left out."""
    lines = [line for line in dockerfile.splitlines() if not line.startswith("#")]
    joined = re.sub(r"\s*\\\n\s*", " ", "\n".join(lines))
    stages: list[list[tuple[str, str]]] = []
    for line in filter(None, joined.splitlines()):
        name, _, rest = line.partition(" ")
        if name == "FROM":
            stages.append([])
        if stages:
            stages[-1].append((name, rest.strip()))
    return stages


BUILD, IMAGE = instructions(DOCKERFILE)


def only(name: str) -> str:
    """Return the arguments of an instruction that the Dockerfile has only once."""
    (arguments,) = [rest for instruction, rest in IMAGE if instruction == name]
    return arguments


def unit(key: str) -> list[str]:
    return re.findall(rf"^{key}=(.*)$", UNIT, re.MULTILINE)


@pytest.fixture(scope="module")
def compose() -> Any:
    yaml = pytest.importorskip("yaml", reason="needs PyYAML, which the extra test installs")
    return yaml.safe_load((CONFIGS / "compose.yaml").read_text(encoding="utf-8"))


def command_lines() -> list[list[str]]:
    """Return every command line of sonicpy in the files of a deployment, comments included."""
    lists = [json.loads(part) for part in re.findall(r'\["sonicpy".*\]', DOCKERFILE)]
    lines = [shlex.split(line.replace("${STATE_DIRECTORY}", "/var/lib/sonicpy")) for line in unit("ExecStart")]
    for name in ("container.cfg", "sonic-compat.cfg", "sonicpy.cfg"):
        text = (CONFIGS / name).read_text(encoding="utf-8")
        lines += [shlex.split(line) for line in re.findall(r'"(sonicpy [a-z ]+)"', text)]
    return [*lists, *lines]


def test_there_are_command_lines() -> None:
    verbs = [Path(program).name + " " + verb for program, verb, *_ in command_lines()]
    assert {"sonicpy serve", "sonicpy ping"} <= set(verbs)
    assert verbs.count("sonicpy serve") >= 3


@pytest.mark.parametrize("line", command_lines(), ids=" ".join)
def test_every_command_line_is_one_of_ours(line: list[str]) -> None:
    make_parser().parse_args(line[1:])


def test_the_image_is_made_in_two_stages() -> None:
    assert BUILD[0][1].endswith(" AS build")
    assert IMAGE[0][1] == BUILD[0][1].removesuffix(" AS build")
    copies = [rest for name, rest in IMAGE if name == "COPY"]
    assert "--from=build /opt/sonicpy /opt/sonicpy" in copies
    assert not [rest for name, rest in IMAGE if name == "RUN" and re.search(r"apt-get|pip|gcc", rest)]
    assert "/opt/sonicpy/bin:" in only("ENV")


def test_the_image_does_not_run_as_root() -> None:
    user, _, group = only("USER").partition(":")
    assert 0 not in (int(user), int(group))
    (run,) = [rest for name, rest in IMAGE if name == "RUN"]
    assert f"useradd --uid {user} --gid {group} " in run
    assert f"install -d -o sonic -g sonic -m 0700 {STORE}" in run
    names = [name for name, _ in IMAGE]
    assert names.index("RUN") < names.index("USER")


def test_the_image_has_sonics_paths_and_port() -> None:
    assert json.loads(only("VOLUME")) == [STORE]
    assert only("EXPOSE") == str(PORT)
    assert f"configs/container.cfg {SETTINGS}" in [rest for name, rest in IMAGE if name == "COPY"]
    arguments = make_parser().parse_args(json.loads(only("CMD"))[1:])
    assert str(arguments.config) == SETTINGS


def test_the_image_is_asked_whether_it_is_well() -> None:
    options, _, command = only("HEALTHCHECK").partition(" CMD ")
    assert json.loads(command) == ["sonicpy", "ping"]
    timeout = re.search(r"--timeout=(\d+)s", options)
    assert timeout is not None
    assert int(timeout[1]) > make_parser().parse_args(["ping"]).timeout


def test_the_settings_of_the_image_listen_everywhere_and_store_in_the_volume() -> None:
    loaded = load(CONFIGS / "container.cfg", {}, {})
    assert loaded.remarks == ()
    assert loaded.config.channel.addresses == [("0.0.0.0", PORT)]
    assert loaded.config.store.kv.path == Path(STORE)


@pytest.mark.parametrize(
    "name",
    [
        "LICENSE",
        "MANIFEST.in",
        "NOTICE",
        "README.md",
        "configs/container.cfg",
        "ext/sonicpy/_native/analyzer.pyx",
        "ext/tables/unicode/WordBreakProperty.txt",
        "pyproject.toml",
        "setup.py",
        "sonicpy/_native/analyzer.pyi",
        "sonicpy/cli/main.py",
    ],
)
def test_what_the_image_is_made_of_reaches_docker(name: str) -> None:
    assert (ROOT / name).exists()
    assert not is_left_out(name)


@pytest.mark.parametrize(
    "name", [".git/config", "tests/docs/test_readme.py", "data/store/data.mdb", "sonicpy/_native/a.so"]
)
def test_the_rest_does_not(name: str) -> None:
    assert is_left_out(name)


def is_left_out(name: str) -> bool:
    """Return whether .dockerignore leaves a file out: the last pattern that fits it or a folder around it decides."""
    left_out = False
    parts = name.split("/")
    around = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            pattern = line.removeprefix("!")
            if any(fnmatch.fnmatch(path, pattern) for path in around):
                left_out = not line.startswith("!")
    return left_out


def test_the_compose_file_fits_the_image(compose: Any) -> None:
    (service,) = compose["services"].values()
    assert (CONFIGS / service["build"]).resolve() == ROOT
    assert [port.rpartition(":")[2] for port in service["ports"]] == [only("EXPOSE")]
    ((volume, _, target),) = [mount.partition(":") for mount in service["volumes"]]
    assert [target] == json.loads(only("VOLUME"))
    assert list(compose["volumes"]) == [volume]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]


def test_the_compose_file_sets_a_password_and_nothing_unknown(compose: Any) -> None:
    (service,) = compose["services"].values()
    given = service["environment"]
    given = {name: re.sub(r"\$\{SONIC_PASSWORD:\?[^}]*\}", "chosen", value) for name, value in given.items()}
    loaded = load(CONFIGS / "container.cfg", given, {})
    assert loaded.remarks == ()
    assert loaded.config.channel.auth_password == "chosen"


def test_the_unit_waits_for_the_server_and_lets_it_write_one_folder() -> None:
    assert unit("Type") == ["notify"]
    assert unit("DynamicUser") == ["yes"]
    (folder,) = unit("StateDirectory")
    (command,) = unit("ExecStart")
    assert command.endswith(" --data ${STATE_DIRECTORY}")
    assert "/" not in folder
    assert unit("ReadWritePaths") == []
    for key in ("NoNewPrivileges", "MemoryDenyWriteExecute", "PrivateDevices", "PrivateTmp", "ProtectHome"):
        assert unit(key) == ["yes"], key
    assert unit("ProtectSystem") == ["strict"]
    assert unit("CapabilityBoundingSet") == [""]
    assert {"AF_INET", "AF_INET6", "AF_UNIX"} == set(unit("RestrictAddressFamilies")[0].split())


def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("needs systemd-analyze")
    (command,) = unit("ExecStart")
    # It looks whether the program is there.
    path = tmp_path / "sonicpy.service"
    path.write_text(UNIT.replace(command.split()[0], sys.executable), encoding="utf-8")
    done = subprocess.run([program, "verify", path], capture_output=True, text=True, check=False, timeout=WAIT_S)
    assert (done.returncode, done.stderr) == (0, "")
