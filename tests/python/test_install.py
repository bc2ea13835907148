"""The distribution as a user installs it: a real wheel, real environments, real pip.

The name `toolhub` on the public index is another project with the same import name. Its wheel, version 0.1.0, installs an
empty `toolhub/__init__.py`, `toolhub/config.py`, the packages `toolhub/demo`, `toolhub/lib` and more; the stand-in here
has the same layout, so that the tests need no network.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest

from support.pages import runnable

ROOT = Path(__file__).resolve().parents[2]
# One wheel for the whole file: building it and four environments takes a while on a busy machine.
pytestmark = [pytest.mark.timeout(300), pytest.mark.xdist_group("install")]

OTHER_FILES = {
    "toolhub/__init__.py": "",
    "toolhub/config.py": "SETTINGS = {}\n",
    "toolhub/demo/__init__.py": "",
    "toolhub/lib/__init__.py": "",
    "toolhub/lib/hub.py": "class Hub: ...\n",
    "toolhub-0.1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: toolhub\nVersion: 0.1.0\n",
    "toolhub-0.1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if built := os.environ.get("WHEELS"):  # as `scripts/environment.sh` reads it
        python = f"cp{sys.version_info.major}{sys.version_info.minor}"
        (wheel,) = (ROOT / built).glob(f"agent_toolhub-*-{python}-{python}{sys.abiflags}-*.whl")
        return wheel
    folder = tmp_path_factory.mktemp("wheel")
    command = [
        str(Path(sys.executable).parent / "maturin"),
        "build",
        "--locked",
        "--quiet",
        "--features",
        "dev",
    ]
    command += ["--interpreter", sys.executable, "--out", str(folder)]
    # As `make develop` calls it, so that cargo has nothing to compile.
    environment = {**os.environ, "VIRTUAL_ENV": sys.prefix}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, timeout=280)
    (wheel,) = folder.iterdir()
    return wheel


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("other") / "toolhub-0.1.0-py3-none-any.whl"
    record = "".join(f"{name},,\n" for name in [*OTHER_FILES, "toolhub-0.1.0.dist-info/RECORD"])
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in {**OTHER_FILES, "toolhub-0.1.0.dist-info/RECORD": record}.items():
            archive.writestr(name, text)
    return path


class Environment:
    """A virtual environment of its own. What we depend on is linked in, so that no index is asked."""

    def __init__(self, folder: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=60)
        self.python = folder / "bin" / "python"
        self.folder = folder
        dependencies = folder / "dependencies"
        dependencies.mkdir()
        ours = Path(sysconfig.get_path("purelib"))
        for name in ("pydantic", "pydantic_core", "annotated_types", "typing_inspection", "docstring_parser"):
            (dependencies / name).symlink_to(ours / name)
        (dependencies / "typing_extensions.py").symlink_to(ours / "typing_extensions.py")
        (site,) = folder.glob("lib/python*/site-packages")
        (site / "dependencies.pth").write_text(f"{dependencies}\n", "utf-8")

    def pip(self, *arguments: str | Path, links: Path | None = None) -> None:
        command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        command += ["--python", str(self.python), *map(str, arguments)]
        offline = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1"}
        if links is not None:
            offline["PIP_FIND_LINKS"] = str(links)
        subprocess.run(command, env={**os.environ, **offline}, check=True, timeout=120)

    def install(self, *wheels: Path) -> None:
        for wheel in wheels:
            self.pip("install", wheel)

    def run(self, code: str) -> subprocess.CompletedProcess[str]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        return subprocess.run(
            [str(self.python), "-c", code],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
        )


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return Environment(tmp_path / "environment")


CALL = """
from toolhub import ToolHub
hub = ToolHub()
@hub.tool
def add(a: int, b: int) -> int:
    "Add."
    return a + b
print(hub.call("add", {"a": 2, "b": 3}).result)
"""


def test_the_readme_runs_in_a_clean_environment(environment: Environment, wheel: Path) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    commands = re.findall(r"^\$ pip (install [^#\n]*)", readme, re.MULTILINE)
    assert commands[0].split() == ["install", "agent-toolhub"]
    environment.pip(*commands[0].split(), links=wheel.parent)
    for block in runnable(readme):
        done = environment.run(block.code)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        assert block.output is not None
        assert done.stdout == block.output + "\n"


def test_the_other_distribution_is_named(environment: Environment, wheel: Path, other: Path) -> None:
    environment.install(other, wheel)
    for code in (CALL, "import toolhub", "from toolhub.lib.hub import Hub"):
        done = environment.run(code)
        assert done.returncode == 1
        reason = done.stderr.strip().splitlines()[-1]
        assert reason.startswith("ImportError: Two distributions are installed into the package 'toolhub'")
        assert "toolhub-0.1.0" in reason
        assert "pip uninstall toolhub agent-toolhub" in reason
    # What the sentence says helps.
    environment.pip("uninstall", "--yes", "toolhub", "agent-toolhub")
    environment.install(wheel)
    assert environment.run(CALL).stdout == "5\n"


def test_no_code_runs_when_python_starts(environment: Environment, wheel: Path, other: Path) -> None:
    """A file outside of the package, above all a `.pth` file, would run in every program of the environment."""
    with zipfile.ZipFile(wheel) as archive:
        folders = {name.partition("/")[0] for name in archive.namelist()}
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        assert folders == {"toolhub", metadata.partition("/")[0]}
        assert re.search(r"^Project-URL: Homepage, https://", archive.read(metadata).decode(), re.MULTILINE)
    modules = "import sys; print(sorted(sys.modules), [type(finder).__name__ for finder in sys.meta_path])"
    bare = environment.run(modules).stdout
    environment.install(wheel, other)
    assert environment.run(modules).stdout == bare
    # The other one has replaced our `__init__.py`: its users get what they installed.
    assert environment.run("from toolhub.lib.hub import Hub; print(Hub.__name__)").stdout == "Hub\n"


def test_what_only_has_the_name_is_not_an_error(environment: Environment, wheel: Path) -> None:
    environment.install(wheel)
    (site,) = environment.folder.glob("lib/python*/site-packages")
    (environment.folder / "toolhub.py").write_text("mine = True\n", "utf-8")
    assert environment.run("import toolhub; print(toolhub.mine)").stdout == "True\n"
    (environment.folder / "toolhub.py").unlink()
    # An editable install of another version has no package here.
    (site / "toolhub-0.0.9.dist-info").mkdir()
    (site / "toolhub-0.0.9.dist-info" / "RECORD").write_text("toolhub.pth,,\n", "utf-8")
    (site / "toolhub-extras-1.dist-info").mkdir()
    done = environment.run(CALL)
    assert (done.stdout, done.stderr) == ("5\n", "")


def test_the_metadata_says_the_name_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["name"] == "agent-toolhub"
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "python").rglob("*.py")]
    for page in pages:
        text = page.read_text("utf-8")
        assert not re.search(r"pip install ['\"]?toolhub\b", text), page
        for extra in re.findall(r"\btoolhub\[(\w+)\]", text):
            assert extra in project["optional-dependencies"], page
            assert f"agent-toolhub[{extra}]" in text, page
