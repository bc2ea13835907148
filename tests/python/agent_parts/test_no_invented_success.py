"""No deed that did not happen becomes a success: missing tools, invented values, failed and refused calls."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from support.agents import Roles, Script, call
from toolhub import ToolHub
from toolhub.agents import ChatLoop, CoordinationAgent, ExecutionAgent, Step, VerificationAgent

TEXT: dict[str, Any] = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}


class Office:
    """A hub with tools of these names; those that fail raise. `calls` are those that reached them."""

    def __init__(self) -> None:
        self.hub = ToolHub()
        self.calls: list[tuple[str, Any]] = []

    def add(self, name: str, parameters: dict[str, Any] = TEXT, fails: bool = False, **options: Any) -> None:
        def tool(**given: Any) -> str:
            self.calls.append((name, given.get("text")))
            if fails:
                raise OSError("down")
            return f"{name} ok"

        self.hub.register(tool, name=name, parameters=parameters, **options)

    def reading(self, *names: str, parameters: dict[str, Any] = TEXT) -> Office:
        for name in names:
            self.add(name, parameters, read_only=True)
        return self


def plan(*steps: tuple[int, str, str, dict[str, Any]]) -> str:
    return json.dumps(
        [{"id": id, "description": said, "tool_type": tool, **more} for id, said, tool, more in steps]
    )


MISSING = [
    ("Commit the work", "git"),
    ("提交代码", "git"),
    ("Pay 50 euros to Anna", "bank"),
    ("Remember that Anna likes tea", "memory"),
    ("记住Anna喜欢茶", "记忆"),
    ("Clear the history", "history"),
    ("清空历史", "历史"),
    ("给Bob发邮件", "邮件"),
    ("Put on some jazz", "music"),
    ("放点爵士乐", "音乐播放"),
    ("Set an alarm for 7:00", "time"),
    ("Send the list of files", "list_mails"),
]


@pytest.mark.parametrize(("said", "tool"), MISSING)
def test_a_missing_tool_that_may_act_is_not_replaced(said: str, tool: str) -> None:
    office = Office().reading("git_log", "list_mail", "get_history", "get_time", parameters=NOTHING)
    office.reading("search_memory", "search_web")
    answer = CoordinationAgent(office.hub, Roles(plan((1, said, tool, {})), "Done.", "{}")).answer_sync(said)
    assert (answer.success, answer.reason, office.calls) == (False, "failed", [])
    assert f"There is no tool named '{tool}'" in answer.text


@pytest.mark.parametrize(
    ("said", "tool"), [("Look up the tide", "tides"), ("The tide in Brest", "get_tide"), ("查询潮汐", "潮汐")]
)
def test_a_missing_tool_that_only_reads_is_reasoned(said: str, tool: str) -> None:
    answer = CoordinationAgent(ToolHub(), Roles(plan((1, said, tool, {})), "High.")).answer_sync(said)
    assert (answer.text, answer.success, answer.verification["verified"]) == ("High.", True, False)


def test_thinking_is_not_a_missing_tool() -> None:
    for tool in ("none", "reasoning"):
        answer = CoordinationAgent(
            ToolHub(), Roles(plan((1, "Write a poem", tool, {})), "Roses.")
        ).answer_sync("Poem")
        assert (answer.text, answer.success, answer.steps[0]["method"]) == ("Roses.", True, "reasoning")


@pytest.mark.parametrize("between", [False, True])
def test_no_deed_builds_on_a_value_that_was_made_up(between: bool) -> None:
    office = Office()
    office.add("get_balance", NOTHING, fails=True, read_only=True)
    office.add("transfer_money")
    steps = [(1, "Get the balance", "get_balance", {"arguments": {}})]
    steps += [(2, "Halve it", "none", {"dependencies": [1]})] if between else []
    steps += [(3, "Transfer it", "transfer_money", {"dependencies": [2 if between else 1]})]
    answer = CoordinationAgent(office.hub, Roles(plan(*steps), "1000", '{"text": "1000"}')).answer_sync("Go")
    assert (answer.success, [name for name, _ in office.calls]) == (False, ["get_balance"])
    assert answer.errors[-1] == (
        "Step 3: Not sent, because it builds on step 1, which the model answered in place of a tool."
    )


@pytest.mark.parametrize(
    ("failing", "other"),
    [
        ("get_stock_price", "get_exchange_rate"),
        ("git_diff", "git_log"),
        ("get_time", "get_timezone"),
        ("search_songs", "find_contact"),
        ("read_file", "list_files"),
        ("compute_hash", "calculator"),
        ("calculate", "calculate_tax"),
        ("计算", "计算税费"),
        ("search", "search_contacts"),
    ],
)
def test_a_common_topic_makes_no_stand_in(failing: str, other: str) -> None:
    office = Office().reading(other)
    office.add(failing, fails=True, read_only=True)
    ExecutionAgent(office.hub).execute_step_sync(Step(1, "x", failing, arguments={"text": "x"}))
    assert [name for name, _ in office.calls] == [failing]


@pytest.mark.parametrize(
    ("failing", "other"),
    [
        ("get_weather", "weather"),
        ("searchWeb", "web_search"),
        ("calculate", "calculator"),
        ("math_calculator", "calc"),
        ("计算", "calculate"),
    ],
)
def test_names_that_say_the_same_stand_in(failing: str, other: str) -> None:
    office = Office().reading(other)
    office.add(failing, fails=True, read_only=True)
    result = ExecutionAgent(office.hub).execute_step_sync(
        Step(1, "2 + 2", failing, arguments={"text": "2 + 2"})
    )
    assert (result.method, result.tool) == ("capability", other)


REORDERED = [
    ("transfer_checking_to_savings", "transfer_savings_to_checking", "Transfer 100 from checking to savings"),
    ("move_inbox_to_archive", "move_archive_to_inbox", "Move the mails of the inbox to the archive"),
    ("invoice_pay", "pay_invoice", "Pay invoice 1"),
    ("mail_send", "send_mail", "给Bob发邮件"),
]


@pytest.mark.parametrize(("planned", "other", "said"), REORDERED)
@pytest.mark.parametrize("given", [{}, {"arguments": {"text": "100"}}])
def test_a_deed_is_not_done_by_a_tool_with_its_words_in_another_order(
    planned: str, other: str, said: str, given: dict[str, Any]
) -> None:
    office = Office()
    office.add(other)
    model = Roles(plan((1, said, planned, given)), "Done.", '{"text": "100"}')
    answer = CoordinationAgent(office.hub, model).answer_sync(said)
    assert (answer.success, office.calls) == (False, [])
    assert f"There is no tool named '{planned}'." in answer.errors[0]


@pytest.mark.parametrize(
    ("planned", "other", "is_same"),
    [
        ("convert_usd_to_eur", "convert_eur_to_usd", False),
        ("get_seller_for_buyer", "get_buyer_for_seller", False),
        ("seller_for_buyer", "get_buyer_for_seller", False),
        ("translate_en_de", "translate_de_en", False),
        ("get_usd_eur", "get_eur_usd", False),
        ("web_search", "search_web", True),
        ("page_summary_read", "readPageSummary", True),
    ],
)
@pytest.mark.parametrize("exists", [False, True])
def test_only_the_verb_of_a_harmless_name_may_stand_elsewhere(
    planned: str, other: str, is_same: bool, exists: bool
) -> None:
    """The same for a tool that does not exist and for one that fails."""
    office = Office().reading(other)
    if exists:
        office.add(planned, fails=True, read_only=True)
    steps = plan((1, "Get it for 100", planned, {"arguments": {"text": "100"}}))
    model = Roles(steps, "I think so.", '{"text": "100"}')
    answer = CoordinationAgent(office.hub, model).answer_sync("Get it")
    assert (other in dict(office.calls)) is is_same
    assert answer.verification["verified"] is is_same


@pytest.mark.parametrize("planned", ["sendMail", "SEND_MAIL", "send-mail()"])
def test_a_name_in_another_spelling_is_the_same_tool(planned: str) -> None:
    office = Office()
    office.add("send_mail")
    steps = plan((1, "Mail it", planned, {"arguments": {"text": "a"}}))
    assert CoordinationAgent(office.hub, Roles(steps)).answer_sync("Mail it").success
    assert office.calls == [("send_mail", "a")]


def test_a_failed_deed_is_not_verified_by_what_is_said_after_it() -> None:
    office = Office()
    office.add("send_mail", fails=True)
    steps = plan((1, "Mail it", "send_mail", {"arguments": {"text": "a"}}), (2, "Sum up", "none", {}))
    answer = CoordinationAgent(office.hub, Roles(steps, "Everything is done.")).answer_sync("Mail it")
    assert (answer.success, answer.verification["verified"]) == (False, False)
    assert answer.verification["confidence"] <= 0.3
    assert "The call of 'send_mail' did not succeed" in answer.verification["issues"][0]


@pytest.mark.parametrize("refuses", [False, True])
def test_a_loop_with_a_failed_deed_is_not_a_success(refuses: bool) -> None:
    office = Office()
    office.add("send_mail", fails=not refuses)
    asked = (lambda _: False) if refuses else None
    loop = ChatLoop(office.hub, Script(call("send_mail", text="a"), "All done!"), approve=asked)
    answer = loop.answer_sync("Mail it")
    assert (answer.success, answer.reason, answer.text) == (False, "failed", "All done!")
    assert (answer.verification["verified"], answer.verification["confidence"]) == (False, 0.3)
    assert "The call of 'send_mail' did not succeed" in answer.errors[0]


def test_a_deed_that_was_made_good_is_a_success() -> None:
    office = Office()
    office.add("send_mail")
    wrong, right = call("send_mail", body="a"), call("send_mail", text="a")
    answer = ChatLoop(office.hub, Script(wrong, right, "All done!")).answer_sync("Mail it")
    assert (answer.success, office.calls) == (True, [("send_mail", "a")])
    # What failed for an earlier question says nothing about this one.
    loop = ChatLoop(office.hub, Script(wrong, "Sorry.", "Paris."))
    assert not loop.answer_sync("Mail it").success
    assert loop.answer_sync("The capital of France?").success
    # A name in another spelling is corrected, as is one that says nothing; one that says a deed may mean another deed.
    for name, is_same in (("sendMail", True), ("mailer", True), ("mail_send", False)):
        missing = ChatLoop(office.hub, Script(call(name, text="a"), right, "All done!"))
        assert missing.answer_sync("Mail it").success is is_same


PAID = {"type": "object", "properties": {"to": {"type": "string"}, "amount": {"type": "number"}}}
PAID["required"] = ["to", "amount"]
RENT, GYM = call("transfer_money", to="landlord", amount=900), call("transfer_money", to="gym", amount=20)
ODD_RENT = call("transfer_money", to="landlord", amount="900 euros")


@pytest.mark.parametrize(
    ("script", "failures", "is_success"),
    [
        ([RENT, GYM], 9, False),
        ([GYM, RENT], 9, False),
        ([RENT + GYM], 9, False),
        ([RENT, GYM, RENT], 9, False),
        ([RENT, RENT, GYM], 1, True),
        ([RENT, GYM, RENT], 1, True),
        ([ODD_RENT, RENT], 0, True),
        ([ODD_RENT, GYM], 0, False),
        ([ODD_RENT + GYM], 0, False),
        ([GYM, ODD_RENT], 0, False),
        ([RENT, ODD_RENT], 0, False),
    ],
)
@pytest.mark.parametrize("said", ["Your payments are through.", "都办好了。"])
def test_another_call_of_the_tool_does_not_make_a_failed_deed_good(
    script: list[str], failures: int, is_success: bool, said: str
) -> None:
    hub, rents = ToolHub(), [0]

    def transfer_money(to: str, amount: float) -> str:
        rents[0] += to == "landlord"
        if to == "landlord" and rents[0] <= failures:
            raise OSError("rejected")
        return "ok"

    hub.register(transfer_money, parameters=PAID)
    answer = ChatLoop(hub, Script(*script, said)).answer_sync("Pay the rent, 900, and the gym, 20")
    assert answer.success is is_success
    if not is_success:
        assert not answer.verification["verified"]
        assert answer.verification["confidence"] <= 0.3
        assert "The call of 'transfer_money' did not succeed" in answer.errors[0]


@pytest.mark.parametrize("order", [("landlord", "gym"), ("gym", "landlord")])
def test_a_plan_with_a_failed_deed_is_no_success_in_any_order(order: tuple[str, str]) -> None:
    hub = ToolHub()

    @hub.tool
    def transfer_money(to: str) -> str:
        if to == "landlord":
            raise OSError("rejected")
        return "ok"

    steps = plan(*((n, "Pay", "transfer_money", {"arguments": {"to": to}}) for n, to in enumerate(order, 1)))
    answer = CoordinationAgent(hub, Roles(steps)).answer_sync("Pay the rent and the gym")
    assert (answer.success, answer.reason) == (False, "failed")


@pytest.mark.parametrize("approve", [lambda approval: "send_mail" not in str(approval), None])
def test_after_a_deed_that_failed_the_next_one_is_not_sent(approve: Callable[[Any], bool] | None) -> None:
    office = Office().reading("read_notes")
    office.add("send_mail", fails=True)
    office.add("delete_file")
    steps = plan(
        (1, "Back it up", "send_mail", {"arguments": {"text": "a"}}),
        (2, "Delete it", "delete_file", {"arguments": {"text": "a"}}),
        (3, "Read the notes", "read_notes", {"arguments": {"text": "a"}}),
    )
    answer = CoordinationAgent(office.hub, Roles(steps), approve=approve).answer_sync("Go")
    assert "delete_file" not in dict(office.calls)
    assert (answer.success, answer.text) == (False, "read_notes ok")
    assert answer.errors[1] == (
        "Step 2: Not sent, because step 1 before it may change something and did not succeed."
    )


def test_deeds_keep_the_order_of_the_plan_where_dependencies_allow_it() -> None:
    office = Office().reading("read_notes")
    office.add("send_mail")
    given = {"arguments": {"text": "a"}}
    steps = [Step(1, "a", "send_mail", [3]), Step(2, "b", "send_mail", [4]), Step(3, "c", "send_mail")]
    rows = [
        (one.id, one.description, "send_mail", {"dependencies": one.dependencies, **given}) for one in steps
    ]
    rows.append((4, "Read", "read_notes", given))
    answer = CoordinationAgent(office.hub, Roles(plan(*rows))).answer_sync("Go")
    finished = [event.id for event in answer.transcript if event.type == "step_finished" and event.id != 4]
    assert (answer.success, finished) == (True, [3, 1, 2])


@pytest.mark.parametrize("said", ["Clear only the history of Tuesday", "只清空星期二的历史"])
def test_the_model_decides_about_a_deed_without_parameters(said: str) -> None:
    office = Office()
    office.add("clear_history", NOTHING)
    step = Step(1, said, "clear_history")
    alone = ExecutionAgent(office.hub).execute_step_sync(step)
    refused = ExecutionAgent(office.hub, Roles("", arguments="It would clear all.")).execute_step_sync(step)
    assert (alone.success, refused.success, office.calls) == (False, False, [])
    assert ExecutionAgent(office.hub).execute_step_sync({**step, "arguments": {}}).success


@pytest.mark.parametrize(
    ("said", "is_called"),
    [
        ("Get the time", True),
        ("What is the current time?", True),
        ("获取当前时间", True),
        ("Get the time in Tokyo", False),
        ("东京的当前时间", False),
        ("Get the time of the 17th", False),
    ],
)
def test_a_tool_without_parameters_is_not_told_a_place(said: str, is_called: bool) -> None:
    office = Office()
    office.add("get_time", NOTHING, description="Get the current time. 获取当前的时间", read_only=True)
    result = ExecutionAgent(office.hub).execute_step_sync(Step(1, said, "get_time"))
    assert bool(office.calls) == (result.method == "tool" and result.success) == is_called


@pytest.mark.parametrize(
    "written",
    [
        'Do not use {"text": "all@x.org"}. I cannot tell the address.',
        '{"text": "a"} or {"text": "b"}',
        'I would send:\n```json\n{"text": "all@x.org"}\n```\nbut I do not know the address.',
    ],
)
def test_arguments_of_a_deed_are_not_taken_out_of_prose(written: str) -> None:
    office = Office()
    office.add("send_mail")
    model = Roles("", arguments=written)
    result = ExecutionAgent(office.hub, model).execute_step_sync(Step(1, "Mail Bob", "send_mail"))
    assert (result.success, office.calls, model.roles()) == (False, [], ["arguments"] * 2)
    for fine in ('{"text": "b"}', '```json\n{"text": "b"}\n```', '<think>{"text": "x"}</think>{"text": "b"}'):
        model = Roles("", arguments=fine)
        assert ExecutionAgent(office.hub, model).execute_step_sync(Step(1, "Mail Bob", "send_mail")).success
    assert office.calls == [("send_mail", "b")] * 3


@pytest.mark.parametrize(
    ("said", "tool"),
    [
        ("Email sent!", "send_mail"),
        ("File deleted.", "delete_file"),
        ("Changes committed.", "git_commit"),
        ("Mail successfully sent.", "send_mail"),
        ("Reminder set.", "set_reminder"),
    ],
)
def test_a_short_sentence_about_a_failed_deed_is_caught(said: str, tool: str) -> None:
    verifier = VerificationAgent()
    for success in (False, True):
        record = {"tool": tool, "arguments": {"text": "a"}, "success": success}
        assert verifier.verify_result_sync(said, evidence=[record]).verified is success
