"""The whole fault lab against the hub: `make faults`, or `python tests/mcp/run_faults.py --only lifecycle`.

The lab lets a vague error pass. The hub promises that an error says what happened, so here such a pass fails too.
With `--through-gateway` the hub is served, and a client meets the faults through it (`make faults-gateway`). What went wrong
upstream is a tool error for that client, with a text; its kind is not known, so vague errors pass there.
All other options go to the lab's own runner (`faults/run.py --help`).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def report_through(cases: list[dict[str, Any]]) -> int:
    """How many cases fail behind the gateway."""
    failed = sum(any(finding["verdict"] != "VAGUE" for finding in case["findings"]) for case in cases)
    print(f"behind the gateway {failed} of {len(cases)} cases fail")
    return failed


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        results = Path(folder) / "results.json"
        options = [option for option in sys.argv[1:] if option != "--through-gateway"]
        through = len(options) < len(sys.argv) - 1
        client = "gateway_adapter:Gateway" if through else "faults_adapter:ToolHub"
        command = [sys.executable, str(HERE / "faults" / "run.py"), "--client", client]
        failed = subprocess.run([*command, "--out", str(results), *options]).returncode
        if not results.exists():  # a wrong option, --help, or a runner that broke
            return failed
        cases = json.loads(results.read_text())
        if through:
            failed = report_through(cases)
        vague = [case["case"] for case in cases if case["vague"] and not through]
    if vague:
        print(f"\n{len(vague)} vague: {' '.join(vague)}")
    return 1 if failed or vague else 0


if __name__ == "__main__":
    sys.exit(main())
