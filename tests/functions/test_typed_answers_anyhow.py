"""Whatever is typed in any tab of a conversation, a record changes only by a yes or no that references its answer."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from infra.local.model_answers import ToolCall
from infra.local.model_server import ModelServer, Reply
from tests.counts import count
from tests.functions.test_approvals import person, wants
from tests.servers import Answer, Client

__all__ = ["person"]

YES, NO = ("yes", "Yes, please.", "ok", "ja", "sí", "👍"), ("no", "No, thanks.", "nein", "não", "👎")
OTHER = ("yes?", "yes…", "- yes", "“yes”", "yes, but shorter", "no idea", "Si…", "Hello", "Do it all", "Why?")
FIELDS = ("headline", "location", "summary")


@dataclass
class Talk:
    """A conversation in several tabs, each with the answers it has shown."""

    person: Client
    model: ModelServer
    chance: random.Random
    conversation_id: str | None = None
    tabs: list[list[str]] = field(default_factory=lambda: [[], [], []])
    asks: dict[str, str] = field(default_factory=dict[str, str])
    """The approval that code asked about, by the answer's id."""
    number: int = 0

    def replies(self) -> list[Reply]:
        self.number += 1
        value = f"No. {self.number}"
        card = wants(self.chance.choice(FIELDS), value, f"call_{self.number}")
        pending = self.records("pending")
        match self.chance.randrange(6):
            case 0 | 1:
                return [card]
            case 2:
                return [Reply(text=self.chance.choice(["Bolder:", "Do you like Lisbon?"]), tool_calls=card.tool_calls)]
            case 3 if pending:
                arguments = {"approval_id": self.chance.choice([*pending])}
                shown: ToolCall = {"name": "show_approval", "arguments": arguments}
                return [Reply(tool_calls=[shown]), Reply(text="Shall I tell you its name?")]
            case _:
                return [Reply(text=self.chance.choice(["Do you like Lisbon?", "I see."]))]

    def records(self, status: str | None = None) -> dict[str, str]:
        found = self.person.get("/api/approvals?state=all")["items"]
        return {each["approval_id"]: each["status"] for each in found if status in (None, each["status"])}

    def says(self, words: str, named: str | None, tab: list[str]) -> Answer:
        self.model.forget_requests()
        self.model.script(*self.replies(), Reply(text="So."), Reply(text="So."))
        more: dict[str, Any] = {"answers": named} if named else {}
        answer = self.person.say(words, self.conversation_id, **more)
        self.conversation_id = answer.conversation_id
        tab.append(answer.id)
        cards = [event.data["approval_id"] for event in answer.events if event.name == "approval_required"]
        if answer.text.endswith("? You can answer yes or no."):
            [self.asks[answer.id]] = cards
        return answer


def names(chance: random.Random, talk: Talk, tab: list[str]) -> str | None:
    """Return the tab's last answer, as a client sends it; or an older one, one of another tab, or none."""
    anywhere = [each for every in talk.tabs for each in every]
    choices: list[Callable[[], str | None]] = [
        lambda: tab[-1] if tab else None,
        lambda: tab[-1] if tab else None,
        lambda: chance.choice(anywhere) if anywhere else None,
        lambda: "msg_unknown",
        lambda: None,
    ]
    return chance.choice(choices)()


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(count(1, 40)))
def test_no_typed_message_without_its_answers_id_changes_a_record(
    person: Client, model: ModelServer, seed: int
) -> None:
    chance = random.Random(seed)
    talk, decided = Talk(person, model, chance), 0
    for _ in range(25):
        tab = chance.choice(talk.tabs)
        words, named, before = chance.choice((*YES, *NO, *OTHER)), names(chance, talk, tab), talk.records()
        talk.says(words, named, tab)
        after = {key: status for key, status in talk.records().items() if before.get(key, status) != status}
        changed = {key for key, status in after.items() if status != "changed"}  # a newer proposal closes an older one
        assert changed <= ({talk.asks[named]} if named in talk.asks else set()), (words, named)
        assert not changed or words in (*YES, *NO)
        decided += len(changed)
    assert decided, "the right answers were decided"
