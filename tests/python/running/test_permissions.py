"""Permissions: one pattern language for tools of every source, and answers that approve."""

from fnmatch import fnmatchcase
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhub import ErrorKind, ToolHub
from toolhub.permissions import Permissions

PATTERNS = st.text("abc*?[]!-", max_size=10)
NAMES = st.text("abc]-!", max_size=8)


@given(pattern=PATTERNS.filter(lambda pattern: not pattern.startswith("!")), name=NAMES)
def test_patterns_mean_what_file_patterns_mean(pattern: str, name: str) -> None:
    expected = fnmatchcase(name, pattern)
    assert Permissions([pattern]).allows(name, None) is expected
    assert Permissions([pattern]).allows(name, "server") is expected
    assert Permissions([f"files/{pattern}"]).allows(name, "files") is expected
    assert Permissions(["*", f"!{pattern}"]).allows(name, None) is not expected


@pytest.mark.parametrize(
    ("allowed", "name", "server", "expected"),
    [
        (None, "x", None, True),
        ([], "x", None, False),
        (["*", "!docs/pdf"], "docs/pdf", "docs", False),
        (["docs/pdf"], "docs/pdf", "docs", True),
        (["docs/*"], "docs/pdf", "docs", True),
        (["native/*"], "docs/pdf", "docs", False),
        (["docs/pdf"], "docs/pdf", "evil", False),
        (["[fg]iles/read_*"], "read_file", "files", True),
        (["read_*"], "read_\ud800", None, True),
        # A name with a slash of its own: forbidden everywhere, allowed only with its scope in front.
        (["*", "!fs/delete"], "fs/delete", None, False),
        (["*", "!fs/delete"], "fs/delete", "evil", False),
        (["*", "!fs/*"], "fs/delete", None, False),
        (["fs/delete"], "fs/delete", None, False),
        (["native/fs/delete"], "fs/delete", None, True),
        (["fs/delete"], "fs/delete", "evil", False),
        (["*", " ! plain "], "plain", None, False),
    ],
)
def test_scopes_and_skills_of_servers(
    allowed: list[str] | None, name: str, server: str | None, expected: bool
) -> None:
    assert Permissions(allowed).allows(name, server) is expected


@pytest.mark.parametrize(
    "answer", [{"approved": False}, {"approved": True}, 1, [0], object(), "yes", None, 0]
)
def test_only_true_approves(answer: Any) -> None:
    hub = ToolHub()
    hub.register(lambda: "wiped", name="wipe", effects=True)
    request = '<tool_call>{"name": "wipe", "arguments": {}}</tool_call>'
    refused = hub.run_sync(request, approve=lambda approval: answer).results[0]
    assert refused.kind is ErrorKind.NOT_ALLOWED
    approved = hub.run_sync(request, approve=lambda approval: True).results[0]
    assert approved.result == "wiped"


@pytest.mark.parametrize("wrong", [[1], [None], [b"x"]])
def test_a_pattern_must_be_text(wrong: list[Any]) -> None:
    with pytest.raises(TypeError):
        Permissions(wrong)
