"""What importing costs: CPU time and memory, each in a fresh process, against bare Python and the peers.

And what a command costs: `--help`, and `list`, `search`, `show` and a completion with a warm store, against a bare Python.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PROBE = """
import json, resource, sys
{code}
use = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps([use.ru_utime + use.ru_stime, use.ru_maxrss / 1024]))
"""
CODES = {
    "bare Python": "",
    # Names are imported on first use, so the module alone says little.
    "toolhub, the module": "import toolhub",
    "toolhub": "from toolhub import ToolHub",
    "toolhub, first function": "import toolhub; toolhub.ToolHub().register(lambda a: a, name='f')",
    "asyncio": "import asyncio",
    "mcp": "import mcp",
    "fastmcp": "import fastmcp",
    "langchain_core.tools": "import langchain_core.tools",
}


def _probe(code: str) -> tuple[float, float] | None:
    done = subprocess.run(
        [sys.executable, "-c", PROBE.format(code=code)], capture_output=True, text=True, check=False
    )
    return tuple(json.loads(done.stdout)) if done.returncode == 0 else None


# A server with 50 tools.
SERVER = """
import json, sys
schema = {"type": "object", "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}}}
tools = [{"name": f"tool_{n}", "description": f"Reads file number {n}", "inputSchema": schema} for n in range(50)]
for line in sys.stdin:
    asked = json.loads(line)
    result = {"tools": tools} if asked.get("method") == "tools/list" else {
        "protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    known = asked.get("method") in ("initialize", "tools/list")
    answer = {"result": result} if known else {"error": {"code": -32601, "message": "Method not found"}}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
"""
# The words of a command, what it must print, and the goal: milliseconds of CPU over a bare Python.
COMMANDS = {
    "toolhub --help": (["--help"], "usage: toolhub", 60),
    "toolhub list": (["list"], "tool_49(", 120),
    "toolhub search": (["search", "file", "number", "7"], "tool_7", 120),
    "toolhub show": (["show", "tool_7"], "tool_7(", 120),
    "completion of a name": (["__complete", "call", "tool_4"], "tool_49", 80),
}


def _cpu_of(command: list[str], environment: dict[str, str]) -> tuple[float, str]:
    """The CPU time of a process in seconds, and what it printed."""
    child = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)
    assert child.stdout is not None
    printed = child.stdout.read().decode()
    _, status, use = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    child.stdout.close()
    assert child.returncode == 0, command
    return use.ru_utime + use.ru_stime, printed


def _commands(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "mcp.json")
        entry = {"command": sys.executable, "args": ["-c", SERVER]}
        config.write_text(json.dumps({"mcpServers": {"files": entry}}), "utf-8")
        environment = {
            **os.environ,
            "TOOLHUB_CONFIG": str(config),
            "TOOLHUB_STORE": str(Path(folder, "hub.db")),
        }
        toolhub = [sys.executable, "-m", "toolhub"]
        _cpu_of([*toolhub, "connect"], environment)
        samples: dict[str, list[float]] = {}
        for _ in range(rounds):
            samples.setdefault("bare", []).append(_cpu_of([sys.executable, "-c", ""], environment)[0])
            for name, (words, prints, _) in COMMANDS.items():
                cpu, printed = _cpu_of([*toolhub, *words], environment)
                assert prints in printed, (name, printed)
                samples.setdefault(name, []).append(cpu)
    base = statistics.median(samples.pop("bare"))
    print("\ncommands with a warm store, 50 tools: CPU over bare Python")
    for name, times in samples.items():
        over = (statistics.median(times) - base) * 1e3
        print(f"  {name:26} {over:9.1f} ms   (goal: ≤ {COMMANDS[name][2]} ms)")


def run(rounds: int) -> None:
    rounds = max(3, rounds // 5)
    _commands(rounds)
    samples: dict[str, list[tuple[float, float]]] = {}
    for _ in range(rounds):
        for name, code in CODES.items():
            if (sample := _probe(code)) is not None:
                samples.setdefault(name, []).append(sample)
    base = statistics.median(cpu for cpu, _ in samples["bare Python"])
    print("\nimport: CPU over bare Python, and peak memory   (goal for toolhub: ≤ 40 ms, ≤ 25 MB)")
    for name in CODES:
        if name not in samples:
            print(f"  {name:26} is not installed")
            continue
        cpu = statistics.median(cpu for cpu, _ in samples[name])
        memory = statistics.median(memory for _, memory in samples[name])
        print(f"  {name:26} {(cpu - base) * 1e3:9.1f} ms {memory:8.1f} MB")
