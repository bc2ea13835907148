"""The files that run a gateway as a service."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import toolhub
from support.programs import require

FILES = Path(__file__).parents[3] / "examples" / "gateway"


@pytest.mark.parametrize("name", ["toolhub.service", "Containerfile"])
def test_the_command_has_these_options(name: str) -> None:
    lines = [line for line in (FILES / name).read_text().splitlines() if not line.startswith("#")]
    text = "\n".join(line for line in lines if not line.startswith("RUN "))
    used = set(re.findall(r"--[a-z-]+", text))
    assert "--config" in used
    command = [sys.executable, "-m", "toolhub", "serve", "--help"]
    known = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert used <= set(re.findall(r"--[a-z-]+", known))


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "toolhub.service"
    # A program that exists, which is checked too.
    unit.write_text((FILES / unit.name).read_text().replace("/opt/toolhub/bin/toolhub", sys.executable))
    command = [require("systemd-analyze", package="systemd"), "verify", "--man=no", str(unit)]
    checked = subprocess.run(command, capture_output=True, text=True)
    # Other units of the system may have mistakes.
    assert [line for line in checked.stderr.splitlines() if unit.name in line] == []


def test_the_container_has_this_version() -> None:
    (version,) = re.findall(r"^ARG VERSION=(.+)$", (FILES / "Containerfile").read_text(), re.MULTILINE)
    assert version == toolhub.__version__


@pytest.mark.skipif(shutil.which("hadolint") is None, reason="hadolint is not installed")
def test_hadolint_takes_the_container_file() -> None:
    checked = subprocess.run(["hadolint", str(FILES / "Containerfile")], capture_output=True, text=True)
    assert (checked.returncode, checked.stdout) == (0, "")
