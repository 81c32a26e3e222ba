"""Routes of all stored data of a user."""

from typing import Any

from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from qwestly_agent.account import ERASED, erase, export
from qwestly_agent.chat.routers.dependencies import TheServices, TheUser

EXPORTED: dict[int | str, dict[str, Any]] = {
    200: {"description": "The document", "content": {"application/json": {"schema": {"type": "object"}}}}
}

router = APIRouter()


class Erased(BaseModel):
    erased: dict[str, int]
    """Number of documents, by collection."""
    note: str = ERASED


@router.get("/api/me/export", response_class=StreamingResponse, responses=EXPORTED)
async def export_everything(services: TheServices, user_id: TheUser) -> StreamingResponse:
    """Export all stored data of the user as one JSON document, without vectors, task tokens and hashes."""
    headers = {"Content-Disposition": 'attachment; filename="qwestly-agent.json"', "Cache-Control": "no-store"}
    return StreamingResponse(
        await export(services.user_data, services.clock, user_id), media_type="application/json", headers=headers
    )


@router.delete("/api/me")
async def erase_everything(services: TheServices, user_id: TheUser) -> Erased:
    """Permanently erase all stored data of the user. Running work is stopped first, which can take 30 seconds."""
    return Erased(erased=await erase(services, user_id))
