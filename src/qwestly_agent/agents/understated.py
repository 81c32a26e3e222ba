"""Keep answers understated: no exclamation mark, no praise, no repeated opening or greeting."""

import re
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic_ai import AgentRunEvents
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
)

from qwestly_agent.agents.design import NativeEvent

# --- asks -------------------------------------------------------------------------------------------------------------
# Fallback questions about what a person would like to learn. Used if nothing is left of an answer, or if it would
# repeat an earlier question word for word.


OPENING_WORDS = 5
_WORD = re.compile(r"\w+")

_ASKS: Mapping[str, tuple[str, ...]] = {
    "en": (
        "What would you like to learn: a broad field, or one skill?",
        "Which skill would help you most this month?",
        "Is there something at work that you would like to do better?",
        "Name a field or a skill, and we start from there.",
    ),
    "de": (
        "Was möchtest du lernen: ein ganzes Gebiet oder eine einzelne Fähigkeit?",
        "Welche Fähigkeit würde dir in diesem Monat am meisten helfen?",
        "Gibt es etwas bei der Arbeit, das du besser können möchtest?",
        "Nenne ein Gebiet oder eine Fähigkeit, und wir beginnen dort.",
    ),
    "fr": (
        "Qu’aimeriez-vous apprendre : un domaine entier ou une compétence précise ?",
        "Quelle compétence vous aiderait le plus ce mois-ci ?",
        "Y a-t-il quelque chose au travail que vous aimeriez mieux faire ?",
        "Nommez un domaine ou une compétence, et nous partons de là.",
    ),
    "es": (
        "¿Qué te gustaría aprender: un campo entero o una habilidad concreta?",
        "¿Qué habilidad te ayudaría más este mes?",
        "¿Hay algo en el trabajo que te gustaría hacer mejor?",
        "Nombra un campo o una habilidad, y empezamos por ahí.",
    ),
    "pt": (
        "O que gostaria de aprender: uma área inteira ou uma competência concreta?",
        "Que competência lhe seria mais útil este mês?",
        "Há algo no trabalho que gostaria de fazer melhor?",
        "Diga uma área ou uma competência, e começamos por aí.",
    ),
}


def opening_of(text: str) -> str:
    """Return the first words of an answer, case-folded, for comparison."""
    return " ".join(_WORD.findall(text.casefold())[:OPENING_WORDS])


def choose_question(language: str, openings: Collection[str]) -> str:
    """Return a question that begins with none of `openings`, in this language or in English."""
    questions = _ASKS.get(language, _ASKS["en"])
    return next((each for each in questions if opening_of(each) not in openings), questions[0])


# --- understated ------------------------------------------------------------------------------------------------------
# Keep answers understated: no exclamation mark, no praise, no repeated opening or greeting, never “I am confused”.


_SENTENCE = re.compile(r"[^.!?？؟。！\n]*(?:[.!?？؟。！]+[\"”’)*_]*(?=\s|$)|\n|[.!?](?=\S))\s*")
_PRAISE = re.compile(
    r"(?:(?:that|this|it)(?:['’]s| is) |what |sounds like )?(?:an? )?(?:really |very |truly |such )?(?:an? )?"
    r"(?:(?:great|excellent|awesome|amazing|fantastic|wonderful|brilliant|superb|impressive|perfect|terrific|lovely)"
    r"(?: (?:choice|question|idea|topic|pick|start|job|work|answer|thinking|point|goal|one|stuff|effort|progress))?"
    r"|(?:good|nice|smart|wise) (?:choice|question|idea|pick|start|job|work|thinking|point|goal|one)"
    r"|well done|good for you|bravo|kudos|congratulations|i(?:['’]m| am) (?:so )?proud of you|you(?:['’]re| are)"
    r" (?:doing )?(?:great|amazing|awesome)|super|toll|großartig|ausgezeichnet|(?:tolle|gute|super) (?:wahl|frage|idee)"
    r"|gut gemacht"
    r"|excellente? (?:choix|question|idée)|très bien|(?:excelente|buena) (?:elección|pregunta|idea)|muy bien|genial"
    r"|(?:excelente|boa|ótima) (?:escolha|pergunta|ideia)|muito bem)"
    r"(?P<end>[,.!:;–—-]+\s*|$)",
    re.IGNORECASE,
)
_CONFUSED = re.compile(
    r"\bi(?:['’]m| am) (?:a (?:bit|little) )?(?:confused|not sure (?:what|i)|unsure what)"
    r"|\bi (?:did not|didn['’]t|do not|don['’]t) (?:quite )?(?:understand|get (?:that|it))"
    r"|\bich (?:habe (?:das|dich) nicht verstanden|bin verwirrt)|\bje n['’]ai pas compris|\bno (?:te )?entend[ií]"
    r"|\bn[ãa]o (?:entendi|percebi)",
    re.IGNORECASE,
)
_GREETING = re.compile(
    r"(?:hello|hi|hey|welcome|good (?:morning|afternoon|evening|day)|hallo|guten (?:tag|morgen|abend)|willkommen"
    r"|bonjour|bonsoir|bienvenue|hola|buen[oa]s (?:días|tardes|noches)|bienvenid[oa]|olá|bom dia|boa (?:tarde|noite)"
    r"|bem-vind[oa])"
    r"(?: [^,.!?]{1,30})?(?P<end>[,.!–—-]+\s*|$)",
    re.IGNORECASE,
)
_ASKED = re.compile(r"[?？؟]")
_MARKS = re.compile(r"\s*[!！¡]+")


@dataclass
class UnderstatedRun:
    """A run whose text is corrected sentence by sentence."""

    run: AgentRunEvents[Any]
    openings: Collection[str]
    """The openings of earlier answers."""
    may_greet: bool
    """True only in the first answer."""
    may_replace_question: bool
    """True if the person named no topic, so that any question will do."""
    language: str
    """Language of the person's message."""
    is_fixed: Callable[[], bool]
    """Returns True for fixed words, which are not changed."""

    def __post_init__(self) -> None:
        self._parts: list[str] = []
        """The text so far, one item for each part."""
        self._held = ""
        self._open: int | None = None
        self._index = 0
        self._left_out = False
        self._kept_back = ""
        """A sentence with the same opening as an earlier answer; used if nothing follows."""

    @property
    def used_openings(self) -> tuple[str, ...]:
        """Openings of the first sentence and of the first question."""
        sentences = [found[0] for found in _SENTENCE.finditer(f"{''.join(self._parts)}\n") if found[0].strip()]
        questions = [each for each in sentences if _ASKED.search(each)]
        return tuple(dict.fromkeys(filter(None, map(opening_of, [*sentences[:1], *questions[:1]]))))

    async def __aiter__(self) -> AsyncIterator[NativeEvent]:
        async for event in self.run:
            match event:
                case PartStartEvent(part=TextPart(content=text), index=index):
                    self._open, self._held = index, ""
                    self._index = max(self._index, index + 1)
                    self._parts.append("")
                    yield replace(event, part=TextPart(self._allowed(text)))
                case PartDeltaEvent(delta=TextPartDelta(content_delta=text), index=index) if index == self._open:
                    if words := self._allowed(text):
                        yield replace(event, delta=TextPartDelta(words))
                case PartEndEvent(part=TextPart(), index=index) if index == self._open:
                    if words := self._rest():
                        yield PartDeltaEvent(index=index, delta=TextPartDelta(words))
                    self._open = None
                    yield replace(event, part=TextPart(self._parts[-1]))
                case _:
                    yield event
        if self._left_out and not "".join(self._parts).strip():
            words = self._kept_back.strip() or choose_question(self.language, self.openings)
            self._parts = [*self._parts[:-1], words] if self._parts else [words]
            yield PartStartEvent(index=self._index, part=TextPart(words))
            yield PartEndEvent(index=self._index, part=TextPart(words))

    def new_messages(self) -> list[ModelMessage]:
        """Replace the model's text with the corrected text."""
        said = iter(self._parts)
        return [_said(message, said) if isinstance(message, ModelResponse) else message for message in self._messages]

    @property
    def _messages(self) -> list[ModelMessage]:
        return self.run.new_messages()

    def _allowed(self, text: str) -> str:
        self._held += text
        words = ""
        while whole := _SENTENCE.match(self._held):
            if whole.end() == len(self._held) and not self._held[-1].isspace():
                break  # the sentence may continue: "e.g." or "..."
            self._held = self._held[whole.end() :]
            said = self._in_manner(whole[0])
            self._parts[-1] += said
            words += said
        return words

    def _rest(self) -> str:
        words, self._held = self._in_manner(self._held) if self._held else "", ""
        self._parts[-1] += words
        return words

    def _in_manner(self, sentence: str) -> str:
        if self.is_fixed() or not sentence.strip():
            return sentence
        asks = _ASKED.search(sentence)
        if _CONFUSED.search(sentence) and not asks:
            self._left_out = True
            return ""
        begins = re.match(r"\s*[*_\"“]*", sentence)
        lead = begins[0] if begins else ""
        greeting = None if self.may_greet or "".join(self._parts).strip() else _GREETING.match(sentence, len(lead))
        if left_out := greeting or _PRAISE.match(sentence, len(lead)):
            self._left_out = True
            rest = sentence[left_out.end() :]
            if not rest.strip():
                return "\n" if "\n" in sentence else ""
            sentence = lead + rest[:1].upper() + rest[1:]
        sentence = _MARKS.sub(lambda found: "" if "¡" in found[0] else ".", sentence)
        if opening_of(sentence) not in self.openings:
            return sentence
        if asks:
            return choose_question(self.language, self.openings) if self.may_replace_question else sentence
        if "".join(self._parts).strip():
            return sentence
        self._left_out, self._kept_back = True, self._kept_back or sentence
        return ""


def _said(message: ModelResponse, said: Any) -> ModelResponse:
    parts = []
    for part in message.parts:
        words = next(said, None) if isinstance(part, TextPart) else None
        if words is None or words:
            parts.append(part if words is None else replace(part, content=words))
    return replace(message, parts=parts)
