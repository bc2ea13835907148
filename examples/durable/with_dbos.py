"""An agent with effects under DBOS: killed at any moment and started again, it goes on, and sends no mail twice.

    pip install agent-toolhub dbos
    python examples/durable/with_dbos.py invitations "Invite ann@example.com and bob@example.com to lunch on Monday."

`invitations` is the id of the workflow: the same command, given again after a crash, goes on with it. DBOS keeps what the
model answered, the ledger of the hub keeps what the calls did; the run of the hub has the id of the workflow.
"""

import argparse
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from dbos import DBOS, DBOSConfig, SetWorkflowID
from outbox import INSTRUCTIONS, open_hub, sent_mails, settle

from toolhub import ToolHub
from toolhub.agents import ChatLoop
from toolhub.llm import OpenAI

Ask = Callable[[list[dict[str, Any]]], Awaitable[str]]


def assistant(hub: ToolHub, model: Ask) -> Callable[[str], str]:
    """The workflow, registered with DBOS. `model` gets messages and gives the text of the answer."""

    @DBOS.step(name="ask", retries_allowed=True)
    async def ask(messages: list[dict[str, Any]]) -> str:
        return await model(messages)

    # Calls are no steps of DBOS: a step that was killed after its effect is made again. In a run of the hub it is not.
    @DBOS.workflow(name="assist")
    async def assist(question: str) -> str:
        loop = ChatLoop(hub, chat=ask, run=DBOS.workflow_id, profile={"prompt": INSTRUCTIONS})
        return (await loop.answer(question)).text

    return assist  # type: ignore[return-value]


def run(folder: Path, hub: ToolHub, model: Ask, workflow: str, question: str) -> str:
    """Begin a workflow or go on with it, to its end."""
    assist = assistant(hub, model)
    # Before DBOS goes on with what was killed: decide about mails that may have been sent.
    for decision in settle(hub, sent_mails(folder)):
        print(f"a mail that may have been sent: {decision}")
    config = DBOSConfig(
        name="assistant",
        system_database_url=f"sqlite:///{folder / 'dbos.sqlite'}",
        application_version="1",  # a workflow goes on only in the version that began it
        log_level="WARNING",
    )
    DBOS(config=config)
    DBOS.launch()
    try:
        with SetWorkflowID(workflow):
            return DBOS.start_workflow(assist, question).get_result()
    finally:
        DBOS.destroy()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("workflow")
    parser.add_argument("question")
    parser.add_argument("--model", default="gpt-5-mini")
    parser.add_argument("--folder", type=Path, default=Path())
    given = parser.parse_args()
    client = OpenAI(model=given.model, timeout=120)

    async def model(messages: list[dict[str, Any]]) -> str:
        return (await client.chat(messages))["text"]

    with open_hub(given.folder) as hub:
        print(run(given.folder, hub, model, given.workflow, given.question))


if __name__ == "__main__":
    main()
