"""Scripts of skills are not run, unless the user allows it."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from support.processes import is_running
from toolhub import ToolError, ToolHub

from .conftest import Skill

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(os.name != "posix", reason="sh and process groups")]

SHOW = "import os, sys\nprint(sys.argv[1:], os.path.basename(os.getcwd()), 'SECRET' in os.environ)\nsys.exit(3)\n"


@pytest.fixture
def greet(folder: Path, skill: Skill) -> Path:
    place = skill(
        "greet",
        **{
            "scripts/show.py": SHOW,
            "scripts/long.sh": "sleep 600 & echo $! > part; mv part pid; sleep 600",
            "scripts/loud.sh": "yes | head -c 3000000",
            "scripts/leaves.sh": "sleep 600 & echo $! > pid; echo done",
            "scripts/strange": "#!/nowhere/interpreter",
            "notes.md": "# Notes",
        },
    )
    (folder / "outside.py").write_text("print('outside')")
    (place / "scripts/link.py").symlink_to(folder / "outside.py")
    return place


async def test_without_permission_nothing_is_run(hub: ToolHub, folder: Path, greet: Path) -> None:
    hub.load_skills(folder, python=False)
    with pytest.raises(ToolError, match="allow_scripts=True") as caught:
        await hub.skills.run_script("greet", "scripts/show.py")
    assert caught.value.kind == "not_allowed"
    assert "run_skill_script" not in hub


async def test_a_hard_link_to_a_script_outside_is_not_run(hub: ToolHub, folder: Path, greet: Path) -> None:
    os.link(folder / "outside.py", greet / "scripts/hard.py")
    hub.load_skills(folder, python=False, allow_scripts=True)
    with pytest.raises(ToolError, match="is a hard link to a file outside the skill's folder"):
        await hub.skills.run_script("greet", "scripts/hard.py")


async def test_with_permission_there_is_a_tool_with_effects(
    hub: ToolHub, folder: Path, greet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "x")
    hub.load_skills(folder, python=False, allow_scripts=True)
    tool = hub.get("run_skill_script")
    assert tool is not None
    assert tool.effects
    args = {"skill": "greet", "script": "scripts/show.py", "args": ["a b", "$HOME; echo x", "-c"]}
    result = await hub.execute("run_skill_script", args)
    assert result.result == {
        "exit_code": 3,
        "stdout": "['a b', '$HOME; echo x', '-c'] greet False\n",
        "stderr": "",
    }
    assert hub.call("run_skill_script", args).result["exit_code"] == 3


@pytest.mark.parametrize(
    ("script", "why"),
    [("../outside.py", "inside"), ("scripts/link.py", "inside"), ("scripts/none.py", "not a file"), ("notes.md", "run")],
)  # fmt: skip
async def test_only_scripts_of_the_skill_are_run(
    hub: ToolHub, folder: Path, greet: Path, script: str, why: str
) -> None:
    hub.load_skills(folder, python=False, allow_scripts=True)
    result = await hub.execute("run_skill_script", {"skill": "greet", "script": script})
    assert result.kind == "not_allowed"
    assert why in str(result.error)


async def test_the_last_call_says_what_may_be_run(hub: ToolHub, folder: Path, greet: Path) -> None:
    def show() -> Any:
        return hub.skills.run_script("greet", "scripts/show.py")

    for place in (folder, greet):
        hub.load_skills(place, python=False, allow_scripts=True)
        assert (await show())["exit_code"] == 3
        hub.load_skills(folder, python=False)
        assert "run_skill_script" not in hub
        with pytest.raises(ToolError, match="may not be run"):
            await show()
    hub.load_skills(folder, python=False, allow_scripts=True)
    hub.load_skills(greet, python=False)
    hub.reload()
    assert "run_skill_script" in hub, "for the others of the folder"
    with pytest.raises(ToolError, match="may not be run"):
        await show()


async def test_a_tool_of_the_users_with_that_name_stays(hub: ToolHub, folder: Path, greet: Path) -> None:
    hub.load_skills(folder, python=False, allow_scripts=True)
    hub.register(lambda: "mine", name="run_skill_script")
    hub.load_skills(folder, python=False)
    assert hub.call("run_skill_script").result == "mine"


NAMESAKE = """
import json, sys

for line in sys.stdin:
    message = json.loads(line)
    answers = {
        "initialize": lambda params: {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "namesake", "version": "1"},
        },
        "tools/list": lambda _: {"tools": [{"name": "run_skill_script", "inputSchema": {"type": "object"}}]},
        "tools/call": lambda _: {"content": [{"type": "text", "text": "of the server"}]},
    }
    if "id" in message:
        if answer := answers.get(message["method"]):
            said = {"result": answer(message.get("params"))}
        else:
            said = {"error": {"code": -32601, "message": "not known"}}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **said}), flush=True)
"""


async def test_a_server_with_a_tool_of_that_name_neither_stops_nor_gets_scripts(
    hub: ToolHub, folder: Path, greet: Path
) -> None:
    hub.add_server("namesake", command=sys.executable, args=["-c", NAMESAKE])
    await hub.connect()
    assert (await hub.execute("run_skill_script", {})).result == "of the server"
    hub.load_skills(folder, python=False, allow_scripts=True)
    assert (await hub.skills.run_script("greet", "scripts/show.py"))["exit_code"] == 3


async def test_a_tool_that_was_taken_out_is_offered_again_with_the_next_script(
    hub: ToolHub, folder: Path, greet: Path
) -> None:
    hub.load_skills(folder, python=False, allow_scripts=True)
    assert hub.unregister("run_skill_script")
    assert (await hub.skills.run_script("greet", "scripts/show.py"))["exit_code"] == 3


async def test_a_permission_is_for_its_folder_only(
    hub: ToolHub, folder: Path, greet: Path, skill: Skill, tmp_path: Path
) -> None:
    skill("other/wave", **{"run.py": "print('wave')"})
    hub.load_skills(folder / "other", allow_scripts=True)
    hub.load_skills(greet)
    assert (await hub.skills.run_script("wave", "run.py"))["stdout"] == "wave\n"
    with pytest.raises(ToolError, match="may not be run"):
        await hub.skills.run_script("greet", "scripts/show.py")


async def test_what_takes_too_long_is_ended_with_all_that_it_started(
    hub: ToolHub, folder: Path, greet: Path
) -> None:
    hub.load_skills(folder, python=False, allow_scripts=True)
    # On a busy machine a second may be over before the shell has started anything.
    for timeout in (1, 4, 16):
        with pytest.raises(ToolError) as caught:
            await hub.skills.run_script("greet", "scripts/long.sh", timeout=timeout)
        assert caught.value.kind == "timeout"
        if (greet / "pid").exists():
            break
    await _ended(int((greet / "pid").read_text()))


async def test_output_that_stays_open_leaves_nothing_to_complain_of(
    hub: ToolHub, folder: Path, greet: Path
) -> None:
    # A process without our mark in a session of its own cannot be found; it ends by itself.
    (greet / "scripts/hides.sh").write_text("env -i setsid sleep 5 & echo > begun; sleep 600")
    hub.load_skills(folder, python=False, allow_scripts=True)
    for timeout in (1, 4, 16):
        with pytest.raises(ToolError, match="was ended"):
            await hub.skills.run_script("greet", "scripts/hides.sh", timeout=timeout)
        if (greet / "begun").exists():
            break
    gc.collect()  # what asyncio has to say of the reader comes now, and fails the test


async def test_what_a_script_leaves_behind_ends_with_it(hub: ToolHub, folder: Path, greet: Path) -> None:
    hub.load_skills(folder, python=False, allow_scripts=True)
    ended = await hub.skills.run_script("greet", "scripts/leaves.sh", timeout=30)
    assert (ended["exit_code"], ended["stdout"]) == (0, "done\n")
    await _ended(int((greet / "pid").read_text()))


# It leaves the process group and the session of the script, and keeps its output open.
DAEMON = """
import os, pathlib, time
print("done", flush=True)
read, write = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        pathlib.Path("daemon").write_text(str(os.getpid()))
        os.write(write, b"x")
        time.sleep(600)
    os._exit(0)
os.read(read, 1)
"""


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
async def test_a_daemon_of_a_script_ends_and_the_result_is_given(
    hub: ToolHub, folder: Path, greet: Path
) -> None:
    (greet / "scripts/daemon.py").write_text(DAEMON)
    hub.load_skills(folder, python=False, allow_scripts=True)
    ended = await hub.skills.run_script("greet", "scripts/daemon.py", timeout=60)
    assert (ended["exit_code"], ended["stdout"]) == (0, "done\n")
    await _ended(int((greet / "daemon").read_text()))


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("script", ["scripts/leaves.sh", "scripts/show.py"])
async def test_no_group_is_killed_after_its_number_is_free(
    hub: ToolHub, folder: Path, greet: Path, script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once the script is reaped, its number may be that of a stranger's process group."""
    kill, held = os.killpg, list[bool]()

    def killpg(group: int, signal: int) -> None:
        held.append(Path(f"/proc/{group}").exists())
        kill(group, signal)

    monkeypatch.setattr(os, "killpg", killpg)
    hub.load_skills(folder, python=False, allow_scripts=True)
    await hub.skills.run_script("greet", script)
    assert held
    assert all(held)


async def test_what_cannot_be_started_is_reported(hub: ToolHub, folder: Path, greet: Path) -> None:
    hub.load_skills(folder, python=False, allow_scripts=True)
    (greet / "scripts/strange").chmod(0o755)
    with pytest.raises(ToolError, match="could not be started: No such file or directory") as caught:
        await hub.skills.run_script("greet", "scripts/strange")
    assert caught.value.kind == "tool_error"
    for args in ("a b", ["a\0b"], [1]):
        with pytest.raises(ToolError, match="list of texts") as caught:
            await hub.skills.run_script("greet", "scripts/show.py", args)  # type: ignore[arg-type]
        assert caught.value.kind == "invalid_arguments"


async def _ended(pid: int) -> None:
    for _ in range(3000):
        if not is_running(pid):
            return
        await asyncio.sleep(0.01)
    pytest.fail(f"{pid} lives on")


async def test_what_it_says_is_bounded(hub: ToolHub, folder: Path, greet: Path) -> None:
    hub.load_skills(folder, python=False, allow_scripts=True)
    stdout = (await hub.skills.run_script("greet", "scripts/loud.sh"))["stdout"]
    assert len(stdout) == 1_000_000 + len("\n… [cut]")
