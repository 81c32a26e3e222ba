"""The services of the chat's handler: stores, clients, models, designs, and the registry of running turns."""

from dataclasses import dataclass

from qwestly_agent.agents.design import Designs
from qwestly_agent.chat.turn_registry import TurnRegistry
from qwestly_agent.services import ModelServices


@dataclass(frozen=True, eq=False, repr=False)
class ChatServices(ModelServices):
    """`ModelServices` with the designs and the registry of running turns."""

    designs: Designs
    running: TurnRegistry

    async def close(self) -> None:
        self.running.end_all()
        await self.running.ended()
        await super().close()
