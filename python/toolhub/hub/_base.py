"""What all parts of the hub share."""

from .. import _core


class HubPart:
    """The common ground of the parts that make up `ToolHub`."""

    _core: _core.Hub
    _closed: bool
