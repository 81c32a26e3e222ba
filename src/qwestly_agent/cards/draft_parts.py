"""The parts of a draft, as they were kept."""

from qwestly_agent.domain.card import CheckedCard, Coverage, Evidence, SectionDraft
from qwestly_agent.domain.job import Advert
from qwestly_agent.stores.drafts import Draft


def advert_of(draft: Draft) -> Advert | None:
    """Of the job that it is written for."""
    kept = draft.parts.get("advert")
    return Advert.model_validate(kept) if kept else None


def checked_of(draft: Draft) -> CheckedCard:
    """Its text as it was checked last. Raises `KeyError` if there is none yet."""
    return CheckedCard.model_validate(draft.parts["card"]["checked"])


def coverage_of(draft: Draft) -> Coverage | None:
    kept = draft.parts.get("coverage")
    return Coverage.model_validate(kept) if kept else None


def evidence_of(draft: Draft) -> dict[str, Evidence]:
    return {each["id"]: Evidence.model_validate(each) for each in draft.parts["evidence"]}


def section_draft(draft: Draft, kind: str) -> SectionDraft | None:
    """As it was kept last, in whichever round."""
    kept = draft.parts.get(f"section_{kind}")
    return SectionDraft.model_validate(kept) if kept else None


def wishes_of(draft: Draft) -> list[str]:
    """What is remembered of how to write of them, and what they said of this card; the newest last."""
    wishes = draft.parts.get("wishes", ())
    evidence = evidence_of(draft).values()
    remembered = [each.text for each in evidence if each.id in wishes]
    # A part of a message, which may say the opposite without the rest: it steers, and is evidence of nothing.
    first = [draft.parts["wish"]] if draft.parts.get("wish") else []
    return [*remembered, *first, *(each.text for each in evidence if each.kind == "person")]
