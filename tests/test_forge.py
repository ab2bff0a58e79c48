"""The files that forges, editors and hooks read agree with pyproject.toml, setup.py and the gate."""

import configparser
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest

from sonicpy.version import VERSION

yaml = pytest.importorskip("yaml", reason="needs PyYAML, which the extra test installs")

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
EXTRAS = PROJECT["optional-dependencies"]
TOX = configparser.ConfigParser()
TOX.read(ROOT / "tox.ini", encoding="utf-8")
CHECKS = [
    shlex.split(line)[1:]
    for line in (ROOT / ".ci" / "check").read_text(encoding="utf-8").splitlines()
    if line.startswith("check ")
]
"""The commands of .ci/check."""


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


WORKFLOWS = {path.stem: load(path) for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))}
JOBS = [(f"{name}.{job}", body) for name, flow in WORKFLOWS.items() for job, body in flow["jobs"].items()]


def steps(action: str) -> list[dict[str, Any]]:
    """Return the steps of all workflows that use an action, or that run a command if `action` is "run"."""
    return [
        step
        for _, job in JOBS
        for step in job["steps"]
        if step.get("uses", "").partition("@")[0] == action or action in step
    ]


def names(requirements: list[str]) -> set[str]:
    """Return the packages that requirements name."""
    return {re.split(r"[<>=;\[ ]", requirement)[0] for requirement in requirements}


def test_the_urls_of_the_project_lead_somewhere() -> None:
    assert PROJECT["urls"]
    for url in PROJECT["urls"].values():
        assert re.match(r"https://(github\.com/valeriansaliou/sonic$|pypi\.org/project/sonicpy-search/)", url), url
    assert PROJECT["name"] == "sonicpy-search"


def test_the_gate_runs_on_every_python_that_a_classifier_names() -> None:
    classified = [name.rpartition(" ")[2] for name in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", name)]
    assert WORKFLOWS["gate"]["jobs"]["gate"]["strategy"]["matrix"]["python"] == classified
    assert PROJECT["requires-python"] == f">={classified[0]}"
    assert PYPROJECT["tool"]["ruff"]["target-version"] == "py" + classified[0].replace(".", "")
    for step in steps("actions/setup-python"):
        version = step["with"]["python-version"]
        assert version in (*classified, "${{ matrix.python }}")
    assert set(WORKFLOWS["nightly"]["jobs"]["full"]["strategy"]["matrix"]["python"]) <= set(classified)


def test_wheels_are_built_where_pyproject_says() -> None:
    settings = PYPROJECT["tool"]["cibuildwheel"]
    runners = WORKFLOWS["wheels"]["jobs"]["wheels"]["strategy"]["matrix"]["include"]
    for system, start in (("linux", "ubuntu"), ("macos", "macos")):
        built = {entry["arch"] for entry in runners if entry["runner"].startswith(start)}
        assert built == set(settings[system]["archs"])
    systems = {name.rpartition(":: ")[2] for name in PROJECT["classifiers"] if name.startswith("Operating System")}
    assert systems == {"Linux", "MacOS"}


@pytest.mark.parametrize(("name", "job"), JOBS, ids=[name for name, _ in JOBS])
def test_a_job_is_bounded_and_its_commands_exist(name: str, job: dict[str, Any]) -> None:
    assert 0 < job["timeout-minutes"] <= 120
    for step in job["steps"]:
        program, *arguments = shlex.split(step.get("run", "true"))
        if program.startswith("."):
            assert (ROOT / program).stat().st_mode & 0o111, f"{name} runs {program}"
        if program == "tox":
            assert f"testenv:{arguments[arguments.index('-e') + 1]}" in TOX
        if "uses" in step:
            assert re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v\d+)", step["uses"])


def test_workflows_have_no_right_that_they_do_not_need() -> None:
    for flow in WORKFLOWS.values():
        assert flow["permissions"] == {"contents": "read"}
    assert [name for name, job in JOBS if "permissions" in job] == ["wheels.publish"]
    publish = WORKFLOWS["wheels"]["jobs"]["publish"]
    assert publish["permissions"] == {"id-token": "write"}
    assert publish["if"] == "github.ref_type == 'tag'"
    assert set(publish["needs"]) == set(WORKFLOWS["wheels"]["jobs"]) - {"publish"}


def test_the_tag_is_compared_with_the_name_of_the_sdist() -> None:
    (command,) = (step["run"] for step in steps("run") if "GITHUB_REF_NAME" in step["run"])
    name = PROJECT["name"].replace("-", "_")
    assert f"{name}-${{GITHUB_REF_NAME#v}}.tar.gz" in command


def test_hooks_and_tox_run_the_checks_of_the_gate() -> None:
    (repository,) = load(ROOT / ".pre-commit-config.yaml")["repos"]
    hooks = {tuple(shlex.split(hook["entry"].replace("--force-exclude", ""))) for hook in repository["hooks"]}
    checks = {tuple(part for part in check if part not in (".", "--check")) for check in CHECKS}
    assert hooks == {check for check in checks if check[0] != "stubtest"}
    assert {check[0] for check in CHECKS} == {"ruff", "mypy", "stubtest"}
    assert TOX["testenv:lint"]["commands"].split()[0] == ".ci/check"
    assert ".ci/check " in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_every_native_module_with_a_stub_is_compared_with_it() -> None:
    (command,) = (check for check in CHECKS if check[0] == "stubtest")
    assert command[-1] == "sonicpy._native"  # a package: stubtest goes through its modules
    modules = re.search(r"^MODULES = \[(.*?)\]", (ROOT / "setup.py").read_text(encoding="utf-8"), re.M | re.S)
    assert modules is not None
    sources = {path.stem for path in (ROOT / "ext" / "sonicpy" / "_native").glob("*.pyx")}
    assert set(re.findall(r'"(\w+)"', modules[1])) == sources
    stubs = {path.stem for path in (ROOT / "sonicpy" / "_native").glob("*.pyi")}
    assert stubs <= sources


def test_the_extra_dev_builds_in_place_and_has_the_hooks() -> None:
    present = names(PROJECT["dependencies"]) | names(EXTRAS["test"]) | names(EXTRAS["dev"])
    assert names(PYPROJECT["build-system"]["requires"]) <= present
    assert {"pre-commit", "ruff", "mypy"} <= present


@pytest.mark.parametrize(
    "path", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml")), ids=lambda path: path.stem
)
def test_a_form_for_issues(path: Path) -> None:
    form = load(path)
    assert form["name"] and form["description"]
    fields = [part for part in form["body"] if part["type"] != "markdown"]
    assert len({part["id"] for part in fields}) == len(fields)
    assert all(part["attributes"]["label"] for part in fields)
    assert any(part.get("validations", {}).get("required") for part in fields)


def test_editors_and_ruff_agree() -> None:
    settings = (ROOT / ".editorconfig").read_text(encoding="utf-8")
    assert f"max_line_length = {PYPROJECT['tool']['ruff']['line-length']}\n" in settings


def test_the_changelog_begins_with_what_is_not_released() -> None:
    text = (ROOT / "docs" / "changelog.md").read_text(encoding="utf-8")
    first, second = re.findall(r"^## (.*)$", text, re.MULTILINE)[:2]
    assert first == "Unreleased"
    assert second.split(" ")[0] == VERSION


def places(page: str) -> set[str]:
    """Return the files, and the tests after "::", that a page names."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return set(re.findall(r"`((?:[\w.-]+/)+[\w.-]+\.(?:py|pyi|pyx|md|cfg|tsv|toml|yml)(?:::\w+)?)`", text))


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "SECURITY.md", "docs/releasing.md", "docs/glossary.md"])
def test_the_files_and_tests_that_a_page_names_exist(page: str) -> None:
    named = places(page)
    assert named, page
    for place in sorted(named):
        name, _, test = place.partition("::")
        found = [folder / name for folder in (ROOT, ROOT / "sonicpy") if (folder / name).exists()]
        assert found, f"{page} names {name}"
        assert not test or f"def {test}(" in found[0].read_text(encoding="utf-8"), f"{page} names {place}"


def test_the_functions_that_contributing_names_are_where_it_says() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w.]+)`\s+(?:in|of)\s+`((?:\w+/)+\w+\.py)`", text)
    assert len(named) > 3
    for name, path in named:
        last = name.rpartition(".")[2]
        source = (ROOT / path if (ROOT / path).exists() else ROOT / "sonicpy" / path).read_text(encoding="utf-8")
        assert re.search(rf"\b(?:def|class) {last}\b|^{last}\b", source, re.MULTILINE), f"{path} has no {name}"
