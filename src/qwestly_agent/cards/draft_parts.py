"""Read the stored parts of a draft."""

from qwestly_agent.domain.card import CheckedCard, Coverage, Evidence, SectionDraft
from qwestly_agent.domain.job import Advert
from qwestly_agent.stores.drafts import Draft


def advert_of(draft: Draft) -> Advert | None:
    """Return the advert of the job for which the draft is written."""
    kept = draft.parts.get("advert")
    return Advert.model_validate(kept) if kept else None


def checked_of(draft: Draft) -> CheckedCard:
    """Return the text that was checked last. Raises `KeyError` if there is none yet."""
    return CheckedCard.model_validate(draft.parts["card"]["checked"])


def coverage_of(draft: Draft) -> Coverage | None:
    kept = draft.parts.get("coverage")
    return Coverage.model_validate(kept) if kept else None


def evidence_of(draft: Draft) -> dict[str, Evidence]:
    return {each["id"]: Evidence.model_validate(each) for each in draft.parts["evidence"]}


def section_draft(draft: Draft, kind: str) -> SectionDraft | None:
    """Return the latest stored section, of any round."""
    kept = draft.parts.get(f"section_{kind}")
    return SectionDraft.model_validate(kept) if kept else None


def style_requests(draft: Draft) -> list[str]:
    """Return remembered wishes about style and the user's wishes for this card, newest last."""
    wishes = draft.parts.get("wishes", ())
    evidence = evidence_of(draft).values()
    remembered = [each.text for each in evidence if each.id in wishes]
    # Part of a message, which may mean the opposite without the rest: it guides the writer, but is not evidence.
    first = [draft.parts["wish"]] if draft.parts.get("wish") else []
    return [*remembered, *first, *(each.text for each in evidence if each.kind == "person")]
