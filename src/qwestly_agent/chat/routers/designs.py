"""Route of the designs."""

from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel

from qwestly_agent.agents.design import Designs, Role
from qwestly_agent.chat.routers.dependencies import TheServices, TheUser

router = APIRouter()


class DesignView(BaseModel):
    name: str
    is_default: bool
    """True if new conversations use it by default."""
    roles: list[Role]


class DesignList(BaseModel):
    items: list[DesignView]
    next: Literal[None] = None


@router.get("/api/designs")
async def list_designs(services: TheServices, user_id: TheUser) -> DesignList:  # noqa: ARG001
    """List the values of `design` and `role` that `POST /api/chat` accepts for a new conversation."""
    return view_of(services.designs)


def view_of(designs: Designs) -> DesignList:
    return DesignList(
        items=[
            DesignView(name=name, is_default=name == designs.new_conversation_design, roles=list(agents))
            for name, agents in sorted(designs.agents.items())
        ]
    )
