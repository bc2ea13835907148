"""Answer a question from web pages, show each step, and check the answer against what the pages say.

    python examples/research.py "How long is the Nile, in miles?" https://en.wikipedia.org/wiki/Nile

The model is any endpoint with the OpenAI chat API: `OPENAI_BASE_URL`, `OPENAI_API_KEY`, `--model`. Pages are read by the MCP
server `mcp-server-fetch`; `--fetch` is the command that starts it.
"""

import argparse
import ast
import asyncio
import operator
import shlex
from collections.abc import Sequence
from typing import Any

from toolhub import ToolHub
from toolhub.agents import AgentAnswer, AgentProfile, CoordinationAgent
from toolhub.llm import OpenAI

OPERATORS: dict[type, Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.USub: operator.neg,
}
PROFILE = AgentProfile(
    name="researcher",
    prompt="You answer questions from web pages. Say only what the pages say, and name the page.",
    effects="not_acting",
    max_calls=20,
    max_uses={"fetch": 8},
    deadline=300,
)


def calculate(expression: str) -> float:
    """Calculate an arithmetic expression: + - * / and brackets."""

    def value(node: ast.AST) -> float:
        match node:
            case ast.Constant(value=int() | float() as number):
                return number
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
                return OPERATORS[type(op)](value(left), value(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -value(operand)
            case _:
                raise ValueError(f"only numbers, + - * / and brackets can be calculated, got {expression!r}")

    return value(ast.parse(expression, mode="eval").body)


async def research(question: str, pages: Sequence[str], llm: Any, server: dict[str, Any]) -> AgentAnswer:
    """The answer to a question, with a line on the terminal for each step."""
    listed = "\n".join(f"- {page}" for page in pages)
    asked = f"{question}\nPages that may help:\n{listed}" if pages else question
    async with ToolHub() as hub:
        hub.register(calculate, read_only=True)
        hub.add_server("web", assume_read_only=True, **server)
        agent = CoordinationAgent(hub, llm, profile=PROFILE)
        answer: AgentAnswer | None = None
        async for event in agent.stream(asked):
            if event.type == "plan_made":
                print(*(f"plan {step['id']}: {step['description']}" for step in event.steps), sep="\n")
                print(*(f"note: {problem}" for problem in event.problems), sep="\n", end="")
            elif event.type == "step_finished":
                print(f"step {event.id}: {event.step['result'] or event.step['error']}"[:200])
            elif event.type == "answered":
                answer = AgentAnswer(event.answer)
    assert answer is not None  # the last event of a run that nobody pauses
    return answer


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("question")
    parser.add_argument("pages", nargs="*", metavar="URL")
    parser.add_argument("--model", default="gpt-5-mini")
    parser.add_argument("--fetch", default="uvx mcp-server-fetch", metavar="COMMAND")
    given = parser.parse_args()
    command, *args = shlex.split(given.fetch)
    llm = OpenAI(model=given.model, timeout=120)
    answer = asyncio.run(research(given.question, given.pages, llm, {"command": command, "args": args}))
    print(f"\n{answer}\n")
    for issue in (answer.verification or {}).get("issues", []):
        print(f"unsure: {issue}")
    return 0 if answer.success else 1


if __name__ == "__main__":
    raise SystemExit(main())
