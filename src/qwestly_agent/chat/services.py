"""The services of the chat's handler: stores, clients, models, agents, and the registry of running turns."""

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
    """By the name of the design."""
    running: TurnRegistry

    async def close(self) -> None:
        self.running.end_all()
        await self.running.ended()
        await super().close()
