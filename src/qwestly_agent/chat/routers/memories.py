"""Routes of memories."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query

from qwestly_agent.base.errors import Invalid, NotFound
from qwestly_agent.chat.routers.dependencies import TheServices, TheUser
from qwestly_agent.memory.changes import correct, explain, undo
from qwestly_agent.memory.find import find_or_most_salient, vector_or_none
from qwestly_agent.memory.forget import forget
from qwestly_agent.memory.view import (
    Correction,
    ForgottenView,
    MemoryDetail,
    MemoryList,
    MemoryView,
    UndoneView,
    forgotten_view,
    memory_detail,
    memory_list,
    memory_view,
)

router = APIRouter()


@router.get("/api/memories")
async def list_memories(
    services: TheServices,
    user_id: TheUser,
    limit: Annotated[int, Query(ge=1, le=100)] = 30,
    after: Annotated[int, Query(ge=0, le=10_000)] = 0,
    status: Literal["active", "proposed", "unchecked", "superseded"] = "active",
    query: Annotated[str | None, Query(min_length=1, max_length=500)] = None,
) -> MemoryList:
    """List memories, newest first; with `query`, list active ones, best match first, each with its score, and with
    `found_by` if vectors could not be compared.

    `proposed` memories wait for approval and `unchecked` ones for a check; neither is used in prompts or searches. A
    `superseded` memory was replaced by another.
    """
    if query is None:
        return memory_list(await services.memories.newest(user_id, limit + 1, after, status), limit, after)
    if status != "active":
        raise Invalid("status: Only what holds can be searched.")
    vector = await vector_or_none(services.embeddings, services.logger, query)
    findings = await find_or_most_salient(
        services.memories, user_id, query, vector, after + limit + 1, services.clock()
    )
    return memory_list(findings.found[after:], limit, after, findings.by)


@router.get("/api/memories/{memory_id}")
async def read_memory(memory_id: str, services: TheServices, user_id: TheUser) -> MemoryDetail:
    """Return a memory with the user's own words, the conversation they are from, and the memories that it replaced and
    that replaced it."""
    explanation = await explain(services.conversations, services.memories, user_id, memory_id)
    successor = explanation.memory.superseded_by
    replaced_by = await services.memories.get_many(user_id, [successor] if successor else [])
    return memory_detail(explanation, next(iter(replaced_by), None))


@router.patch("/api/memories/{memory_id}")
async def correct_memory(memory_id: str, correction: Correction, services: TheServices, user_id: TheUser) -> MemoryView:
    """Replace a memory's content and return the new memory; the old one refers to it."""
    return memory_view(await correct(services, user_id, memory_id, correction.content))


@router.delete("/api/memories/{memory_id}")
async def forget_memory(memory_id: str, services: TheServices, user_id: TheUser) -> ForgottenView:
    """Forget the memory permanently and at once, together with the memories that it replaced; returns published items
    based on it, and what remains."""
    forgotten = await forget(services, user_id, [memory_id])
    if not forgotten.ids:
        raise NotFound("There is no such memory.")
    return forgotten_view(forgotten)


@router.post("/api/memories/{memory_id}/undo")
async def undo_memory(memory_id: str, services: TheServices, user_id: TheUser) -> UndoneView:
    """Undo, within a day, a memory stored or corrected in a chat: memories that it replaced become active again."""
    restored = await undo(services, user_id, memory_id)
    return UndoneView(undone=memory_id, restored=[memory_view(each) for each in restored])
