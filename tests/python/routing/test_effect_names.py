"""What a name says about effects: a table of names as people and models write them."""

import asyncio
from pathlib import Path

import pytest

from toolhub import ToolHub

pytestmark = pytest.mark.anyio

_SECTIONS = (Path(__file__).parent / "effect_names.txt").read_text("utf-8").split("\n\n")
MAY_ACT, HARMLESS, UNKNOWN = ([*section.split("\n", 1)[1].split()] for section in _SECTIONS)


def safety(hub: ToolHub, name: str) -> str:
    hub.register(lambda text="": text, name=name, description="", source="skills")
    tool = hub.get(name)
    assert tool is not None
    return tool.safety


def test_the_table_is_long_enough() -> None:
    assert len(set(MAY_ACT)) >= 140
    assert len(set(UNKNOWN)) >= 120


def test_acting_names_may_act_reading_names_are_harmless_and_others_are_unknown() -> None:
    hub = ToolHub()
    assert [name for name in MAY_ACT if safety(hub, name) != "may_act"] == []
    assert [name for name in HARMLESS if safety(hub, name) != "harmless"] == []
    assert [name for name in UNKNOWN if safety(hub, name) != "unknown"] == []


def test_invisible_characters_do_not_hide_a_verb() -> None:
    for name in ("get_de\u00adlete_x", "get_and_d\u200belete", "de\u2060lete_list"):
        assert safety(ToolHub(), name) == "may_act", ascii(name)


@pytest.mark.parametrize("strategy", ["first", "all", "auto"])
async def test_no_strategy_runs_a_name_that_may_act_twice_at_once(strategy: str) -> None:
    async with ToolHub() as hub:
        running = most = 0

        def one() -> object:
            async def act(text: str = "") -> str:
                nonlocal running, most
                running += 1
                most = max(most, running)
                await asyncio.sleep(0)
                running -= 1
                return text

            return act

        for name in MAY_ACT[::7]:
            hub.register(one(), name=name)
            hub.register(one(), name=name, source="skills")
            result = await hub.execute(name, strategy=strategy)
            assert (result.meta["strategy"], most) == ("fallback", 1), name


async def test_read_only_is_how_a_user_allows_it() -> None:
    async with ToolHub() as hub:
        for source in ("tools", "skills"):
            hub.register(lambda source=source: source, name="run_query", source=source, read_only=True)
        result = await hub.execute("run_query", strategy="all")
        assert (result.meta["strategy"], result.meta["source_count"]) == ("all", 2)


_REAL = (Path(__file__).parent / "real_names.txt").read_text("utf-8").split("\n\n")
SAMPLED_ACTS, SAMPLED_READS, DECLARED_ACTS, DECLARED_READS = (
    [*section.split("\n", 1)[1].split()] for section in _REAL
)


def test_names_of_real_tools_are_judged_on_the_safe_side() -> None:
    """A random sample of the tools of public servers, labelled by reading their descriptions, and the tools of the servers that
    these tests start, labelled by their own `readOnlyHint`. No rule was made for a name in it."""
    hub = ToolHub()
    assert [name for name in SAMPLED_ACTS + DECLARED_ACTS if safety(hub, name) == "harmless"] == []
    for reads in (SAMPLED_READS, DECLARED_READS):
        harmless = [name for name in reads if safety(hub, name) == "harmless"]
        assert len(harmless) >= 0.6 * len(reads), sorted(set(reads) - set(harmless))
