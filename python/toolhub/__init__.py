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
from ._core import Candidate, ToolInfo, extract_capabilities
from ._marks import tool
from .exceptions import ErrorKind, Strategy, ToolError
from .hub import ToolCandidate, ToolHub
from .result import ToolResult

__all__ = [
    "Candidate",
    "ErrorKind",
    "Strategy",
    "ToolCandidate",
    "ToolError",
    "ToolHub",
    "ToolInfo",
    "ToolResult",
    "extract_capabilities",
    "tool",
]
__version__ = "0.1.0"

_lifecycle.install()
