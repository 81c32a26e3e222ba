"""Remove forgotten memories and deleted résumés from drafts: the evidence, and all claims based on it."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from qwestly_agent.domain.card import CheckedCard, Claim, Coverage, LeftOut, Requirement, SectionDraft
from qwestly_agent.domain.memory import (
    INTERVIEW,
    MEMORY,
    RESUME,
    evidence_id,
    evidence_id_of_topic,
    resume_of,
    words_of_memory,
)
from qwestly_agent.services import Services
from qwestly_agent.stores.drafts import Draft, Drafts
from qwestly_agent.stores.interviews import Interviews
from qwestly_agent.text.clean import visible

FORGOTTEN = "It rests on something that you had forgotten, or deleted."
MOST_INTERVIEWS = 1_000
"""Maximum number of a user's interviews."""


async def forget_in_drafts(
    drafts: Drafts, user_id: str, evidence_ids: Collection[str], contains_forgotten: Callable[[str], bool]
) -> list[str]:
    """Flag the user's drafts that are based on this evidence or contain text that `contains_forgotten` matches; return
    their ids."""
    found = [each async for each in drafts.iterate(user_id)]
    return [each.id for each in found if await _forget_in_draft(drafts, each, set(evidence_ids), contains_forgotten)]


async def drop_forgotten(services: Services, user_id: str, draft_id: str) -> Draft:
    """Return the draft without content that was forgotten while the draft was being written, and that the forgetting
    could therefore not find."""
    drafts = services.drafts
    draft = await drafts.get(user_id, draft_id)
    cited = {each["id"]: each["text"] for each in draft.parts.get("evidence", ()) if _is_forgettable(each["id"])}
    if gone := await _gone(services, user_id, cited):
        await _forget_in_draft(drafts, draft, gone, lambda _: False)
        draft = await drafts.get(user_id, draft_id)
    # Sections written in the meantime may cite evidence that was removed.
    there = {each["id"] for each in draft.parts.get("evidence", ())}
    if lost := set(filter(_is_forgettable, _cited_in(draft.parts))) - there:
        await _forget_in_draft(drafts, draft, lost, lambda _: False)
        draft = await drafts.get(user_id, draft_id)
    return draft


async def words_of_topics(interviews: Interviews, user_id: str) -> dict[str, str]:
    """Return the user's words on each interview topic, by the id of the evidence."""
    return {
        evidence_id_of_topic(kept.conversation_id, place): words
        for kept in await interviews.newest(user_id, MOST_INTERVIEWS)
        for place, topic in enumerate(kept.interview.topics)
        if (words := kept.interview.words_of(topic))
    }


def _is_forgettable(evidence_id: str) -> bool:
    return evidence_id.startswith((MEMORY, INTERVIEW, RESUME))


async def _gone(services: Services, user_id: str, cited: Mapping[str, str]) -> set[str]:
    """Return the ids of evidence whose memory was forgotten, whose résumé was deleted, or whose text changed. Text
    added to an interview that continued is not a change."""
    memory_ids = [each.removeprefix(MEMORY) for each in cited if each.startswith(MEMORY)]
    found = await services.memories.get_many(user_id, memory_ids)
    words = {evidence_id(each.id): words_of_memory(each) for each in found}
    gone = {each for each, text in cited.items() if each.startswith(MEMORY) and words.get(each) != text}
    talked_of = {each: text for each, text in cited.items() if each.startswith(INTERVIEW)}
    now = await words_of_topics(services.interviews, user_id) if talked_of else {}
    for each, text in talked_of.items():
        said = visible(now.get(each, ""))
        if not all(line in said for line in text.splitlines()):
            gone.add(each)
    given = {resume_of(each) for each in cited if each.startswith(RESUME)}
    deleted = {each for each in given if await services.resumes.find(user_id, each) is None}
    return gone | {each for each in cited if each.startswith(RESUME) and resume_of(each) in deleted}


async def _forget_in_draft(
    drafts: Drafts, draft: Draft, gone: set[str], contains_forgotten: Callable[[str], bool]
) -> bool:
    """Remove the evidence from a draft, and return whether the draft contained any. If another process writes a part in
    the meantime, read the draft again."""
    flagged = False
    while True:
        parts = {name: _without(name, part, gone, contains_forgotten) for name, part in draft.parts.items()}
        changed = {name: part for name, part in parts.items() if part != draft.parts[name]}
        if not changed:
            return flagged
        flagged = True
        await drafts.replace_parts(draft, changed)
        draft = await drafts.get(draft.user_id, draft.id)


def _without(name: str, part: Any, gone: set[str], contains_forgotten: Callable[[str], bool]) -> Any:
    def stands(claim: Claim) -> bool:
        return gone.isdisjoint(claim.evidence) and not any(
            map(contains_forgotten, (claim.text, *(q.text for q in claim.quotes)))
        )

    if name == "evidence":
        theirs = (each for each in part if each["id"] not in gone)
        return [
            each
            for each in theirs
            if not (each.get("kind") in ("memory", "person") and contains_forgotten(each["text"]))
        ]
    if name == "wish":
        return "" if contains_forgotten(part) else part
    if name == "card":
        checked = CheckedCard.model_validate(part["checked"])
        left = keep_claims(checked, stands)
        return part if left == checked else {**part, "checked": left.model_dump(mode="json")}
    if name == "undo":
        return [_without("card", {"checked": each}, gone, contains_forgotten)["checked"] for each in part]
    if name == "coverage":
        coverage = Coverage.model_validate(part)
        items = tuple(each if stands(_met(each)) else _unmet(each) for each in coverage.requirements)
        return coverage.model_copy(update={"requirements": items}).model_dump(mode="json")
    if name.startswith("section_"):
        drafted = SectionDraft.model_validate(part)
        # Claims have no verdicts until they are judged.
        kept = [n for n, claim in enumerate(drafted.section.claims) if stands(claim)]
        if len(kept) == len(drafted.section.claims):
            return part
        claims = tuple(drafted.section.claims[n] for n in kept)
        verdicts = tuple(drafted.verdicts[n] for n in kept if n < len(drafted.verdicts))
        section = drafted.section.model_copy(update={"claims": claims})
        return drafted.model_copy(update={"section": section, "verdicts": verdicts}).model_dump(mode="json")
    return part


def _met(requirement: Requirement) -> Claim:
    return Claim(text="", quotes=requirement.quotes)


def _unmet(requirement: Requirement) -> Requirement:
    return requirement.model_copy(update={"met": "not_met", "quotes": ()})


def keep_claims(checked: CheckedCard, stands: Callable[[Claim], bool]) -> CheckedCard:
    """Leave out the claims for which `stands` is false, and list them without their text."""
    card = checked.card
    gone = sum(not stands(claim) for claim in card.claims)
    sections = (each.model_copy(update={"claims": tuple(filter(stands, each.claims))}) for each in card.sections)
    headline = card.headline if card.headline and stands(card.headline) else None
    left = card.model_copy(update={"headline": headline, "sections": tuple(each for each in sections if each.claims)})
    left_out = tuple(each for each in checked.left_out if stands(each.claim))
    return CheckedCard(card=left, left_out=left_out + (LeftOut(claim=Claim(text="A claim"), why=(FORGOTTEN,)),) * gone)


def _cited_in(parts: Mapping[str, Any]) -> set[str]:
    cited = set[str]()
    for name, part in parts.items():
        if name == "card":
            checked = CheckedCard.model_validate(part["checked"])
            claims = (*checked.card.claims, *(each.claim for each in checked.left_out))
        elif name == "coverage":
            claims = map(_met, Coverage.model_validate(part).requirements)
        elif name.startswith("section_"):
            claims = SectionDraft.model_validate(part).section.claims
        else:
            continue
        cited |= {source for claim in claims for source in claim.evidence}
    return cited
