"""The whole fault lab against the hub: `make faults`, or `python tests/mcp/run_faults.py --only lifecycle`.

The lab lets a vague error pass. The hub promises that an error says what happened, so here such a pass fails too.
With `--through-gateway` the hub is served, and a client meets the faults through it (`make faults-gateway`). What went wrong
upstream is a tool error for that client: instead of the kind, the sentence has to say what happened. Tools of a server that
cannot list them are not offered; a call of one has to name the server and the reason.
All other options go to the lab's own runner (`faults/run.py --help`).
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


# How a sentence says what the lab knows as a kind of error.
SAYS = {
    "timeout": r"timed out|did not (answer|list|connect)|no answer|within [\d.]+ s",
    "closed": r"closed|exited|killed|lost|ended|disconnect|broke|reset",
    "connect": r"connect|refused|exited|not found|denied",
    "auth": r"401|403|login|auth",
    "http": r"status \d{3}",
    "rpc": r"MCP error|code -?\d+",
    "protocol": r"[Ff]ailed to parse|protocol|malformed|not valid|unexpected|does not match the tool's output schema",
    "limit": r"larger|limit|longer|more than|too (large|long|many)",
    "cancelled": r"cancel",
    "tool": r".",
}
VAGUE = re.compile(r"kind '\w+' \((?P<text>.*)\) where (?P<kinds>[\w/]+) would tell", re.DOTALL)
# The tool that is called is not in the (last) list of the server. A client of the hub can call it by naming the server; one of
# the gateway cannot.
UNLISTED = {"list_error", "list_missing", "list_not_array", "list_cursor_endless", "answer_while_list_hangs"}
# The gateway does not know how long its client waits, so it obeys `Retry-After: 7` and the client leaves after 3 s.
OBEYED = {"status_429"}
NOT_OFFERED = re.compile(
    r"There is no tool named 'echo'\. Some servers could not be asked: Server 'lab'|Unknown tool: echo"
)


def is_clean(case: str, finding: dict[str, Any]) -> bool:
    """Whether a client of the gateway was told properly, where a client of the hub would know more."""
    text = finding["text"]
    if case.partition("@")[0] in UNLISTED and "expected a result; call echo" in text:
        return NOT_OFFERED.search(text) is not None
    if finding["verdict"] != "VAGUE":
        return False
    if case.partition("@")[0] in OBEYED:
        return "timed out after 3 s" in text or "Retry-After" in text
    vague = VAGUE.search(text)
    return vague is not None and any(
        re.search(SAYS.get(kind, "$^"), vague["text"]) for kind in vague["kinds"].split("/")
    )


def report_through(cases: list[dict[str, Any]]) -> int:
    """How many cases fail behind the gateway."""
    failed = 0
    for case in cases:
        wrong = [finding for finding in case["findings"] if not is_clean(case["case"], finding)]
        failed += bool(wrong)
        for finding in wrong:
            print(f"  {case['case']}: {finding['verdict']}: {finding['text'][:300]}")
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
