"""What must hold of limits and costs: who is answered and who is refused, and what counts as spent."""

from collections.abc import Iterator
from dataclasses import dataclass

from qwestly_agent.base.errors import OverBudget, TooManyTurns
from qwestly_agent.llm.models import ceiling_price_of
from qwestly_agent.stores import usage
from qwestly_agent.stores.conversations import LEASE_SECONDS
from tests.simulation.agent import USAGE, PromptSeen
from tests.simulation.chats import ChatStory, Typed, is_whole
from tests.simulation.scheduler import Process
from tests.simulation.story import CHAT_SECONDS, SKEW, Story
from tests.simulation.world import BEGINS, JUDGE_USD, Person

DAY, MINUTE = 86_400.0, 60.0
ANSWER_USD = float(ceiling_price_of(None, "scripted", USAGE, BEGINS))


@dataclass
class LimitStory(Story):
    chats: ChatStory

    def check(self) -> Iterator[str]:
        for person in self.world.people:
            turns = [each for each in self.world.prompts if each.user_id == person.id]
            yield from self._answered(person, turns)
            if person.id not in self.stage.leaving:
                yield from self._spent(person, turns)
                yield from self._released(person)
        yield from self._begun_by_turns()
        for each in self.chats.typed:
            if isinstance(each.process.error, TooManyTurns) and not each.process.faults:
                yield from self._refused(each)
            if isinstance(each.process.error, OverBudget) and not each.process.faults:
                yield from self._over_budget(each)

    def _answered(self, person: Person, turns: list[PromptSeen]) -> Iterator[str]:
        settings = self.world.chat_settings
        for number, turn in enumerate(turns):
            before = turns[:number]
            minute = [each for each in before if each.at > turn.at - MINUTE + SKEW]
            if len(minute) >= settings.messages_a_minute and all(map(is_whole, minute)):
                yield f"{person.name} was answered {len(minute) + 1} times in a minute"
            if turn.running >= settings.running_turns:
                yield f"{person.name} has {turn.running + 1} answers at once"
            today = [each for each in before if _day(each.at) == _day(turn.at) and is_whole(each)]
            spent = ANSWER_USD * sum(each.process.ended < turn.process.begun for each in today)
            if spent >= settings.day_ceiling_usd:
                yield f"{person.name} was answered above the ceiling of a day"

    def _refused(self, refused: Typed) -> Iterator[str]:
        """Whoever is refused has sent as many messages in the last minute, or has as many being answered. A message
        that was refused counts only until its refusal."""
        settings, process = self.world.chat_settings, refused.process
        theirs = [each.process for each in self.chats.typed if each.tab.person == refused.tab.person]
        others = [each for each in theirs if each is not process and each.begun <= process.ended]
        answered = {id(each.process) for each in self.world.prompts}
        at_once = [each for each in others if _counts_as_running(each, process.begun)]
        minute = [
            each
            for each in others
            if each not in at_once
            and each.begun > process.begun - MINUTE - SKEW
            and (each.faults or not each.error or id(each) in answered)
        ]
        is_full = len(at_once) >= settings.running_turns or len(at_once + minute) >= settings.messages_a_minute
        if not is_full:
            yield f"{refused.tab.person.name} was refused after {len(minute)} messages, with {len(at_once)} at once"

    def _over_budget(self, refused: Typed) -> Iterator[str]:
        person = refused.tab.person
        asked = sum(each.user_id == person.id for each in self.world.prompts)
        most = ANSWER_USD * asked + JUDGE_USD * self.world.judged_for.count(person.id)
        if most < self.world.chat_settings.day_ceiling_usd:
            yield f"{person.name} was refused for cost after at most {most:.3f}"

    def _spent(self, person: Person, turns: list[PromptSeen]) -> Iterator[str]:
        """A user's counted cost equals the cost of the model requests made for them."""
        days = self.world.table(usage.COLLECTION).get(person.id, {}).get("days", {})
        spent = sum(each.get("cost_usd", 0.0) for each in days.values())
        judged = self.world.judged_for.count(person.id) * JUDGE_USD
        if spent > ANSWER_USD * len(turns) + judged + 1e-6:
            yield f"{person.name} is said to have spent {spent:.3f}, and spent less"
        if spent < ANSWER_USD * sum(map(is_whole, turns)) - 1e-6:
            yield f"{person.name} is said to have spent {spent:.3f}, and spent more"

    def _begun_by_turns(self) -> Iterator[str]:
        """Only a turn begins to count for somebody: what costs later must not, as they may have been erased since."""
        for key, document in self.world.table(usage.COLLECTION).items():
            if "recent" not in document:
                yield f"{key} is counted anew, and had no turn"

    def _released(self, person: Person) -> Iterator[str]:
        """No turn counts as running that has ended."""
        running = self.world.table(usage.COLLECTION).get(person.id, {}).get("running", {})
        for each in self.chats.typed:
            process = each.process
            if process.ended >= 0 and not process.faults and any(map(process.has_made, running)):
                yield f"{person.name}'s turn “{each.text}” counts as running after its end"


def _counts_as_running(process: Process[object], at: float) -> bool:
    """True if a turn that came then may have counted this one as running."""
    if not process.is_dead and not process.faults:
        return process.ended < 0 or process.ended >= at
    return process.begun > at - CHAT_SECONDS - LEASE_SECONDS - SKEW


def _day(at: float) -> int:
    return int((BEGINS + at) // DAY)
