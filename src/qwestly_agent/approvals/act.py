"""Decide, execute and undo approvals, and set levels, on behalf of functions that may not; the caller's token is
verified here.

Nothing that the caller claims about the user or their words is trusted: the user is taken from their own token, and the
words from the stored message. Idempotent: a call may be repeated whatever its first outcome.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pymongo.errors import PyMongoError

from qwestly_agent.approvals.autonomy import UNASKED, gate, level_of, take_back
from qwestly_agent.approvals.decide import Decision, decide_and_follow_up
from qwestly_agent.approvals.end import end_execution
from qwestly_agent.approvals.execute import NOT_ALLOWED, execute, is_due, look_up_outcome, undo
from qwestly_agent.approvals.seal import sealed
from qwestly_agent.approvals.unasked import may_run, requested_changes
from qwestly_agent.base import errors
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import AgentError, ChangedMeanwhile, Internal, Invalid, NotFound
from qwestly_agent.base.observability import Event, cause_of
from qwestly_agent.clients.user_tokens import LONGEST_TOKEN_CHARACTERS, LONGEST_TURN_SECONDS, user_of_token
from qwestly_agent.domain.approval import Approval, Level, Verb
from qwestly_agent.services import Services
from qwestly_agent.stores.approvals import COLLECTION as APPROVALS
from qwestly_agent.stores.messages import unfinished_turns
from qwestly_agent.stores.user_settings import AUTONOMY
from qwestly_agent.text.plain_words import Answer, answer_in

USE_THE_CARD = "Please decide with the buttons on the card above: it waits for them."
MOST_MESSAGES, MOST_APPROVALS = 10, 50
VERBS: Mapping[Answer, Verb] = {"yes": "approve", "no": "reject"}
ERASED_HERE = (APPROVALS, AUTONOMY)
"""Collections from which the chat's database user may not delete."""


class StoredAnswer(BaseModel):
    """A typed yes or no: the turn whose message it is, and the answer that its client showed last."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run_id: str
    answers: str


class ChosenLevel(BaseModel):
    """The level that the person sets, the ceiling up to which the agent may earn a higher one, and the tool for which
    an earned level ends."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    level: Level | None = None
    ceiling: Level | None = None
    takes_back: str = ""


class ActRequest(BaseModel):
    """One act: on an approval, a decision as the page sent it, a typed answer, an `undo`, a `look` at an outcome that
    is due, or the `run` of what its level allows; else a chosen level, or the erasure (`erase`) of approvals."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    token: str = Field(max_length=LONGEST_TOKEN_CHARACTERS, repr=False)
    approval_id: str = ""
    conversation_id: str | None = None
    """The conversation in which it was decided; None in the queue."""
    act: Decision | StoredAnswer | ChosenLevel | Literal["undo", "look", "run", "erase"]
    where: str = ""
    """The client's address, for the audit."""


class ActAnswer(BaseModel):
    """The outcome of an act; `error` names a class of `base/errors.py`."""

    user_id: str = ""
    approval_id: str = ""
    """The record that was decided, or that undoes."""
    erased: dict[str, int] = {}
    """The number of deleted records, by collection."""
    error: str = ""
    message: str = ""


async def answer_act(services: Services, event: Mapping[str, Any]) -> dict[str, Any]:
    """Return an `ActAnswer` as JSON."""
    try:
        answer = await act(services, ActRequest.model_validate(event))
    except ValidationError:
        answer = ActAnswer(error=Invalid.__name__, message=Invalid.sentence)
    except AgentError as error:
        known = next(each for each in type(error).__mro__ if hasattr(errors, each.__name__))
        answer = ActAnswer(error=known.__name__, message=error.message)
    return answer.model_dump(mode="json", exclude_defaults=True)


async def act(services: Services, asked: ActRequest) -> ActAnswer:
    """Execute the act. Raises `Unauthorized`, `NotFound`, `Braked`, `Invalid`, `ChangedMeanwhile` and `Unavailable`."""
    # A turn may call this at its end, when the token with which it began has expired.
    user_id = await user_of_token(services.secrets, asked.token, services.clock, late_seconds=LONGEST_TURN_SECONDS)
    if asked.act == "erase":
        return ActAnswer(user_id=user_id, erased=await erase_approvals(services, user_id))
    if isinstance(asked.act, ChosenLevel):
        now = to_datetime(services.clock())
        if asked.act.level is not None:
            await services.autonomy.set_level(user_id, asked.act.level, now)
        if (ceiling := asked.act.ceiling or asked.act.level) is not None:
            await services.autonomy.set_ceiling(user_id, ceiling, now)
        if asked.act.takes_back:
            await take_back(services, user_id, asked.act.takes_back)
        return ActAnswer(user_id=user_id)
    return ActAnswer(user_id=user_id, approval_id=(await _on_approval(services, user_id, asked)).id)


async def _on_approval(services: Services, user_id: str, asked: ActRequest) -> Approval:
    if asked.act == "undo":
        return await undo(services, user_id, asked.approval_id)
    approval = await services.approvals.get(user_id, asked.approval_id)
    if asked.act == "look":
        return await look_up_outcome(services, approval)
    if asked.act == "run":
        return await _run(services, approval)
    if asked.conversation_id is not None and approval.conversation_id != asked.conversation_id:
        raise NotFound("There is no such approval.")
    if isinstance(asked.act, Decision):
        by = "queue" if asked.conversation_id is None else "chat"
        return await decide_and_follow_up(services, user_id, approval.id, asked.act, by=by, where=asked.where)
    assert isinstance(asked.act, StoredAnswer)
    verb = await _verb_of(services, approval, asked.act)
    decision = Decision(decision=verb, args_digest=approval.args_digest)
    return await decide_and_follow_up(services, user_id, approval.id, decision, by="words", where=asked.where)


async def _run(services: Services, approval: Approval) -> Approval:
    """Execute the approval if the stored message of its turn plainly orders it and the user's level allows it without
    approval. The model learns the outcome from the tool's result. Raises `ChangedMeanwhile` in any other case."""
    user_id, conversation_id, action = approval.user_id, approval.conversation_id, services.actions.get(approval.tool)
    if approval.status == "pending":
        said = await _said_in(services, approval, approval.run_id)
        if action is None or conversation_id is None or approval.answer != "run":
            raise ChangedMeanwhile(NOT_ALLOWED)
        level = await level_of(services, user_id, await services.autonomy.get(user_id), approval.tool)
        changes = await requested_changes(services, user_id, said, action, action.arguments_of(approval))
        is_asked = changes == [*approval.preview.changes] != []
        is_allowed = gate(approval.effect, level, is_requested=is_asked).answer == "run"
        owner = user_id, conversation_id
        if not is_allowed or not await may_run(services, owner, action, approval.args, approval_id=approval.id):
            raise ChangedMeanwhile(NOT_ALLOWED)
        now = services.clock()
        approval, _ = await services.approvals.change(
            approval, lambda record: sealed(services, record.allowed(level, now)) if record.waits(now) else None
        )
    if approval.decided_by != "level":
        raise ChangedMeanwhile(NOT_ALLOWED)
    approval = await execute(services, user_id, approval.id)
    await services.approvals.mark_reported(approval)
    return await services.approvals.get(user_id, approval.id)


async def _said_in(services: Services, approval: Approval, run_id: str) -> str:
    """Return the stored message of this turn if the turn is still running; otherwise an empty string."""
    if approval.conversation_id is None:
        return ""
    conversation = await services.conversations.get(approval.user_id, approval.conversation_id)
    return next((each.text or "" for each in unfinished_turns(conversation) if each.run_id == run_id), "")


async def erase_approvals(services: Services, user_id: str) -> dict[str, int]:
    """End the executions that wait for the user, and delete the user's approvals and levels. An execution that cannot
    be notified ends at its own timeout. Returns the number of deleted records by collection."""
    try:
        for approval in await services.approvals.list_all(user_id, 0):
            if approval.waits_for_execution:
                with suppress(AgentError, PyMongoError):
                    await end_execution(services, approval)
    except Exception as error:  # unreadable records are erased too
        services.logger.error(Event.REQUEST_FAILED, extra=cause_of(error))
    return {each: await services.user_data.erase(user_id, each) for each in ERASED_HERE}


async def _verb_of(services: Services, approval: Approval, typed: StoredAnswer) -> Verb:
    """Return the decision in the stored message. Raises `ChangedMeanwhile` unless the message is a plain yes or no to
    this approval, and the conversation's last answer asked about it."""
    user_id, conversation_id = approval.user_id, approval.conversation_id
    if conversation_id is None:
        raise ChangedMeanwhile(USE_THE_CARD)
    said = answer_in(await _said_in(services, approval, typed.run_id))
    messages = await services.messages.list_recent(user_id, conversation_id, MOST_MESSAGES)
    answers = [each for each in messages if each.role == "assistant" and each.content != USE_THE_CARD]
    found = await services.approvals.list_of_conversation(user_id, conversation_id, MOST_APPROVALS)
    waiting = [each.id for each in found if each.waits(services.clock())]
    action = services.actions.get(approval.tool)
    is_asked = bool(answers) and answers[-1].id == typed.answers and answers[-1].asks_about == approval.id
    may_be_typed = action is not None and action.effect in UNASKED and action.inverse is not None
    if said is None or not is_asked or not may_be_typed or waiting[:1] != [approval.id]:
        raise ChangedMeanwhile(USE_THE_CARD)
    return VERBS[said]


# --- on behalf of other functions -------------------------------------------------------------------------------------


async def ask(services: Services, asked: ActRequest) -> ActAnswer:
    """Invoke the function that may perform the act. If none is configured (tests and local tools), perform it here.

    Raises what `act` raises, and `Unavailable` if the outcome is not known: the same call may then be repeated.
    """
    if not services.settings.act_function:
        return await act(services, asked)
    answer = ActAnswer.model_validate(
        await services.workflows.invoke(services.settings.act_function, asked.model_dump(mode="json"))
    )
    if answer.error:
        raise _error_of(answer.error)(answer.message)
    return answer


async def ask_act(services: Services, asked: ActRequest) -> Approval:
    """Like `ask`, for an approval. Returns the record after the act."""
    answer = await ask(services, asked)
    return await services.approvals.get(answer.user_id, answer.approval_id)


async def refresh_outcomes(services: Services, found: Sequence[Approval], token: str) -> list[Approval]:
    """Query each outcome that is due, and return the records. A record whose query fails is returned unchanged, and the
    sweep retries."""
    return list(await asyncio.gather(*(_refresh(services, each, token) for each in found)))


async def _refresh(services: Services, approval: Approval, token: str) -> Approval:
    if not is_due(services, approval):
        return approval
    try:
        if not services.settings.act_function:
            return await look_up_outcome(services, approval)
        return await ask_act(services, ActRequest(token=token, approval_id=approval.id, act="look"))
    except (AgentError, PyMongoError) as error:
        services.logger.warning(Event.REQUEST_FAILED, extra={"approval_id": approval.id, **cause_of(error)})
        return approval


def _error_of(name: str) -> type[AgentError]:
    found = getattr(errors, name, None)
    return found if isinstance(found, type) and issubclass(found, AgentError) else Internal
