"""A claimed deed is not done by a call that did the contrary, in both languages and however it is said."""

from __future__ import annotations

from typing import Any

import pytest

from toolhub.agents import VerificationAgent


def issues(answer: str, *tools: str, **arguments: Any) -> list[str]:
    calls = [{"tool": tool, "arguments": arguments, "success": True, "result": "ok"} for tool in tools]
    return VerificationAgent().verify_result_sync(answer, evidence=calls).issues


@pytest.mark.parametrize(
    ("answer", "right", "contrary"),
    [
        ("The light has been turned off.", "turn_off_light", "turn_on_light"),
        ("Light turned off.", "turn_off_light", "turn_on_light"),
        ("The light was turned on.", "turn_on_light", "turn_off_light"),
        ("灯关了。", "turn_off", "turn_on"),
        ("灯打开了。", "turn_on_light", "turn_off_light"),
        ("I locked the door.", "lock_door", "unlock_door"),
        ("门已解锁。", "unlock_door", "lock_door"),
        ("I enabled the firewall.", "enable_firewall", "disable_firewall"),
        ("已开启防火墙。", "enable_firewall", "disable_firewall"),
        ("I started the server.", "start_server", "stop_server"),
        ("I launched the server.", "launch_server", "stop_server"),
        ("已停止服务器。", "stop_server", "start_server"),
        ("I archived the mail.", "archive_mail", "unarchive_mail"),
        ("I pinned the note.", "pin_note", "unpin_note"),
        ("I approved the request.", "approve_request", "reject_request"),
        ("已批准申请。", "approve_request", "reject_request"),
        ("我接受了邀请。", "accept_invitation", "decline_invitation"),
        ("I bought the shares.", "buy_shares", "sell_shares"),
        ("I increased the limit.", "increase_limit", "decrease_limit"),
        ("The account has been frozen.", "freeze_account", "unfreeze_account"),
    ],
)
def test_the_contrary_of_a_deed_is_not_the_deed(answer: str, right: str, contrary: str) -> None:
    assert issues(answer, right) == []
    assert len(issues(answer, contrary)) == 1


def test_an_argument_may_tell_what_was_done() -> None:
    assert issues("已把空调关闭。", "set_ac", power="off") == []
    assert len(issues("已把空调关闭。", "set_ac", power="on")) == 1


@pytest.mark.parametrize(
    ("answer", "tool"),
    [
        ("The door was unlocked, so I locked it.", "lock_door"),
        ("灯之前是关闭的，现在已打开。", "turn_on_light"),
        ("The server is running; note that the firewall is disabled.", "start_server"),
        ("I silenced the alarm on the roof.", "turn_off_alarm"),
        ("I turned the light on the porch off.", "turn_off_light"),
        ("I opened a ticket: the printer was turned off.", "create_ticket"),
        ("I unlocked your account.", "enable_account"),
    ],
)
def test_what_was_before_and_other_words_for_a_deed_are_not_the_contrary(answer: str, tool: str) -> None:
    assert issues(answer, tool) == []
