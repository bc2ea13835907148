"""A cold start with 20 configured servers: how long until all tools are listed and the prompt is there.

Each sample is a fresh process, measured from after its imports: toolhub with a warm store, toolhub without one, and FastMCP's
client with the same configuration. Both of the latter have to start all servers. The servers are the small one of the MCP
benchmark, in Rust, so that what is measured is the client; servers in Python or Node take longer.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from mcp_lab import build_server

SERVERS = 20
# Of each server.
TOOLS = 20

TOOLHUB = """
from toolhub import ToolHub
began = now()
async def main():
    hub = ToolHub(mcp=config, store=store)
    if store is None:
        await hub.connect()
    names = [tool.name for tool in hub.tools()]
    prompt = hub.system_prompt()
    took = now() - began
    started = sum(server.pid is not None for server in hub.servers())
    await hub.aclose()
    print(json.dumps([took, len(names), len(prompt), started]))
asyncio.run(main())
"""
FASTMCP = """
from fastmcp import Client
began = now()
async def main():
    async with Client(config) as client:
        tools = await client.list_tools()
        prompt = "\\n".join(f"{tool.name}: {tool.description} {json.dumps(tool.inputSchema)}" for tool in tools)
        took = now() - began
    print(json.dumps([took, len(tools), len(prompt), len(config["mcpServers"])]))
asyncio.run(main())
"""
HEAD = "import asyncio, json, sys\nfrom time import perf_counter as now\nconfig, store = json.loads(sys.argv[1])\n"


def _sample(code: str, config: object, store: str | None) -> list[float] | str:
    """Seconds, tools, characters of the prompt, servers that were started; or the last line of what went wrong."""
    command = [sys.executable, "-c", HEAD + code, json.dumps([config, store])]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode == 0:
        return json.loads(done.stdout.strip().splitlines()[-1])
    return (done.stderr.strip().splitlines() or ["no answer"])[-1]


def run(rounds: int) -> None:
    program = str(build_server())
    config = {
        "mcpServers": {
            f"s{n}": {"command": program, "args": ["stdio", "--more", str(TOOLS - 1)]} for n in range(SERVERS)
        }
    }
    ours = {
        "mcpServers": {
            id: {**server, "toolhub": {"prefix": f"{id}_"}} for id, server in config["mcpServers"].items()
        }
    }
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder) / "hub.db")
        warming = "began = 0\n" + TOOLHUB.replace("if store is None", "if True")
        assert isinstance(_sample(warming, ours, store), list)
        ways = {
            "toolhub, warm store": (TOOLHUB, ours, store),
            "toolhub, no store": (TOOLHUB, ours, None),
            "fastmcp": (FASTMCP, config, None),
        }
        samples: dict[str, list[list[float]]] = {}
        wrong: dict[str, str] = {}
        for _ in range(max(3, rounds // 5)):
            for name, (code, given, path) in ways.items():
                sample = _sample(code, given, path)
                if isinstance(sample, str):
                    wrong[name] = sample
                else:
                    samples.setdefault(name, []).append(sample)
    medians = {name: statistics.median(took for took, *_ in rows) for name, rows in samples.items()}
    print(
        f"\ncold start with {SERVERS} servers: list all tools, render the prompt   (goal: milliseconds, no process)"
    )
    for name in ways:
        if name not in medians:
            print(f"  {name:22} cannot be measured: {wrong[name]}")
            continue
        _, tools, _, started = samples[name][0]
        ratio = medians["toolhub, warm store"] / medians[name]
        print(
            f"  {name:22} {medians[name] * 1e3:9.1f} ms  {ratio:7.4f}×  {tools:4} tools, {started:2} servers started"
        )
