"""Decide, carry out and undo approvals on behalf of functions that have no right to: the chat asks, and this verifies.

Nothing that the caller says about a person or their words counts. The user is that of their own token, and words are
those of the stored message. Idempotent: a call may be repeated whatever became of the first one.
"""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from qwestly_agent.approvals.autonomy import UNASKED
from qwestly_agent.approvals.decide import Decision, decide_and_follow_up
from qwestly_agent.approvals.end import end_execution
from qwestly_agent.approvals.execute import undo
from qwestly_agent.base import errors
from qwestly_agent.base.errors import AgentError, ChangedMeanwhile, Internal, Invalid, NotFound
from qwestly_agent.clients.user_tokens import LONGEST_TOKEN_CHARACTERS, user_of_token
from qwestly_agent.domain.approval import Approval, Verb
from qwestly_agent.services import Services
from qwestly_agent.stores.messages import unfinished_turns
from qwestly_agent.text.plain_words import Answer, answer_in

USE_THE_CARD = "Please decide with the buttons on the card above: it waits for them."
MOST_MESSAGES, MOST_APPROVALS = 10, 50
VERBS: Mapping[Answer, Verb] = {"yes": "approve", "no": "reject"}


class StoredAnswer(BaseModel):
    """A typed yes or no: the turn whose message it is, and the answer that its client showed last."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run_id: str
    answers: str


class ActRequest(BaseModel):
    """One decision as the page sent it, one typed answer, one undo, or the end of what waits for it (`end`)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    token: str = Field(max_length=LONGEST_TOKEN_CHARACTERS, repr=False)
    approval_id: str
    conversation_id: str | None = None
    """The conversation in which it was decided; None in the queue."""
    act: Decision | StoredAnswer | Literal["undo", "end"]
    where: str = ""
    """The client's address, for the audit."""


async def answer_act(services: Services, event: Mapping[str, Any]) -> dict[str, str]:
    """Return `approval_id` and `status` of the record that was decided, or that undoes; or the `error` (a class of
    `base/errors.py`) and its `message`."""
    try:
        approval = await act(services, ActRequest.model_validate(event))
    except ValidationError:
        return {"error": Invalid.__name__, "message": Invalid.sentence}
    except AgentError as error:
        known = next(each for each in type(error).__mro__ if hasattr(errors, each.__name__))
        return {"error": known.__name__, "message": error.message}
    return {"approval_id": approval.id, "status": approval.status}


async def act(services: Services, asked: ActRequest) -> Approval:
    """Return the record after the act. Raises `Unauthorized`, `NotFound`, `Braked`, `Invalid`, `ChangedMeanwhile` and
    `Unavailable`."""
    user_id = await user_of_token(services.secrets, asked.token, services.clock)
    if asked.act == "undo":
        return await undo(services, user_id, asked.approval_id)
    approval = await services.approvals.get(user_id, asked.approval_id)
    if asked.conversation_id is not None and approval.conversation_id != asked.conversation_id:
        raise NotFound("There is no such approval.")
    if asked.act == "end":
        return await end_execution(services, approval)
    if isinstance(asked.act, Decision):
        by = "queue" if asked.conversation_id is None else "chat"
        return await decide_and_follow_up(services, user_id, approval.id, asked.act, by=by, where=asked.where)
    verb = await _verb_of(services, approval, asked.act)
    decision = Decision(decision=verb, args_digest=approval.args_digest)
    return await decide_and_follow_up(services, user_id, approval.id, decision, by="words", where=asked.where)


async def _verb_of(services: Services, approval: Approval, typed: StoredAnswer) -> Verb:
    """Return the decision of the stored message. Raises `ChangedMeanwhile` unless it is a plain yes or no to this
    approval, asked about by the conversation's last answer."""
    user_id, conversation_id = approval.user_id, approval.conversation_id
    if conversation_id is None:
        raise ChangedMeanwhile(USE_THE_CARD)
    conversation = await services.conversations.get(user_id, conversation_id)
    texts = [each.text or "" for each in unfinished_turns(conversation) if each.run_id == typed.run_id]
    said = answer_in(texts[0]) if texts else None
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


# --- by those who may not ---------------------------------------------------------------------------------------------


async def ask_act(services: Services, asked: ActRequest) -> Approval:
    """Have it done by the function that may, and return the record as it is now. Without such a function (tests, and
    tools on the laptop) it is done here.

    Raises what `act` raises, and `Unavailable` if the outcome is not known: the same call may then be repeated.
    """
    if not services.settings.act_function:
        return await act(services, asked)
    answer = await services.workflows.invoke(services.settings.act_function, asked.model_dump(mode="json"))
    if name := answer.get("error"):
        raise _error_of(name)(answer.get("message", ""))
    user_id = await user_of_token(services.secrets, asked.token, services.clock)
    return await services.approvals.get(user_id, answer["approval_id"])


def _error_of(name: str) -> type[AgentError]:
    found = getattr(errors, name, None)
    return found if isinstance(found, type) and issubclass(found, AgentError) else Internal
