"""Arguments in the audit log of a served hub."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from support import wire
from support.gateway import serving
from toolhub import ToolHub


def digest_of(tmp_path: Path, name: str, flag: bool, **options: Any) -> str:
    """That of the arguments of one call, by a hub of its own."""
    hub = ToolHub()
    hub.register(lambda flag: flag, name="echo", read_only=True)
    audit = tmp_path / f"{name}.ndjson"
    with serving(hub, audit=audit, **options) as served:
        wire.call(served.url, "echo", {"flag": flag})
    (line,) = wire.audit_lines(audit)
    return line["arguments"]


def test_arguments_in_the_audit_log_cannot_be_found_by_trying(tmp_path: Path) -> None:
    """Nor compared between processes, unless they share their keys."""
    plain = hashlib.sha256(b'{"flag":true}').hexdigest()
    found = digest_of(tmp_path, "one", True)
    assert found.startswith("hmac-sha256:")
    assert plain not in found
    assert digest_of(tmp_path, "two", True) != found
    first, second = ["a" * 40], ["b" * 40]
    shared = digest_of(tmp_path, "three", True, session_keys=first)
    assert digest_of(tmp_path, "four", True, session_keys=[*first, *second]) == shared
    assert digest_of(tmp_path, "five", True, session_keys=second) != shared
    assert digest_of(tmp_path, "six", False, session_keys=first) != shared
