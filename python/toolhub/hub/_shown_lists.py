"""Lists and tables that the hub returns: plain lists and dicts that a notebook shows as a table."""

from typing import TYPE_CHECKING, Any

from .._core import Hit, ToolInfo
from ._inspection import StatsRow

if TYPE_CHECKING:
    from ..display._html import Bundle


class ToolList(list[ToolInfo]):
    """Tools."""

    lang = "en"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> "Bundle":
        from ..display._views import of_tools

        return of_tools(self, self.lang)


class HitList(list[Hit]):
    """The hits of a search."""

    lang = "en"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> "Bundle":
        from ..display._views import of_hits

        return of_hits(self, self.lang)


class StatsList(list[StatsRow]):
    """Statistics, one row for each candidate."""

    lang = "en"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> "Bundle":
        from ..display._views import of_stats

        return of_stats(self, self.lang)


class StatsByTool(dict[str, list[StatsRow]]):
    """Statistics by the name of the tool."""

    lang = "en"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> "Bundle":
        from ..display._views import of_stats

        return of_stats([row for rows in self.values() for row in rows], self.lang)
