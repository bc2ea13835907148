"""The checks before a release find what they look for, and the project passes those that need no build."""

from __future__ import annotations

import re
import shutil
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))  # helpers of the Makefile are not installed

import release_check
import wheels

ROOT = Path(__file__).resolve().parents[2]

WHEEL = "agent_toolhub-0.1.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"
EXTENSION = "toolhub/_core.cpython-311-x86_64-linux-gnu.so"
INFO = "agent_toolhub-0.1.0.dist-info"
CONTENT = (
    *(*wheels.WANTED, EXTENSION, f"{INFO}/sboms/toolhub.cyclonedx.json"),
    *(f"{INFO}/licenses/LICENSE-MIT", f"{INFO}/licenses/LICENSE-APACHE"),
)


def a_wheel(folder: Path, name: str = WHEEL, without: str = "", size: int = 0, more: str = "") -> Path:
    with zipfile.ZipFile(folder / name, "w") as archive:
        for member in (*CONTENT, more) if more else CONTENT:
            if not without or without not in member:
                archive.writestr(member, b"x" * size if member == EXTENSION else b"")
    return folder / name


def test_the_files_of_this_checkout_are_ready() -> None:
    assert list(release_check.problems(ROOT)) == []


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in [
        *release_check.FILES,
        "Cargo.toml",
        "Cargo.lock",
        "python/toolhub/__init__.py",
        "requirements/dev.txt",
    ]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    assert list(release_check.problems(tmp_path)) == []
    return tmp_path


@pytest.mark.parametrize(
    ("name", "old", "new", "says"),
    [
        ("Cargo.toml", '^version = ".+"', 'version = "9.9.9"', "__version__ says"),
        ("python/toolhub/__init__.py", "^__version__.+", "", "__version__ says None"),
        ("CHANGELOG.md", "^## Unreleased", "## 9.9.9", "begins with '9.9.9'"),
        ("requirements/dev.txt", r"\A", "--index-url https://example.com\n", "has a download address"),
    ],
)
def test_what_does_not_fit_is_named(name: str, old: str, new: str, says: str, project: Path) -> None:
    text = (project / name).read_text("utf-8")
    (project / name).write_text(re.sub(old, new, text, count=1, flags=re.MULTILINE), "utf-8")
    assert any(says in problem for problem in release_check.problems(project))


def test_a_missing_file_and_a_version_that_was_not_set_are_named(project: Path) -> None:
    (project / "SECURITY.md").unlink()
    found = list(release_check.problems(project, "9.9.9"))
    assert "SECURITY.md is missing" in found
    assert any("Cargo.toml says" in problem for problem in found)
    assert any("not with '9.9.9 - YYYY-MM-DD'" in problem for problem in found)


def test_a_good_wheel_has_no_problems(tmp_path: Path) -> None:
    assert wheels.problems_of(a_wheel(tmp_path)) == []
    free_threaded = WHEEL.replace("cp311-cp311", "cp314-cp314t")
    assert wheels.problems_of(a_wheel(tmp_path, free_threaded)) == []


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"name": WHEEL.replace("cp311", "cp310")}, "is for cp310"),
        (
            {"name": WHEEL.replace("manylinux_2_17_x86_64.manylinux2014_x86_64", "linux_x86_64")},
            "not for manylinux2014",
        ),
        ({"name": "toolhub.whl"}, "is not named"),
        ({"more": "agent_toolhub_guard.pth"}, "has agent_toolhub_guard.pth, outside of its package"),
        ({"without": "_core.cpython"}, "has 0 extensions"),
        ({"without": "sboms"}, "SBOM"),
        ({"without": "LICENSE-MIT"}, "has no LICENSE-MIT"),
        ({"without": "py.typed"}, "has no toolhub/py.typed"),
        ({"size": wheels.MOST_BYTES + 1}, "more than"),
    ],
)
def test_what_is_wrong_with_a_wheel_is_named(
    changes: dict[str, str | int], says: str, tmp_path: Path
) -> None:
    found = wheels.problems_of(a_wheel(tmp_path, **changes))  # pyright: ignore[reportArgumentType]
    assert any(says in problem for problem in found), found


def test_a_source_distribution_has_the_sources_and_nothing_built(tmp_path: Path) -> None:
    path = tmp_path / "agent_toolhub-0.1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.add(ROOT / "Cargo.toml", "agent_toolhub-0.1.0/Cargo.toml")
        archive.add(ROOT / "Cargo.toml", "agent_toolhub-0.1.0/python/toolhub/_core.abi3.so")
    found = wheels.problems_of(path)
    assert any("has no src/lib.rs" in problem for problem in found)
    assert any("which is built" in problem for problem in found)


@pytest.mark.parametrize(
    ("name", "tag", "fits"),
    [
        (WHEEL, "cp311", True),
        (WHEEL, "cp312", False),
        (WHEEL.replace("cp311-cp311", "cp314-cp314t"), "cp314t", True),
        (WHEEL.replace("cp311-cp311", "cp314-cp314t"), "cp314", False),
        ("agent_toolhub-0.1.0.tar.gz", "sdist", True),
        (WHEEL, "sdist", False),
    ],
)
def test_a_wheel_for_another_python_than_was_asked_for_is_named(name: str, tag: str, fits: bool) -> None:
    problem = wheels.problem_of_tag(Path(name), tag)
    assert problem == (None if fits else f"{name} was built for {tag}")


def test_the_interpreter_of_a_wheel_is_asked_for_its_version() -> None:
    own = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    python = wheels.interpreter_of(Path(WHEEL.replace("cp311", own)))
    assert python is not None
    assert wheels.interpreter_of(Path("agent_toolhub-0.1.0.tar.gz")) is None


def test_every_word_of_make_about_releases_is_explained() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    for word in ("make wheels", "make release-check", "make free-threading"):
        assert f"| `{word}` |" in page
