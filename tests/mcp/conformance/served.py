"""The hub that the conformance suite meets as a server: `python served.py front-legacy`, `front-modern` or `native`.

`front-…`: in front of a server of one era, on the MCP SDK of that era. `native`: with tools, resources and prompts of its own.
"""

from __future__ import annotations

import sys
from pathlib import Path

from toolhub import ToolHub

ROOT = Path(__file__).parents[3]


def front(hub: ToolHub, era: str) -> None:
    python = ROOT / ".servers" / {"legacy": "mcp1", "modern": "mcp2"}[era] / "bin/python"
    program = Path(__file__).with_name(f"upstream_{era}.py")
    hub.add_server("upstream", command=str(python), args=[str(program)])


def main() -> None:
    kind = sys.argv[1]
    with ToolHub() as hub:
        if kind == "native":
            from native import add_all

            add_all(hub)
        else:
            front(hub, kind.removeprefix("front-"))
            hub.connect_sync()
        hub.serve("http", port=0, ready=lambda serving: print(serving.url, flush=True))


if __name__ == "__main__":
    main()
