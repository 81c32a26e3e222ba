"""The interview within a running turn, for its agent and for the tools that pass on the person's wishes."""

from collections.abc import Callable
from dataclasses import dataclass, field

from qwestly_agent.clients.aws import Start
from qwestly_agent.domain.interview import Ended, Interview
from qwestly_agent.grounding.model import Quote, QuotedSource
from qwestly_agent.grounding.quotes import find_quote
from qwestly_agent.interviews.change import change
from qwestly_agent.interviews.known import Known, known_of
from qwestly_agent.interviews.machine import (
    activate_next,
    choose_aspect,
    complete,
    count_answer,
    end,
    end_if_due,
    mark_end_announced,
    talk_about,
)
from qwestly_agent.interviews.topics import drop_removed_words
from qwestly_agent.services import Services
from qwestly_agent.text.plain_words import is_stop
from qwestly_agent.text.user_text import typed_in


@dataclass
class InterviewService:
    """Holds the newest state that this turn knows. A message that only asks to stop ends the interview, whatever the
    model does; other wishes to stop are heard by the model."""

    services: Services
    user_id: str
    conversation_id: str
    run_id: str
    message_id: str
    seq: int
    """`seq` of the person's message, once it is recorded."""
    text: str
    """The person's message; empty if they only decided an approval."""
    is_new: bool
    """False if the message was answered before."""
    starts: list[Start]
    """Workflows to start once the turn is recorded."""
    latest: Interview = field(default_factory=Interview)

    async def begin_turn(self, first: Callable[[Interview], Interview]) -> Interview:
        """Count the person's answer. `first` fills a new interview. The draft of this turn is started at its end."""
        typed = typed_in(self.text)
        now, words, stops = self.services.clock(), len(typed.split()), is_stop(self.text)

        def counted(interview: Interview) -> Interview:
            is_new = not interview.turns and not interview.topics
            begun = activate_next(first(interview)) if is_new else interview
            if not self.is_new:
                again = drop_removed_words(begun, self.message_id, typed) if self.text else begun
                return mark_end_announced(again, self.seq)
            if stops and not begun.ended:
                return end(begun, Ended(reason="asked", quote=typed.strip(), told_to=self.seq))
            return mark_end_announced(
                choose_aspect(count_answer(begun, self.seq, words, now, self.message_id) if self.text else begun),
                self.seq,
            )

        await self._change(counted, self.latest)
        if self.text:
            given = {
                "user_id": self.user_id,
                "conversation_id": self.conversation_id,
                "run_id": f"interview-{self.run_id}",
                "seq": self.seq,
            }
            self.starts.append(Start("write_draft", f"interview-{self.run_id}", given))
        return self.latest

    async def known(self) -> Known:
        return await known_of(self.services, self.user_id)

    @property
    def tells_the_end(self) -> bool:
        """True in the turn that announces the end, also when its answer is regenerated."""
        ended = self.latest.ended
        return ended is not None and (ended.told_to == self.seq or not self.is_new)

    async def talk_about(self, title: str) -> Interview:
        """Make this topic active because the person wants it; it need not exist yet."""
        return await self._change(lambda interview: choose_aspect(talk_about(interview, title)))

    async def enough(self, of: str, quote: str) -> bool:
        """End the topic or the interview if the quote is in this message. Returns False if it is not."""
        said = {"this": QuotedSource(id="this", text=typed_in(self.text))}
        found = find_quote(Quote(source="this", text=quote), said)
        if found is None:
            return False
        now = self.services.clock()

        def over(interview: Interview) -> Interview:
            active = interview.active
            if of == "topic" and active:
                return mark_end_announced(choose_aspect(end_if_due(complete(interview, active.title), now)), self.seq)
            return end(interview, Ended(reason="asked", quote=found.text, told_to=self.seq))

        await self._change(over)
        return True

    async def _change(self, changed: Callable[[Interview], Interview], known: Interview | None = None) -> Interview:
        self.latest = await change(self.services, self.user_id, self.conversation_id, changed, known)
        return self.latest
