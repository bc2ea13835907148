"""Which tools fit these words."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import toolhub
from toolhub import Hit, ToolHub


def nothing(**_: object) -> None:
    """Do nothing."""


def add(hub: ToolHub, name: str, description: str = "", **options: object) -> None:
    hub.register(nothing, name=name, description=description, **options)


@pytest.fixture
def hub() -> ToolHub:
    hub = ToolHub()
    add(hub, "getWeatherForecast", "Weather of the next days for a city.")
    add(hub, "send_email", "Sends a message to an address.")
    add(hub, "keyvault-secret-list", "Lists what is kept in a vault.")
    add(hub, "open_calendar", "Shows appointments.")
    add(hub, "translateText", "把文本翻译成另一种语言。")
    return hub


def first(hub: ToolHub, query: str) -> str:
    return hub.search(query)[0].name


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("get weather forecast", "getWeatherForecast"),
        ("getweatherforecast", "getWeatherForecast"),
        ("GetWeatherForecast", "getWeatherForecast"),
        ("forecasting", "getWeatherForecast"),
        ("send_emails", "send_email"),
        ("key vault secrets", "keyvault-secret-list"),
        ("my calender", "open_calendar"),
        ("the wehather, please", "getWeatherForecast"),
        ("明天北京的天气怎么样", "getWeatherForecast"),
        ("给同事发邮件", "send_email"),
        ("请帮我翻译这段话", "translateText"),
        ("translate this", "translateText"),
    ],
)
def test_words_are_found_however_they_are_written(hub: ToolHub, query: str, name: str) -> None:
    assert first(hub, query) == name


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("read a file", "读取文件"),
        ("delete a file", "删除文件"),
        ("copy the file", "复制文件"),
        ("compress a file", "压缩文件"),
        ("export the file", "导出文件"),
        ("复制文件", "copy_file"),
        ("读取文件", "read_file"),
        ("合并文件", "merge_files"),
    ],
)
def test_what_is_done_is_found_across_languages(query: str, name: str) -> None:
    hub = ToolHub()
    for tool in ("读取文件", "删除文件", "复制文件", "压缩文件", "导出文件"):
        add(hub, tool)
    for tool in ("copy_file", "delete_file", "merge_files", "read_file"):
        add(hub, tool)
    foreign = [hit.name for hit in hub.search(query) if hit.name.isascii() != query.isascii()]
    assert foreign[0] == name


def test_a_hit_has_name_score_and_tool(hub: ToolHub) -> None:
    hits = hub.search("weather message", k=2)
    assert all(isinstance(hit, Hit) for hit in hits)
    assert len(hits) == 2
    assert hits[0].score >= hits[1].score > 0
    assert hits[0].tool.name == hits[0].name
    assert hits[0].name in repr(hits[0])


def test_k_bounds_the_hits(hub: ToolHub) -> None:
    assert hub.search("weather", k=0) == []
    assert len(hub.search("weather email calendar vault", k=3)) == 3
    assert len(hub.search("weather", k=10**9)) >= 1


@pytest.mark.parametrize("query", ["", "   ", "🦀🦀", "?!…", "\ud800", "xyzzyplugh"])
def test_what_says_nothing_finds_nothing(hub: ToolHub, query: str) -> None:
    assert hub.search(query) == []


def test_stop_words_alone_are_looked_for(hub: ToolHub) -> None:
    assert {hit.name for hit in hub.search("to a")} >= {"send_email"}


def test_wrong_arguments_are_refused(hub: ToolHub) -> None:
    with pytest.raises(ValueError, match="k must be at least 0, got -1"):
        hub.search("weather", k=-1)
    with pytest.raises(TypeError, match="k must be a whole number, got the text '3'; write k=3"):
        hub.search("weather", k="3")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="query must be text, got NoneType"):
        hub.search(None)  # type: ignore[arg-type]


def test_of_a_huge_query_the_beginning_is_read(hub: ToolHub) -> None:
    assert first(hub, "weather " + "lorem ipsum " * 90_000) == "getWeatherForecast"
    assert hub.search("lorem ipsum " * 90_000 + "weather") == []


def test_of_a_huge_description_the_beginning_is_read() -> None:
    hub = ToolHub()
    add(hub, "one", "Explains quasars. " + "filling " * 130_000 + "marmalade")
    add(hub, "two", "Something else.")
    assert first(hub, "quasar") == "one"
    assert hub.search("marmalade") == []


def test_tools_without_a_description_are_found_by_name_and_parameters() -> None:
    hub = ToolHub()
    schema = {"type": "object", "properties": {"latitude": {"description": "Degrees north of the equator"}}}
    add(hub, "locate", parameters=schema)
    assert first(hub, "locate") == "locate"
    assert first(hub, "latitude") == "locate"
    assert first(hub, "equator") == "locate"


def test_capabilities_and_categories_are_searched() -> None:
    hub = ToolHub()
    add(hub, "alpha", "Does it.", capabilities=["astronomy"])
    add(hub, "beta", "Does it.", category="gardening")
    assert first(hub, "astronomy") == "alpha"
    assert first(hub, "gardening") == "beta"


def test_the_index_follows_what_is_registered() -> None:
    hub = ToolHub()
    assert hub.search("telescope") == []
    add(hub, "look", "Points the telescope.")
    assert first(hub, "telescope") == "look"
    add(hub, "look", "Opens the star map.")
    assert hub.search("telescope") == []
    assert first(hub, "stars") == "look"
    hub.unregister("look")
    assert hub.search("stars") == []
    add(hub, "look", "Points the telescope.")
    assert first(hub, "telescope") == "look"


def test_a_plan_of_several_steps_finds_a_tool_for_each(hub: ToolHub) -> None:
    hits = hub.search("Look at the weather of tomorrow. Then open the calendar. Finally send an email.", k=3)
    assert {hit.name for hit in hits} == {"getWeatherForecast", "open_calendar", "send_email"}


def test_searching_and_registering_at_once() -> None:
    hub = ToolHub()
    failures: list[BaseException] = []
    done = threading.Event()

    def look() -> None:
        try:
            while not done.is_set():
                hub.search("tool that does something with numbers")
        except BaseException as error:
            failures.append(error)

    lookers = [threading.Thread(target=look) for _ in range(3)]
    for looker in lookers:
        looker.start()
    for number in range(300):
        add(hub, f"tool_{number}", f"Does something with the word{number}x.")
        assert first(hub, f"word{number}x") == f"tool_{number}"
        if number % 3 == 0:
            hub.unregister(f"tool_{number}")
    done.set()
    for looker in lookers:
        looker.join()
    assert failures == []
    assert len(hub.search("something", k=1_000)) == 200


def test_a_parameter_behind_a_reference_is_found():
    hub = ToolHub()
    node = {"type": "object", "properties": {"zeppelin": {"$ref": "#/$defs/Node"}}}
    parameters = {"type": "object", "properties": {"tree": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": node}}
    add(hub, "first", "Does one thing.")
    add(hub, "second", "Does another.", parameters=parameters)
    assert [hit.name for hit in hub.search("zeppelin")] == ["second"]


def test_the_same_tools_give_the_same_list_in_whatever_order_they_came() -> None:
    names = [f"tool_{letter}" for letter in "cabed"]

    def hub(order: list[str]) -> ToolHub:
        made = ToolHub()
        for name in order:
            made.register(lambda: 1, name=name, description="weather tool")
        return made

    first, second = hub(names), hub(names[::-1])
    second.unregister("tool_e")
    second.register(lambda: 1, name="tool_e", description="weather tool")
    assert [hit.name for hit in first.search("weather")] == sorted(names)
    assert [hit.name for hit in second.search("weather")] == sorted(names)
    assert first.system_prompt(query="weather", limit=2) == second.system_prompt(query="weather", limit=2)


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("删除数据库里的用户", "remove_user"),
        ("上传一张截图", "upload_screenshot"),
        ("这张发票的税是多少", "invoice_tax"),
        ("下载最新的音乐", "download_song"),
        ("生成密码", "make_password"),
    ],
)
def test_a_chinese_query_finds_english_tools(query: str, name: str) -> None:
    hub = ToolHub()
    for one in (
        "remove_user",
        "upload_screenshot",
        "invoice_tax",
        "download_song",
        "make_password",
        "list_rooms",
    ):
        add(hub, one)
    assert first(hub, query) == name


@pytest.mark.parametrize(
    ("query", "name"),
    [("earthquake nearby", "地震"), ("recognise an invoice", "发票"), ("lock the screen", "屏幕")],
)
def test_an_english_query_finds_chinese_tools(query: str, name: str) -> None:
    hub = ToolHub()
    for tool, text in {
        "地震": "查询地震信息。",
        "发票": "识别发票。",
        "屏幕": "锁定屏幕。",
        "音乐": "播放音乐。",
    }.items():
        add(hub, tool, text)
    assert first(hub, query) == name


def test_the_dictionary_is_part_of_the_package_with_its_licence() -> None:
    folder = Path(toolhub.__file__).parent / "data"
    assert (folder / "zh_en.txt.gz").stat().st_size <= 500_000
    assert (folder / "words_en.bin.gz").stat().st_size <= 500_000
    licence = (folder / "LICENSE.txt").read_text("utf8")
    assert "Attribution-ShareAlike 4.0" in licence
    assert "all-MiniLM-L6-v2" in licence


def test_a_tool_about_the_same_is_first_where_words_do_not_decide() -> None:
    hub = hub_of(
        {
            "furniture_shop": "Sells furniture: a seat, a table, a book shelf.",
            "flight_booking": "Reserves flights: a seat with an airline.",
        }
    )
    assert first(hub, "book a seat on a plane to Oslo") == "flight_booking"


def test_an_english_word_in_a_chinese_query_does_not_say_what_it_is_about() -> None:
    tools = {"天气": "查询天气预报 report", "退款": "处理订单退款 report"}
    assert first(hub_of(tools), "请帮我查询一下明天北京的天气预报 refund report") == "天气"


SHEETS = {
    "delete_rows": "Deletes rows of a spreadsheet. The rows below move up.",
    "insert_rows": "Inserts rows into a spreadsheet.",
    "update_cells": "Changes cells in rows of a spreadsheet.",
    "read_sheet_data": "Gives the values of a spreadsheet.",
    "list_sheets": "The sheets of a workbook.",
    "get_sheet": "One sheet of a workbook.",
    "create_sheet": "Creates a sheet in a workbook.",
    "sheet_remove": "Takes a sheet out of a workbook.",
}


def hub_of(tools: dict[str, str]) -> ToolHub:
    hub = ToolHub()
    for name, description in tools.items():
        add(hub, name, description)
    return hub


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("read the rows of a spreadsheet", "read_sheet_data"),
        ("show me the sheets", "list_sheets"),
        ("erase rows", "delete_rows"),
        ("modify the rows", "update_cells"),
        ("删除 sheet", "sheet_remove"),
    ],
)
def test_the_verb_decides_between_tools_for_the_same_thing(query: str, name: str) -> None:
    assert first(hub_of(SHEETS), query) == name


READING = ["get", "list", "show", "read"]
ACTING = ["create", "delete", "update", "remove", "add"]


@pytest.mark.parametrize("asked", [*READING, *ACTING])
@pytest.mark.parametrize("after", [True, False])
def test_a_query_never_finds_the_opposite_first(asked: str, after: bool) -> None:
    for kind in (READING, ACTING):
        named = [f"ticket_{verb}" if after else f"{verb}_ticket" for verb in kind if verb != asked]
        hub = hub_of(dict.fromkeys(named, "A ticket of the board."))
        agreeing = "get" if asked in READING else asked
        fits = f"ticket_{agreeing}" if after else f"{agreeing}_ticket"
        add(hub, fits, "A ticket of the board.")
        best = first(hub, f"{asked} a ticket of the board")
        assert any(verb in best for verb in (READING if asked in READING else ACTING))


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("database size", "db_size"),
        ("db backup", "database_backup"),
        ("my repositories", "repo_overview"),
        ("shrink an img", "image_resizer"),
        ("send a msg", "message_sender"),
        ("the configuration", "config_viewer"),
        ("env variables", "environment_variables"),
        ("authentication state", "auth_state"),
        ("a new doc", "document_maker"),
    ],
)
def test_abbreviations_and_long_forms_find_each_other(query: str, name: str) -> None:
    names = [
        *("db_size", "database_backup", "repo_overview", "image_resizer", "message_sender", "config_viewer"),
        *("environment_variables", "auth_state", "document_maker", "weather", "play_music"),
    ]
    assert first(hub_of(dict.fromkeys(names, "")), query) == name


@pytest.mark.parametrize("query", ["use event_search for concerts", "concerts, with event search please"])
def test_the_name_of_a_tool_in_the_query_finds_it(query: str) -> None:
    hub = hub_of(
        {"concerts": "Finds concerts near you.", "event_search": "Things that happen.", "music": "Concerts."}
    )
    assert first(hub, query) == "event_search"


def test_a_tool_with_more_of_the_words_comes_before_one_that_is_named_by_one_of_them() -> None:
    hub = hub_of(
        {"parcel": "Where it is at the moment.", "shop_data": "Data of shops. It has price, weight and size."}
    )
    add(hub, "send_email", "Sends a message to an address.")
    add(hub, "get_weather", "Weather of the next days.")
    add(hub, "translate_text", "Translates a text into another language.")
    assert first(hub, "price, weight and size of a parcel") == "shop_data"
    assert first(hub, "parcel") == "parcel"


def test_each_wish_of_a_query_has_a_place() -> None:
    hub = hub_of({f"weather_{n}": f"Weather forecast of tomorrow in region {n}." for n in range(20)})
    add(hub, "send_mail", "Sends a mail.")
    for query in (
        "get the weather forecast of tomorrow in the region and send a mail",
        "Send a mail. Then get the weather forecast of tomorrow in the region.",
        '"Get the weather forecast of tomorrow in the region, then please send it by mail"',
    ):
        assert "send_mail" in [hit.name for hit in hub.search(query, 5)], query


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("design a shirt", "design_garment"),
        ("design a sofa", "design_room"),
        ("plan dinner with salad", "plan_meal"),
        ("plan a hike in the mountains", "plan_trip"),
    ],
)
def test_of_tools_that_share_a_word_the_one_about_the_same_comes_first(query: str, name: str) -> None:
    hub = ToolHub()
    for tool, text in {
        "design_card": "Design cards and envelopes for parties and weddings.",
        "design_garment": "Design clothes such as jackets, trousers and hats.",
        "design_room": "Design rooms of a house with furniture and lamps.",
        "plan_trip": "Plans a trip: hotels, flights and museums.",
        "plan_meal": "Plans a meal: dishes and what to buy.",
        "plan_workout": "Plans exercises for muscles and stamina.",
        "send_email": "Sends a message to an address.",
    }.items():
        add(hub, tool, text)
    assert first(hub, query) == name


def test_what_shares_no_word_is_no_hit_even_if_it_is_related() -> None:
    hub = ToolHub()
    add(hub, "garments", "Jackets, trousers and hats.")
    assert hub.search("sweater") == []


SLOW_DICTIONARY = """
import os, sys, threading
from pathlib import Path
pipe, data = sys.argv[1:]
os.mkfifo(pipe)
join = os.path.join
os.path.join = lambda *parts: pipe if parts[-1] == "zh_en.txt.gz" else join(*parts)
from toolhub import ToolHub
hub = ToolHub()
hub.register(lambda: 1, name="get_weather", description="Weather of a city.")
found = []
thread = threading.Thread(target=lambda: found.extend(hub.search("天气预报")))
thread.start()
# The search waits for the dictionary: this line is only reached if it waits without the GIL.
Path(pipe).write_bytes(Path(data).read_bytes())
thread.join()
assert [hit.name for hit in found] == ["get_weather"], found
"""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_other_threads_go_on_while_the_dictionary_is_read(tmp_path: Path) -> None:
    data = Path(toolhub.__file__).parent / "data" / "zh_en.txt.gz"
    command = [sys.executable, "-c", SLOW_DICTIONARY, str(tmp_path / "pipe"), str(data)]
    subprocess.run(command, check=True, timeout=50)


EVERYDAY = (
    "delete_orders",
    "create_order",
    "update_order",
    "cancel_order",
    "refund_order",
    "list_orders",
    "get_order",
)


def everyday(describe: dict[str, str] | None = None) -> ToolHub:
    hub = ToolHub()
    for name in EVERYDAY:
        add(hub, name, (describe or {}).get(name, "Orders of a customer."))
    return hub


@pytest.mark.parametrize(
    "query",
    [
        "show the deleted orders",
        "list orders that were cancelled",
        "read orders but do not delete anything",
        "show the orders, don't cancel them",
        "take a look at my orders",
        "can you pull up the orders",
        "open the orders",
        "print the orders",
        "preview the orders",
        "verify the orders",
        "count the orders",
        "how many orders are there",
        "are there any refunded orders",
        "where are my orders",
        "latest orders",
        "the orders please",
        "看看我的订单",
        "看一下订单",
        "有哪些订单",
        "多少订单",
        "检查订单",
        "统计订单",
        "查一下订单",
        "我的订单在哪",
        "给我看订单",
        "最近的订单",
        "有没有订单",
        "列出订单，不要删除",
    ],
)
def test_a_query_that_reads_finds_a_tool_that_reads(query: str) -> None:
    assert first(everyday(), query) in ("list_orders", "get_order")
    chinese = dict(
        zip(
            EVERYDAY,
            ("删除订单", "创建订单", "更新订单", "取消订单", "订单退款", "列出订单", "查询订单状态"),
            strict=True,
        )
    )
    assert first(everyday(chinese), query) in ("list_orders", "get_order")


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("delete the orders", "delete_orders"),
        ("how do I delete orders", "delete_orders"),
        ("show me how to cancel an order", "cancel_order"),
        ("please refund my order", "refund_order"),
        ("删除订单", "delete_orders"),
        ("怎么取消订单", "cancel_order"),
        ("把订单取消", "cancel_order"),
    ],
)
def test_a_query_that_acts_finds_the_tool_that_does_it(query: str, name: str) -> None:
    assert first(everyday(), query) == name
