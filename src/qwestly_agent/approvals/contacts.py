"""Keep contact details from the user's documents out of proposed and published texts."""

import asyncio
import re
from collections.abc import Sequence
from typing import Any

from qwestly_agent.approvals.arguments import to_json_types
from qwestly_agent.base.errors import Invalid
from qwestly_agent.domain.approval import Approval, ShownLeftOut
from qwestly_agent.services import AnyAction, Services
from qwestly_agent.stores.candidate_data import Knowledge
from qwestly_agent.stores.resumes import Resumes
from qwestly_agent.text.clean import strings_in
from qwestly_agent.text.contacts import ContactDetails

LEFT_OUT = "Contact details: what stands in your documents of them is put into no text for others."
NOT_PUBLISHED = "It has contact details from your documents, and those are not published. Nothing was done."
NOTHING_LEFT = "It is left out: contact details from the user's documents are put into no text for others."
_SENTENCE_ENDS = re.compile(r"(?<=[.!?;])\s+|\n+")


async def find_contact_details(knowledge: Knowledge, resumes: Resumes, user_id: str) -> ContactDetails:
    """Find the contact details in the candidate app's documents and in uploaded résumés."""
    found = await asyncio.gather(knowledge.contacts(user_id), resumes.contacts(user_id))
    return ContactDetails.of(each for some in found for each in some)


def public_texts(action: AnyAction, args: Any) -> list[str]:
    """Return the texts of an action that others can read."""
    return [text for name in action.published for text in strings_in(args.get(name))]


def without_contacts(
    action: AnyAction, args: Any, details: ContactDetails, *, drafted: bool
) -> tuple[Any, tuple[ShownLeftOut, ...]]:
    """Remove contact details from the arguments, and return the parts left out. Raises `Invalid` if nothing would be
    left, or if a `drafted` text contains any, as it must be drafted again."""
    given = to_json_types(args)
    if not details.places_in(public_texts(action, given)):
        return args, ()
    left = {name: _left(value, details) if name in action.published else value for name, value in given.items()}
    if drafted or not action.editable or None in left.values() or details.places_in(public_texts(action, left)):
        raise Invalid(NOTHING_LEFT)
    return action.parse(left), (ShownLeftOut(text="A part of it", why=(LEFT_OUT,)),)


async def has_public_contacts(services: Services, approval: Approval, action: AnyAction) -> bool:
    """True if the approval's texts contain contact details that the user did not add."""
    texts = public_texts(action, approval.arguments)
    if not texts or approval.edited or approval.undoes:
        return False
    return bool((await find_contact_details(services.knowledge, services.resumes, approval.user_id)).places_in(texts))


def _left(value: Any, details: ContactDetails) -> Any:
    """Return the value without contact details, or None if nothing is left. An item with several fields is kept whole
    or not at all."""
    match value:
        case str():
            return " ".join(_clean(_SENTENCE_ENDS.split(value), details)) or None if details.stand_in(value) else value
        case dict():
            left = {name: each if each is None else _left(each, details) for name, each in value.items()}
            return None if any(left[name] is None and each is not None for name, each in value.items()) else left
        case list() | tuple():
            texts = [" ".join(strings_in(each)) for each in value]
            gone = details.places_in(texts) - {n for n, each in enumerate(texts) if details.stand_in(each)}
            items = [_left(each, details) for n, each in enumerate(value) if n not in gone]
            return [each for each in items if each is not None] or None
        case _:
            return value


def _clean(texts: Sequence[str], details: ContactDetails) -> list[str]:
    gone = details.places_in(texts)
    return [text for number, text in enumerate(texts) if number not in gone]
