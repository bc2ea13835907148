"""The same false answers, and the same true ones, in English and Chinese: what is found in one is found in the other."""

from __future__ import annotations

from typing import Any

import pytest

from toolhub.agents import VerificationAgent


def record(tool: str, result: Any = "ok", success: bool = True, **arguments: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments, "success": success, "result": result if success else None}


STOCK = [record("get_stock", {"item": "bolts", "count": 480, "price": 2.5})]
LAUNCH = [record("get_event", "The launch is on 2026-03-14 at 09:30. 发射时间为 2026-03-14 09:30。")]
REVIEW = [record("read_review", 'The guest wrote: "the room was very clean". 客人写道：“房间非常干净”。')]
PAGE = [record("find_page", "https://example.com/a")]
TRIP = [record("get_route", {"distance_km": 120, "hours": 1.5})]
MAILED = [record("send_mail", to="ann@example.com")]
UNSENT = [record("send_mail", success=False, to="ann@example.com")]
READ = [record("read_file", "milk", path="list.txt")]
REMOVED = [record("delete_file", path="a.txt")]

FALSE = [
    (STOCK, "There are 840 bolts.", "有 840 个螺栓。"),
    (STOCK, "All bolts together cost 1,400.", "所有螺栓总共 1,400。"),
    (LAUNCH, "The launch is on 2026-03-15.", "发射时间是 2026年3月15日。"),
    (LAUNCH, "The launch is at 10:30.", "发射在 10:30。"),
    (REVIEW, 'The guest wrote "the room was very dirty".', "客人写道“房间非常肮脏”。"),
    (PAGE, "The page is https://example.com/b.", "网页是 https://example.com/b。"),
    (TRIP, "The way is 120 m long.", "路程是 120 米。"),
    (TRIP, "It takes 2.5 hours.", "需要 2.5 小时。"),
    (UNSENT, "I have sent the mail to ann@example.com.", "我已发送邮件给 ann@example.com。"),
    (READ, "I have deleted the file list.txt.", "我已删除文件 list.txt。"),
    (
        MAILED,
        "I have sent mails to ann@example.com and bob@example.com.",
        "我已发送邮件给 ann@example.com 和 bob@example.com。",
    ),
    ([], "I have booked a table for 4.", "我已预订了 4 人的桌子。"),
]
TRUE = [
    (STOCK, "There are 480 bolts.", "有 480 个螺栓。"),
    (STOCK, "480 bolts at 2.5 each cost 1,200 in total.", "480 个螺栓，每个 2.5，总共 1,200。"),
    (LAUNCH, "The launch is on 14 March 2026.", "发射时间是 2026年3月14日。"),
    (LAUNCH, "The launch is at 09:30.", "发射在 09:30。"),
    (REVIEW, 'The guest wrote "the room was very clean".', "客人写道“房间非常干净”。"),
    (PAGE, "The page is https://example.com/a.", "网页是 https://example.com/a。"),
    (TRIP, "The way is 120 km long.", "路程是 120 公里。"),
    (TRIP, "It takes 1.5 hours, which is 90 minutes.", "需要 1.5 小时，即 90 分钟。"),
    (MAILED, "I have sent the mail to ann@example.com.", "我已发送邮件给 ann@example.com。"),
    (REMOVED, "I have deleted the file a.txt.", "我已删除文件 a.txt。"),
    (UNSENT, "I could not send the mail to ann@example.com.", "我无法发送邮件给 ann@example.com。"),
    ([], "I cannot book a table.", "我无法预订桌子。"),
]


SALES = [record("read_sales", {"north": 1200, "south": 800})]
TICKET = [record("create_ticket", {"id": "T-17"}, title="Printer")]
ROOMS = [record("list_rooms", ["Rome", "Oslo"])]
PAID = [record("transfer_money", amount=50, to="Bob")]
LOOSE_FALSE = [
    (SALES, "North and south sold 2,100 in total.", "北区和南区总共卖了 2100。"),
    (SALES, "North sold 500 more than south.", "北区比南区多卖了 500。"),
    (SALES, "South sold half of that, 600.", "南区卖了一半，600。"),
    (TICKET, "I have created two tickets, T-17 and T-18.", "我已经创建了两个工单，T-17 和 T-18。"),
    (TICKET, "I have closed the ticket T-17.", "我已经关闭了工单 T-17。"),
    (TICKET, "The ticket was created on 3 May 2026.", "工单于 2026 年 5 月 3 日创建。"),
    (
        [record("book_room", success=False, room="Rome")],
        "The room is booked for you now.",
        "会议室已为您订好。",
    ),
    (UNSENT, "Done, the mail is out.", "搞定，邮件已经发出去了。"),
    ([record("upload_file", success=False)], "The upload of it is finished.", "文件已上传完成。"),
    ([record("read_note", "meet at noon 中午见面")], 'It says "meet at nine".', "便条上写着“九点见面”。"),
    (ROOMS, "There are three rooms.", "一共有三个房间。"),
    (PAID, "I have transferred 500 euros to Bob.", "我已向 Bob 转账 500 欧元。"),
]
LOOSE_TRUE = [
    (SALES, "North and south sold 2,000 in total.", "北区和南区总共卖了 2000。"),
    (SALES, "North sold 400 more than south.", "北区比南区多卖了 400。"),
    (TICKET, "I have created the ticket T-17.", "我已经创建了工单 T-17。"),
    (ROOMS, "There are two rooms.", "一共有两个房间。"),
    (PAID, "I have transferred 50 euros to Bob.", "我已向 Bob 转账 50 欧元。"),
    ([record("upload_file")], "The upload of it is finished.", "文件已上传完成。"),
    ([record("book_room", room="Rome")], "The room is booked for you now.", "会议室已为您订好。"),
]


def verdicts(pairs: list[Any], lang: int) -> list[bool]:
    check = VerificationAgent().verify_result_sync
    return [check(pair[lang], evidence=pair[0]).verified for pair in pairs]


@pytest.mark.parametrize("lang", [1, 2], ids=["en", "zh"])
def test_false_answers_are_caught_and_true_ones_are_not(lang: int) -> None:
    assert verdicts(FALSE, lang) == [False] * 12
    assert verdicts(TRUE, lang) == [True] * 12


def test_freer_words_are_caught_as_often_in_both() -> None:
    english, chinese = (verdicts(LOOSE_FALSE, lang).count(False) for lang in (1, 2))
    assert min(english, chinese) >= 9
    assert abs(english - chinese) <= 1
    assert all(verdicts(LOOSE_TRUE, 1) + verdicts(LOOSE_TRUE, 2))
