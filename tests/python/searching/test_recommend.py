"""Which tools fit these words and have shown that they work."""

from toolhub import ToolHub


def works(text: str = "") -> str:
    """Work."""
    return text


def fails(text: str = "") -> str:
    """Fail."""
    raise RuntimeError("out of order")


def names(hub: ToolHub, query: str) -> list[str]:
    return [hit.name for hit in hub.recommend(query)]


def test_without_calls_it_is_the_search() -> None:
    hub = ToolHub()
    hub.register(works, name="translate_text", description="Translates a text.")
    hub.register(works, name="count_text", description="Counts the words of a text.")
    assert names(hub, "translate a text") == [hit.name for hit in hub.search("translate a text")]
    assert hub.recommend("", k=3) == []
    assert hub.recommend("translate", k=0) == []


def test_what_fails_comes_later() -> None:
    hub = ToolHub(limits={"breaker_threshold": 0})
    hub.register(fails, name="train_tickets", description="Finds train tickets.")
    hub.register(works, name="find_tickets", description="Finds tickets for a train.")
    before = names(hub, "train tickets")
    assert before[0] == "train_tickets"
    for _ in range(20):
        hub.call("train_tickets", {"text": ""})
    assert names(hub, "train tickets")[0] == "find_tickets"
    assert hub.search("train tickets")[0].name == "train_tickets"


def test_what_was_used_for_similar_queries_comes_earlier() -> None:
    hub = ToolHub()
    hub.register(works, name="holiday_planner", description="Plans a holiday at the sea.")
    hub.register(works, name="sea_map", description="A map of the holiday coast.")
    query = "holiday at the sea with children"
    assert names(hub, query)[0] == "holiday_planner"
    for _ in range(3):
        hub.search(query)
        hub.call("sea_map", {"text": "north"})
    assert names(hub, "a holiday at the sea with two children")[0] == "sea_map"
    assert names(hub, "planner")[0] == "holiday_planner"


def test_a_tool_that_is_gone_is_not_recommended() -> None:
    hub = ToolHub()
    hub.register(works, name="poem", description="Writes a poem.")
    hub.search("write a poem about spring")
    hub.call("poem", {"text": "spring"})
    assert names(hub, "write a poem about spring") == ["poem"]
    hub.unregister("poem")
    assert names(hub, "write a poem about spring") == []
