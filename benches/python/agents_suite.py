"""Agents without a model: what planning costs beside the model, and steps that run at the same time."""

from __future__ import annotations

import asyncio
import json
import time

from harness import Group, Row, measure_async
from prompt import hub_of

from toolhub import ToolHub
from toolhub.agents import CoordinationAgent, PlanningAgent, VerificationAgent

STEPS = 10
WIDTH = 5
SECONDS = 0.1
MOST_PLANNING = 1.0  # ms
MOST_WAITING = 260.0  # ms

PLAN = json.dumps(
    {
        "steps": [
            {
                "id": n,
                "description": f"Read the files of store {n}",
                "tool_type": f"read_files_{10 * n:04}",
                "dependencies": [],
            }
            for n in range(1, STEPS + 1)
        ]
    }
)


def planning() -> PlanningAgent:
    async def model(prompt: str) -> str:
        return PLAN

    return PlanningAgent(hub_of(1_000), model)


def waiting() -> CoordinationAgent:
    hub = ToolHub()

    @hub.tool(read_only=True)
    async def get_slowly(number: int) -> int:
        await asyncio.sleep(SECONDS)
        return number

    steps = [
        {"id": n, "description": f"Get number {n}", "tool_type": "get_slowly", "arguments": {"number": n}}
        for n in range(STEPS)
    ]

    async def model(prompt: str) -> str:
        return json.dumps(steps)

    return CoordinationAgent(hub, model, max_parallel=WIDTH)


async def steps_at_once(rounds: int) -> float:
    """The median of the milliseconds that ten steps take, five at a time."""
    took: list[float] = []
    for _ in range(max(3, rounds // 5)):
        agent = waiting()
        begun = time.perf_counter()
        answer = await agent.answer("All numbers?")
        took.append(1e3 * (time.perf_counter() - begun))
        assert answer.success, answer.errors
    return sorted(took)[len(took) // 2]


def run(rounds: int) -> list[Row]:
    agent, verifier = planning(), VerificationAgent()
    asyncio.run(
        agent.decompose_task("read the newest invoices")
    )  # the first prompt writes the entries of all tools
    group = Group("agents beside the model: a plan of 10 steps from 1,000 tools; a result checked")

    async def plan() -> None:
        assert len(await agent.decompose_task("read the newest invoices")) == STEPS

    async def check() -> None:
        await verifier.verify_result("The total of 2024-05-01 is 1,284.", ["There were 1284 orders."])

    group.add("a plan", plan, 20)
    group.add("a check", check, 20)
    rows = asyncio.run(measure_async(group, rounds))
    milliseconds = rows[0].micros / 1e3
    print(f"  planning: {milliseconds:.2f} ms (goal: ≤ {MOST_PLANNING:g} ms)")
    waited = asyncio.run(steps_at_once(rounds))
    print(
        f"  {STEPS} steps of {SECONDS:g} s, {WIDTH} at a time: {waited:.0f} ms (goal: ≤ {MOST_WAITING:g} ms)"
    )
    return rows
