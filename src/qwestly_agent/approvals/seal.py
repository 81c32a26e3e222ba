"""The seal of a yes: without it nothing is executed, undone or resumed, whatever a record says.

MongoDB grants rights by collection, not by field, and the chat must insert proposals and report their outcomes. So a
yes, and a mailed link, carry a MAC made with the secret of the write API, which the chat does not have. Anyone with
that secret can act in the candidate app anyway, so it grants no additional right.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence

from qwestly_agent.base.errors import InvalidSettings
from qwestly_agent.base.observability import Event
from qwestly_agent.base.settings import Settings
from qwestly_agent.domain.approval import Approval
from qwestly_agent.services import Services

CLAIMS_A_YES = frozenset({"approved", "executing", "accepted", "unknown", "done"})
"""Statuses that only a yes leads to, and that may still have consequences."""
NOT_SEALED = "This was approved by nobody who may, so nothing was done."
_HALF = 16
"""Number of random bytes in a link's token; its MAC has the same length."""


def sealed(services: Services, approval: Approval) -> Approval:
    """Return the record with a seal for the yes that it claims, and for the arguments that would undo it. Raises
    `InvalidSettings` in a function without the secret."""
    if not _needs_seal(services, approval):
        return approval
    secret = _secrets(services.secrets.settings)[0]
    return approval.with_seal(f"{_mac(secret, _yes_of(approval)).hex()}.{_mac(secret, _undo_of(approval)).hex()}")


async def is_sealed(services: Services, approval: Approval) -> bool:
    """False if the record claims a yes without a valid seal."""
    if not _needs_seal(services, approval):
        return True
    return await _has_mac(services, (approval.seal or "").partition(".")[0], _yes_of(approval))


async def is_undo_sealed(services: Services, approval: Approval) -> bool:
    """True if the arguments that undo this record have a valid seal."""
    if not _needs_seal(services, approval):
        return True
    undoing = await _has_mac(services, (approval.seal or "").partition(".")[2], _undo_of(approval))
    return undoing and await is_sealed(services, approval)


def _needs_seal(services: Services, approval: Approval) -> bool:
    """False for memories, which the chat may write itself, and which functions without the secret store."""
    action = services.actions.get(approval.tool)
    return approval.status in CLAIMS_A_YES and (action is None or action.effect != "memory")


async def end_unsealed(services: Services, approval: Approval) -> Approval:
    """Return the record; if it claims a yes without a valid seal, end it as failed. A record that claims to be done
    stays as it is."""
    if await is_sealed(services, approval):
        return approval
    services.logger.error(Event.NOT_SEALED, extra={"approval_id": approval.id, "status": approval.status})
    now, undone = services.clock(), CLAIMS_A_YES - {"done"}
    ended, _ = await services.approvals.change(
        approval, lambda record: record.ended("failed", now, NOT_SEALED) if record.status in undone else None
    )
    return ended


def new_link_token(services: Services, approval_id: str) -> str:
    """Return a new token for a link that decides this approval: 256 bits, of which half are random."""
    random = secrets.token_bytes(_HALF)
    mac = _mac(_secrets(services.secrets.settings)[0], ("link", approval_id, random.hex()))
    return base64.urlsafe_b64encode(random + mac[:_HALF]).decode().rstrip("=")


async def is_link_of(services: Services, token: str, approval_id: str) -> bool:
    """True if the token was made for this approval with the secret."""
    raw = base64.urlsafe_b64decode(f"{token}=")
    return await _has_mac(services, raw[_HALF:].hex(), ("link", approval_id, raw[:_HALF].hex()))


def _yes_of(approval: Approval) -> Sequence[str]:
    # Includes the time of the decision, so that an executed record cannot be replayed.
    return ("yes", approval.id, approval.user_id, approval.args_digest, str(approval.decided_at), approval.undoes or "")


def _undo_of(approval: Approval) -> Sequence[str]:
    return ("undo", approval.id, approval.inverse)


async def _has_mac(services: Services, given: str, said: Sequence[str]) -> bool:
    """True if the MAC, or a prefix of it, was made with one of the secrets, including those rotated since they were
    read."""

    def is_by(secret: str) -> bool:
        return hmac.compare_digest(_mac(secret, said).hex()[: len(given)].encode(), given.encode())

    if len(given) < 2 * _HALF:
        return False
    return any(map(is_by, _secrets(services.secrets.settings))) or any(
        map(is_by, _secrets(await services.secrets.renew()))
    )


def _secrets(settings: Settings) -> tuple[str, ...]:
    if not settings.candidate_api_secrets:
        raise InvalidSettings("Nothing is approved or carried out without QWESTLY_CANDIDATE_API_SECRET.")
    return settings.candidate_api_secrets


def _mac(secret: str, said: Sequence[str]) -> bytes:
    # The prefix keeps the bytes different from those of a token, which the same secret signs: a token begins with its
    # base64 header.
    return hmac.new(secret.encode(), "\n".join(("qwestly-agent", *said)).encode(), hashlib.sha256).digest()
