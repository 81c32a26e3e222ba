"""Learning within a running turn, for its agent and the tools."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from qwestly_agent.base.errors import AgentError, Invalid
from qwestly_agent.domain.learning import (
    DecisionKind,
    Granularity,
    LearningDecision,
    LearningPlan,
    LearningTalk,
    Lesson,
    Offer,
)
from qwestly_agent.grounding.quotes import find_span
from qwestly_agent.learning.acceptance import says_yes
from qwestly_agent.learning.gaps import find_gaps
from qwestly_agent.learning.granularity import Detected, detect
from qwestly_agent.learning.lesson_text import clean_line
from qwestly_agent.learning.phrases import extract_name, folded
from qwestly_agent.learning.progress import LearningProgress, progress_of
from qwestly_agent.learning.start import start_lesson
from qwestly_agent.learning.tree import FoundTopic, Tree
from qwestly_agent.services import ModelServices
from qwestly_agent.text.language import language_of
from qwestly_agent.text.user_text import typed_parts

MOST_FOUND = 5
MOST_DECISIONS = 50
MOST_OPENINGS = 5
NOT_CONFIRMED = (
    "No topic was confirmed: offer one with confirm_with_user, and wait until they say yes to it. If they named "
    "nothing to learn, ask what they would like to learn."
)
OF_A_POSTING = "What the posting asks for and is between them and the job was kept: get_learning_progress reads it."
"""Returned instead of untrusted text, which only a tool with an untrusted result may return."""
IS_SUBJECT = "It is a subject, too broad for a lesson. Offer one of its topics, and wait for their yes."


@dataclass
class LearningService:
    """The state of learning within one turn."""

    services: ModelServices
    user_id: str
    conversation_id: str
    run_id: str
    message_id: str
    seq: int
    """`seq` of the person's message, once it is recorded."""
    text: str
    """The person's message; empty if they only decided an approval."""
    talk: LearningTalk = field(default_factory=LearningTalk)
    _tree: Tree | None = None
    _detected: dict[str, Granularity] = field(default_factory=dict)

    async def tree(self) -> Tree:
        self._tree = self._tree or Tree(await self.services.topics.list_modules())
        return self._tree

    @property
    def open_offer(self) -> Offer | None:
        """The offer that this message may accept; only the message after the offer may."""
        offer = self.talk.offer
        return offer if offer and 0 < self.seq - offer.seq <= 2 else None

    async def search(self, query: str) -> list[FoundTopic]:
        tree = await self.tree()
        return tree.search(query, MOST_FOUND) if extract_name(query) or tree.find(query) else []

    async def detect(self, phrase: str) -> Detected:
        """Determine the granularity of a phrase. Raises the errors of `structured_output`."""
        found = await detect(self.services, self.user_id, await self.tree(), phrase)
        self._detected[folded(found.understood_as)] = found.granularity
        return found

    async def offer(self, topic: str, question: str) -> None:
        """Store an offer, which the next message may accept."""
        topic, question = clean_line(topic), clean_line(question)
        node = (await self.tree()).find(topic)
        granularity = node.granularity if node else self._detected.get(folded(topic), "topic")
        offer = Offer(topic=topic, question=question, granularity=granularity, seq=self.seq)
        self.talk = self.talk.model_copy(update={"offer": offer})
        await self._keep()

    async def generate(self, wish: str) -> Lesson:
        """Start the offered lesson. Raises `Invalid` if no topic was confirmed, `Braked` and `Unavailable`."""
        offer, typed = self.open_offer, "\n".join(typed_parts(self.text))
        tree = await self.tree()
        if offer is None or not (extract_name(offer.topic) or tree.find(offer.topic)):
            raise Invalid(NOT_CONFIRMED)
        if offer.granularity in ("subject", "nothing"):
            raise Invalid(IS_SUBJECT)
        if not await says_yes(self.services, self.user_id, offer, typed):
            raise Invalid(NOT_CONFIRMED)
        return await start_lesson(
            self.services,
            tree,
            user_id=self.user_id,
            run_id=self.run_id,
            conversation_id=self.conversation_id,
            topic=offer.topic,
            wish=clean_line(wish),
            language=language_of(f"{offer.question} {typed}"),
            asked_at=str(offer.seq),
        )

    async def decide(self, kind: DecisionKind, text: str, quote: str) -> Mapping[str, object]:
        """Store a decision that the person states in this message. Raises `Invalid` if the message lacks the quote."""
        typed = "\n".join(typed_parts(self.text))
        span = find_span(quote, typed)
        if span is None:
            raise Invalid("They did not say that in this message. Quote them letter for letter, or leave it.")
        now = self.services.clock()
        words = typed[span[0] : span[1]]
        made = LearningDecision(kind=kind, text=text, quote=words, message_id=self.message_id, at=now)
        goal = {"goal": text} if kind == "goal" else {}
        plan = await self.services.learning.change(
            self.user_id,
            lambda plan: plan.model_copy(update={"decisions": (*plan.decisions, made)[-MOST_DECISIONS:], **goal}),
            now,
        )
        return {"stored": text, **(await self._gaps_to(text, plan) if kind == "goal" else {})}

    async def progress(self) -> LearningProgress:
        return await progress_of(self.services, self.user_id, await self.tree())

    async def note_openings(self, said: tuple[str, ...]) -> None:
        """Store the openings of an answer, so that the next one differs."""
        if said:
            openings = tuple(dict.fromkeys((*self.talk.openings, *said)))[-MOST_OPENINGS:]
            self.talk = self.talk.model_copy(update={"openings": openings})
            await self._keep()

    async def _gaps_to(self, goal: str, before: LearningPlan) -> Mapping[str, object]:
        try:
            gaps = await find_gaps(self.services, self.user_id, await self.tree(), goal)
        except AgentError:
            return {"note": "What is between them and this goal could not be worked out now."}
        now = self.services.clock()
        after = await self.services.learning.change(
            self.user_id, lambda plan: plan.with_gaps(gaps, goal, now, before), now
        )
        if after.forgettings != before.forgettings:
            return {"note": "They had something forgotten meanwhile, so what is missing was not kept."}
        if any(each.asked for each in gaps):
            return {"note": OF_A_POSTING}
        return {"gaps": [each.model_dump(mode="json") for each in gaps]}

    async def _keep(self) -> None:
        await self.services.learning.save_talk(self.user_id, self.conversation_id, self.talk)
