"""Ground each reason in the advert and in the user's evidence; remove unsupported reasons, and jobs without reasons.

An advert states requirements, never facts about the user (`publishable` in `domain/card.py`).
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from qwestly_agent.cards.evidence import sources_of
from qwestly_agent.domain.job import Advert, JobMatch, Reason
from qwestly_agent.grounding.ground import ground
from qwestly_agent.grounding.judge import Judge, make_judge
from qwestly_agent.grounding.model import Quote, QuotedSource, Statement
from qwestly_agent.jobs.person import Person, person_of
from qwestly_agent.jobs.rank import MODEL
from qwestly_agent.jobs.scout_state import MOST_REQUESTS, ScoutState
from qwestly_agent.model_calls import structured_output
from qwestly_agent.services import ModelServices
from qwestly_agent.text.clean import quoted
from qwestly_agent.text.language import language_of
from qwestly_agent.workflow_state import state

MOST_CHECKED, MOST_KEPT = 12, 10
LEAST_SCORE = 0.5
SECONDS = 60.0
MOST_TRIES = 2
"""Requests to the judge; the second is for verdicts missing in the first."""
NOT_CHECKED = "Reasons could not be checked, and were left out. Their jobs come up again next time."
ABOUT_JOBS = """

These statements tell one person ("you") why a job fits them or does not. Quotes whose source begins with "advert:" \
are the advert's: they say what the job is and asks for, and never what the person has done. The other quotes are the \
person's: they alone say what the person is, has done or wants. A statement is supported if each half of it is."""


@state(ScoutState)
async def check(services: ModelServices, given: ScoutState) -> ScoutState:
    """Check the reasons of the best jobs, and store the supported ones. Without a judge nothing is stored, and the next
    night finds the jobs again."""
    search = await services.job_searches.get(given.user_id)
    if search.run_id != given.run_id or all(each.evidence for each in search.ranked):
        return given
    best = [each for each in search.ranked if each.score >= LEAST_SCORE and each.reasons_for][:MOST_CHECKED]
    person = await person_of(services, given.user_id)
    tries = min(MOST_TRIES, MOST_REQUESTS - search.requests)
    await services.job_searches.count_requests(search, max(0, tries))
    ask = partial(structured_output, services, given.user_id, services.judges[MODEL])
    judge = make_judge(ask, seconds=SECONDS, also=ABOUT_JOBS, retries=tries - 1) if tries > 0 else None
    kept, was_read = await ground_reasons(best, person, judge)
    now = services.clock()
    if not was_read:
        await services.job_searches.save_parts(
            given.user_id, given.run_id, now, missing=search.missing_with(NOT_CHECKED)
        )
    await services.job_searches.save_ranked(search, kept, now)
    return given


async def ground_reasons(
    best: Sequence[JobMatch], person: Person, judge: Judge | None
) -> tuple[Sequence[JobMatch], bool]:
    """Return the matches with supported reasons, and whether the judge read all of them."""
    reasons = [(match, each) for match in best for each in (*match.reasons_for, *match.reasons_against)]
    statements = [statement_of(match.advert, each, person) for match, each in reasons]
    sources = {**sources_of(person.evidence), **{source_id(each.advert): _source(each.advert) for each in best}}
    verdicts = await ground(statements, sources, judge)
    stand = {id(each) for (_, each), verdict in zip(reasons, verdicts, strict=True) if verdict.outcome == "supported"}
    kept = list(_supported(best, stand, person))[:MOST_KEPT]
    return kept, all(each.outcome != "unchecked" for each in verdicts)


def source_id(advert: Advert) -> str:
    return f"advert:{advert.id}"


def statement_of(advert: Advert, reason: Reason, person: Person) -> Statement:
    """A reason for a job must quote the user. A reason with an unknown source has no such quote, and is rejected."""
    quotes = [Quote(source=source_id(advert), text=reason.advert_quote)]
    if reason.person_quote:
        known = reason.person_source if reason.person_source in person.evidence else None
        quotes.append(Quote(source=known or "unknown", text=reason.person_quote))
    return Statement(text=reason.text, quotes=tuple(quotes))


def _supported(best: Sequence[JobMatch], stand: set[int], person: Person) -> Iterator[JobMatch]:
    for match in best:
        speaks_for = [each for each in match.reasons_for if id(each) in stand and each.person_quote]
        against = [each for each in match.reasons_against if id(each) in stand]
        if speaks_for:
            used = (each.person_source for each in (*speaks_for, *against) if each.person_source)
            yield match.model_copy(
                update={
                    "reasons_for": tuple(_shown(each, person) for each in speaks_for),
                    "reasons_against": tuple(_shown(each, person) for each in against),
                    "evidence": tuple(dict.fromkeys(used)),
                }
            )


def _shown(reason: Reason, person: Person) -> Reason:
    """Replace the source's id with its name for the user."""
    evidence: Mapping[str, str] = {each.id: each.source for each in person.evidence.values()}
    return reason.model_copy(update={"person_source": evidence.get(reason.person_source or "")})


def _source(advert: Advert) -> QuotedSource:
    text = quoted(f"{advert.title}, {advert.company}, {advert.place}\n{advert.text}")
    return QuotedSource(id=source_id(advert), text=text, trust="external", language=language_of(advert.text))
