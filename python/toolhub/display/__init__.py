"""Hubs, tools, results and their like as they look in a notebook, and a view that follows a hub while it works.

A notebook shows the last value of a cell: a hub with its servers and tools, a tool with its parameters, a result with its
tables and images and the time of each candidate, hits of a search, an explanation, a plan, statistics. Everything that comes
from tools, models or servers is escaped, and nothing is loaded from elsewhere.
"""

from ._live import LiveView, live

__all__ = ["LiveView", "live"]
