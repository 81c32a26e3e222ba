"""Mistakes in turns: in what a typed word decides, in limits, reports, stops and costs, and in deletion."""

from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from qwestly_agent import account
from qwestly_agent.approvals import act
from qwestly_agent.approvals.act import VERBS
from qwestly_agent.approvals.propose import Proposer
from qwestly_agent.base.errors import ChangedMeanwhile
from qwestly_agent.chat import turn_store
from qwestly_agent.chat.routers import conversations as routes
from qwestly_agent.chat.turn import Turn
from qwestly_agent.chat.turn_approvals import TypedAnswer, note_of
from qwestly_agent.chat.turn_store import TurnStore
from qwestly_agent.domain.approval import Approval
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.candidate_data import Profiles
from qwestly_agent.stores.messages import Messages
from qwestly_agent.stores.usage import Usage
from qwestly_agent.stores.user_settings import Signals
from qwestly_agent.text.plain_words import answer_in
from tests.simulation.planted.plant import Plant, nothing
from tests.simulation.world import ADA


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
    """Typed words decide nothing."""

    async def read_typed_answer(*_: Any) -> Any:
        return TypedAnswer()

    return patch.object(turn_store, "read_typed_answer", read_typed_answer)


def _any_number_of_turns() -> AbstractContextManager[Any]:
    """No turn is rejected."""

    return patch.object(TurnStore, "_admit", nothing)


def _deleted_messages_stay() -> AbstractContextManager[Any]:
    return patch.object(Messages, "delete_all", nothing)


def _reported_again() -> AbstractContextManager[Any]:
    """It is not noted that the model knows an outcome."""

    async def mark_reported(*_: Any) -> None: ...

    return patch.object(Approvals, "mark_reported", mark_reported)


def _counts_as_reported() -> AbstractContextManager[Any]:
    """Whatever has become of an approval meanwhile, the model counts as knowing it."""

    async def mark_reported(self: Approvals, approval: Approval) -> None:
        await self.change(approval, lambda record: record.model_told())

    return patch.object(Approvals, "mark_reported", mark_reported)


def _any_number_unasked() -> AbstractContextManager[Any]:
    async def count_without_approval(*_: Any, **__: Any) -> int:
        return 0

    return patch.object(Approvals, "count_without_approval", count_without_approval)


def _stopped_in_vain() -> AbstractContextManager[Any]:
    """The page says that the answer stops, and it goes on."""

    return patch.object(Signals, "stop", nothing)


def _cost_not_counted() -> AbstractContextManager[Any]:
    """The cost of a turn is not counted."""

    async def settle(self: Usage, user_id: str, run_id: str, spent: Any, load: Any, now: float) -> bool:
        return await original(self, user_id, run_id, {}, load, now)

    original = Usage.settle
    return patch.object(Usage, "settle", settle)


def _cost_counted_twice() -> AbstractContextManager[Any]:
    async def settle(self: Usage, user_id: str, run_id: str, spent: Any, load: Any, now: float) -> bool:
        return await original(self, user_id, run_id, {name: 2 * each for name, each in spent.items()}, load, now)

    original = Usage.settle
    return patch.object(Usage, "settle", settle)


def _pending_detached() -> AbstractContextManager[Any]:
    """What waits is detached from a conversation that is deleted, so that nobody ends it."""

    return patch.object(account, "expire_pending", nothing)


def _profile_of_another() -> AbstractContextManager[Any]:
    """A turn reads the profile that the database finds first."""

    async def get_career(self: Profiles, _: str) -> Any:
        return await original(self, ADA.id)

    original = Profiles.get_career
    return patch.object(Profiles, "get_career", get_career)


def _made_again_without_its_note() -> AbstractContextManager[Any]:
    """An answer that is made again is not told what the first one was told."""
    return patch.object(Turn, "note", property(lambda turn: note_of(turn.approvals, [])))


def _deleted_once_only() -> AbstractContextManager[Any]:
    """A deletion that died after its first step is not completed by the next one."""

    async def delete(services: Any, user_id: str, conversation_id: str) -> None:
        await services.conversations.get(user_id, conversation_id)
        await original(services, user_id, conversation_id)

    original = routes.delete
    return patch.object(routes, "delete", delete)


def _two_unasked_at_once() -> AbstractContextManager[Any]:
    """Of what a turn does without asking only what came before counts, not what goes on beside."""

    async def is_requested(self: Proposer, proposal: Any) -> bool:
        return not self.unasked and await original(replace(self, unasked=[]), proposal)

    original = Proposer._is_requested
    return patch.object(Proposer, "_is_requested", is_requested)


PLANTS: tuple[Plant, ...] = (
    _two_unasked_at_once,
    _deleted_once_only,
    _made_again_without_its_note,
    _yes_of_another_tab,
    _yes_in_vain,
    _any_number_of_turns,
    _deleted_messages_stay,
    _reported_again,
    _counts_as_reported,
    _any_number_unasked,
    _stopped_in_vain,
    _cost_not_counted,
    _cost_counted_twice,
    _pending_detached,
    _profile_of_another,
)
