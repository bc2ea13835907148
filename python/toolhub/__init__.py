"""One fast, safe interface to every tool your agent can call.

>>> from toolhub import ToolHub
>>> hub = ToolHub()
>>> @hub.tool
... def add(a: int, b: int) -> int:
...     "Add two numbers."
...     return a + b
>>> hub.call("add", {"a": 2, "b": 3}).result
5
"""

import os


def _other_distribution() -> str | None:
    """The other project of this name, if it is installed into the same folder: each overwrites files of the other."""
    site = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    try:
        names = os.listdir(site)
    except OSError:
        return None  # such as a zip file
    for name in names:
        record = os.path.join(site, name, "RECORD")
        if name.lower().startswith("toolhub-") and os.path.isfile(record):
            with open(record, encoding="utf-8", errors="replace") as lines:
                # An editable install has a link there, and no file of the package.
                if any(line.startswith("toolhub/__init__.py,") for line in lines):
                    return name.removesuffix(".dist-info")
    return None


if _other := _other_distribution():
    raise ImportError(
        f"Two distributions are installed into the package 'toolhub': agent-toolhub and {_other}, which is another project. "
        "Each has overwritten files of the other. Run 'pip uninstall toolhub agent-toolhub', then install the one you want, "
        "here 'pip install agent-toolhub'.",
        name=__name__,
    )

from . import _lifecycle  # noqa: E402

TYPE_CHECKING = False  # `typing` is not needed to import toolhub
if TYPE_CHECKING:
    from typing import Any

    from . import agents as agents
    from . import display as display
    from . import kit as kit
    from . import llm as llm
    from . import testing as testing
    from ._compat import ToolCandidate as ToolCandidate
    from ._core import Candidate as Candidate
    from ._core import Hit as Hit
    from ._core import Tokenizer as Tokenizer
    from ._core import ToolInfo as ToolInfo
    from ._core import extract_capabilities as extract_capabilities
    from ._decorator import tool as tool
    from .calls import CurrentCall as CurrentCall
    from .calls import current_call as current_call
    from .exceptions import *  # noqa: F403
    from .formatting import *  # noqa: F403
    from .hub import RunOutcome as RunOutcome
    from .hub import ToolHub as ToolHub
    from .parsing import *  # noqa: F403
    from .principal import *  # noqa: F403
    from .result import *  # noqa: F403
    from .routing import *  # noqa: F403
    from .text import Truncated as Truncated
    from .text import merge as merge
    from .text import truncate as truncate

__version__ = "0.1.0"

# Names are imported on first use, so that `import toolhub` and the command line stay fast.
_HOMES = {
    "_compat": "ToolCandidate",
    "_core": "Candidate Hit Tokenizer ToolInfo extract_capabilities",
    "_decorator": "tool",
    "calls": "CurrentCall current_call",
    "exceptions": "AuthenticationFailed ConnectionFailed ErrorKind InvalidArguments LimitExceeded NotAllowed ServerError "
    "Strategy ToolCancelled ToolError ToolFailed ToolNotFound ToolOverloaded ToolPaused ToolTimeout",
    "formatting": "format_results",
    "hub": "RunOutcome ToolHub",
    "parsing": "ParseResult ParsedCall StreamParser formats parse",
    "principal": "Principal",
    "result": "ToolResult",
    "routing": "Explanation",
    "text": "Truncated merge truncate",
}
_MODULE_OF = {name: module for module, names in _HOMES.items() for name in names.split()}
__all__ = sorted(_MODULE_OF)  # pyright: ignore[reportUnsupportedDunderAll]

_lifecycle.install()
if "TOOLHUB_RECORD" in os.environ or "TOOLHUB_REPLAY" in os.environ:
    from .testing.cassettes import use_environment

    use_environment()


def __getattr__(name: str) -> "Any":
    from importlib import import_module

    if (module := _MODULE_OF.get(name)) is not None:
        value = globals()[name] = getattr(import_module(f"{__name__}.{module}"), name)
        return value
    if not name.startswith("_"):
        # Submodules too, so that `toolhub.llm.OpenAI` works.
        try:
            return import_module(f"{__name__}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF})
