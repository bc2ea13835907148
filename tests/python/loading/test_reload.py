"""`hub.reload`: a folder in which something has changed is imported again, as a whole; others are not touched."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from toolhub import ToolHub

from .conftest import Write

COUNTED = """
import builtins, toolhub
builtins.imports = getattr(builtins, "imports", []) + [__name__.rpartition(".")[2]]
"""


@pytest.fixture(autouse=True)
def imports() -> list[str]:
    """The modules that were imported since it was last cleared."""
    import builtins

    builtins.imports = made = []  # type: ignore[attr-defined]
    return made


def imported() -> list[str]:
    import builtins

    made, builtins.imports = builtins.imports, []  # type: ignore[attr-defined]
    return made


def says(value: str, name: str = "say") -> str:
    return f"{COUNTED}\n@toolhub.tool\ndef {name}() -> str: return {value!r}\n"


def test_changed_new_and_removed_files(hub: ToolHub, folder: Path, write: Write) -> None:
    write("a.py", says("old"))
    write("b.py", says("b", "other"))
    gone = write("c.py", says("c", "third"))
    assert set(hub.load_tools(folder).loaded) == {"say", "other", "third"}
    assert imported() == ["a", "b", "c"]
    version = hub.version
    unchanged = hub.reload()
    assert (unchanged.loaded, unchanged.removed, imported()) == ([], [], [])
    assert hub.version == version
    write("a.py", says("new"))
    write("d.py", says("d", "fourth"))
    gone.unlink()
    report = hub.reload()
    assert (set(report.loaded), report.removed) == ({"say", "other", "fourth"}, ["third"])
    assert imported() == ["a", "b", "d"]
    assert hub.call("say").result == "new"
    assert "third" not in hub


def test_a_change_within_one_second_and_of_the_same_size_is_seen(
    hub: ToolHub, folder: Path, write: Write
) -> None:
    for value in ("1", "2", "3"):
        write("a.py", says(value))
        hub.load_tools(folder)
        assert hub.call("say").result == value


def test_a_module_that_imports_a_changed_one_is_imported_again(
    hub: ToolHub, folder: Path, write: Write
) -> None:
    write("_helper.py", f"{COUNTED}\nVALUE = 'old'\n")
    write("pack/__init__.py", f"{COUNTED}\nfrom .._helper import VALUE\n")
    write("pack/user.py", f"{COUNTED}\nfrom . import VALUE\n@toolhub.tool\ndef say(): return VALUE\n")
    write("stranger.py", says("x", "other"))
    hub.load_tools(folder)
    assert hub.call("say").result == "old"
    imported()
    write("_helper.py", f"{COUNTED}\nVALUE = 'new'\n")
    assert hub.reload().loaded == ["say", "other"]
    assert hub.call("say").result == "new"
    assert set(imported()) == {"_helper", "pack", "user", "stranger"}, "each once"


def test_a_module_that_is_broken_now_keeps_its_tools(hub: ToolHub, folder: Path, write: Write) -> None:
    write("a.py", says("old"))
    write("b.py", f"{COUNTED}\nfrom .a import say as other\n@toolhub.tool\ndef twice(): return other() * 2\n")
    hub.load_tools(folder)
    write("a.py", "def x(:")
    report = hub.reload()
    assert "say" not in report.loaded + report.removed
    assert any("SyntaxError" in error and "its tools stay as they were" in error for error in report.errors)
    assert (hub.call("say").result, hub.call("twice").result) == ("old", "oldold")
    assert not hub.reload(), "and it is reported each time"
    write("a.py", says("new"))
    assert set(hub.reload().loaded) == {"say", "twice"}
    assert (hub.call("say").result, hub.call("twice").result) == ("new", "newnew")


def test_tools_may_move_from_one_module_to_another(hub: ToolHub, folder: Path, write: Write) -> None:
    write("a.py", says("a", "first"))
    write("b.py", says("b", "second"))
    hub.load_tools(folder)
    write("a.py", says("a", "second"))
    write("b.py", says("b", "first"))
    report = hub.reload()
    assert (set(report.loaded), report.removed, report.skipped) == ({"first", "second"}, [], [])
    assert (hub.call("first").result, hub.call("second").result) == ("b", "a")


def test_a_module_whose_helper_is_gone_is_reported_and_stays(
    hub: ToolHub, folder: Path, write: Write
) -> None:
    helper = write("helper.py", "VALUE = 'old'\n")
    write("user.py", "import toolhub\nfrom .helper import VALUE\n@toolhub.tool\ndef say(): return VALUE\n")
    hub.load_tools(folder)
    helper.unlink()
    assert "No module named" in hub.reload().errors[0]
    assert hub.call("say").result == "old"
    write("helper.py", "VALUE = 'new'\n")
    assert hub.reload()
    assert hub.call("say").result == "new"


def test_the_folders_own_init_is_a_module_too(hub: ToolHub, folder: Path, write: Write) -> None:
    write("__init__.py", says("old"))
    write("user.py", "import toolhub\nfrom . import say\n@toolhub.tool\ndef twice(): return say() * 2\n")
    assert hub.load_tools(folder).loaded == ["say", "twice"]
    write("__init__.py", "1 / 0")
    assert not hub.reload()
    assert hub.call("twice").result == "oldold"
    write("__init__.py", says("new"))
    assert set(hub.reload().loaded) == {"say", "twice"}
    assert hub.call("twice").result == "newnew"


def test_a_tool_that_a_user_replaced_by_hand_is_left_alone(hub: ToolHub, folder: Path, write: Write) -> None:
    path = write("a.py", says("loaded"))
    hub.load_tools(folder)
    hub.register(lambda: "by hand", name="say", replace=True)
    path.unlink()
    assert hub.reload().removed == []
    assert hub.call("say").result == "by hand"


@pytest.mark.anyio
async def test_calls_that_are_running_finish_with_the_old_one(folder: Path, write: Write) -> None:
    waiting = """
        import asyncio, toolhub
        VALUE = {value!r}
        begun, go_on = asyncio.Event(), asyncio.Event()
        def late(): return VALUE
        @toolhub.tool
        async def wait() -> str:
            begun.set()
            await go_on.wait()
            return late()
    """
    async with ToolHub() as hub:
        write("a.py", waiting.format(value="old"))
        hub.load_tools(folder)
        running = asyncio.create_task(hub.execute("wait"))
        inside = hub.get("wait").candidates[0].tool.__globals__  # type: ignore[union-attr]
        await inside["begun"].wait()
        write("a.py", "import toolhub\n@toolhub.tool\ndef wait(): return 'new'\n")
        assert hub.reload().loaded == ["wait"]
        assert (await hub.execute("wait")).result == "new"
        inside["go_on"].set()
        assert (await running).result == "old"


def test_a_module_may_load_a_folder_while_it_is_imported(folder: Path, write: Write) -> None:
    write("more/inner.py", says("inner", "inner"))
    write("outer.py", "import builtins\nbuiltins.hub.load_tools(builtins.more)\n" + says("outer"))
    import builtins

    with ToolHub() as hub:
        builtins.hub, builtins.more = hub, folder / "more"  # type: ignore[attr-defined]
        try:
            assert hub.load_tools(folder)
        finally:
            del builtins.hub, builtins.more  # type: ignore[attr-defined]
        assert hub.call("inner").result == "inner"


def test_many_threads_may_load_at_once(hub: ToolHub, folder: Path, write: Write) -> None:
    for number in range(10):
        write(f"m{number}.py", says(str(number), f"say{number}"))
    reports: list[object] = []
    threads = [threading.Thread(target=lambda: reports.append(hub.load_tools(folder))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(reports) == 8
    assert len(imported()) == 10, "each module once"
    assert hub.call("say7").result == "7"


@pytest.mark.parametrize("leaves", ["goes", "has another name now", "was registered by hand"])
def test_a_name_that_becomes_free_goes_to_the_next(
    leaves: str, hub: ToolHub, folder: Path, write: Write
) -> None:
    write("z.py", says("z"))
    if leaves == "was registered by hand":
        hub.register(lambda: "hand", name="say", description="By hand.")
    else:
        write("a.py", says("a"))
    (note,) = hub.load_tools(folder).skipped
    assert "the name 'say' of say is taken" in note
    imported()
    if leaves == "goes":
        (folder / "a.py").unlink()
    elif leaves == "has another name now":
        write("a.py", says("a", "other"))
    else:
        hub.unregister("say")
    report = hub.reload()
    assert ("say" in report.loaded, report.skipped) == (True, [])
    assert hub.call("say").result == "z"


def test_a_tool_stays_when_only_a_module_that_shows_it_goes(hub: ToolHub, folder: Path, write: Write) -> None:
    shows = write("a.py", "from .z import say\n__all__ = ['say']\n")
    write("z.py", says("z"))
    assert hub.load_tools(folder).loaded == ["say"]
    shows.unlink()
    assert hub.reload().loaded == ["say"]
    assert hub.call("say").result == "z"


def test_a_package_that_is_imported_again_has_its_modules(hub: ToolHub, folder: Path, write: Write) -> None:
    write("inner/__init__.py", "from .words import word")
    write("inner/words.py", f"{COUNTED}\ndef word(): return 'word'\n")
    write(
        "a.py",
        "import toolhub\nfrom . import inner\n@toolhub.tool\ndef say() -> str: return inner.words.word()\n",
    )
    hub.load_tools(folder)
    imported()
    write("inner/__init__.py", "from .words import word\nmore = 1")
    assert hub.reload().loaded == ["say"]
    assert hub.call("say").result == "word"
    assert imported() == ["words"]


def test_a_change_of_what_a_call_has_imported_is_seen(hub: ToolHub, folder: Path, write: Write) -> None:
    write("_words.py", "word = 'old'")
    lazy = "def say() -> str:\n    from ._words import word\n    return word\n"
    write("a.py", f"{COUNTED}\n@toolhub.tool\n{lazy}")
    hub.load_tools(folder)
    assert hub.call("say").result == "old"
    write("_words.py", "word = 'new'")
    assert hub.reload().loaded == ["say"]
    assert hub.call("say").result == "new"
    imported()
    assert hub.reload().loaded == []
    assert imported() == []


def test_a_folder_that_is_gone_takes_its_tools_along_and_no_others(
    hub: ToolHub, folder: Path, tmp_path: Path, write: Write
) -> None:
    write("a.py", says("a"))
    hub.load_tools(folder)
    other = tmp_path / "other"
    other.mkdir()
    hub.load_tools(other)
    shutil.rmtree(folder)
    (other / "b.py").write_text(says("b", "more"))
    report = hub.reload()
    assert (report.removed, report.loaded) == (["say"], ["more"])
    assert report.errors == [f"{folder}: it cannot be read: No such file or directory"]


def test_a_tool_that_was_removed_by_hand_comes_back_when_its_folder_is_loaded_again(
    hub: ToolHub, folder: Path, write: Write
) -> None:
    write("a.py", says("a"))
    write("b.py", says("b", "other"))
    hub.load_tools(folder)
    imported()
    hub.unregister("say")
    assert hub.reload().loaded == []
    assert "say" not in hub, "nothing requested it"
    assert hub.load_tools(folder).loaded == ["say", "other"]
    assert hub.call("say").result == "a"
    assert imported() == [], "no module is imported again for that"
    hub.unregister("say")
    write("b.py", says("new", "other"))
    assert hub.reload().loaded == ["say", "other"], "a folder that has changed counts"


def test_a_tool_that_was_replaced_by_hand_comes_back_when_that_one_is_gone(
    hub: ToolHub, folder: Path, write: Write
) -> None:
    write("a.py", says("a"))
    hub.load_tools(folder)
    hub.register(lambda: "by hand", name="say", replace=True)
    report = hub.load_tools(folder)
    assert (report.loaded, report.errors) == ([], [])
    assert report.skipped == [f"{folder / 'a.py'}: the name 'say' of say is taken"]
    assert hub.call("say").result == "by hand"
    hub.unregister("say")
    assert hub.load_tools(folder).loaded == ["say"]
    hub.register(lambda: "by hand", name="say", replace=True)
    hub.unregister("say")
    assert hub.load_tools(folder).loaded == ["say"]
    assert hub.call("say").result == "a"


def test_a_load_that_is_interrupted_is_finished_by_the_next(hub: ToolHub, folder: Path, write: Write) -> None:
    write("a.py", says("a", "first"))
    write("b.py", "raise KeyboardInterrupt")
    write("c.py", says("c", "third"))
    with pytest.raises(KeyboardInterrupt):
        hub.load_tools(folder)
    write("b.py", says("b", "second"))
    assert hub.load_tools(folder).loaded == ["first", "second", "third"]
    assert imported() == ["a", "a", "b", "c"], "an import that was interrupted does not count"


def test_a_reload_that_is_interrupted_is_finished_by_the_next(
    hub: ToolHub, folder: Path, write: Write
) -> None:
    write("_word.py", "word = 'old'\n")
    write("a.py", says("old", "first"))
    write("b.py", says("old", "second"))
    write("c.py", f"{COUNTED}\nfrom .a import first\n@toolhub.tool\ndef third(): return first()\n")
    write("d.py", f"{COUNTED}\nfrom ._word import word\n@toolhub.tool\ndef fourth(): return word\n")
    names = hub.load_tools(folder).loaded
    write("_word.py", "word = 'new'\n")
    write("a.py", says("new", "first"))
    write("b.py", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        hub.reload()
    assert [hub.call(name).result for name in names] == ["old"] * 4
    write("b.py", says("new", "second"))
    report = hub.reload()
    assert (sorted(report.loaded), report.removed, report.skipped) == (sorted(names), [], [])
    assert [hub.call(name).result for name in names] == ["new"] * 4
    imported()
    assert (hub.reload().loaded, imported()) == ([], [])


def test_a_module_that_is_broken_after_an_interrupt_stays_for_the_others(
    hub: ToolHub, folder: Path, write: Write
) -> None:
    write("a.py", says("old"))
    lazy = "def twice():\n    from .a import say\n    return say() * 2\n"
    write("b.py", f"import toolhub\n@toolhub.tool\n{lazy}")
    hub.load_tools(folder)
    for text in ("raise KeyboardInterrupt", "1 / 0"):
        write("a.py", text)
        with contextlib.suppress(KeyboardInterrupt):
            hub.reload()
    assert "its tools stay as they were" in hub.reload().errors[0]
    assert (hub.call("say").result, hub.call("twice").result) == ("old", "oldold")


@pytest.mark.parametrize("old", [True, False])
@pytest.mark.parametrize("last", ["new", "newer"])
def test_an_interrupt_between_two_tools_of_a_module(
    old: bool, last: str, hub: ToolHub, folder: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tool is described when it is registered, which takes its time."""
    tool = "@toolhub.tool\ndef {0}(): return {1!r}\n"

    def module(value: str, *names: str) -> str:
        return COUNTED + "".join(tool.format(name, value) for name in names)

    if old:
        write("a.py", module("old", "gone", "first", "second"))
        hub.load_tools(folder)
    write("a.py", module("new", "first", "second", "third"))
    register = hub._registration.register

    def interrupted(tool: Any, **options: Any) -> Any:
        if options["name"] == "second":
            raise KeyboardInterrupt
        register(tool, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(hub._registration, "register", interrupted)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            hub.reload() if old else hub.load_tools(folder)
    monkeypatch.undo()
    if last == "newer":
        write("a.py", module("newer", "first", "second", "third"))
    report = hub.load_tools(folder)
    assert (report.loaded, report.skipped, "gone" in hub) == (["first", "second", "third"], [], False)
    assert {hub.call(name).result for name in report.loaded} == {last}
    (folder / "a.py").unlink()
    assert hub.reload().removed == ["first", "second", "third"]
