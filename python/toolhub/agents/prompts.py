"""The prompts of the agents: files, which users can replace one by one."""

import os
from functools import lru_cache
from pathlib import Path
from string import Template

from ..kit import check_path
from ..options import Lang

_OWN = Path(__file__).parent / "prompts"

NAMES = ("chat", "plan", "reason", "arguments", "failed_arguments", "empty", "repeated", "verify")


class AgentPrompts:
    """The prompts in a language: those of a folder of yours, and for the rest those of the package.

    A prompt is a file `<name>.md` in the folder, or in its subfolder for the language (`en/plan.md`). `$name` in it is
    replaced: `$tools` and `$question` in `plan`, `$profile`, `$results` and `$step` in `reason`, `$schema`, `$tool`,
    `$results` and `$step` in `arguments`, `$failed` in `failed_arguments`, `$profile` in `chat`, `$call` in `repeated`,
    `$question`, `$records` and `$answer` in `verify`.

    >>> AgentPrompts(lang="zh").text("empty")
    '你的回复是空的。请回答问题，或者调用一个工具。'
    """

    def __init__(self, folder: "str | os.PathLike[str] | None" = None, lang: Lang = "en") -> None:
        if folder is not None:
            check_path("folder", folder)
            if not Path(folder).is_dir():
                raise ValueError(f"the folder of prompts {os.fspath(folder)!r} does not exist")
        if lang not in ("en", "zh"):
            raise ValueError(f"lang must be 'en' or 'zh', got {lang!r}")
        self.lang: Lang = lang
        self._folder = None if folder is None else Path(folder)

    def text(self, name: str, **values: str) -> str:
        """A prompt with its values put in."""
        return Template(self._read(name)).safe_substitute(values)

    def _read(self, name: str) -> str:
        if self._folder is not None:
            for path in (self._folder / self.lang / f"{name}.md", self._folder / f"{name}.md"):
                if path.is_file():
                    return path.read_text(encoding="utf-8").strip()
        return _packaged(name, self.lang)


@lru_cache
def _packaged(name: str, lang: str) -> str:
    return (_OWN / lang / f"{name}.md").read_text(encoding="utf-8").strip()
