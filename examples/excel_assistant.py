"""Ask about an Excel workbook in plain words. Nothing is written without a yes on the terminal.

    python examples/excel_assistant.py examples/sales.xlsx "Which region had the highest sales?"
    python examples/excel_assistant.py examples/sales.xlsx "Write the total of column B into B7."

The model is any endpoint with the OpenAI chat API: `OPENAI_BASE_URL`, `OPENAI_API_KEY`, `--model`. The workbook is read and
written by the MCP server `excel-mcp-server`; `--excel` is the command that starts it.
"""

import argparse
import asyncio
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from toolhub import ToolHub
from toolhub.agents import AgentAnswer, AgentProfile, ChatLoop
from toolhub.llm import OpenAI
from toolhub.permissions import Approval

PROFILE = AgentProfile(
    name="excel assistant",
    prompt="You answer questions about an Excel workbook. Read the cells before you answer, and say which cells you used.",
    available_tools=("describe_workbook", "read_range", "find_cells", "write_range"),
    max_rounds=8,
    max_calls=12,
    max_uses={"write_range": 3},
    deadline=300,
)


def ask_on_terminal(question: Approval) -> bool:
    """Whether the user lets a call that may change something run."""
    return input(f"May I call {question.name} with {dict(question.arguments)}? [y/N] ").strip().lower() == "y"


async def assist(
    question: str,
    workbook: Path,
    llm: Any,
    server: dict[str, Any],
    approve: Callable[[Approval], Any] = ask_on_terminal,
) -> AgentAnswer:
    """The answer to a question about a workbook, with a line on the terminal for each call."""
    async with ToolHub() as hub:
        # The server may use the folder of the workbook and no other, and knows files there by their names.
        folder = {"EXCEL_FILES_PATH": str(workbook.parent)}
        hub.add_server("excel", **{**server, "env": {**server.get("env", {}), **folder}})
        chat = ChatLoop(hub, llm, profile=PROFILE, approve=approve)
        answer: AgentAnswer | None = None
        async for event in chat.stream(f"{question}\nThe workbook is {workbook.name}."):
            if event.type == "call_finished":
                print(f"{event.tool} {event.arguments}: {event.error or event.text}"[:200])
            elif event.type == "answered":
                answer = AgentAnswer(event.answer)
    assert answer is not None  # the last event of a run that nobody pauses
    return answer


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("workbook", type=Path)
    parser.add_argument("question")
    parser.add_argument("--model", default="gpt-5-mini")
    parser.add_argument("--excel", default="uvx excel-mcp-server stdio", metavar="COMMAND")
    given = parser.parse_args()
    command, *args = shlex.split(given.excel)
    llm = OpenAI(model=given.model, timeout=120)
    answer = asyncio.run(
        assist(given.question, given.workbook.resolve(), llm, {"command": command, "args": args})
    )
    print(f"\n{answer}\n")
    for issue in (answer.verification or {}).get("issues", []):
        print(f"unsure: {issue}")
    return 0 if answer.success else 1


if __name__ == "__main__":
    raise SystemExit(main())
