"""A small, complete orchestrator on a hub; each part can be used alone or replaced.

`PlanningAgent` makes a plan, `ExecutionAgent` carries out its steps, `VerificationAgent` checks results, `CoordinationAgent`
does all of that for a question, and `ChatLoop` talks with a model that calls tools. The model is yours: any callable, or
`toolhub.llm.OpenAI`.

>>> from toolhub import ToolHub
>>> from toolhub.agents import CoordinationAgent
>>> agent = CoordinationAgent(ToolHub(), lambda prompt: "Paris")
>>> print(agent.answer_sync("What is the capital of France?"))
Paris
"""

from .budget import Budget
from .chat import ChatLoop
from .coordination import CoordinationAgent
from .events import (
    AgentAnswer,
    AgentEvent,
    Answered,
    CallFinished,
    CallProposed,
    ModelAnswered,
    Paused,
    PlanMade,
    RunStarted,
    StepFinished,
    StepStarted,
    Stopped,
    Verified,
)
from .evidence import Evidence
from .execution import ExecutionAgent
from .planning import PlanningAgent
from .plans import Plan, Step, StepResult
from .profile import AgentProfile, AgentPrompts
from .verification import Verification, VerificationAgent
from .view import AgentView

__all__ = [
    "AgentAnswer",
    "AgentEvent",
    "AgentProfile",
    "AgentPrompts",
    "AgentView",
    "Answered",
    "Budget",
    "CallFinished",
    "CallProposed",
    "ChatLoop",
    "CoordinationAgent",
    "Evidence",
    "ExecutionAgent",
    "ModelAnswered",
    "Paused",
    "Plan",
    "PlanMade",
    "PlanningAgent",
    "RunStarted",
    "Step",
    "StepFinished",
    "StepResult",
    "StepStarted",
    "Stopped",
    "Verification",
    "VerificationAgent",
    "Verified",
]
