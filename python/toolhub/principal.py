"""The caller of a served hub."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Principal"]


@dataclass(frozen=True)
class Principal:
    """A caller of a served hub, as its credentials show. It has no token: the one of the caller stays in the core.

    >>> Principal("token:ann", "ann", {}).id
    'token:ann'
    """

    id: str
    """Unique among the callers: the name and how it was shown, as in the audit log."""
    name: str
    """As the token, the claim or `authenticate` names the caller."""
    claims: Mapping[str, Any]
    """The claims of a JWT, or those that `authenticate` returned."""
    view: str | None = None
    """The only view that the credentials allow."""
