"""Each integration with the real package, in an environment of its own. The cases are in `tests/integrations`."""

from __future__ import annotations

import faulthandler
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
CASES = ROOT / "tests/integrations"
MCP = ("fastmcp", "fastmcp3", "fastmcp2", "mcp2", "mcp1")
SCRIPTS = [
    *((environment, script) for environment in MCP for script in ("fastmcp_into_hub", "hub_on_fastmcp")),
    ("langchain", "langchain_cases"),
    ("pydantic-ai", "pydantic_ai_cases"),
    ("openai-agents", "openai_agents_cases"),
]
# Where an agent is killed: when its model is asked, before the effect and after it.
POINTS = [("asked 0", "before 0"), ("after 0", "asked 1"), ("after 1", "before 2"), ("after 2", "asked 3")]
if not os.environ.get("INTEGRATIONS"):
    POINTS = [("asked 1", "after 1")]  # a sample; `make integrations` visits all
# What a script needs besides its environment: a program from npm, by the variable that names it.
PROGRAMS = {
    "restate_cases": ("RESTATE_SERVER", "restate-server", "@restatedev/restate-server-*/bin/restate-server"),
}


def python(environment: str) -> Path:
    """Without the environments a developer's run skips; a CI run must not pass by testing nothing."""
    folder = ROOT / ".servers" / environment
    if not (folder / ".stamp").exists():
        missing = f"the environment {environment!r} is not installed: run 'make servers'"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(missing)
    return folder / "bin/python"


def programs(script: str) -> dict[str, str]:
    """The programs of a script; `make integrations` installs them."""
    if script not in PROGRAMS:
        return {}
    variable, environment, pattern = PROGRAMS[script]
    found = list((ROOT / ".servers" / environment / "node_modules").glob(pattern))
    if not found:
        missing = f"{environment} is not installed: run 'make integrations'"
        (pytest.fail if os.environ.get("INTEGRATIONS") else pytest.skip)(missing)
    return {variable: str(found[0])}


@pytest.mark.timeout(145)
@pytest.mark.parametrize(("environment", "script"), SCRIPTS)
def test_the_integration_works_with_the_real_package(environment: str, script: str) -> None:
    run_cases(environment, script)


# The program is started once more for each point, which takes minutes on a busy machine. The limits are for what hangs.
@pytest.mark.timeout(620)
@pytest.mark.parametrize("points", POINTS, ids=", ".join)
@pytest.mark.parametrize("engine", ["dbos", "restate"])
def test_an_agent_that_is_killed_goes_on_with_the_real_engine(engine: str, points: tuple[str, str]) -> None:
    faulthandler.cancel_dump_traceback_later()  # it ends pytest, whatever the limit of a test is
    run_cases(engine, f"{engine}_cases", seconds=600, DURABLE_POINTS=json.dumps(points))


def run_cases(environment: str, script: str, *, seconds: float = 140, **variables: str) -> None:
    interpreter = python(environment)
    version = subprocess.run([interpreter, "-V"], capture_output=True, text=True, check=True).stdout.split()[
        1
    ]
    if version.split(".")[:2] != [str(part) for part in sys.version_info[:2]]:
        pytest.skip(f"the environments have Python {version}, for which the extension was not built")
    file = CASES / f"{script}.py"
    ran = subprocess.run(
        [interpreter, file],
        env={**os.environ, "PYTHONPATH": str(ROOT / "python"), **programs(script), **variables},
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    assert ran.returncode == 0, ran.stderr[-6000:]
    cases = len(re.findall(r"^(?:async )?def test_", file.read_text(), re.MULTILINE))
    assert ran.stdout.splitlines()[-1] == f"{cases} cases, 0 failed"


@pytest.mark.parametrize(
    ("module", "call", "extra"),
    [
        ("langchain", "to_langchain(hub)", "langchain"),
        ("langchain", "from_langchain([])", "langchain"),
        ("pydantic_ai", "to_pydantic_ai(hub)", "pydantic-ai"),
        ("openai_agents", "to_openai_agents(hub)", "openai-agents"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(module: str, call: str, extra: str) -> None:
    """In an interpreter without site-packages: the modules themselves need nothing but the hub."""
    code = (
        "import sys\n"
        "import pydantic, docstring_parser\n"
        "class Missing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in ('langchain_core', 'pydantic_ai', 'agents'):\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        "from toolhub import ToolHub\n"
        f"from toolhub.integrations.{module} import *\n"
        "hub = ToolHub()\n"
        f"try:\n    {call}\n"
        "except ImportError as error:\n    print(error)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert f"pip install 'agent-toolhub[{extra}]'" in ran.stdout, ran.stderr
