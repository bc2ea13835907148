"""What commands import: the hot ones neither pydantic nor an event loop."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from support.cli import User

# Modules that cost milliseconds each, and what brings them in.
HEAVY = {"asyncio", "pydantic", "pydantic_core", "ssl", "socket", "selectors", "subprocess", "logging"} | {
    "concurrent.futures",
    "typing_extensions",
    "docstring_parser",
    "rich",
    "inspect",
    "dataclasses",
    "toolhub.hub",
    "toolhub._background",
}
PROBE = """
import contextlib, io, json, sys
from toolhub.cli import main
with contextlib.redirect_stdout(io.StringIO()) as printed:
    try:
        code = main(sys.argv[1:])
    except SystemExit as exit:
        code = exit.code
print(json.dumps([code, printed.getvalue(), sorted(sys.modules)]))
"""


def probe(user: User, *words: str) -> tuple[int, str, set[str]]:
    command = [sys.executable, "-X", "utf8", "-c", PROBE, *words]
    done = subprocess.run(command, env=user.environment, capture_output=True, text=True, timeout=50)
    assert done.returncode == 0, done.stderr
    code, printed, modules = json.loads(done.stdout)
    return code, printed, set(modules)


@pytest.fixture(scope="module")
def bare() -> set[str]:
    """What this interpreter has imported before any code of ours; `.pth` files of an environment import things, too."""
    code = "import contextlib, io, json, sys; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize(
    ("words", "prints"),
    [
        (("--help",), "One interface"),
        (("list",), "price("),
        (("list", "--json"), '"price"'),
        (("search", "price"), "price"),
        (("show", "price"), "What to buy"),
        (("__complete", "call", "pr"), "price"),
        (("completion", "bash"), "complete -F _toolhub"),
    ],
)
def test_hot_commands_import_nothing_heavy(
    words: tuple[str, ...], prints: str, warm_user: User, bare: set[str]
) -> None:
    code, printed, modules = probe(warm_user, *words)
    assert code == 0
    assert prints in printed
    assert modules & HEAVY - bare == set()


def test_importing_toolhub_imports_nothing_heavy(bare: set[str]) -> None:
    code = "import json, sys, toolhub; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(json.loads(done.stdout)) & HEAVY - bare == set()


def test_a_command_that_needs_a_loop_has_one(warm_user: User) -> None:
    """The probe finds what it looks for."""
    code, _, modules = probe(warm_user, "call", "shop.price", "item=tea")
    assert code == 0
    assert {"asyncio", "toolhub.hub"} <= modules


def test_every_name_of_the_package_is_found_and_no_other() -> None:
    code = """
import toolhub
assert all(getattr(toolhub, name) is not None for name in toolhub.__all__)
assert set(toolhub.__all__) <= set(dir(toolhub))
assert toolhub.exceptions.ToolError is toolhub.ToolError
try:
    toolhub.ToolHob
except AttributeError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "module 'toolhub' has no attribute 'ToolHob'\n"
