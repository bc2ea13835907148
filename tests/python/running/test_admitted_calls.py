"""`hub.run(…, admit=)`: a function that sees each call before it is made."""

from __future__ import annotations

from typing import Any

import pytest

from support.agents import call, office
from toolhub import ParsedCall, ToolHub, ToolResult
from toolhub.kit import failed_result


def test_a_call_that_is_not_admitted_is_not_made_and_the_others_are() -> None:
    hub, calls = office()
    seen: list[tuple[str, Any]] = []

    def admit(asked: ParsedCall) -> ToolResult | None:
        seen.append((asked.name, asked.arguments))
        return failed_result(asked.name, "limit", "Enough.") if len(seen) == 2 else None

    text = (
        call("calculate", expression="1+1")
        + call("send_mail", to="a", text="b")
        + call("calculate", expression="2+2")
    )
    outcome = hub.run_sync(text, admit=admit)
    assert [one.success for one in outcome.results] == [True, False, True]
    assert outcome.results[1].error == "Enough."
    assert "Enough." in outcome.messages[0]["content"]
    assert [name for name, _ in calls] == ["calculate", "calculate"]
    assert [name for name, _ in seen] == ["calculate", "send_mail", "calculate"]


def test_admit_must_be_a_function() -> None:
    with pytest.raises(TypeError, match="admit must be a function, got bool"):
        ToolHub().run_sync("", admit=True)  # type: ignore[arg-type]
