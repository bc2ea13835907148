"""Values and deeds as people write them: number words, times, signs, shares, dates, paths; numbers of the question."""

from __future__ import annotations

from typing import Any

import pytest

from toolhub.agents import VerificationAgent


def verify(answer: str, result: Any, question: str = "") -> Any:
    records = [] if result is None else [{"tool": "look", "arguments": {}, "success": True, "result": result}]
    return VerificationAgent().verify_result_sync(answer, evidence=records, question=question)


VALUES = [
    ("二十五度。", "It is twenty-five degrees.", {"temperature": 25}, {"temperature": 21}),
    ("共三十五人。", "There are thirty-five people.", {"people": 35}, {"people": 18}),
    ("共三百人。", "There are three hundred people.", {"people": 300}, {"people": 180}),
    ("一百五十万", "1.5 million", {"n": 1_500_000}, {"n": 150_000}),
    ("三万五千元。", "It is thirty-five thousand.", {"price": 35_000}, {"price": 30_500}),
    ("共两页。", "There are two pages.", {"pages": 2}, {"pages": 3}),
    ("上涨百分之十。", "It rose ten percent.", {"rise_percent": 10}, {"rise_percent": 5}),
    ("湿度63%。", "The humidity is 63%.", {"humidity": 0.63}, {"humidity": 0.36}),
    (
        "从80升到100，增长25%。",
        "It rose from 80 to 100, by 25%.",
        {"old": 80, "new": 100},
        {"old": 80, "new": 110},
    ),
    ("五月十八日开会。", "It is on 18.05.2026.", "2026-05-18", "2026-05-17"),
    ("二〇二六年五月十八日", "May 18, 2026", "2026-05-18", "2026-05-17"),
    ("下午2点15分开始。", "It begins at 2:15 pm.", "14:15", "15:14"),
    ("下午三点半。", "It is 3:30 pm.", "2026-05-17T15:30:00", "2026-05-17T03:30:00"),
    ("凌晨3:30。", "It is 3:30 am.", "03:30", "15:30"),
    ("两点开始。", "It begins at 2 pm.", "14:00", "15:00"),
    ("20点05分到。", "It arrives at 8:05 pm.", "20:05", "20:50"),
    ("下午三点半出发。", "It leaves at half past three pm.", "15:30", "15:15"),
    ("下午两点一刻。", "It is a quarter past two in the afternoon.", "14:15", "14:30"),
    ("现在6点三刻。", "It is a quarter to seven.", "18:45", "19:15"),
    (
        "会议在两天后，即3月8日。",
        "The meeting is in 2 days, on March 8.",
        {"today": "2026-03-06", "in_days": 2},
        {"today": "2026-03-05", "in_days": 2},
    ),
    ("最低气温3度。", "It fell to 3°.", {"low": "3°"}, {"low": "−3°"}),
    (
        "最高气温三度。",
        "The highest is 3 degrees.",
        [{"max_c": 3, "rain": 0.8}, {"max_c": 4, "rain": 0.15}],
        [{"max_c": -3, "rain": 0.8}, {"max_c": 4, "rain": 0.15}],
    ),
    ("外面5度。", "It is 5 °C outside.", {"temp": 5}, {"temp": -5}),
    ("余额为200元。", "The balance is 200 euros.", {"balance": 200}, {"balance": -200}),
    ("透支了200元。", "The account is overdrawn by 200.", {"balance": -200}, {"balance": -300}),
    ("在/home/b下", "It is in /home/b.", ["/home/b"], ["/home/a"]),
    ("见 www.a.org。", "Visit www.a.org.", "www.a.org", "www.a.com"),
    (
        "单号是20261118025500123。",
        "It is 20261118025500123.",
        {"id": "20261118025500123"},
        {"id": "20261118025500124"},
    ),
]


@pytest.mark.parametrize("at", range(2))
@pytest.mark.parametrize(("chinese", "english", "right", "wrong"), VALUES)
def test_a_value_is_read_as_people_mean_it(
    chinese: str, english: str, right: Any, wrong: Any, at: int
) -> None:
    answer = (chinese, english)[at]
    assert verify(answer, right).issues == []
    assert not verify(answer, wrong).verified


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        ("余额从五月的1000元降到了900元。", {"may": 1000, "now": 900}),
        ("12月的余额是900元。", {"december": 900}),
        (
            "2 rooms for 3 nights at $300 each, $1,800 in total.",
            {"rooms": 2, "nights": 3, "price_per_night": 300},
        ),
        ("两间房，共三晚，总价1800元。", {"rooms": 2, "nights": 3, "price_per_night": 300}),
        ("a.txt is at /home/a/a.txt.", {"directory": "/home/a", "files": ["a.txt"]}),
        ("It fell by 5%.", {"change_percent": -5}),
        ("下降了5%。", {"change_percent": -5}),
        ("It costs twenty-odd euros.", {"price": 21.4}),
        ("二十多度。", {"temp": 21.4}),
        ("有两点需要注意。", {"items": ["a", "b", "c"]}),
        ("万一下雨，十分遗憾，一点也不好。", {"rain": 4}),
        ("张三和王五都来了。", {"names": ["张三", "王五", "x"]}),
        ("这是第三章。", {"chapter": "3"}),
        ("现在是二十一世纪。", "2026-03-06"),
        ("It fell by 3 degrees.", {"change": -3}),
        ("气温下降了3度。", {"change": -3}),
        ("Steps: 1) open 2) click 3) close", "open, click, close"),
        ("步骤：1. 打开 2. 点击 3. 关闭", "打开，点击，关闭"),
        ("It is due in 3 days, on May 11.", {"today": "2026-05-08", "days_left": 3}),
        ("One of them is open.", {"open": ["a"], "closed": ["b", "c"]}),
    ],
)
def test_what_is_not_read_as_a_value_is_not_doubted(answer: str, result: Any) -> None:
    assert verify(answer, result).issues == []


@pytest.mark.parametrize(
    ("question", "answer", "result", "is_true"),
    [
        ("Does it cost 480 euros?", "Yes, it costs 480 euros.", {"price": 450}, False),
        ("价格是480元吗？", "是的，价格是480元。", {"price": 450}, False),
        ("Does it cost 480 euros?", "No, it costs 450, not 480.", {"price": 450}, True),
        ("Does it cost 480 euros?", "No, it does not cost 480 euros.", {"price": 450}, True),
        ("价格是480元吗？", "不是480元，是450元。", {"price": 450}, True),
        ("Is it colder than 10 degrees?", "Yes, it is below 10 degrees.", {"temp": 7}, True),
        ("Is the meeting on May 18?", "Yes, it is on May 18.", "2026-05-17", False),
        ("会议是5月18日吗？", "是的，是5月18日。", "2026-05-17", False),
        ("Is the meeting at 3 pm?", "Yes, it is at 3 pm.", "2026-05-17 16:00", False),
        ("What is 6 times 7?", "The answer is 42.", None, True),
        ("What is 6 times 7?", "The answer is 13.", None, False),
        ("6乘7是多少？", "答案是42。", None, True),
        ("6乘7是多少？", "答案是13。", None, False),
        ("Convert 50 dollars.", "50 dollars are 46 euros.", {"euros": 46}, True),
        ("Can you find me 3 hotels?", "Here are 3 hotels.", {"hotels": 4, "stars": [4, 5]}, True),
        ("Is 17 prime?", "Yes, 17 is prime.", {"is_prime": True}, True),
    ],
)
def test_a_number_that_is_asked_about_is_no_evidence(
    question: str, answer: str, result: Any, is_true: bool
) -> None:
    assert verify(answer, result, question).verified is is_true


def deed(tool: str, success: bool = True, **arguments: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments, "success": success, "result": "ok" if success else None}


@pytest.mark.parametrize(
    ("answer", "tool"),
    [
        ("我给他发了邮件。", "send_mail"),
        ("邮件发好了。", "send_mail"),
        ("我关了灯。", "turn_off_light"),
        ("灯关了。", "turn_off_light"),
        ("机票订好了。", "book_flight"),
        ("闹钟设好了。", "set_alarm"),
        ("我给Bob打了电话。", "call_phone"),
        ("我把它删了。", "delete_file"),
        ("我付了账单。", "pay_bill"),
        ("Payment made.", "pay"),
        ("The booking is complete!", "book_room"),
    ],
)
def test_a_deed_is_heard_however_it_is_said(answer: str, tool: str) -> None:
    check = VerificationAgent().verify_result_sync
    assert not check(answer, evidence=[deed(tool, success=False, x="a")]).verified
    assert check(answer, evidence=[deed(tool, x="a")]).issues == []


@pytest.mark.parametrize(
    "answer",
    [
        "我出发了。",
        "他发现了问题。",
        "分析完成了。",
        "除了他，大家都在。",
        "一共用了三天。",
        "Bob给你发了一封邮件。",
        "Analysis complete.",
    ],
)
def test_what_is_not_a_deed_is_not_doubted(answer: str) -> None:
    read = {
        "tool": "read_mail",
        "arguments": {},
        "success": True,
        "result": "from Bob, three days ago: 3 days",
    }
    assert VerificationAgent().verify_result_sync(answer, evidence=[read]).issues == []


@pytest.mark.parametrize(
    ("answer", "calls", "is_true"),
    [
        ("I turned the light off.", [deed("turn_on", entity="light")], False),
        ("I turned the light off.", [deed("turn_off", entity="light")], True),
        ("I turned off the light.", [deed("set_light", state="off")], True),
        ("我关闭了灯。", [deed("turn_on", entity="light")], False),
        ("我关闭了灯。", [deed("turn_off", entity="light")], True),
        ("I have sent the mail to Bob.", [deed("send_mail", to="anna@x.org")], False),
        ("I have sent the mail to Anna.", [deed("send_mail", to="anna@x.org")], True),
        ("I have sent the mail to Bob.", [deed("send_mail", to="b.jones@x.org")], True),
        (
            "I have sent the mail to Bob.",
            [deed("find_contact", name="Bob"), deed("send_mail", to="r.jones@x.org")],
            True,
        ),
    ],
)
def test_a_deed_has_its_object_and_its_direction(
    answer: str, calls: list[dict[str, Any]], is_true: bool
) -> None:
    assert VerificationAgent().verify_result_sync(answer, evidence=calls).verified is is_true


@pytest.mark.parametrize("answer", ["2 rooms for 3 nights at $300 each, $1,500 in total.", "总价1500元。"])
def test_a_wrong_total_of_three_factors_is_doubted(answer: str) -> None:
    assert verify(answer, {"rooms": 2, "nights": 3, "price_per_night": 300}).issues != []
