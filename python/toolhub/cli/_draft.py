"""A server on its way into the user's file: its entry, what it may not do, and what there is to say about it."""

from fnmatch import fnmatchcase

from ._json import items

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Rules = list[tuple[str, str]]


class Draft:
    """A server on its way into the user's file."""

    def __init__(self, id: str, client: str) -> None:
        self.id, self.client = id, client
        self.entry: Any = {}
        self.notes: list[str] = []
        self.is_left_out = False
        self._used: set[str] = set()

    def copy(self, server: "dict[str, Any]", *keys: str, take: bool = True) -> None:
        """Take keys over as they are; without `take`, they mean nothing to a hub."""
        self.used(*keys)
        if take:
            self.entry |= {key: server[key] for key in keys if server.get(key) is not None}

    def rename(self, server: "dict[str, Any]", key: str, ours: str) -> None:
        """Take a key over under another name."""
        self.used(key)
        if server.get(key) is not None:
            self.entry[ours] = server[key]

    def option(self, ours: str, server: "dict[str, Any]", key: str, unit: float = 1) -> None:
        """Take a time over as an option of toolhub, in seconds."""
        self.used(key)
        value = server.get(key)
        if value is None:
            return
        if isinstance(value, (int, float)) and not isinstance(value, bool) and unit != 1:
            value = value * unit
        self.entry.setdefault("toolhub", {}).setdefault(ours, value)

    def inherit(self, names: "Any") -> None:
        """Let the program have variables of the environment."""
        if names:
            self.entry.setdefault("toolhub", {})["inherit_env"] = names

    def on_or_off(self, server: "dict[str, Any]") -> None:
        """Keep a server off that is off."""
        self.used("enabled", "disabled")
        if server.get("enabled") is False or server.get("disabled") is True:
            self.entry["disabled"] = True

    def used(self, *keys: str) -> None:
        """These keys are dealt with."""
        self._used.update(keys)

    def name_unused(self, server: "dict[str, Any]") -> None:
        """Say which keys are not taken over."""
        if left := [key for key in server if key not in self._used]:
            self.note(f"keys of '{self.id}' that are not taken over: {', '.join(left)}")

    def note(self, sentence: str) -> None:
        """Say something about it when it is imported."""
        self.notes.append(sentence)

    def disable(self, why: str) -> None:
        """Turn the server off, and say why."""
        self.entry["disabled"] = True
        self.note(why)

    def leave_out(self, why: str) -> None:
        """Do not import the server, and say why."""
        self.is_left_out = True
        self.note(why)

    def obey(self, rules: "Rules") -> None:
        """Exclude what rules forbid."""
        denied, excepted = _excluded(rules)
        asked = [name for name, effect in rules if effect == "ask" and name in denied]
        if "*" in denied and not excepted:
            if "*" in asked:
                self.disable(
                    f"'{self.id}' is imported disabled, because {self.client} asks before each call of its tools, "
                    "and toolhub does not"
                )
            self.entry["disabled"] = True
            return
        if asked:
            names = ", ".join(asked)
            self.note(
                f"tools of '{self.id}' that are left out, because {self.client} asks before they run, "
                f"which toolhub does not: {names}"
            )
        own = self.entry.get("excludeTools", [])
        if denied and isinstance(own, list):
            self.entry["excludeTools"] = [*items(own), *denied, *(f"!{name}" for name in excepted)]


def _excluded(rules: "Rules") -> tuple[list[str], list[str]]:
    """The patterns that are excluded, and the exceptions. Where they cannot say what the rules do, more is excluded."""
    denied: list[str] = []
    excepted: list[str] = []
    for pattern, effect in rules:
        if effect == "allow":
            denied = [one for one in denied if not fnmatchcase(one, pattern)]
            excepted = [*excepted, pattern] if denied else []
        else:
            denied = [one for one in denied if one != pattern] + [pattern]
            excepted = [one for one in excepted if not _may_overlap(one, pattern)]
    return denied, excepted


def _may_overlap(one: str, other: str) -> bool:
    has_wildcards = all(set("*?[") & set(pattern) for pattern in (one, other))
    return has_wildcards or fnmatchcase(one, other) or fnmatchcase(other, one)
