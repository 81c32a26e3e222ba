"""Mistakes in conversations: in what is kept, in their order, and in what counts."""

from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from qwestly_agent.chat import turn_store
from qwestly_agent.stores import usage
from qwestly_agent.stores.conversations import COLLECTION, Conversations, key_query
from qwestly_agent.stores.messages import Messages
from qwestly_agent.stores.usage import Usage
from tests.simulation.planted.plant import Plant, nothing


def _taken_back_with_others() -> AbstractContextManager[Any]:
    """A refused turn deletes a conversation of which nothing is recorded yet, with the message of a dead turn."""

    async def withdraw(self: Conversations, claim: Any) -> None:
        await original(self, replace(claim, abandoned=()))

    original = Conversations.withdraw
    return patch.object(Conversations, "withdraw", withdraw)


def _begun_anew_by_its_end() -> AbstractContextManager[Any]:
    """A turn that renews its lease creates the conversation that was deleted."""

    async def renew(self: Conversations, user_id: str, conversation_id: str, run_id: str, now: float) -> bool:
        here, lease = key_query(user_id, conversation_id), {"lease_until": now, "holder": run_id}
        first = {"id": conversation_id, "design": "default", "last_used": now}
        await self.database[COLLECTION].update_one(here, {"$set": lease, "$setOnInsert": first}, upsert=True)
        return True

    return patch.object(Conversations, "renew", renew)


def _answer_without_its_message() -> AbstractContextManager[Any]:
    async def insert(self: Messages, claim: Any, new: list[Any]) -> Any:
        return await original(self, claim, [each for each in new if each.role == "assistant"] or new)

    original = Messages.insert
    return patch.object(Messages, "insert", insert)


def _never_over() -> AbstractContextManager[Any]:
    """A conversation keeps a turn that was recorded."""

    async def finish(self: Conversations, claim: Any, *given: Any, **more: Any) -> bool:
        kept = await original(self, claim, *given, **more)
        turn = {"message_id": "m", "text": None, "started_at": 0.0}
        here = key_query(claim.user_id, claim.conversation_id)
        await self.database[COLLECTION].update_one(here, {"$set": {f"turns.{claim.turn.run_id}": turn}})
        return kept

    original = Conversations.finish
    return patch.object(Conversations, "finish", finish)


def _refused_messages_count() -> AbstractContextManager[Any]:
    return patch.object(Usage, "end_turn", nothing)


def _spent_on_any_day() -> AbstractContextManager[Any]:
    """The ceiling of a day is compared with a hundred times what was spent."""
    original = usage._spent
    return patch.object(usage, "_spent", lambda document, now: 100 * original(document, now))


def _runs_for_ever() -> AbstractContextManager[Any]:
    """A turn counts as running after its end."""

    async def settle(self: Usage, user_id: str, run_id: str, *given: Any) -> bool:
        return await original(self, user_id, "another", *given)

    original = Usage.settle
    return patch.object(Usage, "settle", settle)


def _failed_for_free() -> AbstractContextManager[Any]:
    """An answer that broke off costs nothing."""

    async def account(self: Any, turn: Any, now: float) -> bool:
        if turn.record.error:
            turn.record.messages.clear()
        return await original(self, turn, now)

    original = turn_store.TurnStore._account
    return patch.object(turn_store.TurnStore, "_account", account)


def _counted_without_a_turn() -> AbstractContextManager[Any]:
    """What is spent outside of turns begins to count for whoever was erased."""

    async def add_spending(self: Usage, user_id: str, amounts: Any, now: float) -> None:
        counted = {f"days.{usage.day_of(now)}.{name}": amount for name, amount in amounts.items()}
        here = {"_id": user_id, "user_id": user_id}
        await self.database[usage.COLLECTION].update_one(here, {"$inc": counted}, upsert=True)

    return patch.object(Usage, "add_spending", add_spending)


def _tried_midway() -> AbstractContextManager[Any]:
    """A conversation takes part in a trial that begins during it."""

    def assign(*given: Any, is_new: bool) -> Any:
        return original(*given, is_new=True)

    original = turn_store.assign
    return patch.object(turn_store, "assign", assign)


PLANTS: tuple[Plant, ...] = (
    _tried_midway,
    _counted_without_a_turn,
    _taken_back_with_others,
    _begun_anew_by_its_end,
    _answer_without_its_message,
    _never_over,
    _refused_messages_count,
    _spent_on_any_day,
    _runs_for_ever,
    _failed_for_free,
)
