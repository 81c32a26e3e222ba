"""Search job boards and the web, and propose applications. Not offered without a job board."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from pydantic import Field, StringConstraints
from pydantic_ai import RunContext, Tool
from pydantic_ai.messages import ModelRequest, ToolReturnPart, UserPromptPart
from pydantic_ai.tools import ToolDefinition

from qwestly_agent.action import DraftId
from qwestly_agent.agents.base import AgentDeps
from qwestly_agent.agents.tools.base import NEEDS, QueryText, Wish, list_result, proposal_tool, require_typed, tool
from qwestly_agent.approvals.ask import Proposal
from qwestly_agent.base.clock import format_day, format_moment
from qwestly_agent.base.errors import Invalid
from qwestly_agent.documents.service import Applying, Documents
from qwestly_agent.domain.approval import Confidence
from qwestly_agent.domain.card import TailoredKind
from qwestly_agent.domain.job import Advert, Application, ApplicationStatus, Pay, Reason
from qwestly_agent.jobs.actions import APPLY, LONGEST_NOTE, UPDATE_APPLICATION, Notes, Step
from qwestly_agent.jobs.search import JobService, QueryRule, titles_and_places
from qwestly_agent.jobs.warnings import warnings_of
from qwestly_agent.memory.service import MemoryService
from qwestly_agent.stores.jobs import JobSearches
from qwestly_agent.text.prompt_tags import PROFILE

# --- jobs -------------------------------------------------------------------------------------------------------------
# Search job boards and the web, and read an advert. All results are untrusted text. Not offered without a key.


JobId = Annotated[str, StringConstraints(min_length=1, max_length=140)]
Place = Annotated[str, StringConstraints(max_length=100, strip_whitespace=True)]
MOST_MATCHES = 8
BEGINNING, LONGEST_ADVERT = 300, 8_000


async def search_jobs(
    ctx: RunContext[AgentDeps], query: QueryText, place: Place = "", remote_only: bool = False
) -> dict[str, Any]:
    """Search job boards for current adverts, and list the matches of the nightly search (`matches`). Name any board
    that could not be reached, what the user's wishes ruled out, and each warning with its quote.

    Args:
        query: A title or skills, in at most eight words, all of them the user's own.
        place: A city or country; empty for anywhere.
        remote_only: True for remote jobs alone.
    """
    await _let_out(ctx, f"{query} {place}")
    jobs = ctx.deps.feature(JobService)
    (found, notes), matches = await asyncio.gather(jobs.search(query, place, remote_only), jobs.matches(MOST_MATCHES))
    adverts = [{**_advert(each), "job_id": each.id, "begins": each.text[:BEGINNING]} for each in found]
    known = [{"job_id": each.id, "title": each.advert.title, "company": each.advert.company} for each in matches]
    told = notes or (() if adverts else ("No board has a job like that now.",))
    return {**list_result("adverts", adverts, "", *told), "matches": known}


async def read_job(ctx: RunContext[AgentDeps], job_id: JobId) -> dict[str, Any]:
    """Read a whole advert and, if it is a match, the reasons for and against it.

    Args:
        job_id: As search_jobs lists it.
    """
    advert, match = await ctx.deps.feature(JobService).read(job_id)
    shown = {"job_id": job_id, **_advert(advert), "text": advert.text[:LONGEST_ADVERT]}
    if match is None:
        return shown
    return {**shown, "for": list(map(_reason, match.reasons_for)), "against": list(map(_reason, match.reasons_against))}


async def tailor_resume(ctx: RunContext[AgentDeps], job_id: JobId, wish: Wish = "") -> dict[str, Any]:
    """Begin to write a résumé for one job from what is known of the user. It takes minutes, nobody else sees it, and it
    says nothing that the user did not say.

    Args:
        job_id: As search_jobs lists it.
        wish: What the user wants of it, copied letter for letter; empty where they said nothing.
    """
    return await _write(ctx, "resume", job_id, wish)


async def cover_letter(ctx: RunContext[AgentDeps], job_id: JobId, wish: Wish = "") -> dict[str, Any]:
    """Begin to write a letter of application for one job, as tailor_resume does.

    Args:
        job_id: As search_jobs lists it.
        wish: What the user wants of it, copied letter for letter; empty where they said nothing.
    """
    return await _write(ctx, "cover_letter", job_id, wish)


async def _write(ctx: RunContext[AgentDeps], kind: TailoredKind, job_id: str, wish: str) -> dict[str, Any]:
    draft = await ctx.deps.feature(Documents).write(kind, job_id, require_typed(wish, ctx.deps.turn.user_messages))
    note = "The user sees how far it is. Say that it has begun, and end your answer: do not write it yourself."
    return {"draft_id": draft.id, "job_id": draft.job_id, "status": draft.status, "note": note}


async def search_web(ctx: RunContext[AgentDeps], query: QueryText) -> dict[str, Any]:
    """Search the web for what public pages say, for example of a company. Nothing there says anything about the user.

    Args:
        query: What to look for, in at most eight words, with nothing private of the user.
    """
    await _let_out(ctx, query)
    found = await ctx.deps.feature(JobService).search_web(query)
    pages = [{"title": each.title, "url": each.url, "says": each.snippet} for each in found]
    return list_result("pages", pages, "The web search found nothing.")


async def _let_out(ctx: RunContext[AgentDeps], query: str) -> None:
    """Raise `Invalid` if the query must not be sent outside."""
    deps = ctx.deps
    wishes = (await deps.feature(JobSearches).get(deps.user_id)).wishes
    has_untrusted = (
        deps.turn.calls.has_untrusted_content_beside(ctx.tool_call_id)
        or deps.feature(MemoryService).has_untrusted_content()
    )
    skills = "" if has_untrusted else str(deps.turn.career.get("skills", ""))
    own = f"{titles_and_places(deps.turn.career, wishes)}\n{skills}"
    if problem := QueryRule(deps.turn.user_messages[-1], own, _given_to_model(ctx), has_untrusted).problem(query):
        raise Invalid(problem)


def _given_to_model(ctx: RunContext[AgentDeps]) -> str:
    """Return what the model was given about the user: profile and memories, messages, and tool results."""
    requests = [each for each in ctx.messages if isinstance(each, ModelRequest)]
    about = (each.instructions.rpartition(f"<{PROFILE}>")[2] for each in requests[-1:] if each.instructions)
    parts = (part for each in requests for part in each.parts)
    read = (str(part.content) for part in parts if isinstance(part, UserPromptPart | ToolReturnPart))
    return "\n".join((*about, *read))


def _advert(advert: Advert) -> dict[str, Any]:
    told = {
        "title": advert.title,
        "company": advert.company,
        "place": advert.place,
        "way": advert.way,
        "remote_within": list(advert.remote_within),
        "visa": advert.visa,
        "pay": format_pay(advert.pay),
        "open_until": format_day(advert.ends_at) if advert.ends_at else None,
        "warnings": [each.model_dump(exclude={"kind"}) for each in warnings_of(advert)],
        "url": advert.url,
        "from": advert.attribution,
    }
    return {name: value for name, value in told.items() if value}


def format_pay(pay: Pay | None) -> str:
    if pay is None:
        return ""
    ends = dict.fromkeys(f"{each:,.0f}" for each in (pay.lowest, pay.highest) if each is not None)
    period = f"a {pay.per}" if pay.per else "(period not stated)"
    return f"{' to '.join(ends)} {pay.currency} {period}".replace("  ", " ")


def _reason(reason: Reason) -> dict[str, Any]:
    return reason.model_dump(exclude_none=True)


def offered_with_boards(declared: Tool[AgentDeps]) -> Tool[AgentDeps]:
    needs = "a key of a job board: ADZUNA_APP_ID with ADZUNA_APP_KEY, or JSEARCH_API_KEY"
    return _offered_if(_if_boards, needs, declared)


async def _if_boards(ctx: RunContext[AgentDeps], definition: ToolDefinition) -> ToolDefinition | None:
    return definition if ctx.deps.feature(JobService).services.job_boards.boards else None


def _with_web(declared: Tool[AgentDeps]) -> Tool[AgentDeps]:
    return _offered_if(_if_web, "a key of the web search: SEARCH_API_KEY", declared)


async def _if_web(ctx: RunContext[AgentDeps], definition: ToolDefinition) -> ToolDefinition | None:
    return definition if ctx.deps.feature(JobService).services.job_boards.web else None


def _offered_if(
    prepare: Callable[[RunContext[AgentDeps], ToolDefinition], Awaitable[ToolDefinition | None]],
    needs: str,
    declared: Tool[AgentDeps],
) -> Tool[AgentDeps]:
    declared.prepare = prepare
    declared.metadata = {**(declared.metadata or {}), NEEDS: needs}
    return declared


TOOLS = [
    offered_with_boards(tool(search_jobs, effect="read", label="Looking for jobs…", timeout=20.0, is_untrusted=True)),
    offered_with_boards(tool(read_job, effect="read", label="Reading the job posting…", is_untrusted=True)),
    offered_with_boards(tool(tailor_resume, effect="draft", label="Starting your résumé…")),
    offered_with_boards(tool(cover_letter, effect="draft", label="Starting your letter…")),
    _with_web(tool(search_web, effect="read", label="Searching the web…", timeout=20.0, is_untrusted=True)),
]


# --- applications -----------------------------------------------------------------------------------------------------
# Applications: propose to apply, list them, propose to change one. Not offered without a job board.


MOST_LISTED = 30


async def apply(
    ctx: RunContext[AgentDeps],
    job_id: JobId,
    document_ids: Annotated[list[DraftId], Field(min_length=1, max_length=4)],
    note: Annotated[str, StringConstraints(max_length=LONGEST_NOTE)] = "",
) -> Proposal:
    """Propose to send an application with documents that were written for this job. The user sees all that
    would be sent and must approve it each time. It cannot be taken back.

    Args:
        job_id: As search_jobs lists it.
        document_ids: As tailor_resume and cover_letter gave them; ready ones alone.
        note: Words of the user that go along, copied letter for letter; empty where they said nothing.
    """
    typed_note = require_typed(note, ctx.deps.turn.user_messages)
    return await ctx.deps.feature(Applying).proposal(job_id, document_ids, typed_note)


async def list_applications(ctx: RunContext[AgentDeps]) -> dict[str, Any]:
    """List the user's applications with status, next step and its date."""
    found = await ctx.deps.feature(Applying).list(MOST_LISTED)
    return list_result("applications", list(map(_application, found)), "They have applied for nothing yet.")


async def update_application(
    ctx: RunContext[AgentDeps],
    application_id: DraftId,
    status: ApplicationStatus | None = None,
    next_step: Step | None = None,
    next_at: Annotated[str, StringConstraints(max_length=40)] | None = None,
    notes: Notes | None = None,
    confidence: Confidence | None = None,
) -> Proposal:
    """Propose to change an application in the user's list: its outcome as they report it, and the next step. Omitted
    fields stay unchanged.

    Args:
        application_id: As list_applications gives it.
        status: What became of it.
        next_step: What the user does next.
        next_at: When, in ISO 8601 with its offset; of an interview its beginning.
        notes: In place of the notes that are there.
        confidence: How sure you are that they want it.
    """
    given = {"status": status, "next_step": next_step, "next_at": next_at, "notes": notes}
    said = {name: value for name, value in given.items() if value is not None}
    if not said:
        raise Invalid("Say what changes.")
    proposal = Proposal(UPDATE_APPLICATION, {"application_id": application_id, **said}, confidence=confidence)
    UPDATE_APPLICATION.parse(proposal.args).changes(ctx.deps.turn.clock())
    return proposal


def _application(application: Application) -> dict[str, Any]:
    told = application.model_dump(include={"title", "company", "status", "next_step", "notes"})
    moments = {"next_at": application.next_at, "applied_at": application.applied_at}
    dates = {name: format_moment(at) for name, at in moments.items() if at is not None}
    known = {name: value for name, value in {**told, **dates}.items() if value}
    return {"application_id": application.id, "job_id": application.job_id, **known}


APPLICATION_TOOLS = [
    offered_with_boards(proposal_tool(apply, APPLY, label="Proposing to apply…")),
    offered_with_boards(tool(list_applications, effect="read", label="Reading your applications…", is_untrusted=True)),
    offered_with_boards(proposal_tool(update_application, UPDATE_APPLICATION, label="Proposing to change your list…")),
]
