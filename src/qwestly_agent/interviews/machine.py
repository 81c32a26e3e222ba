"""An interview's topics and phases: the two state machines, and how the interview ends. Pure functions."""

from collections.abc import Callable, Iterable, Mapping
from statistics import median
from typing import Literal

from qwestly_agent.domain.interview import Aspect, Ended, Interview, Phase, Said, Topic, TopicStatus
from qwestly_agent.grounding.model import Quote, QuotedSource
from qwestly_agent.grounding.quotes import find_quote
from qwestly_agent.text.clean import quoted

# --- topics -----------------------------------------------------------------------------------------------------------
# The topics of an interview and their aspects: add, edit, and cover them with the person's words. Pure functions.


MOST_TOPICS, MOST_ASPECTS = 12, 8


def add_topic(
    interview: Interview,
    title: str,
    aspects: Iterable[str] = (),
    priority: int = 0,
    status: Literal["mentioned", "backlog"] = "backlog",
) -> Interview:
    """Add a topic to the backlog, or as mentioned. A mentioned topic moves to the backlog once it has aspects. Returns
    the interview unchanged if the topic exists, or if there are too many."""
    title = " ".join(title.split())[:80]
    if known := interview.topic(title):
        interview = add_aspects(interview, title, aspects)
        known = interview.topic(title) or known
        is_promoted = known.status == "mentioned" and (known.aspects or status == "backlog")
        return with_topic(interview, known, status="backlog", priority=priority) if is_promoted else interview
    if not title or len(interview.topics) >= MOST_TOPICS:
        return interview
    topic = Topic(title=title, status=status, priority=priority)
    return add_aspects(interview.model_copy(update={"topics": (*interview.topics, topic)}), title, aspects)


def add_aspects(interview: Interview, title: str, names: Iterable[str]) -> Interview:
    """Add aspects to a topic, except those similar to an existing one."""
    topic = interview.topic(title)
    if topic is None:
        return interview
    aspects = list(topic.aspects)
    for name in (" ".join(each.split())[:80] for each in names):
        if name and len(aspects) < MOST_ASPECTS and not any(_near(name, each.name) for each in aspects):
            aspects.append(Aspect(name=name))
    return with_topic(interview, topic, aspects=tuple(aspects))


def _near(one: str, other: str) -> bool:
    """True if the names have at least half of their words in common."""
    words, others = (set(each.casefold().split()) for each in (one, other))
    return len(words & others) * 2 >= len(words | others)


def edit_aspect(interview: Interview, title: str, name: str, to: str) -> Interview:
    """Rename an aspect at the person's request, or remove it if `to` is empty."""
    topic = interview.topic(title)
    if topic is None:
        return interview
    to = " ".join(to.split())[:80]
    aspects = (
        (each.model_copy(update={"name": to}) if each.name.casefold() == name.strip().casefold() else each)
        for each in topic.aspects
    )
    return with_topic(interview, topic, aspects=tuple(each for each in aspects if each.name))


def cover(interview: Interview, title: str, name: str, quotes: tuple[Said, ...], *, closed: bool = False) -> Interview:
    """Mark an aspect as covered by the person's quotes, or as `closed` if they have nothing to say. Without a quote,
    return the interview unchanged."""
    topic = interview.topic(title)
    if topic is None or not quotes:
        return interview

    def changed(aspect: Aspect) -> Aspect:
        if aspect.name.casefold() != name.strip().casefold() or (closed and aspect.status == "covered"):
            return aspect
        return aspect.model_copy(update={"status": "closed" if closed else "covered", "quotes": quotes})

    return with_topic(interview, topic, aspects=tuple(map(changed, topic.aspects)))


def drop_removed_words(interview: Interview, message_id: str, text: str) -> Interview:
    """Remove everything that is based on words no longer in this message."""
    source = {message_id: QuotedSource(id=message_id, text=quoted(text))}

    def stands(said: Said) -> bool:
        return said.message_id != message_id or find_quote(Quote(source=message_id, text=said.text), source) is not None

    def left(aspect: Aspect) -> Aspect:
        quotes = tuple(filter(stands, aspect.quotes))
        gone = {"status": "open"} if aspect.quotes and not quotes else {}
        return aspect.model_copy(update={"quotes": quotes, **gone})

    falls = [each for each in interview.draft if not all(map(stands, each.quotes))]
    version = interview.version + bool(falls)
    statements = (
        each.model_copy(update={"until": version}) if each in falls else each for each in interview.statements
    )
    topics = (
        each.model_copy(update={"aspects": tuple(left(aspect) for aspect in each.aspects)}) for each in interview.topics
    )
    changes = {"statements": tuple(statements), "version": version, "topics": tuple(topics)}
    return interview.model_copy(update=changes)


def strike(interview: Interview, text: str) -> Interview:
    """Strike this sentence from the draft, and close the aspects that no other sentence covers. If the draft has no
    such sentence, return the interview unchanged."""
    wanted = " ".join(text.split()).casefold()
    if not (struck := [each for each in interview.draft if each.text.casefold() == wanted]):
        return interview
    version = interview.version + 1
    gone = {"until": version, "is_struck": True}
    statements = tuple(each.model_copy(update=gone) if each in struck else each for each in interview.statements)
    changed = interview.model_copy(update={"statements": statements, "version": version})
    told = {(each.topic, aspect) for each in changed.draft for aspect in each.aspects}
    empty = {(each.topic, aspect) for each in struck for aspect in each.aspects} - told

    def left(topic: Topic, aspect: Aspect) -> Aspect:
        is_empty = (topic.title, aspect.name) in empty
        return aspect.model_copy(update={"status": "closed", "quotes": ()}) if is_empty else aspect

    for topic in changed.topics:
        changed = with_topic(changed, topic, aspects=tuple(left(topic, each) for each in topic.aspects))
    return changed


def with_topic(interview: Interview, topic: Topic, **changes: object) -> Interview:
    changed: Callable[[Topic], Topic] = lambda each: each.model_copy(update=changes) if each is topic else each  # noqa: E731
    return interview.model_copy(update={"topics": tuple(map(changed, interview.topics))})


# --- machine ----------------------------------------------------------------------------------------------------------
# The two state machines of an interview, and how it ends. Pure functions: each returns the changed interview.
#
# A model proposes transitions, and code makes those that the tables allow. An interview ends because of counts or
# because of the person's own words.


TOPIC_MOVES: Mapping[TopicStatus, frozenset[TopicStatus]] = {
    "mentioned": frozenset({"backlog", "active"}),
    "backlog": frozenset({"active"}),
    "active": frozenset({"backlog", "completed"}),
    "completed": frozenset({"active"}),  # only at the person's request
}
PHASE_MOVES: Mapping[Phase, frozenset[Phase]] = {
    "divergence": frozenset({"deep_dive", "convergence", "end"}),
    "deep_dive": frozenset({"divergence", "convergence", "end"}),
    "convergence": frozenset({"deep_dive", "end"}),
    "end": frozenset({"deep_dive"}),  # only at the person's request
}

MOST_TURNS_ON_A_TOPIC = 12
MOST_TURNS = 144
ENOUGH = 0.7
"""Share of the aspects that must be covered or closed."""
FEWEST_TURNS = 5
"""Number of answers before an interview without a draft can end because nothing new comes up."""
IDLE_TURNS = 2
MOST_ASKED = 2
"""How often an aspect may be asked about without an answer, not counting counter-questions."""
MOST_CANDIDATES = 3
MOST_UNTOLD = 12
"""The interview ends after this many messages without content, if they outnumber the answers."""
MOST_UNTOLD_KEPT = 100
HIGHEST_OF_MODELS = 9
"""The highest priority that a model may set; a topic chosen by the person gets a higher one."""
TIRED_ANSWERS, TIRED_WORDS, TIRED_SHARE = 3, 5, 0.25
MOST_LENGTHS = 200


# --- an answer --------------------------------------------------------------------------------------------------------


def count_answer(interview: Interview, seq: int, words: int, now: float, message_id: str = "") -> Interview:
    """Count the person's answer `seq` once, complete covered topics, and end the interview if it is over."""
    if seq <= interview.counted_to or interview.ended:
        return interview
    begun = interview.started_at or now
    counted = interview.model_copy(
        update={
            "counted_to": seq,
            "turns": interview.turns + 1,
            "lengths": (*interview.lengths, words)[-MOST_LENGTHS:],
            "started_at": begun,
        }
    )
    if active := counted.active:
        aspects = tuple(
            each.model_copy(update={"answer": message_id}) if each.name == interview.asking else each
            for each in active.aspects
        )
        counted = with_topic(counted, active, turns=active.turns + 1, aspects=aspects)
    return end_if_due(nearer_to_its_end(counted), now)


def nearer_to_its_end(interview: Interview) -> Interview:
    """Move a topic that is covered, or was discussed long enough, closer to its end: sum it up with a last question,
    then complete it."""
    active = interview.active
    if active is None:
        return interview
    if active.closing != "asking" or active.turns >= MOST_TURNS_ON_A_TOPIC:
        return complete(interview, active.title)
    is_told = bool(active.aspects) and active.completeness > ENOUGH
    if interview.has_agenda or not (is_told or active.turns >= MOST_TURNS_ON_A_TOPIC - 1):
        return interview
    return with_topic(interview, active, closing="last")


def choose_aspect(interview: Interview, wanted: str = "") -> Interview:
    """Choose the aspect to ask about next: the `wanted` one if it is open and was not asked about too often, otherwise
    the open one with the fewest questions, except the previous one, whose answer no draft covers yet. No aspect is
    chosen while memories may contain the answer.

    In an agenda, if no other aspect is left to ask about, the next topic becomes active. In other interviews, no aspect
    is chosen twice unless the answer was evasive; after all aspects and one open question, the topic is summed up.
    """
    active, before = interview.active, interview.asking
    if interview.ended or active is None or active.closing != "asking" or interview.may_be_known:
        return interview.model_copy(update={"asking": ""})
    theirs = (each for each in _askable(active) if each.name.casefold() == wanted.strip().casefold())
    if found := next((each for each in theirs if each.asked <= MOST_ASKED), None):
        return _asking(interview, active, found)
    others = [each for each in _askable(active) if each.name != before]
    waiting = [each for each in _waiting(interview) if _askable(each)]
    if not others and interview.has_agenda and waiting:
        last = min(each.priority for each in waiting) - 1
        return choose_aspect(activate_next(with_topic(interview, active, status="backlog", priority=last)))
    left = [each for each in others if interview.has_agenda or not each.answer or each.evaded]
    if not left and active.open_aspects and not before:
        return _in_phase(with_topic(interview, active, closing="last"))
    if not left:
        return interview.model_copy(update={"asking": ""})
    return _asking(interview, active, min(left, key=lambda each: each.asked))


def _asking(interview: Interview, active: Topic, chosen: Aspect) -> Interview:
    now_asked = {"asked": chosen.asked + 1, "answer": "", "evaded": False}
    aspects = tuple(each.model_copy(update=now_asked) if each is chosen else each for each in active.aspects)
    return with_topic(interview, active, aspects=aspects).model_copy(update={"asking": chosen.name})


def candidates(interview: Interview) -> list[str]:
    """Return up to three aspects to ask about, the chosen one first."""
    names = [each.name for each in _askable(interview.active)] if interview.active and interview.asking else []
    return sorted(names, key=lambda name: name != interview.asking)[:MOST_CANDIDATES]


def _askable(topic: Topic) -> list[Aspect]:
    """Return the open aspects, except those that were asked about often enough and evaded."""
    return [each for each in topic.open_aspects if not (each.evaded and each.asked >= MOST_ASKED)]


def _waiting(interview: Interview) -> list[Topic]:
    return [each for each in interview.topics if each.status in ("mentioned", "backlog")]


def end_if_due(interview: Interview, now: float) -> Interview:
    """End the interview if its counts require this."""
    if interview.ended:
        return interview
    interview = _gone_on(interview)
    reason = _why_over(interview, now)
    return end(interview, reason) if reason else _in_phase(interview)


def _gone_on(interview: Interview) -> Interview:
    """Move to the next topic if this one yields nothing new and another is waiting, or if the agenda's topic is
    complete."""
    waits = bool(_waiting(interview))
    active = interview.active
    if active and interview.has_agenda:
        return interview if _askable(active) else complete(interview, active.title)
    if interview.idle_turns < IDLE_TURNS or not waits or active is None:
        return interview
    return complete(interview, active.title).model_copy(update={"idle_turns": 0})


def _why_over(interview: Interview, now: float) -> Ended | None:
    waiting = _waiting(interview)
    if interview.minutes and now - interview.started_at >= interview.minutes * 60:
        return Ended(reason="out_of_time")
    if not interview.topics and interview.turns >= MOST_TURNS_ON_A_TOPIC:
        return Ended(reason="out_of_topics")
    # As long as answers yield something new, the person is asked what else there is.
    has_more = not (interview.has_agenda or interview.idle_turns >= IDLE_TURNS or interview.turns >= MOST_TURNS)
    if interview.topics and not waiting and interview.active is None and not has_more:
        is_covered = interview.completeness > ENOUGH and not interview.has_agenda
        return Ended(reason="covered" if is_covered else "out_of_topics")
    if interview.idle_turns >= IDLE_TURNS and not waiting and (interview.statements or interview.turns > FEWEST_TURNS):
        return Ended(reason="nothing_new")
    if not interview.has_agenda and is_tired(interview.lengths):  # an agenda's questions have short answers
        return Ended(reason="tired")
    return None


def is_tired(lengths: tuple[int, ...]) -> bool:
    """True if the last three answers have fewer than five words and less than a quarter of the person's earlier
    median."""
    last, before = lengths[-TIRED_ANSWERS:], lengths[:-TIRED_ANSWERS]
    if len(last) < TIRED_ANSWERS or not before:
        return False
    return all(each < TIRED_WORDS and each < TIRED_SHARE * median(before) for each in last)


def _in_phase(interview: Interview) -> Interview:
    """Set the phase that follows from the topics: divergence if none is active, convergence if the active one is nearly
    done and no other is waiting, otherwise deep dive."""
    if interview.active is None:
        return move_to_phase(interview, "divergence")
    nearly = interview.completeness > ENOUGH or interview.active.closing != "asking"
    return move_to_phase(interview, "convergence" if nearly and not _waiting(interview) else "deep_dive")


def move_to_phase(interview: Interview, phase: Phase) -> Interview:
    """Move to this phase, if the table allows it."""
    if phase not in PHASE_MOVES[interview.phase]:
        return interview
    return interview.model_copy(update={"phase": phase})


def mark_end_announced(interview: Interview, seq: int) -> Interview:
    """If the interview has ended, record that the answer to this message announces the end."""
    if interview.ended is None or interview.ended.told_to is not None:
        return interview
    return interview.model_copy(update={"ended": interview.ended.model_copy(update={"told_to": seq})})


def end(interview: Interview, why: Ended) -> Interview:
    return interview.model_copy(update={"phase": "end", "ended": why})


# --- topics -----------------------------------------------------------------------------------------------------------


def activate(interview: Interview, title: str, *, by_person: bool = False) -> Interview:
    """Make this topic active, and return the active one to the backlog. Returns the interview unchanged if the table
    does not allow it. The topic gets the highest priority: of all topics if the person chose it, otherwise the highest
    that a model may set."""
    topic, active = interview.topic(title), interview.active
    if topic and topic is active:
        return interview if interview.ended else _in_phase(interview)
    if topic is None or "active" not in TOPIC_MOVES[topic.status]:
        return interview
    if (topic.status == "completed" or interview.ended) and not by_person:
        return interview
    if active:
        interview = with_topic(interview, active, status="backlog")
    highest = max(each.priority for each in interview.topics)
    priority = max(highest, HIGHEST_OF_MODELS + 1) if by_person else min(highest, HIGHEST_OF_MODELS)
    priority = max(topic.priority, priority)
    return _in_phase(with_topic(interview, topic, status="active", closing="asking", priority=priority))


def go_on(interview: Interview) -> Interview:
    """Continue an interview that had ended, with new counts: with its active topic, or the next one waiting, including
    topics with open aspects, or else the last one."""
    if interview.ended is None:
        return interview
    minutes = None if interview.ended.reason == "out_of_time" else interview.minutes
    counts = {"ended": None, "phase": "deep_dive", "turns": 0, "idle_turns": 0, "lengths": (), "asking": ""}
    interview = interview.model_copy(
        update={**counts, "minutes": minutes, "topics": tuple(map(_reopened, interview.topics))}
    )
    first = max(_waiting(interview), key=lambda each: each.priority, default=None)
    others = [*([first] if first else []), *interview.topics[-1:]]
    return interview if interview.active or not others else activate(interview, others[0].title, by_person=True)


def _reopened(topic: Topic) -> Topic:
    again = {"asked": 0, "answer": "", "evaded": False}
    aspects = tuple(each.model_copy(update=again) if each.status == "open" else each for each in topic.aspects)
    status = "backlog" if topic.status == "completed" and topic.open_aspects else topic.status
    return topic.model_copy(update={"aspects": aspects, "status": status, "closing": "asking"})


def talk_about(interview: Interview, title: str, aspects: Iterable[str] = ()) -> Interview:
    """Make this topic active at the person's request, adding it if it does not exist. Continues an interview that had
    ended."""
    return activate(add_topic(go_on(interview), title, aspects), title, by_person=True)


def complete(interview: Interview, title: str) -> Interview:
    """Complete the topic, and continue with the one with the highest priority."""
    topic = interview.topic(title)
    if topic is None or "completed" not in TOPIC_MOVES[topic.status]:
        return interview
    return activate_next(with_topic(interview, topic, status="completed"))


def activate_next(interview: Interview) -> Interview:
    """Activate the topic with the highest priority, the first among equals; topics that were only mentioned come last.
    The active topic continues while nothing in the backlog has a higher priority, and while it is being summed up. In
    an agenda, topics with nothing left to ask are completed."""
    if interview.has_agenda:
        told = (each for each in _waiting(interview) if not _askable(each))
        for each in told:
            interview = with_topic(interview, each, status="completed")
    if interview.ended or not (waiting := _waiting(interview)):
        return interview
    first = max(waiting, key=lambda each: (each.status == "backlog", each.priority))
    active = interview.active
    if active and (active.closing != "asking" or first.status == "mentioned" or first.priority <= active.priority):
        return interview
    return activate(interview, first.title)


def prioritize(interview: Interview, titles: Iterable[str]) -> Interview:
    """Order the topics as the person wants, and start with the first one immediately. Topics that the person did not
    name, and topics that a model adds later, come after them."""
    names = [title.strip().casefold() for title in titles]

    def priority(topic: Topic) -> int:
        name = topic.title.casefold()
        return HIGHEST_OF_MODELS + len(names) - names.index(name) if name in names else min(topic.priority, 0)

    topics = tuple(each.model_copy(update={"priority": priority(each)}) for each in interview.topics)
    return activate_next(interview.model_copy(update={"topics": topics}))
