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
from typing import TYPE_CHECKING, Any

from . import _lifecycle
from ._compat import ToolCandidate
from ._core import Candidate, Hit, Tokenizer, ToolInfo, Truncated, extract_capabilities
from ._marks import tool
from .calls import CurrentCall, current_call
from .exceptions import (
    AuthenticationFailed,
    ConnectionFailed,
    ErrorKind,
    InvalidArguments,
    LimitExceeded,
    NotAllowed,
    ServerError,
    Strategy,
    ToolCancelled,
    ToolError,
    ToolFailed,
    ToolNotFound,
    ToolOverloaded,
    ToolPaused,
    ToolTimeout,
)
from .formatting import format_results
from .hub import RunOutcome, ToolHub
from .parsing import ParsedCall, ParseResult, StreamParser, formats, parse
from .principal import Principal
from .result import ToolResult
from .routing import Explanation
from .text import merge, truncate

__all__ = [
    "AuthenticationFailed",
    "Candidate",
    "ConnectionFailed",
    "CurrentCall",
    "ErrorKind",
    "Explanation",
    "Hit",
    "InvalidArguments",
    "LimitExceeded",
    "NotAllowed",
    "ParseResult",
    "ParsedCall",
    "Principal",
    "RunOutcome",
    "ServerError",
    "Strategy",
    "StreamParser",
    "Tokenizer",
    "ToolCancelled",
    "ToolCandidate",
    "ToolError",
    "ToolFailed",
    "ToolHub",
    "ToolInfo",
    "ToolNotFound",
    "ToolOverloaded",
    "ToolPaused",
    "ToolResult",
    "ToolTimeout",
    "Truncated",
    "current_call",
    "extract_capabilities",
    "format_results",
    "formats",
    "merge",
    "parse",
    "tool",
    "truncate",
]
__version__ = "0.1.0"

if TYPE_CHECKING:
    from . import agents as agents
    from . import display as display
    from . import kit as kit
    from . import llm as llm
    from . import testing as testing

_lifecycle.install()
if "TOOLHUB_RECORD" in os.environ:
    from .testing._environment import record_from_environment

    record_from_environment()


def __getattr__(name: str) -> Any:
    # Submodules are imported on first use, so that `toolhub.llm.OpenAI` works and `import toolhub` stays fast.
    if name in ("agents", "display", "kit", "llm", "testing"):
        from importlib import import_module

        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
