"""Mistakes in turns: in what a typed word decides, in limits, and in deletion."""

from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from qwestly_agent.approvals import act
from qwestly_agent.approvals.act import VERBS
from qwestly_agent.base.errors import ChangedMeanwhile
from qwestly_agent.chat import turn_store
from qwestly_agent.chat.turn_approvals import TypedAnswer
from qwestly_agent.chat.turn_store import TurnStore
from qwestly_agent.stores.messages import Messages
from qwestly_agent.text.plain_words import answer_in
from tests.simulation.planted.plant import Plant


def _yes_of_another_tab() -> AbstractContextManager[Any]:
    """A typed yes counts whatever its page showed."""

    async def read_typed_answer(services: Any, user_id: str, where: str, request: Any, messages: Any) -> Any:
        answers = [each.id for each in messages if each.role == "assistant"]
        return await original(services, user_id, where, replace(request, answers=(answers or [None])[-1]), messages)

    async def verb_of(services: Any, approval: Any, typed: Any) -> Any:
        said = answer_in(await act._said_in(services, approval, typed.run_id))
        if said is None:
            raise ChangedMeanwhile
        return VERBS[said]

    original, stack = turn_store.read_typed_answer, ExitStack()
    stack.enter_context(patch.object(turn_store, "read_typed_answer", read_typed_answer))
    stack.enter_context(patch.object(act, "_verb_of", verb_of))
    return stack


def _yes_in_vain() -> AbstractContextManager[Any]:
    """No typed word decides anything."""

    async def read_typed_answer(*_: Any) -> Any:
        return TypedAnswer()

    return patch.object(turn_store, "read_typed_answer", read_typed_answer)


def _any_number_of_turns() -> AbstractContextManager[Any]:
    """No turn is refused."""

    async def admit(*_: Any) -> None: ...

    return patch.object(TurnStore, "_admit", admit)


def _deleted_messages_stay() -> AbstractContextManager[Any]:
    async def delete_all(*_: Any) -> None: ...

    return patch.object(Messages, "delete_all", delete_all)


PLANTS: tuple[Plant, ...] = (_yes_of_another_tab, _yes_in_vain, _any_number_of_turns, _deleted_messages_stay)
