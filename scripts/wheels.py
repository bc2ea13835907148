"""`make wheels`: a wheel for every supported Python, and the source distribution, checked as they would be published.

    build (maturin, zig: manylinux2014) ─► compress (zopfli) ─► check each file ─► install in a clean environment and use
    it ─► resolve beside the packages that agents have installed ─► twine check

maturin knows the layout of each Python, so none has to be installed for its wheel to be built. A wheel whose Python is on this
machine is also installed and used; the last lines say which were.

    python scripts/wheels.py                    all
    python scripts/wheels.py --only cp311,sdist some
    python scripts/wheels.py --check dist/*     only the checks, of files that are there
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = {
    "cp311": "python3.11",
    "cp312": "python3.12",
    "cp313": "python3.13",
    "cp314": "python3.14",
    "cp314t": "python3.14t",
}
MOST_BYTES = 12_000_000
# What agents have installed already; a wheel has to resolve together with each.
BESIDE = ("mcp>=1,<2", "mcp>=2,<3", "fastmcp>=4,<5", "langchain", "pydantic-ai")
NAME = re.compile(
    r"agent_toolhub-(?P<version>[^-]+)-(?P<python>cp3\d+)-(?P<abi>cp3\d+t?)-(?P<platform>[^-]+)\.whl"
)
WANTED = (
    "toolhub/__init__.py",
    "toolhub/py.typed",
    "toolhub/_core.pyi",
    "toolhub/cli/__init__.py",
    "toolhub/data/words_en.bin.gz",
    "toolhub/data/zh_en.txt.gz",
)
SMOKE = """
import importlib.metadata, subprocess, sys, sysconfig
from toolhub import ToolHub, __version__
assert importlib.metadata.version("agent-toolhub") == __version__
with ToolHub() as hub:
    @hub.tool
    def add(a: int, b: int) -> int:
        "Add two numbers."
        return a + b
    assert hub.call("add", {"a": 2, "b": "3"}).result == 5
    assert hub.search("sum of numbers, added")[0].name == "add"
done = subprocess.run([sysconfig.get_path("scripts") + "/toolhub", "--version"], capture_output=True, text=True, check=True)
assert done.stdout == f"toolhub {__version__}\\n", done.stdout
print(sys.version.split()[0], __version__)
"""


def problems_of(path: Path) -> list[str]:
    """What is wrong with a wheel or a source distribution, a sentence each."""
    found: list[str] = []
    size = path.stat().st_size
    if size > MOST_BYTES:
        found.append(f"{path.name} has {size / 1e6:.1f} MB, more than {MOST_BYTES / 1e6:.1f} MB")
    if path.name.endswith(".tar.gz"):
        return found + _problems_of_sdist(path)
    parts = NAME.fullmatch(path.name)
    if parts is None:
        return [*found, f"{path.name} is not named as a wheel of ours"]
    if parts["abi"] not in PYTHONS or parts["abi"].rstrip("t") != parts["python"]:
        found.append(f"{path.name} is for {parts['abi']}, and we support {', '.join(PYTHONS)}")
    if "manylinux2014" not in parts["platform"] and "manylinux_2_17" not in parts["platform"]:
        found.append(f"{path.name} is for {parts['platform']}, not for manylinux2014")
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
    found += [f"{path.name} has no {name}" for name in WANTED if name not in names]
    # A `.pth` file, for example, would run code at each start of Python.
    own = ("toolhub/", f"agent_toolhub-{parts['version']}.dist-info/")
    found += [f"{path.name} has {name}, outside of its package" for name in names if not name.startswith(own)]
    extensions = [name for name in names if name.startswith("toolhub/_core.") and name.endswith(".so")]
    if len(extensions) != 1:
        found.append(f"{path.name} has {len(extensions)} extensions, not one")
    if not any(".dist-info/sboms/" in name for name in names):
        found.append(f"{path.name} has no list of its parts (SBOM)")
    for licence in ("LICENSE-MIT", "LICENSE-APACHE"):
        if not any(name.endswith(f".dist-info/licenses/{licence}") for name in names):
            found.append(f"{path.name} has no {licence}")
    return found


def _problems_of_sdist(path: Path) -> list[str]:
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = (
        "Cargo.toml",
        "Cargo.lock",
        "pyproject.toml",
        "src/lib.rs",
        "src/python/lib.rs",
        "python/toolhub/__init__.py",
        "LICENSE-MIT",
    )
    found = [f"{path.name} has no {name}" for name in wanted if name not in names]
    return found + [
        f"{path.name} has {name}, which is built" for name in names if name.endswith((".so", ".pyd"))
    ]


def build(tag: str, out: Path) -> Path:
    """Build one file; the path of it."""
    maturin = str(Path(sys.executable).parent / "maturin")
    before = set(out.glob("*"))
    if tag == "sdist":
        command = [maturin, "sdist", "--out", str(out)]
    else:
        # The profile that the benchmarks measure.
        command = [maturin, "build", "--locked", "--release", "--zig", "--compatibility", "manylinux2014"]
        command += ["--interpreter", PYTHONS[tag], "--out", str(out)]
    # Where the build looks for zig: the package `ziglang` of this environment, not of the first Python of the PATH.
    environment = {**os.environ, "CARGO_ZIGBUILD_PYTHON_PATH": sys.executable}
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    made = sorted(set(out.glob("*")) - before, key=lambda path: path.stat().st_mtime)
    if not made:  # it has replaced one of the same name
        made = sorted(out.glob("*"), key=lambda path: path.stat().st_mtime)
    if tag != "sdist":
        pack_again(made[-1])
    return made[-1]


def pack_again(path: Path) -> None:
    """Compress a wheel as far as its format allows: a twentieth smaller, for a few minutes. Its files stay as they are."""
    import zopfli  # only here: the checks work without it

    smaller = path.with_suffix(".packed")
    with zipfile.ZipFile(path) as old, zopfli.ZipFile(smaller, "w", iterations=4) as new:
        for info in old.infolist():
            new.writestr(info, old.read(info))
    smaller.replace(path)


def problem_of_tag(path: Path, tag: str) -> str | None:
    """What is wrong if a file is not what was to be built: `python3.14` may be a Python without a GIL, for example."""
    parts = NAME.fullmatch(path.name)
    found = "sdist" if path.name.endswith(".tar.gz") else parts["abi"] if parts is not None else None
    return None if found == tag else f"{path.name} was built for {tag}"


def interpreter_of(path: Path) -> str | None:
    """The Python on this machine that a wheel is for."""
    parts = NAME.fullmatch(path.name)
    name = PYTHONS.get(parts["abi"]) if parts is not None else None
    if name is None:
        return None
    free = "'t' * bool(sysconfig.get_config_var('Py_GIL_DISABLED'))"
    asked = f"import sys, sysconfig; print('%d.%d' % sys.version_info[:2] + {free})"
    version, free_suffix, _ = name.removeprefix("python").partition("t")
    pyenv = sorted(Path.home().glob(f".pyenv/versions/{version}.*{free_suffix}/bin/{name}"))
    for command in [shutil.which(name), *map(str, pyenv)]:
        if command is None:
            continue
        done = subprocess.run([command, "-c", asked], capture_output=True, text=True, check=False)
        if done.returncode == 0 and f"python{done.stdout.strip()}" == name:
            return command
    return None


def smoke(path: Path, python: str) -> str:
    """Install a wheel in a clean environment and use it; the version of Python that did."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, "-m", "venv", folder], check=True)
        own = str(Path(folder) / "bin" / "python")
        pip = [own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, str(path)], check=True)
        # Not from the checkout, which has the package too.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        done = subprocess.run(
            [own, "-c", SMOKE], cwd=folder, env=environment, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()


def problems_beside(path: Path, python: str) -> list[str]:
    """Which packages a wheel cannot be installed with, a sentence each."""
    found: list[str] = []
    for package in BESIDE:
        command = [python, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet"]
        command += ["--disable-pip-version-check", str(path), package]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            found.append(f"{path.name} does not resolve beside {package}: {done.stderr.strip()[-500:]}")
    return found


def main() -> int:
    """Build and check; the exit code is 1 if anything is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", help="some of " + ",".join([*PYTHONS, "sdist"]))
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--check", nargs="+", type=Path, metavar="FILE", help="files that are there")
    given = parser.parse_args()
    given.out.mkdir(exist_ok=True)
    tags = given.only.split(",") if given.only else [*PYTHONS, "sdist"]
    if unknown := [tag for tag in tags if tag not in PYTHONS and tag != "sdist"]:
        parser.error(f"there is no {unknown[0]!r}")
    built = {} if given.check else {tag: build(tag, given.out) for tag in tags}
    files = given.check or list(built.values())
    problems = [problem for tag, path in built.items() if (problem := problem_of_tag(path, tag))]
    problems += [problem for path in files for problem in problems_of(path)]
    used: list[str] = []
    for path in files:
        python = interpreter_of(path)
        outcome = "" if path.name.endswith(".tar.gz") else "not used: its Python is not on this machine"
        if python is not None:
            try:
                outcome = f"installed and used with Python {smoke(path, python)}"
            except subprocess.CalledProcessError as error:
                problems.append(f"{path.name} cannot be used: {error.stderr or error}")
        used.append(f"{path.stat().st_size / 1e6:6.1f} MB  {path.name}  {outcome}")
    # The same requirements in every wheel, so one is enough.
    if usable := next(((path, python) for path in files if (python := interpreter_of(path))), None):
        problems += problems_beside(*usable)
    checked = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", *map(str, files)], check=False
    )
    if checked.returncode:
        problems.append("twine finds something wrong")
    print("\n".join([*used, *(f"WRONG: {problem}" for problem in problems)]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
