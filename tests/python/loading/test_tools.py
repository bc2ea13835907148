"""`hub.load_tools`: which modules are imported, what in them is a tool, and what is reported of the rest."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from toolhub import ToolError, ToolHub

from .conftest import Write

MARKED = """
    import toolhub

    @toolhub.tool(read_only=True, version="2")
    def add(a: int, b: int) -> int:
        "Add two numbers."
        return a + b
"""


def names(hub: ToolHub) -> set[str]:
    return {tool.name for tool in hub.tools()}


def test_marked_functions_and_the_execute_shape(hub: ToolHub, folder: Path, write: Write) -> None:
    write("adding.py", MARKED)
    write(
        "shapes.py",
        """
        import toolhub

        def not_marked(): ...

        class Echo:
            name, description = "echo", "Say it again"
            def execute(self, input): return input

        class Later:
            def __init__(self):
                self.name, self.description = "later", "Named when it is made"
            async def execute(self, input): return input

        class Made:
            name, description = "made", "Made by the module"
            def __init__(self, by): self.by = by
            def execute(self, input): return self.by

        made = Made("the module")

        @toolhub.tool(name="marked_class", capabilities=["echo"])
        class Marked:
            description = "Marked"
            name = "unused"
            def execute(self, input): return input
        """,
    )
    report = hub.load_tools(folder)
    assert report, report
    assert report.loaded == ["add", "echo", "later", "made", "marked_class"]
    assert names(hub) == set(report.loaded)
    add = hub.get("add")
    assert add is not None
    assert (add.version, add.description, add.candidates[0].read_only) == ("2", "Add two numbers.", True)
    assert hub.call("add", {"a": 1, "b": 2}).result == 3
    assert hub.call("later", "x").result == "x"
    assert hub.call("made", "x").result == "the module"
    assert [one.name for one in hub.find_by_capability("echo")] == ["marked_class"]
    assert all(tool.candidates[0].source == "tools" for tool in hub.tools())


def test_modules_import_each_other_and_are_private(hub: ToolHub, folder: Path, write: Write) -> None:
    write("json.py", "VALUE = 1\n")  # the name of a module of Python's own
    write("_hidden.py", "FACTOR = 10\n")
    write("deep/__init__.py", "from .inner import times\n")
    write(
        "deep/inner.py",
        """
        import json, toolhub
        from .._hidden import FACTOR
        from ..json import VALUE

        @toolhub.tool
        def times(n: int) -> str:
            return json.dumps(n * FACTOR * VALUE)
        """,
    )
    write("loose/more.py", "from ..deep import times\nfrom ..deep.inner import *\n")
    report = hub.load_tools(folder)
    assert report.loaded == ["times"]
    assert not report.errors
    assert hub.call("times", 4).result == "40"
    import json

    assert hasattr(json, "dumps")
    assert not {"deep", "loose", "deep.inner"} & sys.modules.keys()
    assert not list(folder.rglob("__pycache__")), "nothing is written into the folder"


def test_a_broken_module_costs_only_itself(
    hub: ToolHub, folder: Path, write: Write, caplog: pytest.LogCaptureFixture
) -> None:
    write("good.py", MARKED)
    broken = {
        "syntax.py": ("def x(:", "SyntaxError"),
        "missing.py": ("import nobody_has_this", "ModuleNotFoundError: No module named 'nobody_has_this' (line 1)"),
        "sibling.py": ("\nfrom good import add", "relatively"),
        "leaves.py": ("import sys\nsys.exit(3)", "it called sys.exit(3) when it was imported (line 2)"),
        "stops.py": ("class Stop(BaseException): ...\nraise Stop('now')", "Stop: now"),
        "cancels.py": ("import asyncio\nraise asyncio.CancelledError", "CancelledError"),
        "zeros.py": ("x = '\0'", "null"),
        "relative.py": ("from .... import x", "ImportError"),
        "fails.py": ("1 / 0", "ZeroDivisionError: division by zero (line 1)"),
    }  # fmt: skip
    for name, (text, _) in broken.items():
        write(name, text)
    with caplog.at_level(logging.INFO, "toolhub"):
        report = hub.load_tools(folder)
        assert report.loaded == ["add"]
        assert not report
        for name, (_, why) in broken.items():
            (reported,) = [error for error in report.errors if error.startswith(str(folder / name))]
            assert why in reported, reported
        assert len(report.errors) == len(broken)
        hub.load_tools(folder)
        hub.reload()
    logged = [record.getMessage() for record in caplog.records]
    assert sorted(logged) == sorted(report.errors), "each problem once"
    assert hub.call("add", {"a": 1, "b": 2}).result == 3


def test_an_interrupt_of_the_user_is_not_swallowed(hub: ToolHub, folder: Path, write: Write) -> None:
    write("interrupted.py", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        hub.load_tools(folder)


def test_classes_that_are_not_tools_are_reported_with_the_reason(
    hub: ToolHub, folder: Path, write: Write
) -> None:
    write(
        "classes.py",
        """
        import abc, typing

        class Base(abc.ABC):
            name = "base"
            @abc.abstractmethod
            def execute(self, input): ...

        class Shape(typing.Protocol):
            name: str
            def execute(self, input): ...

        class NeedsKey:
            name, description = "needs_key", "d"
            def __init__(self, key): ...
            def execute(self, input): ...

        class Nameless:
            made = 0
            def __init__(self): Nameless.made += 1
            def execute(self, input): ...

        class Bad:
            name, description = "bad", "d"
            def __init__(self): raise SystemExit(1)
            def execute(self, input): ...

        class Shy:
            description = "d"
            @property
            def name(self): raise LookupError("who?")
            def execute(self, input): ...

        class Unnamed:
            name, description = "", "d"
            def execute(self, input): ...

        class StandIn:
            @property
            def __class__(self): raise RuntimeError("nothing is there yet")
            def __getattr__(self, name): raise RuntimeError("nothing is there yet")

        stand_in = StandIn()

        class _Private:
            name, description = "private", "d"
            def execute(self, input): ...
        """,
    )
    report = hub.load_tools(folder)
    assert len(hub) == 0
    skipped, errors = "\n".join(report.skipped), "\n".join(report.errors)
    assert "the class NeedsKey needs arguments; make an object of it" in skipped
    assert "the class Nameless has execute() but no name" in skipped
    assert "no object of the class Bad could be made: SystemExit: 1" in errors
    assert "Shy has a name that cannot be read: LookupError: who?" in errors
    assert "Unnamed is not a tool" in errors
    assert not any(word in skipped + errors for word in ("Base", "Shape", "_Private"))


def test_imported_names_are_registered_at_home_only(hub: ToolHub, folder: Path, write: Write) -> None:
    write(
        "a_first.py", "from .home import add, echo, Echo\nfrom .home import *\nimport toolhub as add_again\n"
    )
    write("home.py", MARKED + "    class Echo:\n        name, description = 'echo', 'd'\n"
          "        def execute(self, input): return input\n\n    echo = Echo()\n    alias = echo\n")  # fmt: skip
    report = hub.load_tools(folder)
    assert report.loaded == ["add", "echo"]
    assert any("a_first.py: nothing in it" in line for line in report.skipped)
    assert len(report.skipped) == 1


def test_all_says_what_is_public_and_lets_imported_things_in(
    hub: ToolHub, folder: Path, write: Write
) -> None:
    write(
        "chosen.py",
        """
        import toolhub
        from types import SimpleNamespace
        from toolhub.demo import __name__ as unused

        __all__ = ["shown", "borrowed"]
        shown = SimpleNamespace(name="shown", description="d", execute=lambda input: input)
        other = SimpleNamespace(name="other", description="d", execute=lambda input: input)

        @toolhub.tool
        def _marked(): "A mark counts for more than a name."

        from ._lending import borrowed, kept
        """,
    )
    write(
        "_lending.py", "import toolhub\n@toolhub.tool\ndef borrowed(): ...\n@toolhub.tool\ndef kept(): ...\n"
    )
    assert set(hub.load_tools(folder).loaded) == {"shown", "borrowed", "_marked"}


def test_tests_and_private_files_are_left_alone(hub: ToolHub, folder: Path, write: Write) -> None:
    for name in ("test_x.py", "x_test.py", "conftest.py", "setup.py", "_private.py", "__main__.py", ".hidden.py",
                 "_folder/x.py", ".git/x.py", "node_modules/x.py", "some.data/x.txt", "some.data/test_x.py",
                 "notes.txt", "__pycache__/x.py", "test_x.PY", ".hidden.x.py"):  # fmt: skip
        write(name, "raise SystemExit")
    write("skill/SKILL.md", "---\nname: skill\ndescription: d\n---\n")
    write("skill/scripts/run.py", "raise SystemExit")
    write("some.skill/SKILL.md", "---\nname: skill\ndescription: d\n---\n")
    write("some.skill/run.py", "raise SystemExit")
    write("broken_skill/run.py", "raise SystemExit")
    (folder / "broken_skill/SKILL.md").symlink_to(folder / "nowhere.md")
    report = hub.load_tools(folder)
    assert (report.loaded, report.skipped, report.errors) == ([], [], [])


def test_a_name_that_is_taken_stays_with_its_owner(hub: ToolHub, folder: Path, write: Write) -> None:
    hub.register(lambda: "mine", name="mine")
    write("a.py", MARKED)
    write("b.py", MARKED + "    @toolhub.tool\n    def mine(): return 'theirs'\n")
    report = hub.load_tools(folder)
    assert report.loaded == ["add"]
    assert [line.partition(": ")[2] for line in report.skipped] == [
        f"the name 'add' of add is taken by {folder / 'a.py'}",
        "the name 'mine' of mine is taken",
    ]
    assert hub.call("mine").result == "mine"


def test_links_that_lead_back_end(hub: ToolHub, folder: Path, write: Write) -> None:
    write("adding.py", MARKED)
    (folder / "round").symlink_to(folder, target_is_directory=True)
    assert hub.load_tools(folder).loaded == ["add"]


@pytest.mark.parametrize(("name", "why"), [("nowhere", "does not exist"), ("tools/a.py", "is not a folder")])
def test_a_path_that_is_not_a_folder_is_reported(
    hub: ToolHub, tmp_path: Path, write: Write, name: str, why: str
) -> None:
    write("a.py", "")
    report = hub.load_tools(tmp_path / name)
    assert not report
    assert why in report.errors[0]


def test_the_constructor_takes_folders(folder: Path, write: Write) -> None:
    write("adding.py", MARKED)
    write("skills/greet/SKILL.md", "---\nname: greet\ndescription: d\n---\nSay hello.\n")
    with ToolHub(tools=[folder], skills=str(folder / "skills")) as hub:
        assert names(hub) == {"add", "greet"}
    with pytest.raises(ToolError, match="closed"):
        hub.load_tools(folder)


def test_a_closed_or_forgotten_hub_leaves_no_modules(folder: Path, write: Write) -> None:
    import gc

    write("adding.py", MARKED)

    def ours() -> set[str]:
        return {name for name in sys.modules if name.startswith("_toolhub_folder_")}

    before = ours()
    hub = ToolHub(tools=folder)
    assert ours() - before
    hub.close()
    assert ours() == before
    hub = ToolHub(tools=folder)
    del hub
    gc.collect()
    assert ours() == before


def test_a_report_is_readable(hub: ToolHub, folder: Path, write: Write) -> None:
    write("a.py", MARKED)
    write("b.py", "1 / 0")
    shown = repr(hub.load_tools(folder))
    assert shown.splitlines()[:2] == ["LoadReport: 1 loaded (add)", "  errors:"]
    assert "b.py: ZeroDivisionError" in shown


def test_what_cannot_even_be_looked_at_costs_only_its_module(
    hub: ToolHub, folder: Path, write: Write
) -> None:
    write("a.py", "def __getattr__(name): raise RuntimeError(name)\n")
    write(
        "b.py",
        """
        class Proxy:
            name, description = "proxy", "Whatever it is asked for, it has."
            def execute(self, input): return input
            def __getattr__(self, name): return lambda *given: None
        proxy = Proxy()
        """,
    )
    write("z.py", "import toolhub\n@toolhub.tool\ndef good() -> int: return 1\n")
    report = hub.load_tools(folder)
    assert report.loaded == ["good"]
    assert [error.partition(": ")[0] for error in report.errors] == [
        str(folder / "a.py"),
        str(folder / "b.py"),
    ]


def test_what_stands_in_for_a_failed_import_is_a_tool(hub: ToolHub, folder: Path, write: Write) -> None:
    write(
        "a.py",
        """
        import toolhub
        try:
            from a_package_that_no_tool_has import add
        except ImportError:
            @toolhub.tool
            def add(a: int, b: int) -> int: return a + b
        try:
            from .....far import *
        except ImportError:
            pass
        """,
    )
    assert hub.load_tools(folder).loaded == ["add"]
    assert hub.call("add", {"a": 1, "b": 2}).result == 3


def test_a_module_that_a_package_hides_is_reported(hub: ToolHub, folder: Path, write: Write) -> None:
    write("a.py", "import toolhub\n@toolhub.tool\ndef hidden() -> int: return 1\n")
    write("a/__init__.py", "import toolhub\n@toolhub.tool\ndef seen() -> int: return 1\n")
    report = hub.load_tools(folder)
    assert (report.loaded, report.errors) == (["seen"], [])
    (note,) = report.skipped
    assert note.startswith(f"{folder / 'a.py'}: ")
    assert "hides it" in note


@pytest.mark.parametrize(
    ("name", "reported", "why"),
    [
        (
            "my.tool.py",
            "my.tool.py",
            "a file with a dot in its name cannot be imported; call it 'my_tool.py'",
        ),
        ("more/v1.0.py", "more/v1.0.py", "call it 'v1_0.py'"),
        ("v1.0/x.py", "v1.0", "a folder with a dot in its name cannot be imported; call it 'v1_0'"),
        ("v1.0/more/x.py", "v1.0", "call it 'v1_0'"),
        ("X.PY", "X.PY", "only files whose name ends in '.py' are imported; call it 'X.py'"),
    ],
)
def test_a_name_that_python_cannot_import_is_reported(
    hub: ToolHub, folder: Path, write: Write, name: str, reported: str, why: str
) -> None:
    write("adding.py", MARKED)
    write(name, "raise SystemExit")
    report = hub.load_tools(folder)
    assert (report.loaded, report.errors) == (["add"], [])
    (note,) = report.skipped
    assert note.startswith(f"{folder / reported}: ")
    assert why in note


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with a name")
@pytest.mark.parametrize("name", ["x.py", "__init__.py", "more/x.py"])
@pytest.mark.parametrize("what", ["is a broken link", "is not a file"])
def test_what_is_not_a_file_is_reported(
    hub: ToolHub, folder: Path, write: Write, tmp_path: Path, name: str, what: str
) -> None:
    write("adding.py", MARKED)
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    if what == "is not a file":
        os.mkfifo(path)
    else:
        path.symlink_to(tmp_path / "nowhere.py")
    report = hub.load_tools(folder)
    assert (report.loaded, report.skipped) == (["add"], [])
    assert report.errors == [f"{path}: it {what}"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("from .nobody import x", "No module named '.nobody' (line 1)"),
        ("from .adding import x", "cannot import name 'x' from '.adding'"),
        ("from .adding.more import x", "No module named '.adding.more'; '.adding' is not a package"),
    ],
)
def test_no_error_shows_private_names(hub: ToolHub, folder: Path, write: Write, text: str, why: str) -> None:
    write("adding.py", MARKED)
    write("b.py", text)
    (error,) = hub.load_tools(folder).errors
    assert why in error
    assert "_toolhub" not in error


UNREADABLE = """
import os, sys
from toolhub import ToolHub
hub = ToolHub()
hub.load_tools(sys.argv[1])  # so that all of Python that is needed has been read
if os.geteuid() == 0:
    os.seteuid(65534)  # to whom rights mean something
for given in sys.argv[2:]:
    report = hub.load_tools(given)
    print(report.loaded, len(report.errors))
"""


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="needs rights of files")
def test_what_may_not_be_read_costs_only_itself() -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "tools"
        locked = folder / "locked"
        locked.mkdir(parents=True)
        module = "import toolhub\n@toolhub.tool\ndef {0}(): ...\n"
        warm = Path(place) / "warm"
        warm.mkdir()
        (warm / "a.py").write_text(module.format("first"))
        for name in ("good", "secret", "locked/inside"):
            (folder / f"{name}.py").write_text(module.format(Path(name).name))
        Path(place).chmod(0o755)
        (folder / "secret.py").chmod(0)
        locked.chmod(0)
        command = [sys.executable, "-c", UNREADABLE, str(warm), str(folder), str(locked / "below")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        locked.chmod(0o755)
    assert done.stdout == "['good'] 2\n[] 1\n", done.stderr


def test_a_tilde_is_the_home_of_the_user(
    folder: Path, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    write("adding.py", MARKED)
    write("skills/greet/SKILL.md", "---\nname: greet\ndescription: d\n---\nSay hello.\n")
    write("mcp.json", '{"mcpServers": {"files": {"command": "files-server"}}}')
    with ToolHub(tools="~/tools", skills=[Path("~/tools/skills")], mcp="~/tools/mcp.json") as hub:
        assert names(hub) == {"add", "greet"}
        assert [server.id for server in hub.servers()] == ["files"]
    with ToolHub() as hub:
        assert hub.load_tools("~/tools").loaded == ["add"]
        assert hub.load_skills("~/tools/skills", allow_scripts=True).loaded == ["greet"]
        assert hub.load_mcp(Path("~/tools/mcp.json")).loaded == ["files"]
        result = hub.call("run_skill_script", {"skill": "greet", "script": "none.py"})
        assert "not a file" in str(result.error), "and not that it is not allowed"
        assert hub.load_tools("~/nowhere").errors[0].startswith(f"{tmp_path / 'nowhere'}: it does not exist")
