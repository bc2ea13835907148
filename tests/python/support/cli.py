"""A user of the command line with a configuration, a store and a home of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SHOP = Path(__file__).parents[1] / "cli" / "shop.py"


@dataclass
class User:
    """A home folder, and the environment of the commands in it."""

    home: Path
    environment: dict[str, str]

    def run(
        self, *words: str, input: str = "", folder: Path | None = None, **more: str
    ) -> subprocess.CompletedProcess[str]:
        """Run `toolhub` with these words, in the home folder or in another one."""
        return subprocess.run(
            [sys.executable, "-m", "toolhub", *words],
            input=input,
            cwd=folder or self.home,
            env={**self.environment, **more},
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=50,
        )

    def configure(self, servers: dict[str, Any], name: str = "mcp.json") -> Path:
        """Write a configuration; the commands use that of the name `mcp.json`."""
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"mcpServers": servers}), "utf-8")
        return path


def shop(**env: str) -> dict[str, Any]:
    """The entry of the small server."""
    return {"command": sys.executable, "args": [str(SHOP)], "env": env}


def new_user(home: Path) -> User:
    """A user who has configured the small server."""
    home.mkdir(parents=True, exist_ok=True)
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TOOLHUB_BRIDGE") if name in os.environ}
    # The folder of the command itself, for shells that look for it.
    kept["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', '')}"
    environment = {
        **kept,
        "HOME": str(home),
        "COLUMNS": "100",
        "PYTHONUTF8": "1",
        "TOOLHUB_CONFIG": str(home / "mcp.json"),
        "TOOLHUB_STORE": str(home / "hub.db"),
    }
    user = User(home, environment)
    user.configure({"shop": shop()})
    return user
