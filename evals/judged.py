"""Run the datasets without conversations: claims, memories, retellings, people in trouble. Decided by code or by the
configured models."""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from evals import claims, memories, trouble
from evals.judge import configured_judge
from evals.looks import Judged, by_code, by_judge
from evals.outcomes import Outcome, Source
from infra.local.model_embedding import embedding

NEAR_FROM = 0.6


def claims_of(samples: int) -> list[Outcome]:
    """Check that true claims are not rejected and false ones do not pass. Without a judge, claims with a false meaning
    are skipped, because code does not check meaning."""
    cases = claims.load()
    return asyncio.run(_claims(cases, samples))


async def _claims(cases: Sequence[claims.Case], samples: int) -> list[Outcome]:
    async with configured_judge() as configured:
        if configured is None:
            exact = [case for case in cases if case.true or case.kind in claims.EXACT_KINDS]
            return [*_of_claims([by_code(case) for case in exact], 0, "code", "", 0.0)]
        name, judge = configured
        outcomes: list[Outcome] = []
        for sample in range(samples):
            begun = time.perf_counter()
            judged = await by_judge(cases, judge)
            each_ms = 1000 * (time.perf_counter() - begun) / len(cases)
            outcomes += _of_claims(judged, sample, "live", name, each_ms)
        return outcomes


def _of_claims(judged: Sequence[Judged], sample: int, source: Source, model: str, ms: float) -> Iterator[Outcome]:
    seen = dict[str, int]()
    for each in judged:
        number = seen[each.case.person] = seen.get(each.case.person, 0) + 1
        yield Outcome(
            dataset=f"claims that are {'true' if each.case.true else 'false'}",
            case=f"{each.case.person}/{number}",
            group=each.case.kind,
            sample=sample,
            source=source,
            passed=not each.wrong,
            # Report only the verdict: if anyone read the held-out claims, checks would be tuned on them.
            problems=(each.fate,) if each.wrong else (),
            model=model,
            total_ms=ms or None,
        )


def memories_of(samples: int) -> list[Outcome]:  # noqa: ARG001
    """Count correct notes that code drops and wrong ones that it keeps, with a judge that answers by the labels."""
    told = list(memories.conversations(memories.FOLDER))
    fates = asyncio.run(_fates(told))
    return [
        Outcome(
            dataset=f"memories that are {'right' if each.is_right else 'wrong'}",
            case=f"{each.language}/{number}",
            group=each.language,
            source="code",
            passed=fate in ("kept", "own words") if each.is_right else each.may_keep_own_words or fate == "lost",
            problems=() if fate != "lost" else (fate,),
        )
        for number, (each, fate) in enumerate(zip(told, fates, strict=True))
    ]


async def _fates(told: Sequence[memories.Candidate]) -> list[str]:
    return [(await memories.fate_of(each))[0] for each in told]


def retellings_of(samples: int) -> list[Outcome]:  # noqa: ARG001
    """Check that retellings of a forgotten memory are detected, and that other topics are not. The embedding is
    scripted."""
    found = memories.retellings(memories.FOLDER, lambda text: embedding(text, memories.DIMENSIONS), NEAR_FROM)
    return [
        Outcome(
            dataset="retellings",
            case=f"{each.language}/{number}",
            group=each.relation,
            source="code",
            passed=each.is_found == (each.relation == "retelling"),
        )
        for number, each in enumerate(found)
    ]


def trouble_of(samples: int) -> list[Outcome]:  # noqa: ARG001
    """Check that messages of people in trouble are detected, and no others: by phrases, and by the moderation endpoint
    if it is configured."""
    messages = [each for each in trouble.load(*trouble.ASIDE) if each.label in "epo"]
    found, moderated = trouble.by_phrases(messages), asyncio.run(trouble.if_configured(messages))
    either = [a or b for a, b in zip(found, moderated or found, strict=True)]
    return [
        Outcome(
            dataset="people in trouble" if each.in_trouble else "people who are not in trouble",
            case=f"{each.language}/{number}",
            group=each.language,
            source="code" if moderated is None else "live",
            passed=is_found == each.in_trouble,
        )
        for number, (each, is_found) in enumerate(zip(messages, either, strict=True))
    ]


JUDGED: Mapping[str, Callable[[int], list[Outcome]]] = {
    "claims": claims_of,
    "memories": memories_of,
    "retellings": retellings_of,
    "trouble": trouble_of,
}
