"""An agent with effects as a service of Restate: killed at any moment and started again, it goes on, and sends no mail twice.

    pip install agent-toolhub restate-sdk hypercorn
    npx @restatedev/restate-server
    python examples/durable/with_restate.py --port 9080
    curl localhost:9070/deployments --json '{"uri": "http://localhost:9080"}'
    curl localhost:8080/assistant/assist --json '"Invite ann@example.com and bob@example.com to lunch on Monday."'

Restate keeps what the model answered, the ledger of the hub keeps what the calls did; the run of the hub has the id of the
invocation. When the service is killed, Restate calls it again until it answers.
"""

import argparse
import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import hypercorn.asyncio
import restate
from hypercorn.config import Config
from outbox import INSTRUCTIONS, open_hub, sent_mails, settle

from toolhub import ToolHub
from toolhub.agents import ChatLoop
from toolhub.llm import OpenAI

Ask = Callable[[list[dict[str, Any]]], Awaitable[str]]


def service(hub: ToolHub, model: Ask) -> restate.Service:
    """The service. `model` gets messages and gives the text of the answer."""
    assistant = restate.Service("assistant")

    # Calls are not in `ctx.run`: what was killed after its effect would be made again. In a run of the hub it is not.
    @assistant.handler()
    async def assist(ctx: restate.Context, question: str) -> str:
        async def ask(messages: list[dict[str, Any]]) -> str:
            async def once() -> str:
                return await model(messages)

            return await ctx.run_typed("ask", once)

        loop = ChatLoop(hub, chat=ask, run=ctx.request().id, profile={"prompt": INSTRUCTIONS})
        return (await loop.answer(question)).text

    return assistant


async def serve(folder: Path, hub: ToolHub, model: Ask, port: int) -> None:
    """Serve until the process ends."""
    # Before Restate calls again: decide about mails that may have been sent.
    for decision in settle(hub, sent_mails(folder)):
        print(f"a mail that may have been sent: {decision}", flush=True)
    config = Config()
    config.bind = [f"127.0.0.1:{port}"]
    await hypercorn.asyncio.serve(restate.app([service(hub, model)]), config)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--port", type=int, default=9080)
    parser.add_argument("--model", default="gpt-5-mini")
    parser.add_argument("--folder", type=Path, default=Path())
    given = parser.parse_args()
    client = OpenAI(model=given.model, timeout=120)

    async def model(messages: list[dict[str, Any]]) -> str:
        return (await client.chat(messages))["text"]

    with open_hub(given.folder) as hub:
        asyncio.run(serve(given.folder, hub, model, given.port))


if __name__ == "__main__":
    main()
