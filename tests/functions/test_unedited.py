"""A role's answer is shown and stored unchanged, in every script and with code in it."""

import asyncio
import random
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import pytest
from pydantic_ai import AgentRunEvents
from pydantic_ai.messages import ModelMessage, ModelResponse, PartDeltaEvent, PartEndEvent, PartStartEvent, TextPart
from pydantic_ai.messages import TextPartDelta as Delta

from infra.local.model_server import ModelServer, Reply
from qwestly_agent.agents.default.roles import ClosedRun
from qwestly_agent.agents.design import ROLES, NativeEvent
from qwestly_agent.chat.safe_events import sanitize_events, sanitize_message
from qwestly_agent.chat.turn import Record
from qwestly_agent.llm.client import VisibleText
from tests.counts import count, everyday
from tests.servers import Client

HOSTS = ("qwestly.com",)
TEXTS = count(10_000, 10_000, small=1_000)
PIECES = (
    # code
    "`a != b`", "#!/bin/bash", "if a <= b && !c || d:", "for (i = 0; i < 10; i++) { x[i] = -1; }", "x = {1: [2, 3]}!",
    '```python\nprint("Hello, World!")\n```', "SELECT * FROM t WHERE a <> 'b';", "rm -rf ./*", "std::vector; a::b()",
    r"C:\temp\new", "!important", "y = x ?? z?.w", "$x ? 1 : 2;", "\\begin{x} \\frac12 \\end{x}",
    "# Heading\n\n- *one*",
    # quotations and manner
    '"Great choice!", she said.', "“Well done!” and «Bravo !»", "Hi-fi systems?! No: wi-fi.", "Hello, World is first.",
    "That is a great question!!! What for? And when?", "I am confused. I did not understand.", "¡Muy bien! ¿Y ahora?",
    "The library has nothing on it. Shall I?", "Perfect competition is a model…", "e.g. 3.5 % (i.e. little)",
    # addresses
    "https://qwestly.com/jobs?x=1&y=2", "[jobs](/jobs)", "ada@example.com", "example.com/a/b", "+49 30 123-45",
    "10.0.0.1",
    # scripts
    "Größe, naïve, señor", "Что вы хотите? Отлично!", "Τι θέλεις; Πολύ καλά!", "ماذا تريد؟ رائع!",
    "आप क्या चाहते हैं? बहुत बढ़िया!",
    "何を学びたいですか？素晴らしい！", "学什么？很好！", "👩‍💻 👍🏽 1️⃣ ❤️",
)  # fmt: skip
EXCEPTIONS = (
    "List<String>", "[x](https://evil.example/a)", "![](//evil.example/p.png)", "see https://evil.example!",
    "a\u200bb\u202ec",
    "<b>bold</b>", "[1]: http://evil.example",
)  # fmt: skip
"""Links that a renderer could point to another host, and invisible characters."""
CLOSING = "**What is covered**\n\n- *Acme*, team size: “eight people”"
_UNSEEN = re.compile(r"[\s\u200b\u202e]+")


@dataclass
class Run:
    """A run of a model that sends a text piece by piece, as it arrives from the provider."""

    pieces: Sequence[str]
    said: str = ""

    async def __aiter__(self) -> AsyncIterator[NativeEvent]:
        seen = VisibleText()
        yield PartStartEvent(index=0, part=TextPart(""))
        for piece in (*map(seen.feed, self.pieces), seen.end()):
            self.said += piece
            yield PartDeltaEvent(index=0, delta=Delta(piece))
        yield PartEndEvent(index=0, part=TextPart(self.said))

    def new_messages(self) -> list[ModelMessage]:
        return [ModelResponse(parts=[TextPart(self.said)])]


def texts(seed: int, count: int, pieces: Sequence[str] = PIECES) -> Iterator[str]:
    by = random.Random(seed)
    for _ in range(count):
        yield "".join(f"{by.choice(pieces)}{by.choice((' ', '  ', chr(10), ' – '))}" for _ in range(by.randint(1, 6)))


def cut(text: str, by: random.Random) -> list[str]:
    places = sorted(by.randint(0, len(text)) for _ in range(by.randint(0, 5)))
    return [text[start:end] for start, end in zip((0, *places), (*places, len(text)), strict=True)]


async def shown_and_stored(text: str, closing: str, by: random.Random) -> tuple[str, str]:
    """Return the shown answer and the stored messages of a run."""

    async def no_events() -> Sequence[NativeEvent]:
        return ()

    async def closing_text() -> str:
        return closing

    run = ClosedRun(cast(AgentRunEvents[Any], Run(cut(text, by))), closing_text, no_events)
    record = Record(0.0)
    async for event in sanitize_events(aiter(run), HOSTS, ()):
        record.take(event, 0.0)
    [message] = [sanitize_message(each, HOSTS) for each in run.new_messages()]
    assert isinstance(message, ModelResponse)
    return record.content, "\n\n".join(each.content for each in message.parts if isinstance(each, TextPart))


def test_thousands_of_random_answers_are_shown_and_stored_unchanged() -> None:
    async def all_of_them() -> None:
        by = random.Random(1)
        for number, text in enumerate(texts(2, TEXTS)):
            closing = CLOSING if number % 3 == 0 else ""
            shown, stored = await shown_and_stored(text, closing, by)
            assert shown == stored == (f"{text}\n\n{closing}" if closing else text)

    asyncio.run(all_of_them())


def test_links_to_other_hosts_differ_only_by_spaces_and_invisible_characters() -> None:
    async def all_of_them() -> None:
        by = random.Random(3)
        for text in texts(4, TEXTS // 10, (*PIECES, *EXCEPTIONS * 3)):
            shown, stored = await shown_and_stored(text, "", by)
            assert shown == stored
            assert _UNSEEN.sub("", shown) == _UNSEEN.sub("", text)

    asyncio.run(all_of_them())


@pytest.mark.parametrize("role", everyday(2, ROLES))
def test_in_each_role_an_answer_is_shown_and_stored_unchanged(client: Client, model: ModelServer, role: str) -> None:
    conversation_id = None
    for text in (each.strip() for each in texts(5, 4)):
        model.script_chat(Reply(text=cut(text, random.Random(6))))
        answer = client.say("Go on", conversation_id, **({} if conversation_id else {"role": role}))
        conversation_id = answer.conversation_id
        assert answer.text == text
        assert client.get(f"/api/conversations/{conversation_id}")["messages"][-1]["content"] == text
