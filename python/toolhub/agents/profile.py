"""The profile of an agent (who it is, which tools it may use, and how much), and the prompts, which users can replace."""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import lru_cache
from pathlib import Path
from string import Template
from typing import Any, Literal, Self, cast

from ..kit import (
    MIN_RESULT_LIMIT,
    check_mapping,
    check_path,
    check_seconds,
    check_text,
    check_whole,
    read_yaml,
    unknown_options,
)
from ..options import Lang

Effects = Literal["all", "not_acting", "harmless"]
"""Which tools a view holds by what they may change: all, none that is known to act, or only those known to be harmless."""

EFFECTS = ("harmless", "not_acting", "all")


def _once(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON in which every key stands once, as in YAML."""
    given: dict[str, Any] = {}
    for name, value in members:
        if name in given:
            raise ValueError(f"the key {name!r} is given twice")
        given[name] = value
    return given


@dataclass(frozen=True, kw_only=True)
class AgentProfile:
    """Who an agent is and what it may use; plain data that loads from YAML or JSON.

    `available_tools` are names or patterns (`read_*`, `files/*`, `!*delete*`); when it is empty the agent may use every tool of
    its hub. `effects` restricts them further. `max_tool_result_length` is the number of characters of one result that the
    model of a `ChatLoop` gets, and `max_rounds` limits its requests to the model for one answer. `max_calls`, `max_tokens` and
    `max_uses` (by name or pattern) limit what the agent uses in all its answers, `deadline` (seconds) limits one answer.
    `views` describe its sub-agents: the fields of a profile by name.

    >>> profile = AgentProfile.from_dict({"name": "clerk", "available_tools": ["read_*"], "max_rounds": 5})
    >>> profile.max_tool_result_length, profile.max_rounds
    (4000, 5)
    """

    name: str = "agent"
    prompt: str = ""
    enable_tool_calling: bool = True
    available_tools: tuple[str, ...] = ()
    effects: Effects = "all"
    max_tool_result_length: int = 4000
    max_rounds: int = 10
    max_calls: int | None = None
    max_tokens: int | None = None
    max_uses: Mapping[str, int] = field(default_factory=dict[str, int])
    deadline: float | None = None
    views: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])

    def __post_init__(self) -> None:
        for name in ("name", "prompt"):
            check_text(name, getattr(self, name))
        if not isinstance(cast("object", self.enable_tool_calling), bool):
            raise TypeError(f"enable_tool_calling must be true or false, got {self.enable_tool_calling!r}")
        tools = _names("available_tools", self.available_tools)
        object.__setattr__(self, "available_tools", tools)
        if self.effects not in EFFECTS:
            raise ValueError(f"effects must be one of {', '.join(EFFECTS)}; got {self.effects!r}")
        check_whole("max_tool_result_length", self.max_tool_result_length, MIN_RESULT_LIMIT)
        check_whole("max_rounds", self.max_rounds, 1)
        for name in ("max_calls", "max_tokens"):
            if getattr(self, name) is not None:
                check_whole(name, getattr(self, name), 0)
        check_mapping("max_uses", self.max_uses)
        for tool, most in self.max_uses.items():
            check_whole(f"max_uses[{tool!r}]", most, 0)
        if self.deadline is not None:
            check_seconds("deadline", self.deadline, above_zero=True)
        check_mapping("views", self.views)
        for name, view in self.views.items():
            check_mapping(f"views[{name!r}]", view)
            AgentProfile.from_dict({"name": name, **view})

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Self:
        """A profile from plain data; an unknown key is an error.

        >>> AgentProfile.from_dict({"max_round": 3})
        Traceback (most recent call last):
        TypeError: AgentProfile has no field 'max_round'; did you mean 'max_rounds'?
        """
        check_mapping("a profile", given)
        known = [one.name for one in fields(cls)]
        if unknown := [str(name) for name in given if name not in known]:
            raise TypeError(unknown_options("AgentProfile", "field", unknown, known))
        try:
            return cls(**given)
        except RecursionError:
            raise ValueError("the views of a profile are nested too deeply") from None

    @classmethod
    def load(cls, path: "str | os.PathLike[str]") -> Self:
        """A profile from a file: JSON if its name ends with `.json`, otherwise YAML."""
        check_path("path", path)
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
        except OSError as error:
            why = f"the profile {os.fspath(path)!r} cannot be read: {error.strerror or error}; give the path of a file"
            raise type(error)(why) from None
        try:
            is_json = str(path).endswith(".json")
            given = json.loads(text, object_pairs_hook=_once) if is_json else read_yaml(text)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"the profile {os.fspath(path)!r} cannot be read: {error}") from None
        if not isinstance(given, Mapping):
            raise ValueError(f"the profile {os.fspath(path)!r} cannot be read: it is not a mapping")
        return cls.from_dict(cast("Mapping[str, Any]", given))

    @classmethod
    def of(cls, given: "AgentProfile | Mapping[str, Any] | str | os.PathLike[str] | None") -> "AgentProfile":
        """A profile as agents take it: the object, its data, the path of its file, or None for the defaults."""
        if given is None:
            return cls()
        if isinstance(given, AgentProfile):
            return given
        return cls.from_dict(given) if isinstance(given, Mapping) else cls.load(given)

    def to_dict(self) -> dict[str, Any]:
        """The profile as plain data."""
        return {**asdict(self), "available_tools": list(self.available_tools)}

    def filled(self, names: Iterable[str]) -> "AgentProfile":
        """The profile with these tools if it names none: `[tool.name for tool in hub.tools()]`, for example."""
        return self if self.available_tools else replace(self, available_tools=tuple(names))

    def view(self, name: str) -> "AgentProfile":
        """The profile of a sub-agent: a view of this profile by its name."""
        if name not in self.views:
            near = ", ".join(map(repr, self.views)) or "none"
            raise ValueError(f"the profile {self.name!r} has no view {name!r}; it has {near}")
        return AgentProfile.from_dict({"name": name, **self.views[name]})


def _names(what: str, given: Any) -> tuple[str, ...]:
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise TypeError(f"{what} must be a list of names, got {given!r}")
    names: tuple[Any, ...] = tuple(given)
    for name in names:
        check_text(f"a name in {what}", name)
    return names


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
