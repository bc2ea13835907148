"""The displays in a real browser: nothing of others runs there, and nothing is loaded from elsewhere."""

import subprocess
from pathlib import Path

from display.test_views import hostile_things, html
from support.browser import program

MARK = "document.documentElement.dataset.ran = 1"
ATTACKS = [
    f"<script>{MARK}</script>",
    f"<img src=x onerror='{MARK}'>",
    f"\"><svg onload='{MARK}'>",
    f"</pre></td></table></div></style><script>{MARK}</script>",
    f"<style>@import 'x'</style><iframe srcdoc=\"<script>parent.{MARK}</script>\">",
    f"javascript:{MARK}",
]


def dom(page: Path, folder: Path) -> str:
    command = [
        program(),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={folder}",
        "--dump-dom",
    ]
    ran = subprocess.run([*command, page.as_uri()], capture_output=True, text=True, timeout=50, check=True)
    return ran.stdout


def test_nothing_of_others_runs_in_a_browser(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    shown = "".join(html(thing) for attack in ATTACKS for thing in hostile_things(attack))
    page.write_text(f"<!doctype html><meta charset=utf-8><body>{shown}</body>", encoding="utf-8")
    assert "data-ran" not in dom(page, tmp_path / "profile")
    # The same page with the attack let in, so that the check above can fail.
    page.write_text(f"<!doctype html><body>{ATTACKS[0]}</body>", encoding="utf-8")
    assert 'data-ran="1"' in dom(page, tmp_path / "profile")
