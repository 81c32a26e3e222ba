"""Mistakes in mails and their links."""

from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

from qwestly_agent.approvals import links, mail
from qwestly_agent.domain.approval import Approval
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.candidate_data import MailRecipient, Profiles
from qwestly_agent.stores.user_settings import UserSettings, UserSettingsStore
from tests.simulation.planted.plant import Plant, nothing
from tests.simulation.world import ADA, BEN


def _mailed_to_another() -> AbstractContextManager[Any]:
    """A mail goes to the first user that the database finds."""

    async def get_mail_recipient(*_: Any) -> MailRecipient:
        return MailRecipient(ADA.address, ADA.name)

    return patch.object(Profiles, "get_mail_recipient", get_mail_recipient)


def _mailed_again_and_again() -> AbstractContextManager[Any]:
    """A sent mail is not recorded as sent."""

    async def sent(_: Any, approval: Approval, __: float) -> Approval:
        return approval

    return patch.object(mail, "_sent", sent)


def _mailed_without_a_claim() -> AbstractContextManager[Any]:
    """Send a due mail without claiming it."""

    async def change(self: Approvals, seen: Approval, change: Any) -> tuple[Approval, bool]:
        after, changed = await original(self, seen, change)
        return after, changed or (after.status == "pending" and after.mails > seen.mails)

    original = Approvals.change
    return patch.object(Approvals, "change", change)


def _never_mailed() -> AbstractContextManager[Any]:
    """Postpone due mails without sending them."""

    return patch("qwestly_agent.clients.aws.Mail.send", nothing)


def _a_look_decides() -> AbstractContextManager[Any]:
    """Count the opening of a mail's link as a yes."""

    async def look(services: Any, approval: Approval) -> Any:
        posted = links.PostedForm("approve", approval.args_digest, "")
        return await links._answer(services, approval, posted, where="a look")

    return patch.object(links, "_look", look)


def _link_to_anything() -> AbstractContextManager[Any]:
    """A link that nobody sent leads to what waits."""

    async def find(services: Any, token: str) -> Approval:
        if found := await services.approvals.find_by_link(links.hash_of(token)):
            return await services.approvals.get(*found)
        waiting = [*await services.approvals.list_open(ADA.id, 1), *await services.approvals.list_open(BEN.id, 1)]
        return waiting[0] if waiting else await original(services, token)

    original = links._find
    return patch.object(links, "_find", find)


def _unsubscribed_in_vain() -> AbstractContextManager[Any]:
    """The page says that mails have ended, and they come."""

    return patch.object(UserSettingsStore, "unsubscribe", nothing)


def _mailed_where_mail_comes_back() -> AbstractContextManager[Any]:
    return patch.object(UserSettings, "returned_as", lambda *_: None)


def _private_words_mailed() -> AbstractContextManager[Any]:
    """Mails have the texts of memories."""
    return patch.object(mail, "PRIVATE", frozenset())


PLANTS: tuple[Plant, ...] = (
    _mailed_to_another,
    _mailed_again_and_again,
    _mailed_without_a_claim,
    _never_mailed,
    _a_look_decides,
    _link_to_anything,
    _unsubscribed_in_vain,
    _mailed_where_mail_comes_back,
    _private_words_mailed,
)
