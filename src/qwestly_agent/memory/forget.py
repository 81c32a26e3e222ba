"""Forget memories, and remove everything derived from them."""

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from qwestly_agent.approvals.end import MOST_WAITING, end_forgotten, expire, finish
from qwestly_agent.base.clock import format_day
from qwestly_agent.base.errors import Unavailable
from qwestly_agent.cards.forget import MOST_INTERVIEWS, forget_in_drafts, words_of_topics
from qwestly_agent.clients.aws import Erasure
from qwestly_agent.domain.activity import ActivityEvent, of_memory
from qwestly_agent.domain.approval import KEEPS_MEMORIES, PRIVATE, SENT, Approval
from qwestly_agent.domain.interview import Aspect, Interview, Said, Topic
from qwestly_agent.domain.learning import LearningPlan
from qwestly_agent.domain.memory import Memory, TellingWords, Tombstone, evidence_id, hashes_of
from qwestly_agent.memory.find import nearest_cosine
from qwestly_agent.memory.notes import Note
from qwestly_agent.services import Services
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.interviews import Interviews
from qwestly_agent.stores.memories import Memories, PendingErasure
from qwestly_agent.text.clean import strings_in

# --- forget elsewhere -------------------------------------------------------------------------------------------------
# Remove forgotten content from interviews, learning decisions, job matches and applications.


async def forget_in_interviews(
    interviews: Interviews, user_id: str, message_ids: Collection[str], contains_forgotten: Callable[[str], bool]
) -> list[str]:
    """Remove forgotten content from interviews; return the ids of evidence that was changed or removed."""
    before = await words_of_topics(interviews, user_id)
    for kept in await interviews.newest(user_id, MOST_INTERVIEWS):
        await interviews.drop_work(user_id, kept.conversation_id)
        await interviews.change(
            user_id,
            kept.conversation_id,
            lambda interview: without_in_interview(interview, message_ids, contains_forgotten),
        )
    after = await words_of_topics(interviews, user_id)
    return [each for each, words in before.items() if after.get(each) != words]


def without_in_interview(
    interview: Interview, message_ids: Collection[str], contains_forgotten: Callable[[str], bool]
) -> Interview:
    """Return the interview without statements from these messages, and without text that `contains_forgotten`
    matches."""

    def stays(quote: Said) -> bool:
        return quote.message_id not in message_ids and not contains_forgotten(quote.text)

    def left(aspect: Aspect) -> Aspect:
        quotes = tuple(filter(stays, aspect.quotes))
        gone = aspect.quotes and not quotes
        return aspect.model_copy(update={"quotes": quotes, **({"status": "open"} if gone else {})})

    def of(topic: Topic) -> Topic:
        aspects = tuple(left(each) for each in topic.aspects if not contains_forgotten(each.name))
        title = "…" if contains_forgotten(topic.title) else topic.title
        return topic.model_copy(update={"title": title, "aspects": aspects})

    changes: dict[str, Any] = {
        "topics": tuple(map(of, interview.topics)),
        "statements": tuple(
            each
            for each in interview.statements
            if all(map(stays, each.quotes)) and not contains_forgotten(each.text) and not contains_forgotten(each.topic)
        ),
        "terms": tuple(each for each in interview.terms if not contains_forgotten(each)),
        "avoided": tuple(each for each in interview.avoided if not contains_forgotten(each)),
        "reasoning": "",
    }
    if interview.ended and contains_forgotten(interview.ended.quote):
        changes["ended"] = interview.ended.model_copy(update={"quote": ""})
    return interview.model_copy(update=changes)


async def forget_in_jobs(
    services: Services, user_id: str, evidence: Collection[str], contains_forgotten: Callable[[str], bool]
) -> None:
    """Remove forgotten content from jobs. `evidence` contains the ids that reasons may quote. A running search drops
    everything it has written so far."""
    # The search first: any results that it stores before this call are found among the matches.
    await services.job_searches.forget(user_id)
    await services.job_matches.forget(user_id, evidence, contains_forgotten)
    await services.applications.forget(user_id, contains_forgotten)


async def forget_in_learning(
    services: Services,
    user_id: str,
    evidence: Collection[str],
    message_ids: Collection[str],
    contains_forgotten: Callable[[str], bool],
) -> None:
    """Remove forgotten content from learning. `evidence` contains the ids that gaps may quote."""
    await services.learning.change(
        user_id, lambda plan: without_in_plan(plan, evidence, message_ids, contains_forgotten), services.clock()
    )
    await services.learning.drop_wishes(user_id, contains_forgotten)
    await services.learning.drop_talks(user_id)


def without_in_plan(
    plan: LearningPlan,
    evidence: Collection[str],
    message_ids: Collection[str],
    contains_forgotten: Callable[[str], bool],
) -> LearningPlan:
    decisions = tuple(
        each
        for each in plan.decisions
        if each.message_id not in message_ids
        and not contains_forgotten(each.quote)
        and not contains_forgotten(each.text)
    )
    chosen = any(each.kind == "goal" and each.text == plan.goal for each in decisions)
    gaps = tuple(
        each
        for each in plan.gaps
        if not any(quote.source in evidence or contains_forgotten(quote.text) for quote in each.have_quotes)
        and not contains_forgotten(each.title)
        and not contains_forgotten(each.have)
    )
    goal = plan.goal if chosen or not (contains_forgotten(plan.goal) or len(decisions) < len(plan.decisions)) else ""
    return plan.model_copy(
        update={
            "forgettings": plan.forgettings + 1 if plan.revision else 0,  # without a plan there are no gaps
            "decisions": decisions,
            "goal": goal,
            "gaps": gaps if goal else (),
            "gaps_of": goal and plan.gaps_of,
        }
    )


# --- forget -----------------------------------------------------------------------------------------------------------
# Forget memories: follow their lineage, exclude from prompts all messages that contain, saw or quote them, and end
# everything based on them.
#
# Names, word stems and content patterns are not matched: a text that was never linked to a memory stays in its
# transcript, and the answer to the user says so. Drafts are handled in `cards/forget.py`, pending approvals in
# `approvals/end.py`.


WHAT_STAYS = (
    "Your agent no longer sees the messages that said it, nor its own answers that knew of it. What you said of it in "
    "other words stays in your conversations until you delete those."
)


@dataclass(frozen=True)
class AffectedPublication:
    """An executed action that is based on forgotten content."""

    title: str
    at: float


@dataclass(frozen=True)
class Forgotten:
    ids: tuple[str, ...] = ()
    published: tuple[AffectedPublication, ...] = ()

    @property
    def note(self) -> str:
        """Describe to the user what remains."""
        done = "; ".join(f"“{each.title}” on {format_day(each.at)}" for each in self.published)
        left = f" Carried out with it before, and not undone by this: {done}." if done else ""
        return WHAT_STAYS + left


ERROR_OF_ESTIMATE = 0.1
"""Tolerance for a cosine estimated from 256 bits; with it, a twentieth of repetitions are missed."""


@dataclass(frozen=True)
class TombstoneMatch:
    """A match between a new text and forgotten content that it repeats or may repeat."""

    is_exact: bool
    """True if the text has the same words or comes from the same message. Otherwise the match is a guess: request
    approval instead of dropping the text."""
    tombstones: tuple[str, ...]
    """Ids of the tombstones."""


def match_tombstones(
    tombstones: Sequence[Tombstone],
    content: str,
    quote: str,
    vector: Sequence[float],
    near_from: float,
    message_ids: Collection[str] = (),
    beside: float = -1.0,
) -> TombstoneMatch | None:
    """Return the tombstones that a new text repeats, matched by hash or message id. Otherwise return the nearest
    tombstone, provided that it is about as near as the nearest memory (whose cosine is `beside`), its estimated cosine
    is at least `near_from`, and it may share a content stem. Without a vector to compare, the result is a guess without
    tombstones."""
    hashes = {each.user_id: hashes_of(each.user_id, content, quote) for each in tombstones}
    same = [
        each.id
        for each in tombstones
        if hashes[each.user_id] & each.hashes or not each.message_ids.isdisjoint(message_ids)
    ]
    if same:
        return TombstoneMatch(True, tuple(same))
    if tombstones and not vector:
        return TombstoneMatch(False, ())
    tombstones = [each for each in tombstones if each.may_share_stem(f"{content} {quote}")]
    nearest = max(tombstones, key=lambda each: each.cosine(vector), default=None)
    is_near = nearest and nearest.cosine(vector) >= max(near_from, beside - ERROR_OF_ESTIMATE)
    return TombstoneMatch(False, (nearest.id,)) if nearest and is_near else None


async def find_retold(
    services: Services,
    user_id: str,
    note: Note,
    vector: Sequence[float],
    message_ids: Collection[str] = (),
    without: str = "",
) -> TombstoneMatch | None:
    """Return the tombstones that a note repeats, taking into account the user's nearest memory other than `without`."""
    tombstones = await services.tombstones.list_all(user_id)
    if not tombstones:
        return None
    beside = await nearest_cosine(services.memories, user_id, note.content, vector, without)
    near_from = services.settings.memory_forgotten_from
    return match_tombstones(tombstones, note.content, note.quote, vector, near_from, message_ids, beside)


async def forget(services: Services, user_id: str, memory_ids: Collection[str]) -> Forgotten:
    """Forget memories with their whole lineage, including corrections made meanwhile."""
    gone, published, hashes = dict[str, None](), dict[AffectedPublication, None](), set[str]()
    left = await services.memories.find_lineage(user_id, memory_ids)
    while left:
        held = [each.id for each in left if each.status not in ("superseded", "merged")]
        event = None if gone else of_memory("forgotten", user_id, left[0].id, services.clock())
        done = await _forget(services, user_id, [each.id for each in left], event)
        gone |= dict.fromkeys(done.ids)
        published |= dict.fromkeys(done.published)
        hashes |= done.hashes
        again = [done.replaced[each] for each in held if each in done.replaced]
        left = await services.memories.find_lineage(user_id, [*memory_ids, *gone, *again], hashes)
    return Forgotten(tuple(gone), tuple(published))


async def forget_exactly(services: Services, user_id: str, memory_ids: Collection[str]) -> Forgotten:
    """Forget exactly these memories (idempotent), and those that a process started to forget before it died."""
    done = await _forget(services, user_id, memory_ids)
    published = await _published(services.approvals, user_id, _Told(memory_ids))
    return Forgotten(tuple(done.ids), tuple(dict.fromkeys((*done.published, *published))))


async def log_forgetting(services: Services, user_id: str, memory_ids: Collection[str]) -> None:
    """Write the tombstones to the erasure log, before the memories are hidden. Raises `Unavailable`."""
    tombstones = await services.tombstones.prepare(user_id, memory_ids)
    lines = [Erasure("memory", memory_id, tombstone) for memory_id, tombstone in tombstones.items()]
    await services.erasure_log.write(user_id, *lines)


@dataclass(frozen=True)
class _Done:
    ids: list[str] = field(default_factory=list)
    published: list[AffectedPublication] = field(default_factory=list)
    replaced: dict[str, str] = field(default_factory=dict)
    hashes: set[str] = field(default_factory=set)


async def _forget(
    services: Services, user_id: str, memory_ids: Collection[str], event: ActivityEvent | None = None
) -> _Done:
    await log_forgetting(services, user_id, memory_ids)
    replaced = await services.tombstones.begin(user_id, memory_ids, services.clock(), event)
    going = await services.tombstones.list_pending(user_id)
    if not going:
        return _Done()
    published = await _forget_elsewhere(services, user_id, going)
    ids = [each.id for each in going]
    await services.tombstones.end(user_id, ids, services.clock())
    return _Done(ids, published, replaced, {each.hash for each in going if each.hash})


class _Told:
    """Recognizes memories in texts: by id, and by their words if those are distinctive enough."""

    def __init__(self, memory_ids: Iterable[str], words: Iterable[str] = ()) -> None:
        self.ids = set(memory_ids)
        self.words = tuple(words)
        self.contains_forgotten = TellingWords(self.words).stands_in

    def rests(self, approval: Approval) -> bool:
        """True if an approval cites one of the memories or contains their words."""
        if not {evidence_id(each) for each in self.ids}.isdisjoint(approval.evidence):
            return True
        preview = approval.preview.model_dump(exclude={"person"})
        said = (approval.arguments, preview, dict(approval.shown), approval.rationale)
        return any(map(self.contains_forgotten, strings_in([*said, approval.reason or "", approval.wish or ""])))


async def _forget_elsewhere(
    services: Services, user_id: str, going: Sequence[PendingErasure]
) -> list[AffectedPublication]:
    """Remove the memories from everywhere else; return the published items that are based on them."""
    told = _Told((each.id for each in going), (words for each in going for words in (each.quote, each.content)))
    requoted = await _requote(services, user_id, told.contains_forgotten)
    said_in = {each for one in going for each in one.message_ids}
    memories = [evidence_id(each) for each in (*told.ids, *requoted)]
    talked_of = await forget_in_interviews(services.interviews, user_id, {*said_in, *memories}, told.contains_forgotten)
    evidence = [*memories, *talked_of]
    await forget_in_learning(services, user_id, evidence, said_in, told.contains_forgotten)
    await forget_in_jobs(services, user_id, evidence, told.contains_forgotten)
    await services.briefings.forget(user_id, told.contains_forgotten)
    drafts = await forget_in_drafts(services.drafts, user_id, evidence, told.contains_forgotten)
    # A run that read one of these drafts has seen the draft's sources; a run that found one of these messages has seen
    # its text.
    seen = {*told.ids, *drafts, *said_in}
    await services.messages.exclude_from_prompts(user_id, said_in, seen, told.contains_forgotten)
    await services.conversations.exclude_unfinished_turns(user_id, said_in, told.contains_forgotten)
    await services.conversation_search.forget_titles(user_id, told.contains_forgotten)
    await services.conversations.drop_contexts(user_id)
    await services.tool_calls.clear_texts(user_id, {*told.ids, *said_in}, told.contains_forgotten)
    # Extractions that are not stored yet will run again, without the excluded messages.
    await services.extractions.delete_unstored(user_id)
    await services.approvals.scrub_memories(user_id, told.ids)
    cited = _Told({*told.ids, *requoted}, told.words)
    published = await _published(services.approvals, user_id, cited)
    for approval in await services.approvals.list_all(user_id, 0):
        if approval.kind not in PRIVATE and cited.rests(approval):
            await end_forgotten(services, approval, told.contains_forgotten)
    await end_empty(services, user_id)
    await _requestion(services.approvals, user_id, told.contains_forgotten)
    return published


async def _published(approvals: Approvals, user_id: str, told: _Told) -> list[AffectedPublication]:
    return [
        AffectedPublication(each.preview.title, each.updated_at)
        for each in await approvals.list_all(user_id, 0)
        if each.status in ("done", "executing", *SENT) and each.kind not in PRIVATE and told.rests(each)
    ]


async def _requote(services: Services, user_id: str, contains_forgotten: Callable[[str], bool]) -> list[str]:
    """Remove quotes that contain forgotten content from other memories, whose content stays. Return the ids of these
    memories. Unchecked memories left without a quote are deleted."""
    requoted: list[str] = []
    async for each in services.memories.iterate(user_id):
        quote, question = ("" if contains_forgotten(text) else text for text in (each.quote, each.question))
        context = quote if contains_forgotten(each.context) else each.context
        if (quote, question, context) != (each.quote, each.question, each.context):
            await services.tombstones.replace_quote(user_id, each.id, quote, question, context)
            requoted.append(each.id)
        if not quote:
            await services.unchecked.delete(user_id, [each.id])
    return requoted


async def _requestion(approvals: Approvals, user_id: str, contains_forgotten: Callable[[str], bool]) -> None:
    """Remove quotes that contain forgotten content from pending approvals of other memories."""
    for approval in await approvals.list_open(user_id, MOST_WAITING):
        await approvals.change(approval, lambda record: _without_quotes(record, contains_forgotten))


def _without_quotes(record: Approval, contains_forgotten: Callable[[str], bool]) -> Approval | None:
    if record.status != "pending" or record.kind not in PRIVATE:
        return None
    changes = tuple(
        each.model_copy(update={"evidence": tuple(text for text in each.evidence if not contains_forgotten(text))})
        for each in record.preview.changes
    )
    preview = record.preview.model_copy(update={"changes": changes})
    return None if preview == record.preview else record.shows(preview)


async def end_empty(services: Services, user_id: str) -> None:
    """End pending approvals whose memories no longer exist."""
    for approval in await services.approvals.list_open(user_id, MOST_WAITING):
        if approval.status != "pending" or approval.kind not in PRIVATE:
            continue
        if await _has_subject(services.memories, approval):
            continue
        if expired := await expire(services.approvals, approval, services.clock()):
            with suppress(Unavailable):  # if this fails, the sweep will notify the execution later
                await finish(services, expired)


async def _has_subject(memories: Memories, approval: Approval) -> bool:
    if approval.tool == KEEPS_MEMORIES:
        return bool(await filter_proposed(memories, approval.user_id, approval.arguments["memory_ids"]))
    return bool(await memories.get_many(approval.user_id, list(approval.arguments["memories"])))


async def filter_proposed(memories: Memories, user_id: str, memory_ids: Sequence[str]) -> list[Memory]:
    """Return the memories among `memory_ids` that wait for the user's approval, in order."""
    return [each for each in await memories.get_many(user_id, memory_ids) if each.status == "proposed"]
