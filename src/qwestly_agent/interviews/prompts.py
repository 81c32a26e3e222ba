"""The prompts of an interview's agents. Pure functions: no agent receives more than it needs, and the interviewer never
sees a covered or closed aspect."""

import json
from collections.abc import Iterable, Mapping, Sequence

from pydantic_ai.framing import wrap

from qwestly_agent.domain.interview import DraftSentence, EndReason, Interview, Topic
from qwestly_agent.interviews.machine import candidates
from qwestly_agent.interviews.model import TELLING, MessageKind, NextMove, Spoken, unwanted_in
from qwestly_agent.text.clean import quoted
from qwestly_agent.text.prompt_tags import BEFORE, INTERVIEW, SAID

REASONS: Mapping[EndReason, str] = {
    "covered": "what matters is covered",
    "nothing_new": "nothing new has come up for two answers",
    "tired": "their answers have become very short: they are tired, and it is time to stop",
    "asked": "they asked to stop",
    "out_of_topics": "every topic has had its turn",
    "out_of_time": "the time that they gave is over",
}


MOST_TOLD = 12
"""Maximum number of statements shown, the newest."""

# --- the interviewer --------------------------------------------------------------------------------------------------


_HEARD: Mapping[MessageKind, str] = {
    "question": "They asked you something: answer it first, in one or two sentences, from what you know here. ",
    "refusal": "They do not want to tell that, or cannot: accept it in a few words. ",
    "correction": "They correct something: say in a few words what holds now. ",
}


def interviewer_context(interview: Interview, move: NextMove | None = None) -> str:
    """Return the interview's state, and the instruction for this turn. Without a `move`, the newest message has not
    been read yet, and the interviewer picks one of the candidates."""
    first = _HEARD.get(move.kind, "") if move and not interview.ended else ""
    task = task_of(interview, picks=move is None)
    if move and interview.ended and (interview.ended.told_to or 0) < interview.counted_to:
        task = _ADDED if move.kind in TELLING else _STAYS_OVER
    return f"{wrap(INTERVIEW, chr(10).join(_state(interview)))}\n\n{first}{task}"


_STAYS_OVER = "The interview is over, as you said. Answer them in at most two sentences. Ask nothing."
_ADDED = (
    "The interview is over; what they tell now is added to its draft. Say in one sentence that you added it, and that "
    "they can go on with the interview whenever they like. Ask nothing."
)


def _state(interview: Interview) -> list[str]:
    active = interview.active
    lines = [f"phase: {interview.phase.replace('_', ' ')}"]
    if active:
        lines.append(f"topic: {quoted(active.title)}")
    if active and not interview.may_be_known:
        lines.append(f"not yet told: {_listed(each.name for each in active.open_aspects)}")
    if active and (told := interview.words_of(active).splitlines()):
        lines.append(f"told of this topic: {_listed(told[-MOST_TOLD:])}")
    known = [
        f"{each.name} ({each.quotes[0].known_from})"
        for topic in interview.topics
        for each in topic.aspects
        if each.quotes and each.quotes[0].known_from
    ]
    lines += [f"known from before: {_listed(known)}"] if known else []
    parked = [each.title for each in interview.topics if each.status in ("mentioned", "backlog")]
    lines += [f"parked topics: {_listed(parked)}"] if parked else []
    lines += [f"words that they do not want: {_listed(interview.avoided)}"] if interview.avoided else []
    return [*lines, *([f"their own words: {_listed(interview.terms)}"] if interview.terms else [])]


def _listed(names: Iterable[str]) -> str:
    return "; ".join(map(quoted, names)) or "nothing"


_FIRST = "Call propose_profile now, if you have not yet. "


def task_of(interview: Interview, *, picks: bool = False) -> str:
    active = interview.active
    if interview.ended:
        return (
            f"{_FIRST if interview.has_agenda else ''}The interview is over, because "
            f"{REASONS[interview.ended.reason]}. In their language, say so and why, thank them, in at most three short "
            "sentences. Ask nothing. What was covered is listed below your words."
        )
    if active is None and interview.topics:
        return "All topics are told. Ask one open question: what else they would like others to know of."
    if active is None:
        return (
            "No topic is chosen yet. Ask one open question: what they did that they would like others to "
            "know of, or what else there is."
        )
    title = quoted(active.title)
    if active.closing != "asking":
        return (
            f"Sum up in two sentences, in their words, what they told of “{title}”, and ask what is missing or wrong."
        )
    if interview.may_be_known:
        return (
            "What is remembered of them stands above. Say in one sentence what you know from there, and ask exactly "
            "one open question: what else they would like to tell first. Ask for nothing that stands there."
        )
    asked = next((each for each in active.open_aspects if each.name == interview.asking), None)
    names = [f"“{quoted(each)}”" for each in candidates(interview)] if picks else []
    if len(names) > 1:
        return (
            f"Ask exactly one question, about the first of {', '.join(names)} that they did not tell in their newest "
            "message. Build on what they told of it."
        )
    if asked:
        again = " You asked for it before: use other words, or a smaller question." if asked.asked > 1 else ""
        return f"Ask exactly one question, about “{quoted(asked.name)}”.{again} Build on what they told of it."
    return f"Ask exactly one question: what else there is to tell of “{title}”. Build on what they told of it."


# --- the orchestrator and the writer ----------------------------------------------------------------------------------


def orchestrator_context(interview: Interview, messages: Sequence[Spoken]) -> str:
    topics = [_topic_fields(each) for each in interview.topics]
    state = {"phase": interview.phase, "answers": interview.turns, "asked": interview.asking, "topics": topics}
    return f"{wrap(INTERVIEW, quoted(json.dumps(state, ensure_ascii=False)))}\n\n{_encoded_messages(messages)}"


def _topic_fields(topic: Topic) -> dict[str, object]:
    aspects = {each.name: each.status for each in topic.aspects}
    return {"title": topic.title, "status": topic.status, "answers": topic.turns, "aspects": aspects}


def writer_context(interview: Interview, messages: Sequence[Spoken]) -> str:
    """Return the draft's numbered statements, the messages that it does not cover yet, and some before them."""
    draft = [
        f"{place}. [{each.topic}] {each.text}{_UNWANTED if unwanted_in(each.text, interview.avoided) else ''}"
        for place, each in _current(interview)
    ]
    topics = {each.title: [aspect.name for aspect in each.aspects] for each in interview.topics}
    parts = [wrap(INTERVIEW, quoted(json.dumps({"topics": topics, "terms": interview.terms}, ensure_ascii=False)))]
    if interview.avoided:
        parts.append(f"Words that they do not want: {_listed(interview.avoided)}")
    parts.append(f"The draft so far:\n{wrap(BEFORE, quoted(chr(10).join(draft) or 'Nothing yet.'))}")
    if struck := [f"- {each.text}" for each in interview.statements if each.is_struck]:
        parts.append(
            f"Struck out or replaced, and not to be written again:\n{wrap(BEFORE, quoted(chr(10).join(struck)))}"
        )
    return "\n\n".join([*parts, _encoded_messages(messages)])


_UNWANTED = " (Has a word that they do not want: write it anew.)"


def _current(interview: Interview) -> list[tuple[int, DraftSentence]]:
    return [(place, each) for place, each in enumerate(interview.statements) if each.until is None]


def _encoded_messages(messages: Sequence[Spoken]) -> str:
    """Encode the messages as JSON, so that no text in them can be mistaken for another message."""
    told = [{"message_id": each.id, "by": each.by, "text": quoted(each.text)} for each in messages]
    return wrap(SAID, json.dumps(told, ensure_ascii=False, separators=(",", ":")))
