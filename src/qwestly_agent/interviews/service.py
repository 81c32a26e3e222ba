"""The interview within a running turn, existing knowledge about the person, and the agenda of an onboarding."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import AgentError
from qwestly_agent.base.observability import Event, cause_of
from qwestly_agent.clients.aws import Start
from qwestly_agent.domain.approval import ShownQuote
from qwestly_agent.domain.interview import Aspect, Interview, Said, Topic
from qwestly_agent.domain.resume import UNDER_WAY
from qwestly_agent.grounding.figures import figures
from qwestly_agent.interviews.machine import (
    activate_next,
    choose_aspect,
    drop_removed_words,
    go_on,
    mark_end_announced,
    strike,
)
from qwestly_agent.interviews.model import (
    TELLING,
    NewMessage,
    NextMove,
    Spoken,
    hear,
    own_words,
    sources_of,
    transcript_of,
)
from qwestly_agent.interviews.reader import MOST_HEARD, next_move
from qwestly_agent.interviews.writer import change
from qwestly_agent.profile import ChangedField, read_fields
from qwestly_agent.resumes.model import profile_changes
from qwestly_agent.services import ModelServices, Services
from qwestly_agent.text.clean import visible
from qwestly_agent.text.language import language_of
from qwestly_agent.text.plain_words import is_stop
from qwestly_agent.text.user_text import typed_in

# --- known ------------------------------------------------------------------------------------------------------------
# Collect what is known about a person before an onboarding, from the profile and the résumé.
#
# Memories need a model to interpret them, which happens in the first draft.


MOST_QUOTES = 6
"""Maximum number of quotes shown per field."""


@dataclass(frozen=True)
class KnownField:
    field: ChangedField
    value: Any
    quotes: tuple[ShownQuote, ...]


@dataclass(frozen=True)
class Known:
    profile: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The profile with preferences and job wishes."""
    resume: Mapping[ChangedField, KnownField] = field(default_factory=dict[ChangedField, KnownField])
    """Values from the newest résumé for fields that the profile lacks."""
    resume_id: str = ""
    has_memories: bool = False


async def known_of(services: Services, user_id: str) -> Known:
    profile, resumes, memories = await asyncio.gather(
        read_fields(services.profiles, services.job_searches, user_id),
        services.resumes.newest(user_id, 1),
        own_words(services.memories, user_id),
    )
    has_memories = bool(memories)
    newest = next(iter(resumes), None)
    today = to_datetime(services.clock()).date()
    if newest is None or newest.status in UNDER_WAY or not (changes := profile_changes(newest, profile, today)):
        return Known(profile, has_memories=has_memories)
    quotes = {name: tuple(map(ShownQuote.model_validate, each)) for name, each in changes["quotes"].items()}
    read = [
        KnownField(each["field"], each["value"], quotes[each["field"]][:MOST_QUOTES]) for each in changes["changes"]
    ]
    return Known(profile, {each.field: each for each in read if not profile.get(each.field)}, newest.id, has_memories)


# --- agenda -----------------------------------------------------------------------------------------------------------
# The agenda of an onboarding: the fields that a profile needs. Known fields are not asked about.


PROFILE = "profile"
"""Stored in place of a message id if an aspect is known from the profile."""
SAID = "what you said"
MOST_YEARS = 80
"""Maximum years of experience; a higher number is a calendar year."""
AGENDA: Mapping[str, Mapping[str, ChangedField]] = {
    "Work": {
        "current role": "headline",
        "years of experience": "years_of_experience",
        "where you live": "location",
        "what you are proud of": "summary",
    },
    "Skills": {"main skills": "skills", "languages": "languages"},
    "Education": {"school and degree": "education"},
    "Wishes": {"role you want": "roles", "where you want to work": "locations", "way to work": "work_mode"},
    "Limits": {"when you can begin": "availability", "what you do not want": "never"},
}
"""Topics in order: aspect → the field of the profile, the preferences or the job wishes that contains the answer."""
_LONGEST_WORDS = 200


def with_agenda(interview: Interview, known: Known) -> Interview:
    topics = [
        Topic(
            title=title,
            status="backlog",
            priority=len(AGENDA) - place,
            aspects=tuple(_aspect(name, field, known) for name, field in aspects.items()),
        )
        for place, (title, aspects) in enumerate(AGENDA.items())
    ]
    told = (each.model_copy(update={"status": "backlog" if each.open_aspects else "completed"}) for each in topics)
    return interview.model_copy(update={"has_agenda": True, "has_memories": known.has_memories, "topics": tuple(told)})


@dataclass(frozen=True)
class _Says:
    text: str
    quotes: tuple[Said, ...]


def learnt_fields(interview: Interview) -> list[KnownField]:
    """Return the draft's value for each field, in the words of its statements."""
    found = list[KnownField]()
    for title, aspects in AGENDA.items():
        for name, wanted in aspects.items():
            says = _said_of(interview, title, name)
            if value := _value(wanted, says.text):
                found.append(KnownField(wanted, value, tuple(map(_shown_quote, says.quotes))))
    return found


def _said_of(interview: Interview, title: str, name: str) -> _Says:
    says = [each for each in interview.draft if each.topic == title and name in each.aspects]
    quotes = tuple(dict.fromkeys(quote for each in says for quote in each.quotes))
    return _Says(" ".join(each.text for each in says).removesuffix("."), quotes)


def _shown_quote(said: Said) -> ShownQuote:
    return ShownQuote(source=said.known_from or SAID, before="", quote=said.text, after="")


def _value(field: ChangedField, text: str) -> Any:
    match field:
        case "years_of_experience":
            found = {number for each in figures(text, language_of(text) or "en") for number in each.numbers}
            return int(min(found)) if len(found) == 1 and min(found) < MOST_YEARS else None
        case "skills" | "languages" | "roles" | "locations" | "never":
            return [text] if text else None
        case "education":
            return [{"school": text}] if text else None
        case _:
            return text


def _aspect(name: str, field: ChangedField, known: Known) -> Aspect:
    if words := visible(_in_words(known.profile.get(field)))[:_LONGEST_WORDS]:
        said = Said(message_id=PROFILE, text=words, known_from="your profile")
        return Aspect(name=name, status="covered", quotes=(said,))
    if read := known.resume.get(field):
        said = tuple(Said(message_id=known.resume_id, text=each.quote, known_from=each.source) for each in read.quotes)
        return Aspect(name=name, status="covered", quotes=said)
    return Aspect(name=name)


def _in_words(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_in_words, value))
    if isinstance(value, dict):
        return ", ".join(_in_words(each) for each in value.values() if each)
    return "" if value is None else str(value)


# --- service ----------------------------------------------------------------------------------------------------------
# The interview within a running turn, for its agent and for the tools that pass on the person's wishes.


PATIENCE_SECONDS, READ_SECONDS = 0.8, 8.0
"""How long the interviewer waits for the orchestrator, and the timeout of the orchestrator's request."""


@dataclass
class InterviewService:
    """Holds the newest state known in this turn. A message that only asks to stop ends the interview, whatever models
    do; all others are read by the orchestrator, with one typed request that starts with the turn."""

    services: ModelServices
    user_id: str
    conversation_id: str
    run_id: str
    message_id: str
    seq: int
    """`seq` of the person's message, once it is recorded."""
    text: str
    """The person's message; empty if they only decided on an approval."""
    is_new: bool
    """False if the message was already answered before."""
    starts: list[Start]
    """Workflows to start once the turn is recorded."""
    latest: Interview = field(default_factory=Interview)
    _reading: "asyncio.Task[NextMove | None] | None" = None
    """The orchestrator's request; None once its answer was applied."""
    _asked: str = ""
    """The aspect that was asked about before this turn."""

    async def begin_turn(self, first: Callable[[Interview], Interview]) -> NextMove | None:
        """Apply the orchestrator's reading of the person's message, and return it. Returns None if it is not ready in
        time; `settle` then applies it. `first` fills a new interview. Writing the draft starts once the turn is
        recorded."""
        typed = typed_in(self.text)

        def begun(interview: Interview) -> Interview:
            is_new = not interview.turns and not interview.topics
            return activate_next(first(interview)) if is_new else interview

        move = NextMove(kind="stop", quote=typed.strip()) if is_stop(self.text) else None
        if self.text and move is None:
            self._asked = self.latest.asking
            self._reading = asyncio.ensure_future(self._read(begun(self.latest), typed))
            await asyncio.wait({self._reading}, timeout=PATIENCE_SECONDS)
            if self._reading.done():
                move, self._reading = self._reading.result(), None

        def heard(interview: Interview) -> Interview:
            interview = begun(interview)
            if not self.is_new:
                again = drop_removed_words(interview, self.message_id, typed) if self.text else interview
                return self._as_told(again, move)
            return self._heard(interview, move) if move else choose_aspect(interview)

        await self._change(lambda interview: mark_end_announced(heard(interview), self.seq), self.latest)
        if self.text and self.latest.drafted_to < self.seq:
            given = {
                "user_id": self.user_id,
                "conversation_id": self.conversation_id,
                "run_id": f"interview-{self.run_id}",
                "seq": self.seq,
            }
            self.starts.append(Start("write_draft", f"interview-{self.run_id}", given))
        return move

    async def settle(self) -> None:
        """Wait for the orchestrator and apply its answer, except for the next aspect, since the question was already
        asked without it."""
        reading, self._reading = self._reading, None
        if reading and (move := await reading) and self.is_new:
            await self._change(
                lambda interview: mark_end_announced(self._heard(interview, move, self._asked), self.seq)
            )

    def give_up(self) -> None:
        """Cancel the orchestrator's request, if it is still running."""
        if self._reading:
            self._reading.cancel()

    async def _read(self, interview: Interview, typed: str) -> NextMove | None:
        before = self.services.messages.list_recent(self.user_id, self.conversation_id, MOST_HEARD - 1, before=self.seq)
        try:
            said = [*transcript_of(await before), Spoken(self.message_id, "the person", typed)]
            return await next_move(self.services, self.user_id, interview, said, READ_SECONDS, retries=0)
        except AgentError as error:  # `write_draft` makes the request again
            self.services.logger.warning(Event.REQUEST_FAILED, extra={"path": "orchestrator", **cause_of(error)})
            return None

    def _heard(self, interview: Interview, move: NextMove, asked: str | None = None) -> Interview:
        typed = typed_in(self.text)
        message = NewMessage(self.message_id, self.seq, len(typed.split()))
        said = sources_of([Spoken(self.message_id, "the person", typed)])
        return hear(interview, move, message, said, self.services.clock(), asked=asked)

    def _as_told(self, interview: Interview, move: NextMove | None) -> Interview:
        """Update the interview for a message that is answered again: only its kind may change, since it was counted
        before."""
        others = tuple(each for each in interview.untold if each != self.message_id)
        untold = (*others, self.message_id) if move and move.kind not in TELLING else others
        return interview.model_copy(update={"untold": untold, "counted_to": self.seq})

    async def known(self) -> Known:
        return await known_of(self.services, self.user_id)

    @property
    def tells_the_end(self) -> bool:
        """True in the turn that announces the end, even if its answer is regenerated."""
        ended = self.latest.ended
        return ended is not None and (ended.told_to == self.seq or not self.is_new)

    async def go_on(self) -> Interview:
        """Continue the interview if it had already ended."""
        return await self._change(lambda interview: choose_aspect(go_on(interview)) if interview.ended else interview)

    async def strike(self, text: str) -> bool:
        """Strike this sentence from the draft. Returns False if the draft has no such sentence."""
        before = self.latest.draft
        return (await self._change(lambda interview: strike(interview, text))).draft != before

    async def _change(self, changed: Callable[[Interview], Interview], known: Interview | None = None) -> Interview:
        self.latest = await change(self.services, self.user_id, self.conversation_id, changed, known)
        return self.latest
