"""Skills that others wrote, and skills of MCP servers beside local ones."""

from __future__ import annotations

import os
import re
from pathlib import Path

import catalogue
import pytest

from toolhub import ToolHub

from .conftest import ROOT, Skill


def test_every_real_skill_is_loaded_and_gives_its_instructions(real: Path) -> None:
    written = sorted(real.glob("*/**/SKILL.md"))
    assert len(written) >= 70
    for package in sorted({real / path.relative_to(real).parts[0] for path in written}):
        with ToolHub() as hub:
            report = hub.load_skills(package, python=False)
            assert report, report
            assert not report.skipped, report
            folders = {path.parent for path in written if path.is_relative_to(package)}
            assert len(report.loaded) == len(folders)
            for name in report.loaded:
                result = hub.call(name)
                assert result.success, result.error
                value = result.result
                text = (Path(value["folder"]) / "SKILL.md").read_text("utf-8")
                assert value["instructions"]
                assert text.strip().endswith(value["instructions"])
                for path in value["resources"][:5]:
                    assert hub.skills.read_file_sync(name, path) is not None
            closed = [path for path in folders if _is_for_users_only(path / "SKILL.md")]
            assert hub.system_prompt().count("<skill>") == len(folders) - len(closed)


def _is_for_users_only(path: Path) -> bool:
    front = path.read_text("utf-8").split("---")[1]
    return re.search(r"^disable-model-invocation:\s*true\s*$", front, re.M) is not None


@pytest.mark.anyio
async def test_skills_of_a_server_join_and_never_shadow(folder: Path, skill: Skill, tmp_path: Path) -> None:
    try:
        start = catalogue.command("fastmcp")
    except catalogue.NotInstalled as missing:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(str(missing))
    served = tmp_path / "served"
    (served / "greet").mkdir(parents=True)
    (served / "greet/SKILL.md").write_text("---\nname: greet\ndescription: From afar\n---\nWave.\n")
    (served / "greet/words.md").write_text("hello")
    skill("greet", body="Bow.")
    # A folder whose name pretends to be the server's.
    skill("school/greet-too", "---\nname: school/greet\ndescription: d\n---\n")
    async with ToolHub(skills=folder) as hub:
        program = ROOT / "tests/mcp/servers/skilled.py"
        hub.add_server("school", **{**start, "args": [str(program), str(served)]})
        await hub.connect()
        assert {tool.name for tool in hub.tools(source="skills")} == {"greet", "school/greet"}
        assert (await hub.execute("greet")).result["instructions"] == "Bow."
        assert (await hub.execute("school/greet")).result["instructions"].strip() == "Wave."
        assert hub.skills.read_file_sync("school/greet", "words.md") == "hello"
        assert "Wave." in hub.format(await hub.execute("school/greet"))
        prompt = hub.system_prompt()
        assert "<name>greet</name>" in prompt
        assert "<skill><name>school/greet</name><description>From afar</description></skill>" in prompt
        with pytest.raises(Exception, match="may not be run"):
            await hub.skills.run_script("school/greet", "words.md")
        hub.reload()
        assert "school/greet" in hub
