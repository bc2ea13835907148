"""Watching: folders are loaded again by themselves, until the hub is closed."""

from __future__ import annotations

import builtins
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import watchfiles

from toolhub import ToolHub
from toolhub.loading.watching import Watcher

from .conftest import Write


def test_changes_are_loaded_until_the_hub_is_closed(folder: Path, write: Write) -> None:
    loaded: dict[str, threading.Event] = {name: threading.Event() for name in ("old", "new")}
    builtins.loaded = loaded  # type: ignore[attr-defined]
    module = (
        "import builtins, toolhub\n@toolhub.tool\ndef say(): return {0!r}\nbuiltins.loaded[{0!r}].set()\n"
    )
    try:
        with ToolHub() as hub:
            write("a.py", module.format("old"))
            assert hub.load_tools(folder, watch=True).loaded == ["say"]
            write("a.py", module.format("new"))
            assert loaded["new"].wait(30)
            hub.reload()  # waits for the one that is going on
            assert hub.call("say").result == "new"
        # The thread has ended, so what is written now goes unseen.
        assert not [thread for thread in threading.enumerate() if thread.name == "toolhub-watch"]
    finally:
        del builtins.loaded  # type: ignore[attr-defined]


def test_a_folder_that_comes_back_is_watched_again(folder: Path, write: Write) -> None:
    loaded = threading.Event()
    builtins.loaded = loaded  # type: ignore[attr-defined]
    moment = threading.Event()
    try:
        with ToolHub() as hub:
            write("a.py", "import toolhub\n@toolhub.tool\ndef say(): return 1\n")
            hub.load_tools(folder, watch=True)
            shutil.rmtree(folder)
            while "say" in hub:
                moment.wait(0.01)
            write(
                "b.py",
                "import builtins, toolhub\n@toolhub.tool\ndef back(): return 2\nbuiltins.loaded.set()\n",
            )
            assert loaded.wait(30)
            hub.reload()
            assert hub.call("back").result == 2
    finally:
        del builtins.loaded  # type: ignore[attr-defined]


def test_a_folder_that_is_replaced_by_one_with_the_same_number_is_watched(
    folder: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number of a removed folder may be given to the next one: ext4 does it at once."""
    watched, replaced, quiet, noticed = (threading.Event() for _ in range(4))
    begin = watchfiles.watch

    def looks(path: Path, **options: Any) -> Any:
        for changes in begin(path, **options):
            yield changes
            if replaced.is_set() and not changes:
                quiet.set()  # the last change of the removed folder was seen

    def changed() -> None:
        if (folder / "b.txt").exists():
            noticed.set()
        elif not folder.exists():
            # In the thread that watches, so before it can look whether this is still the same folder.
            folder.mkdir()
            replaced.set()
        watched.set()

    monkeypatch.setattr(watchfiles, "watch", looks)
    write("a.txt", "1")
    watcher = Watcher(folder, changed)
    try:
        assert watched.wait(30)
        shutil.rmtree(folder)
        assert replaced.wait(30)
        assert quiet.wait(30)
        write("b.txt", "2")
        assert noticed.wait(30)
    finally:
        watcher.close()


def test_a_folder_that_is_gone_for_a_moment_while_the_watching_begins_is_watched(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = watchfiles.watch
    begun: list[Path] = []
    noticed = threading.Event()

    def late(path: Path, **options: Any) -> Any:
        begun.append(path)
        if len(begun) == 1:
            raise FileNotFoundError(path)
        return begin(path, **options)

    monkeypatch.setattr(watchfiles, "watch", late)
    watcher = Watcher(folder, noticed.set)
    try:
        assert noticed.wait(30)
    finally:
        watcher.close()


def test_without_the_library_it_says_what_to_do(
    hub: ToolHub, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    with pytest.raises(ImportError, match=r"pip install 'agent-toolhub\[watch\]'"):
        hub.load_tools(folder, watch=True)


@pytest.mark.parametrize(
    "end", ["", "del hub; import gc; gc.collect()", "hub.close()", "raise SystemExit(0)"]
)
def test_an_exit_is_clean(folder: Path, write: Write, end: str) -> None:
    write("a.py", "import toolhub\n@toolhub.tool\ndef say(): ...\n")
    script = (
        f"from toolhub import ToolHub\nhub = ToolHub()\nhub.load_tools({str(folder)!r}, watch=True)\n{end}\n"
    )
    done: Any = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stderr) == (0, "")
