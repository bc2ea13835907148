"""Lists and tables that the hub returns: plain lists and dicts that a notebook shows as a table."""

from .._core import Hit, ToolInfo
from .._lazy import shown_as
from ._inspection import StatsRow


class ToolList(list[ToolInfo]):
    """Tools."""

    _repr_mimebundle_ = shown_as("of_tools")


class HitList(list[Hit]):
    """The hits of a search."""

    _repr_mimebundle_ = shown_as("of_hits")


class StatsList(list[StatsRow]):
    """Statistics, one row for each candidate."""

    _repr_mimebundle_ = shown_as("of_stats")


class StatsByTool(dict[str, list[StatsRow]]):
    """Statistics by the name of the tool."""

    _repr_mimebundle_ = shown_as("of_stats_by_tool")
