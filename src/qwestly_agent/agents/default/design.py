"""One agent, all tools, the fast model."""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, field_validator

from qwestly_agent.agents.base import Models
from qwestly_agent.agents.default import interview, learning, onboarding, prompts
from qwestly_agent.agents.default.resume_parser import DefaultResumeParser
from qwestly_agent.agents.design import Design, LibraryAgent, Role, TurnAgent
from qwestly_agent.agents.make import make_agent
from qwestly_agent.agents.tools.catalog import TOOLS
from qwestly_agent.resumes.reader import PARSED_BY, ResumeParser

PROMPTS: Mapping[Role, Mapping[str, str]] = {
    "chat": prompts.PROMPTS,
    "interview": interview.PROMPTS,
    "learning": learning.PROMPTS,
    "onboarding": onboarding.PROMPTS,
}


class DefaultSettings(BaseModel):
    model_config = ConfigDict(extra="forbid")

    prompts: dict[Role, str] = {}
    """Prompt versions by role, instead of the current ones."""

    @field_validator("prompts")
    @classmethod
    def _are_known(cls, named: dict[Role, str]) -> dict[Role, str]:
        for role, version in named.items():
            if version not in PROMPTS[role]:
                raise ValueError(f"There is no prompt {version!r} of {role}; there is {', '.join(PROMPTS[role])}.")
        return named


def build_chat(models: Models, settings: DefaultSettings) -> TurnAgent:
    version = settings.prompts.get("chat", prompts.VERSION)
    agent = make_agent("default", models["fast"], instructions=prompts.PROMPTS[version], tools=TOOLS)
    return LibraryAgent(agent, version)


def build_interview(models: Models, settings: DefaultSettings) -> TurnAgent:
    return interview.build_interview(models, settings.prompts.get("interview", interview.VERSION))


def build_learning(models: Models, settings: DefaultSettings) -> TurnAgent:
    return learning.build_learning(models, settings.prompts.get("learning", learning.VERSION))


def build_onboarding(models: Models, settings: DefaultSettings) -> TurnAgent:
    return onboarding.build_onboarding(models, settings.prompts.get("onboarding", onboarding.VERSION))


def build_resume_parser(models: Models, settings: DefaultSettings) -> ResumeParser:  # noqa: ARG001
    return DefaultResumeParser(models[PARSED_BY])


DESIGN = Design(
    name="default",
    roles={
        "chat": build_chat,
        "interview": build_interview,
        "learning": build_learning,
        "onboarding": build_onboarding,
    },
    settings=DefaultSettings,
    resume_parser=build_resume_parser,
)
