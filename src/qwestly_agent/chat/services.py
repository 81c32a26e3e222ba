"""What the chat's handler holds: every store and client, the models, the agents, and the turns that run."""

from dataclasses import dataclass
from typing import Protocol

from qwestly_agent.agents.base import ChatAgent
from qwestly_agent.chat.turn_registry import TurnRegistry
from qwestly_agent.services import ModelServices


class HasAgents(Protocol):
    @property
    def agents(self) -> dict[str, ChatAgent]: ...


class HasRunning(Protocol):
    @property
    def running(self) -> TurnRegistry: ...


@dataclass(frozen=True)
class ChatServices(ModelServices):
    agents: dict[str, ChatAgent]
    """By the name of their design."""
    running: TurnRegistry

    async def close(self) -> None:
        self.running.end_all()
        await self.running.ended()
        await super().close()
