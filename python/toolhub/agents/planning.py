"""From a question to a plan."""

from typing import TYPE_CHECKING

from .. import kit
from ..kit import check_text, check_whole
from ..options import Model
from .model import AgentModel
from .plan_reading import FoundTool, read_plan
from .plans import NONE, Plan, Step
from .profile import AgentProfile, AgentPrompts
from .view import AgentView, RunStop

if TYPE_CHECKING:
    from ..hub import ToolHub


class PlanningAgent:
    """Asks a model for a plan and repairs what is wrong with it.

    The prompt shows the core tools of the hub, the `limit` others that fit the question best, and how many more there are. The
    plan has at most `max_steps` steps. Without a model, and with an answer that holds no plan, the question is one step.

    >>> import asyncio
    >>> from toolhub import ToolHub
    >>> hub = ToolHub()
    >>> _ = hub.register(len, name="count_letters", description="Count letters")
    >>> def model(prompt: str) -> str:
    ...     return '{"steps": [{"id": 1, "description": "Count the letters of rust", "tool_type": "count_letters",}]}'
    >>> plan = asyncio.run(PlanningAgent(hub, model).decompose_task("How many letters has rust?"))
    >>> plan[0].tool_type, plan.problems
    ('count_letters', ["The plan's JSON was repaired: a trailing comma."])
    """

    def __init__(
        self,
        hub: "ToolHub",
        llm: Model | None = None,
        *,
        profile: AgentProfile | None = None,
        view: AgentView | None = None,
        model: AgentModel | None = None,
        prompts: AgentPrompts | None = None,
        limit: int = 10,
        max_steps: int = 20,
    ) -> None:
        self._profile = AgentProfile() if profile is None else profile
        self._view = AgentView.of(hub, self._profile) if view is None else view
        self._model = AgentModel(self._view, llm) if model is None else model
        self._prompts = AgentPrompts(lang=hub.lang) if prompts is None else prompts
        self._limit = check_whole("limit", limit, 0)
        self._max_steps = check_whole("max_steps", max_steps, 1)

    async def decompose_task(self, question: str) -> Plan:
        """The steps that answer a question: `id`, `description`, `tool_type`, `dependencies` and `complexity` each.

        `problems` of the plan tell what was repaired: JSON, unknown tools, cycles, steps beyond the limit.
        """
        check_text("question", question)
        if not question.strip():
            raise ValueError("the question is empty; ask something")
        await self._view.ready()
        if not self._model:
            return Plan([Step(1, question, self._by_words(question))])
        try:
            text = await self._model.ask(self.prompt(question), "plan")
        except RunStop as stop:
            if stop.reason != "model":
                raise
            why = self._view.say(kit.Message("No plan was made, so the question becomes one step. {}", stop))
            return Plan([Step(1, question)], [why])
        named: list[str] = []
        version = self._view.hub.version
        plan = self._read(text, question, named)
        # A server that is still starting may have a tool that the plan names.
        await self._view.ready(*named)
        return plan if self._view.hub.version == version else self.read(text, question)

    decompose_task_sync = kit.blocking(decompose_task)
    """`decompose_task`, blocking."""

    def prompt(self, question: str) -> str:
        """The prompt that asks for a plan."""
        tools = self._view.prompt_names()
        # Words that fit few tools leave room for others: the model may know better what they are for.
        listed = self._view.hub.system_prompt(
            query=question, limit=self._limit, fill=True, tools=tools, lang=self._prompts.lang
        )
        # Without its last section, which tells how to call a tool: a plan calls none.
        tools_only = listed.rpartition("\n## ")[0].rstrip() if tools is None or tools else ""
        return self._prompts.text("plan", tools=tools_only, question=question)

    def read(self, text: str, question: str) -> Plan:
        """The plan in a model's answer."""
        return self._read(text, question, [])

    def _read(self, text: str, question: str, named: list[str]) -> Plan:
        """The plan, and in `named` the tools that its steps are to use."""

        def find(name: str, description: str) -> FoundTool:
            named.extend([name] if description else [])
            return self._find_tool(name, description)

        plan = read_plan(text, question, find, self._max_steps)
        plan.problems = [self._view.say(problem) for problem in plan.problems]
        return plan

    def _by_words(self, question: str) -> str:
        """The best tool that is harmless, if one fits the words of the question; otherwise none, for reasoning."""
        fitting = set(filter(self._view.holds, kit.tools_for(self._view.hub, question)))
        return next((hit.name for hit in self._view.hub.search(question, 5) if hit.name in fitting), NONE)

    def _find_tool(self, name: str, description: str) -> FoundTool:
        """The tool that a plan means. Only a harmless one takes the place of one that does not exist."""
        view, hub = self._view, self._view.hub
        given = hub.original_name(name)
        if view.holds(given):
            return FoundTool(given)
        if not description:
            return FoundTool(None)
        hits = hub.search(name, 5) if kit.words(name) else []
        named = [given, *(hit.name for hit in hits if view.is_meant(name, hit.name))]
        if (held := next(filter(view.holds, named), None)) is not None:
            return FoundTool(held)
        forbidden = [one for one in named if view.forbids(one)]
        acting = [one for one in forbidden if view.safety(one) != "harmless"]
        if acting or view.safety(given, description) != "harmless":
            # Neither another tool nor the model may stand in for what may act: the call fails, and with it the step.
            return FoundTool(next(iter([*acting, given])), is_forbidden=bool(forbidden), fails=True)
        return FoundTool(next(iter(view.stand_ins(given)), None), is_forbidden=bool(forbidden))
