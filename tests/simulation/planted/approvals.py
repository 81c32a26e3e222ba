"""Mistakes in decisions and their effects."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from dataclasses import replace
from itertools import count
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from qwestly_agent.approvals import ask, decide, execute
from qwestly_agent.clients.candidate_app import CandidateApp, Done, Effect, NeverArrived, Outcome, Unknown
from qwestly_agent.domain import approval as domain
from qwestly_agent.domain.approval import SENT, Approval, Standing
from qwestly_agent.platform import records
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.workflows import ACTIONS
from tests.simulation.planted.plant import Plant, nothing


def _missing_compare_and_set() -> AbstractContextManager[Any]:
    """A record is replaced without checking its revision."""

    async def replace(self: Approvals, before: Approval, after: Approval, events: Any = None) -> Approval | None:
        current = await self.get(before.user_id, before.id)
        return await original(self, before.model_copy(update={"revision": current.revision}), after, events)

    original = Approvals.replace
    return patch.object(Approvals, "replace", replace)


def _effect_before_its_record() -> AbstractContextManager[Any]:
    """The effect is sent before the record says so."""

    async def send(services: Any, approval: Approval) -> Approval:
        if approval.status == "approved":
            effect = Effect(user_id=approval.user_id, act=approval.id, key=approval.id, version=approval.version)
            action = services.actions[approval.tool]
            await action.perform(services, effect, action.arguments_of(approval))
        return await original(services, approval)

    original = execute._send
    return patch.object(execute, "_send", send)


def _swallowed_error() -> AbstractContextManager[Any]:
    """No answer counts as done."""

    async def conclude(services: Any, approval: Approval, outcome: Outcome) -> Approval:
        return await original(services, approval, Done(None, {}) if isinstance(outcome, Unknown) else outcome)

    original = execute._conclude
    return patch.object(execute, "_conclude", conclude)


def _new_key_for_each_request() -> AbstractContextManager[Any]:
    """The idempotency key changes each time."""
    numbers = count()

    def effect(**given: Any) -> Effect:
        return Effect(**{**given, "key": f"{given['key']}-{next(numbers)}"})

    return patch.object(execute, "Effect", effect)


def _expiry_ignored() -> AbstractContextManager[Any]:
    """A yes counts after its deadline."""

    async def decide_late(services: Any, user_id: str, approval_id: str, decision: Any, **how: Any) -> Any:
        before = await services.approvals.get(user_id, approval_id)
        if before.status != "pending" or await services.signals.is_braked(user_id):
            return before, False
        return await services.approvals.change(
            before,
            lambda record: (
                decide._decided(services, record, decision, services.clock(), how["by"], how["where"])
                if record.status == "pending"
                else None
            ),
        )

    return patch.object(decide, "decide", decide_late)


def _brake_looked_at_too_early() -> AbstractContextManager[Any]:
    """The brake is not read again between the record and its effect."""

    async def check(*_: Any) -> None: ...

    return patch.object(execute, "pause", SimpleNamespace(check=check))


def _undo_without_a_look() -> AbstractContextManager[Any]:
    """An undo does not look whether somebody changed the value since."""

    async def is_unchanged(*_: Any) -> bool:
        return True

    actions = {
        tool: replace(each, inverse=replace(each.inverse, is_unchanged=is_unchanged)) if each.inverse else each
        for tool, each in ACTIONS.items()
    }
    return patch.object(ACTIONS, "_by_tool", actions)


@contextmanager
def _second_decision_counts() -> Iterator[None]:
    """A yes counts after a no."""

    async def decide_again(services: Any, user_id: str, approval_id: str, decision: Any, **how: Any) -> Any:
        before = await services.approvals.get(user_id, approval_id)
        if before.status not in ("pending", "rejected"):
            return await original(services, user_id, approval_id, decision, **how)
        if before.status == "pending":
            return await original(services, user_id, approval_id, decision, **how)
        return await services.approvals.change(
            before,
            lambda record: (
                decide._decided(services, record, decision, services.clock(), how["by"], how["where"])
                if record.status == "rejected"
                else None
            ),
        )

    original = decide.decide
    moves = {**domain.MOVES, "rejected": frozenset({"approved", "rejected", "revised"})}
    with patch.object(decide, "decide", decide_again), patch.object(domain, "MOVES", moves):
        yield


def _unknown_forgotten() -> AbstractContextManager[Any]:
    """The sweep does not come back to an effect whose outcome is not known."""
    due_at: Any = Approval.due_at.fget  # type: ignore[attr-defined]
    return patch.object(Approval, "due_at", property(lambda self: None if self.status in SENT else due_at(self)))


def _digest_ignored() -> AbstractContextManager[Any]:
    """A yes to another question counts."""

    async def decide_unseen(services: Any, user_id: str, approval_id: str, decision: Any, **how: Any) -> Any:
        record = await services.approvals.get(user_id, approval_id)
        seen = decision.model_copy(update={"args_digest": record.args_digest})
        return await original(services, user_id, approval_id, seen, **how)

    original = decide.decide
    return patch.object(decide, "decide", decide_unseen)


def _not_known_is_not_done() -> AbstractContextManager[Any]:
    """Count an uncertain effect as not done if its key is not known yet."""

    async def find_out(services: Any, approval: Approval) -> Approval:
        outcome = await execute._outcome_of(services, approval)
        if isinstance(outcome, Done):
            return await execute._conclude(services, approval, outcome)
        return await execute._end(services, approval, "failed", "Nothing was done.")

    return patch.object(execute, "_find_out", find_out)


def _event_apart_from_its_change() -> AbstractContextManager[Any]:
    """The events of a change are not written with it."""
    return patch.object(records, "with_events", lambda update, *events: update)


def _level_read_once() -> AbstractContextManager[Any]:
    """The level is not read again before the effect."""

    async def denial_reason(services: Any, approval: Approval) -> str | None:
        services = copy(services)
        services.autonomy = SimpleNamespace(get=_at_l3)
        return await original(services, approval)

    async def _at_l3(_: str) -> Any:
        return Standing("L3", "L3")

    original = execute.denial_reason
    return patch.object(execute, "denial_reason", denial_reason)


def _time_prolonged() -> AbstractContextManager[Any]:
    """A mail about an approval gives its person more time."""

    def mailing(self: Approval, *given: Any) -> Approval:
        after = original(self, *given)
        return after.model_copy(update={"expires_at": after.expires_at + 3_600.0})

    original = Approval.mailing
    return patch.object(Approval, "mailing", mailing)


def _more_than_named() -> AbstractContextManager[Any]:
    """An effect changes the location besides."""

    async def set_profile_fields(self: CandidateApp, effect: Effect, values: Any) -> Outcome:
        return await original(self, effect, {**values, "location": "Elsewhere"})

    original = CandidateApp.set_profile_fields
    return patch.object(CandidateApp, "set_profile_fields", set_profile_fields)


def _decided_without(field: str, value: Any) -> AbstractContextManager[Any]:
    def decided(self: Approval, *given: Any, **more: Any) -> Approval:
        return original(self, *given, **{**more, field: value})

    original = Approval.decided
    return patch.object(Approval, "decided", decided)


def _opened_for_nothing() -> AbstractContextManager[Any]:
    """A record does not say that its page was opened."""
    return _decided_without("opened", False)


def _reason_lost() -> AbstractContextManager[Any]:
    return _decided_without("reason", None)


def _edit_lost() -> AbstractContextManager[Any]:
    """What a person wrote on the card is not done, but what was proposed."""
    return _decided_without("edit", None)


def _asked_beside_older() -> AbstractContextManager[Any]:
    return patch.object(ask, "end_superseded", nothing)


def _undone_twice() -> AbstractContextManager[Any]:
    """An undo with an unknown outcome is asked for once more, as another one."""

    async def find(*given: Any) -> Approval | None:
        found = await original(*given)
        return found.model_copy(update={"status": "failed"}) if found and found.status in SENT else found

    original = execute._find
    return patch.object(execute, "_find", find)


def _what_an_edit_took_out_must_stay() -> AbstractContextManager[Any]:
    """An edited record is compared with all that was shown, also with what its person took out."""

    def edited(action: Any, before: Approval, decision: Any) -> Any:
        return original(action, before, decision).model_copy(update={"shown": before.shown})

    original = decide._edited
    return patch.object(decide, "_edited", edited)


def _what_undoes_it_found_anew() -> AbstractContextManager[Any]:
    """What is sent once more is to be undone to what is there by then."""

    async def inverse(services: Any, action: Any, args: Any, approval: Approval) -> str:
        is_again = approval.status != "approved" and not approval.undoes
        return await original(services, action, args, approval._copy(status="approved") if is_again else approval)

    original = execute._inverse
    return patch.object(execute, "_inverse", inverse)


def _any_404_means_that_nothing_arrived() -> AbstractContextManager[Any]:
    async def outcome_of(self: CandidateApp, user_id: str, act: str, key: str) -> Outcome:
        answer = await self._read(user_id, act, f"operations/{key}")
        return NeverArrived() if answer and answer.status == 404 else await original(self, user_id, act, key)

    original = CandidateApp.outcome_of
    return patch.object(CandidateApp, "outcome_of", outcome_of)


PLANTS: tuple[Plant, ...] = (
    _what_an_edit_took_out_must_stay,
    _what_undoes_it_found_anew,
    _any_404_means_that_nothing_arrived,
    _undone_twice,
    _opened_for_nothing,
    _reason_lost,
    _edit_lost,
    _asked_beside_older,
    _time_prolonged,
    _more_than_named,
    _missing_compare_and_set,
    _effect_before_its_record,
    _swallowed_error,
    _new_key_for_each_request,
    _expiry_ignored,
    _brake_looked_at_too_early,
    _undo_without_a_look,
    _second_decision_counts,
    _unknown_forgotten,
    _digest_ignored,
    _not_known_is_not_done,
    _event_apart_from_its_change,
    _level_read_once,
)
