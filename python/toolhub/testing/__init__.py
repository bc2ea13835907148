"""Record what a program's hubs and models do, and replay it: no server, no tool, no network.

>>> import tempfile, toolhub
>>> from toolhub.testing import record, replay
>>> hub = toolhub.ToolHub()
>>> @hub.tool
... def add(a: int, b: int) -> int:
...     return a + b
>>> path = tempfile.mkdtemp() + "/sums.ndjson"
>>> with record(path):
...     _ = hub.call("add", {"a": 1, "b": 2})
>>> with replay(path):
...     hub.call("add", {"a": 1, "b": 2}).result
3
"""

from .cassettes import CassetteError, ReplayError, record, replay
from .network import NetworkBlockedError, block_network

__all__ = ["CassetteError", "NetworkBlockedError", "ReplayError", "block_network", "record", "replay"]
