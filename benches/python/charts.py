"""The charts of the documentation, SVG files, from the recorded figures.

    make bench      measures, writes `benches/figures.json` and draws all charts in `docs/images/`
    make charts     only draws them again

The file has, for each group, the time of each contender; only ratios are drawn, so the unit does not matter. A run that
measures some groups replaces those and keeps the others. The colours follow the reader's theme, on a background of their own:
a page may have another theme than the system.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from html import escape
from pathlib import Path

from harness import Row

ROOT = Path(__file__).resolve().parents[2]
FIGURES = ROOT / "benches" / "figures.json"
IMAGES = ROOT / "docs" / "images"

Times = dict[str, float]
Figures = dict[str, Times]

CROWD = "MCP calls, 64 in flight, http, modern era"
PEERS = {
    "one async tool, through the peers (baseline: toolhub)": (
        "call",
        "One async tool call: time, shorter is better",
    ),
    CROWD: ("mcp", "MCP calls over HTTP, 64 in flight: time for each, shorter is better"),
    "in front of an HTTP server": ("gateway", "One call through a gateway: time, shorter is better"),
    "a Python function as a tool (direct: no Python)": (
        "served",
        "One call of a served Python function: time, shorter is better",
    ),
    "one query, 100,000 tools": ("search", "One query among 100,000 tools: time, shorter is better"),
}
"""Charts of one group each: the name of the file, and the title. The bars are logarithmic, toolhub is 1."""

BY_HAND = {
    "one async tool that answers at once": "one async tool",
    "one async tool that suspends once": "one async tool that suspends",
    "one sync tool": "one sync tool",
    "race of 3, instant winner": "race of 3, instant winner",
    "race of 3, losers asleep": "race of 3, losers asleep",
    "execute_many of 10,000 (whole batch)": "execute_many of 10,000",
    "hub.call from a thread": "blocking call from a thread",
    "truncate 10 MB to 4,000 characters": "truncate 10 MB of English",
    "truncate 12 million Chinese characters to 4,000": "truncate Chinese",
}
"""The chart of what a user would write by hand, a bar for each group: its label. The first contender is 1."""

WIDTH, LABELS, LINE, TOP = 740, 260, 26, 44
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #24292f }
.title { font-weight: 600 }
.back { fill: #ffffff; stroke: #d0d7de }
.bar { fill: #8c959f }
.ours { fill: #0969da }
.one { stroke: #57606a; stroke-dasharray: 4 4 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .back { fill: #0d1117; stroke: #3d444d }
  .bar { fill: #6e7681 }
  .ours { fill: #4493f8 }
  .one { stroke: #9198a1 }
}
"""


@dataclass
class Bar:
    name: str
    ratio: float
    length: float
    """Of the whole width, 0 to 1."""
    is_ours: bool


def peer_bars(times: Times) -> list[Bar]:
    """The contenders of one group, the fastest first."""
    rows = sorted(
        (item for item in times.items() if not item[0].startswith("direct")), key=lambda item: item[1]
    )
    shortest, longest = rows[0][1], rows[-1][1]
    span = math.log10(longest / shortest * 2)
    return [
        Bar(
            name,
            time / times["toolhub"],
            math.log10(time / shortest * 2) / span,
            name == "toolhub",
        )
        for name, time in rows
    ]


def hand_bars(figures: Figures) -> list[Bar]:
    """Ours against the first contender, the largest gain first."""
    found: list[Bar] = []
    for group, label in BY_HAND.items():
        if times := figures.get(group):
            ratio = times["toolhub"] / next(iter(times.values()))
            found.append(Bar(label, ratio, ratio, is_ours=True))
    longest = max((bar.ratio for bar in found), default=1)
    for bar in found:
        bar.length /= max(1, longest)
    return sorted(found, key=lambda bar: bar.ratio)


def svg(title: str, bars: list[Bar], one: float | None = None) -> str:
    """A chart; `one` is where a line stands for what is 1, as a part of the width."""
    room = WIDTH - LABELS - 80
    height = TOP + len(bars) * LINE + 8
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" role="img" '
        f'aria-label="{escape(title)}">',
        f"<style>{STYLE}</style>",
        f'<rect class="back" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>',
        f'<text class="title" x="16" y="26">{escape(title)}</text>',
    ]
    for number, bar in enumerate(bars):
        y = TOP + number * LINE
        end = LABELS + max(2, bar.length * room)
        kind = "ours" if bar.is_ours else "bar"
        lines += [
            f'<text x="{LABELS - 8}" y="{y + 14}" text-anchor="end">{escape(bar.name)}</text>',
            f'<rect class="{kind}" x="{LABELS}" y="{y}" width="{end - LABELS:.0f}" height="{LINE - 8}" rx="3"/>',
            f'<text x="{end + 8:.0f}" y="{y + 14}">{shown(bar.ratio)} ×</text>',
        ]
    if one is not None:
        x = round(LABELS + one * room)
        lines.append(f'<path class="one" d="M{x} {TOP - 4}V{height - 10}"/>')
    return "\n".join([*lines, "</svg>", ""])


def shown(ratio: float) -> str:
    """Two digits that count; large ones as whole numbers.

    >>> [shown(ratio) for ratio in (0.031, 0.5, 1, 1.93, 67.2, 1746)]
    ['0.031', '0.50', '1.0', '1.9', '67', '1,746']
    """
    if ratio >= 10:
        return f"{ratio:,.0f}"
    return f"{ratio:.1f}" if ratio >= 1 else f"{ratio:#.2g}"


def charts(figures: Figures) -> dict[str, str]:
    """All charts that the figures are enough for: the name of each file, and its text."""
    made: dict[str, str] = {}
    for group, (name, title) in PEERS.items():
        times = figures.get(group, {})
        if "toolhub" in times and len(times) > 1:
            made[f"{name}.svg"] = svg(f"{title} (logarithmic)", peer_bars(times))
    bars = hand_bars(figures)
    if bars:
        title = "The same work by hand, with asyncio or re, is 1: time, shorter is better"
        made["by-hand.svg"] = svg(title, bars, one=1 / max(1, *(bar.ratio for bar in bars)))
    return made


def read(path: Path = FIGURES) -> Figures:
    """The recorded figures."""
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def record(rows: list[Row], path: Path = FIGURES) -> Figures:
    """Puts the groups that have a chart into the file, and returns all that it has then."""
    figures = read(path)
    drawn = PEERS.keys() | BY_HAND.keys()
    for group in dict.fromkeys(row.group for row in rows if row.group in drawn):
        figures[group] = {row.name: float(f"{row.micros:.4g}") for row in rows if row.group == group}
    path.write_text(json.dumps(figures, indent=2, ensure_ascii=False) + "\n", "utf-8")
    return figures


def draw(figures: Figures, folder: Path = IMAGES) -> list[Path]:
    """Writes the charts."""
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for name, text in charts(figures).items():
        (folder / name).write_text(text, "utf-8")
        written.append(folder / name)
    return written


if __name__ == "__main__":
    for path in draw(read()):
        print(path.relative_to(ROOT))
