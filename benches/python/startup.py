"""What importing costs: CPU time and memory, each in a fresh process, against bare Python and the peers."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys

PROBE = """
import json, resource, sys
{code}
use = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps([use.ru_utime + use.ru_stime, use.ru_maxrss / 1024]))
"""
CODES = {
    "bare Python": "",
    "toolhub": "import toolhub",
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


def run(rounds: int) -> None:
    rounds = max(3, rounds // 5)
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
