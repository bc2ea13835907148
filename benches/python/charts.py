"""Bar charts of the figures, as SVG files for the documentation: `run.py --charts FOLDER`.

A bar is as long as the logarithm of the time, because the peers differ by factors of hundreds; the number beside it is the
factor. The colours follow the reader's theme.
"""

from __future__ import annotations

import math
from html import escape
from pathlib import Path

from harness import Row

CHARTS = {
    "one async tool, through the peers (baseline: toolhub)": (
        "call",
        "One async tool call: time, shorter is better",
    ),
    "MCP call, http, modern": ("mcp", "One MCP call over HTTP: time, shorter is better"),
    "in front of an HTTP server": ("gateway", "One call through a gateway: time, shorter is better"),
    "a Python function as a tool (direct: no Python)": (
        "served",
        "One call of a served Python function: time, shorter is better",
    ),
    "one query, 100,000 tools": ("search", "One query among 100,000 tools: time, shorter is better"),
}
"""The groups that have a chart: the name of its file, and its title."""

WIDTH, LABELS, LINE, TOP = 720, 210, 26, 44
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #24292f }
.title { font-weight: 600 }
rect { fill: #8c959f }
.ours { fill: #0969da }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  rect { fill: #6e7681 }
  .ours { fill: #4493f8 }
}
"""


def svg(title: str, rows: list[Row]) -> str:
    """The chart of one group, its fastest first."""
    rows = sorted(rows, key=lambda row: row.micros)
    shortest, longest = rows[0].micros, rows[-1].micros
    ours = next(row.micros for row in rows if row.name.startswith("toolhub"))
    span = math.log10(longest / shortest * 2)
    lines: list[str] = []
    for number, row in enumerate(rows):
        y = TOP + number * LINE
        length = math.log10(row.micros / shortest * 2) / span * (WIDTH - LABELS - 80)
        kind = ' class="ours"' if row.name.startswith("toolhub") else ""
        lines += [
            f'<text x="{LABELS - 8}" y="{y + 14}" text-anchor="end">{escape(row.name)}</text>',
            f'<rect{kind} x="{LABELS}" y="{y}" width="{length:.0f}" height="{LINE - 8}" rx="3"/>',
            f'<text x="{LABELS + length + 8:.0f}" y="{y + 14}">{row.micros / ours:,.3g} ×</text>',
        ]
    height = TOP + len(rows) * LINE + 8
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">'
    heading = f'<text class="title" x="8" y="24">{escape(title)} (logarithmic)</text>'
    return "\n".join([head, f"<style>{STYLE}</style>", heading, *lines, "</svg>", ""])


def write(folder: Path, rows: list[Row]) -> list[Path]:
    """Writes the charts of the groups that were measured."""
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for group, (name, title) in CHARTS.items():
        found = [row for row in rows if row.group == group and not row.name.startswith("direct")]
        if any(row.name.startswith("toolhub") for row in found) and len(found) > 1:
            path = folder / f"{name}.svg"
            path.write_text(svg(title, found), "utf-8")
            written.append(path)
    return written
