"""One fast, safe door to every tool an AI agent has.

>>> from toolhub import ToolHub
>>> hub = ToolHub()
>>> @hub.tool
... def add(a: int, b: int) -> int:
...     "Add two numbers."
...     return a + b
>>> hub.call("add", {"a": 2, "b": 3}).result
5
"""

from . import _lifecycle
from ._core import Candidate, Tokenizer, ToolInfo, Truncated, extract_capabilities
from ._marks import tool
from .exceptions import ErrorKind, Strategy, ToolError
from .hub import ToolCandidate, ToolHub
from .result import ToolResult
from .routing import Explanation
from .text import merge, truncate

__all__ = [
    "Candidate",
    "ErrorKind",
    "Explanation",
    "Strategy",
    "Tokenizer",
    "ToolCandidate",
    "ToolError",
    "ToolHub",
    "ToolInfo",
    "ToolResult",
    "Truncated",
    "extract_capabilities",
    "merge",
    "tool",
    "truncate",
]
__version__ = "0.1.0"

_lifecycle.install()
