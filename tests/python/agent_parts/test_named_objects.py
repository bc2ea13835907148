"""Each object that an answer names needs a call of its own: people, folders, orders, rooms; and as many as it counts."""

from __future__ import annotations

from typing import Any

import pytest

from toolhub.agents import VerificationAgent


def did(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments, "success": True, "result": "ok"}


def failed(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments, "success": False, "error": "failed"}


def check(answer: str, *calls: dict[str, Any]) -> Any:
    return VerificationAgent().verify_result_sync(answer, evidence=calls)


LISTS = [
    ("I emailed Anna and Bob.", "send_mail", "to", "Anna", "Bob"),
    ("I sent the report to Bob and to Alice.", "send_mail", "to", "Bob", "Alice"),
    ("I have sent the report to Li Lei and Han Meimei.", "send_mail", "to", "Li Lei", "Han Meimei"),
    ("I deleted the folders alpha and beta.", "delete_folder", "name", "alpha", "beta"),
    ("I closed tickets T-4 and T-5.", "close_ticket", "id", "T-4", "T-5"),
    (
        "I turned off the lamp in the kitchen and the lamp in the hall.",
        "turn_off_lamp",
        "room",
        "kitchen",
        "hall",
    ),
    ("我已经把报告发给李雷和韩梅梅了。", "send_mail", "to", "李雷", "韩梅梅"),
    ("我给小李和小王发了邮件。", "send_mail", "to", "小李", "小王"),
    ("我删除了文件夹alpha和beta。", "delete_folder", "name", "alpha", "beta"),
    ("我重启了api和worker服务。", "restart_service", "service", "api", "worker"),
    ("厨房和客厅的灯都关了。", "turn_off_lamp", "room", "厨房", "客厅"),
    ("我把厨房的灯和客厅的灯关了。", "turn_off_lamp", "room", "厨房", "客厅"),
]


@pytest.mark.parametrize(("answer", "tool", "key", "one", "other"), LISTS)
def test_each_of_a_list_needs_its_call(answer: str, tool: str, key: str, one: str, other: str) -> None:
    first, second = did(tool, **{key: one}), did(tool, **{key: other})
    assert check(answer, first, second).issues == []
    assert check(answer, did(tool, **{key: [one, other]})).issues == []
    assert "no call was for" in check(answer, first).issues[-1]


@pytest.mark.parametrize(
    ("answer", "tool", "right", "wrong"),
    [
        ("I sent the report to Alice.", "send_mail", "Alice", "Bob"),
        ("I sent the report to Alice.", "send_mail", "alice@x.org", "bob@x.org"),
        ("I removed Kevin from the group.", "remove_member", "Kevin", "Karl"),
        ("I cancelled order A17.", "cancel_order", "A17", "A16"),
        ("Invoice INV-778 was deleted.", "delete_invoice", "INV-778", "INV-787"),
        ("我已把报告发给小王。", "send_mail", "小王", "小李"),
        ("我取消了订单A17。", "cancel_order", "A17", "A16"),
        ("订单B2291已退款。", "refund_order", "B2291", "B2219"),
    ],
)
def test_a_call_for_another_object_is_not_the_deed(answer: str, tool: str, right: str, wrong: str) -> None:
    assert check(answer, did(tool, x=right)).issues == []
    assert not check(answer, did(tool, x=wrong)).verified


@pytest.mark.parametrize(
    ("answer", "calls"),
    [
        (
            "I posted the update to Slack.",
            [did("post_message", channel="#general", text="The update is out")],
        ),
        ("I booked a table at Luigi's in Paris, France.", [did("book_table", name="Luigi's", city="Paris")]),
        ("I created the event in Google Calendar.", [did("create_event", title="Planning")]),
        ("I emailed Anna, and Bob will call you.", [did("send_mail", to="Anna")]),
        ("I emailed Anna about the trip with Bob.", [did("send_mail", to="anna@x.org")]),
        ("I deleted alpha and freed some space.", [did("delete_folder", name="alpha")]),
        ("I restarted the api service and everything looks fine.", [did("restart_service", service="api")]),
        (
            "I sent it to Anna and booked a room for Bob.",
            [did("send_mail", to="Anna"), did("book_room", guest="Bob")],
        ),
        (
            "I messaged Sofia.",
            [
                {**did("list_users"), "result": [{"name": "Sofia", "id": "Mia77"}]},
                did("send_message", user="Mia77", text="Hi"),
            ],
        ),
        ("我已把文件夹发给客户。", [did("send_folder", user="吴敏")]),
        ("我已把报表发给财务部。", [did("send_report", to="吴敏")]),
        ("我归档了项目apollo及其所有文件。", [did("archive_project", project="apollo")]),
        ("我删除了分支fix-login，其余分支保持不变。", [did("delete_branch", name="fix-login")]),
        ("服务器拒绝了这封邮件。", [failed("send_mail", to="小李")]),
    ],
)
def test_other_words_are_not_taken_for_objects(answer: str, calls: list[dict[str, Any]]) -> None:
    assert check(answer, *calls).issues == []


UPLOADS = [did("upload_file", f="a"), did("upload_file", f="b"), failed("upload_file", f="c")]


@pytest.mark.parametrize(
    ("answer", "is_true"),
    [
        ("All 3 files were uploaded.", False),
        ("I uploaded three files.", False),
        ("3个文件全部上传成功。", False),
        ("我已上传了三个文件。", False),
        ("2 of the 3 files were uploaded.", True),
        ("I uploaded two files; the third failed.", True),
        ("3个文件中有2个上传成功。", True),
    ],
)
def test_deeds_are_counted_by_the_calls_that_succeeded(answer: str, is_true: bool) -> None:
    assert check(answer, *UPLOADS).verified is is_true
