"""The user's own hand on what is remembered: remember, correct, forget, explain.

In a conversation the permission is the user's own sentence in that turn: whatever a model passes, what is remembered
must be said in it, and what is forgotten must be asked for in it by name (`memory.wishes`).
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date

from qwestly_agent.authority import brake
from qwestly_agent.authority.answering import end_empty
from qwestly_agent.authority.model import digest_of
from qwestly_agent.bootstrap import FullHouse, House
from qwestly_agent.clock import to_datetime
from qwestly_agent.errors import Invalid, NotFound
from qwestly_agent.memory.checking import (
    Claimed,
    Passed,
    Reason,
    Said,
    check,
    hash_of,
    is_credential,
    is_sensitive,
    meanings,
    names_in,
    same_facts,
    says_the_same,
)
from qwestly_agent.memory.finding import find
from qwestly_agent.memory.forgetting import (
    meant_again,
    names_to_keep,
    organisations_in,
    patterns_of,
    trace_of,
    was_forgotten,
)
from qwestly_agent.memory.model import Memory, Source
from qwestly_agent.memory.rules.passages import bare
from qwestly_agent.memory.typed import sentences, typed_parts, words_of
from qwestly_agent.memory.wishes import may_want_forgotten, wishes_to_forget, wishes_to_remember
from qwestly_agent.stores.search import cosines_of
from qwestly_agent.text import visible

MOST_CONSIDERED = 200
"""Memories that are looked at for what a user wants forgotten: the nearest to their words."""
MOST_EXPLAINED = 5
MOST_SENTENCES = 50
"""Of a message, that are looked at for what it says."""
LEAST_SHARED = 0.5
"""Of a memory's words, so many must stand in the sentence that names it without a name."""
_TRUSTED_IMPORTANCE = 0.7
"""Of what a user takes the trouble to tell us to remember."""

_ALL_OF = re.compile(r"\b(?:everything|anything|all|every|alles|tout|todo|tudo)\b", re.IGNORECASE)
_CLAUSES = re.compile(r"[.;,:!?]\s+|\s+(?:and|but|und|et|y|e)\s+|\n+")

_WHY: dict[Reason, str] = {
    Reason.DOCUMENT: "What is pasted or quoted is not the user's own word. Ask them to say it themselves.",
    Reason.QUESTION: "The user asked; they did not tell. A question is not remembered.",
    Reason.CREDENTIAL: "Passwords, keys and addresses are not remembered.",
    Reason.TOO_LONG: "That is too long to be remembered. Say it in one short sentence.",
    Reason.NOTHING: "There is nothing in that to remember.",
}
_ASKS_TO_FORGET = (
    "The user's message asks for something to be forgotten, so nothing of it is remembered. "
    "Ask them to say what they want remembered in a message of its own."
)
_EVERYTHING = (
    "Everything is not forgotten by a word here. Tell the user that they can forget memories one by one, here or on "
    "their page of memories, and have everything erased in their settings."
)
_HOLDS_NO_MORE = "That does not hold any more: something else has taken its place."
_SENSITIVE = "That is sensitive: it is remembered only if the user asks for it. Ask them."
_NOT_SAID = (
    "The user's message does not say that, so it is not remembered. "
    "Use their own words, names and numbers, or ask them."
)


@dataclass(frozen=True)
class Explanation:
    """Why something is known."""

    memory: Memory
    said_on: date | None
    title: str
    """Of the conversation in which it was said; empty where there is none any more."""
    before: tuple[Memory, ...]
    """What it replaced."""


@dataclass(frozen=True)
class Forgotten:
    gone: tuple[str, ...]
    """What they said, to be told once more and never again."""
    left: tuple[str, ...] = ()
    """What is like it and stays, unless its user wants that forgotten as well."""


# --- from the page of memories ----------------------------------------------------------------------------------------


async def remember(
    house: FullHouse,
    user_id: str,
    content: str,
    quote: str,
    source: Source,
    *,
    kind: str = "fact",
    question: str = "",
    replaces: Memory | None = None,
    wished: bool = True,
) -> Memory:
    """Stored at once, and said by its user: whoever had it forgotten and wishes it remembered wants it back. What says
    the same already is confirmed by it. Raises `Invalid` and `Unavailable`."""
    content = written_content(content)
    await brake.check(house.signals, user_id)
    now = house.clock()
    [vector] = await house.embeddings.embed([content])
    asked = [(content, vector)]
    [tombstones] = await house.memories.tombstones(user_id, asked)
    [near] = await house.memories.near(user_id, asked, MOST_EXPLAINED)
    alike_from = house.settings.memory_forgotten_from
    if not wished and was_forgotten(user_id, content, tombstones, alike_from):
        raise Invalid("The user had that forgotten. It is remembered only if they ask for it. Ask them.")
    await house.memories.unforget(user_id, meant_again(user_id, content, tombstones, alike_from))
    exactly = (await house.memories.of_hashes(user_id, [hash_of(content)])).get(hash_of(content))
    same = exactly or next((each.memory for each in near if says_the_same(content, each.memory.content)), None)
    if same and same.status == "proposed" and not wished:
        raise Invalid(_SENSITIVE)
    if same and (replaces is None or same.id != replaces.id):
        await house.memories.keep_proposed(user_id, [same.id], now)
        await house.memories.reinforce(user_id, same.id, source.message_ids or (house.new_id(),), now)
        if replaces:
            await house.memories.supersede(user_id, replaces.id, same.id, now)
        return await house.memories.get(user_id, same.id)
    if same:
        return same
    memory = Memory(
        id=_new_id(house, user_id, content, source),
        type=replaces.type if replaces else kind,
        content=content,
        importance=max(_TRUSTED_IMPORTANCE, replaces.importance if replaces else 0.0),
        trust="inferred" if question else "user_said",
        quote=quote,
        question=question,
        source=source,
        sensitive=is_sensitive(content, quote),
        last_seen=now,
        # What was wrong before says nothing of since when this holds; how it is spelt changes nothing of it.
        valid_from=replaces.valid_from if replaces and same_facts(content, replaces.content) else None,
    )
    if not await house.memories.add(user_id, memory, hash_of(content), vector, now):
        return await _stored_meanwhile(house, user_id, memory)
    if replaces and not await house.memories.supersede(user_id, replaces.id, memory.id, now):
        await _take_back(house, user_id, memory.id, replaces.id)
        raise Invalid(_HOLDS_NO_MORE)
    if replaces and replaces.status == "proposed":
        await house.approvals.scrub_memories(user_id, [replaces.id])
        await end_empty(house, user_id)
    return await house.memories.get(user_id, memory.id)


async def correct(
    house: FullHouse, user_id: str, memory_id: str, content: str, quote: str, source: Source, *, wished: bool = True
) -> Memory:
    """What takes its place; the older keeps its text and says by what it was replaced. Raises `NotFound`, `Invalid` and
    `Unavailable`."""
    known = await house.memories.get(user_id, memory_id)
    if known.status not in ("active", "proposed"):
        raise Invalid(_HOLDS_NO_MORE)
    return await remember(house, user_id, content, quote, source, replaces=known, wished=wished)


async def forget(house: House, user_id: str, memory_ids: Collection[str], words: str = "") -> list[str]:
    """For good, with all that was merged into these, superseded by them, or says the same; the ids of all that went.
    `words` are those in which its user asked for it.

    Their texts go from the memories, from the quotes of others, from what waits for a yes, and from the turns that a
    prompt could still hold; drafts that rest on them are flagged, and are drafted without them from now on.
    """
    gone: dict[str, Memory] = {}
    left = await _with_all_that_says_it(house, user_id, memory_ids)
    # Whoever corrects one of them meanwhile, or says it again, has that forgotten as well.
    while left:
        ids = [each.id for each in left]
        gone |= {each.id: each for each in left}
        traces = {each.id: trace_of(user_id, each.content, words) for each in left}
        replaced = await house.memories.forget(user_id, ids, traces, house.clock())
        await _forget_elsewhere(house, user_id, left, words)
        held = [each.id for each in left if each.status in ("active", "proposed")]
        again = [replaced[each] for each in held if each in replaced]
        left = await _with_all_that_says_it(house, user_id, [*memory_ids, *again], list(gone.values()))
    # What was made of them before this moment is made anew.
    await house.memories.withdrawn(user_id, list(gone), house.clock())
    await end_empty(house, user_id)
    return list(gone)


async def _forget_elsewhere(house: House, user_id: str, gone: Sequence[Memory], words: str) -> None:
    ids, said = [each.id for each in gone], [bare(word) for word in words_of(words)]
    patterns = patterns_of(gone, {each.id: names_to_keep(each.content, said) for each in gone})
    requoted = await _requote(house, user_id, gone, patterns)
    for pattern in patterns:
        await house.conversations.withhold(user_id, pattern)
    await house.conversations.drop_contexts(user_id)
    await house.drafts.forget_evidence(user_id, [f"memory:{each}" for each in (*ids, *requoted)])
    await house.approvals.scrub_memories(user_id, ids)
    # What was found and not stored yet is found again, without the turns that are withheld.
    await house.extractions.drop(user_id)


async def _requote(house: House, user_id: str, gone: Sequence[Memory], patterns: Sequence[str]) -> list[str]:
    """What others quote of it goes: of a sentence the clause stays that says what they say, if it can stand alone."""
    requoted: list[str] = []
    async for each in house.memories.each(user_id):
        if _tells(f"{each.quote}\n{each.question}", each.content, gone, patterns):
            quote = _without_it(each, patterns) if _matches(each.quote, patterns) else each.quote
            question = "" if _matches(each.question, patterns) else each.question
            await house.memories.requote(user_id, each.id, quote, question)
            requoted.append(each.id)
    return requoted


def _without_it(memory: Memory, patterns: Sequence[str]) -> str:
    own = meanings(memory.content)
    clauses = [part.strip() for part in _CLAUSES.split(memory.quote) if not _matches(part, patterns)]
    return next((part for part in clauses if own and own <= meanings(part)), "")


def _tells(quoted: str, content: str, gone: Sequence[Memory], patterns: Sequence[str]) -> bool:
    """Something else that names the same keeps its quote, unless that says this as well."""
    if not _matches(quoted, patterns):
        return False
    return not _matches(content, patterns) or any(meanings(each.content) <= meanings(quoted) for each in gone)


def _matches(text: str, patterns: Sequence[str]) -> bool:
    return any(re.search(pattern, text, re.IGNORECASE) for pattern in patterns)


async def explain(house: House, user_id: str, memory_id: str) -> Explanation:
    """Raises `NotFound`."""
    memory = await house.memories.get(user_id, memory_id)
    before = await house.memories.replaced_by(user_id, [memory.id])
    said_on = to_datetime(memory.last_seen).date() if memory.last_seen and memory.count == 1 else None
    if said_on is None and memory.created_at:
        said_on = memory.created_at.date()
    return Explanation(memory, said_on, await _title(house, user_id, memory), tuple(before))


def written_content(text: str) -> str:
    """As it is kept. Raises `Invalid`."""
    content = " ".join(visible(text).split())
    if not words_of(content):
        raise Invalid("There is nothing in that to remember.")
    if is_credential(content):
        raise Invalid("Passwords, keys and addresses are not remembered.")
    return content


# --- in a conversation ------------------------------------------------------------------------------------------------


@dataclass
class Remembering:
    """Of one run, on behalf of its user."""

    house: FullHouse
    user_id: str
    conversation_id: str
    message_id: str
    text: str
    """What the user wrote in this turn."""
    forgot: bool = False
    """Whether this turn repeats what it forgets, so that no prompt may hold it after it."""

    async def remember(self, content: str) -> Memory:
        """Raises `Invalid` with a sentence for the model where the user's own words do not say it."""
        passed, wished = self._said(content)
        if passed.sensitive and not wished:
            raise Invalid(_SENSITIVE)
        source = Source(conversation_id=self.conversation_id, message_ids=(self.message_id,))
        return await remember(
            self.house, self.user_id, passed.content, passed.quote, source, question=passed.question, wished=wished
        )

    async def correct(self, memory_id: str, content: str) -> Memory:
        """The same, in the place of what is known. Raises `NotFound` too, and `Invalid` where what they said is about
        something else."""
        passed, wished = self._said(content)
        known = await self.house.memories.get(self.user_id, memory_id)
        if passed.sensitive and not (wished or known.sensitive):
            raise Invalid(_SENSITIVE)
        if not await self._is_about(known, passed.content):
            raise Invalid("What the user says is about something else. Remember it beside that, or ask them.")
        source = Source(conversation_id=self.conversation_id, message_ids=(self.message_id,))
        return await correct(self.house, self.user_id, memory_id, passed.content, passed.quote, source, wished=wished)

    async def forget(self, about: str) -> Forgotten:
        """What its user's sentence asks for and names, as far as `about` (words, or a memory's id) means it too."""
        wishes = list(wishes_to_forget(self._typed))
        if not wishes:
            raise Invalid("The user's message does not ask for anything to be forgotten. Ask them what they want.")
        named, like = await self._named(wishes, about)
        if not named:
            raise Invalid(_EVERYTHING if any(map(_ALL_OF.search, wishes)) and not like else _name_it(like))
        self.forgot = True
        ids = [each.id for each in named]
        told = await _with_all_that_says_it(self.house, self.user_id, ids)
        gone = await forget(self.house, self.user_id, ids, "\n".join(wishes))
        return Forgotten(
            tuple(dict.fromkeys(each.content for each in (*named, *told))),
            tuple(each.content for each in like if each.id not in gone),
        )

    async def explain(self, about: str) -> list[Explanation]:
        try:
            found = [await self.house.memories.get(self.user_id, about)]
        except NotFound:
            found = [each for each in await self._near(about) if _is_named(about, each) or _shares(about, each)]
        return [await explain(self.house, self.user_id, each.id) for each in found[:MOST_EXPLAINED]]

    @property
    def _typed(self) -> str:
        return "\n".join(typed_parts(self.text))

    def _said(self, content: str) -> tuple[Passed, bool]:
        """And whether the sentence that says it wishes it remembered."""
        if self.forgot or may_want_forgotten(self._typed):
            raise Invalid(_ASKS_TO_FORGET)
        now, text, wishes = to_datetime(self.house.clock()), self.text, set[str]()
        for sentence, told in wishes_to_remember(self._typed):
            text = text.replace(sentence, told)
            wishes.add(told)
        said = Said(self.message_id, text, now)
        # Its quote is what they wrote: the sentence of theirs that says most of it.
        passed = [
            (judged, sentence in wishes)
            for sentence in _sentences(said.typed)
            if isinstance(judged := check(Claimed(content, sentence), said, now.date()), Passed)
        ]
        if passed:
            wanted = meanings(content)
            return max(passed, key=lambda each: (len(wanted & meanings(each[0].quote)), each[1]))
        judged = check(Claimed(content, self._typed or self.text), said, now.date())
        raise Invalid(_WHY.get(judged, _NOT_SAID) if isinstance(judged, Reason) else _NOT_SAID)

    async def _is_about(self, known: Memory, content: str) -> bool:
        if meanings(known.content) & meanings(f"{self._typed}\n{content}"):
            return True
        one, other = await self.house.embeddings.embed([known.content, content])
        return (cosines_of([one], other)[0] or 0.0) >= self.house.settings.memory_grey_from

    async def _named(self, wishes: Sequence[str], about: str) -> tuple[list[Memory], list[Memory]]:
        """What the user's sentences name, and what is only like it."""
        try:
            known = await self.house.memories.get(self.user_id, about)
            near, meant = [known], True
        except NotFound:
            near, meant = await self._near("\n".join((about, *wishes))), False
            for status in ("superseded", "proposed"):  # which no search finds
                near += await self.house.memories.newest(self.user_id, MOST_CONSIDERED, status=status)
        named = [
            each
            for each in near
            if any(
                _is_named(wish, each, all_of := bool(_ALL_OF.search(wish)))
                and (meant or _is_named(about, each, all_of) or _shares(about, each))
                for wish in wishes
            )
        ]
        ids, asked = {each.id for each in named}, _bare("\n".join(wishes))
        return named, [each for each in near if each.id not in ids and names_in(each.content) & asked]

    async def _near(self, words: str) -> list[Memory]:
        return [each.memory for each in await find(self.house, self.user_id, words, MOST_CONSIDERED)]


def _is_named(sentence: str, memory: Memory, all_of: bool = False) -> bool:
    """Whether a sentence speaks of a memory: by its names and something else, or by most of its words."""
    words = _bare(sentence)
    if names := names_in(memory.content) & words:
        rest = meanings(memory.content) - meanings(" ".join(names))
        return all_of or not rest or bool(rest & meanings(sentence)) or bool(names & organisations_in(memory.content))
    return not names_in(sentence) and _shares(sentence, memory)


def _shares(sentence: str, memory: Memory) -> bool:
    own, asked = meanings(memory.content), meanings(sentence)
    shared = own & asked
    return bool(shared) and len(shared) >= LEAST_SHARED * len(own) and len(shared) >= LEAST_SHARED * len(asked)


def _name_it(like: Sequence[Memory]) -> str:
    known = "; ".join(f"“{each.content}” ({each.id})" for each in like[:MOST_EXPLAINED])
    hint = f" Remembered are: {known}." if known else " Look for it with search_user_memories."
    return f"The user's message does not name anything that is remembered. Have them say what shall be forgotten.{hint}"


def _bare(text: str) -> frozenset[str]:
    return frozenset(bare(word) for word in words_of(text))


def _sentences(texts: Sequence[str]) -> list[str]:
    return [part for text in texts for part in sentences(text) if words_of(part)][:MOST_SENTENCES]


# --- what else says it ------------------------------------------------------------------------------------------------


async def _with_all_that_says_it(
    house: House, user_id: str, memory_ids: Collection[str], gone: Sequence[Memory] = ()
) -> list[Memory]:
    """With all that they took the place of, what says the same as they or as those that are gone, and, of what was
    merged, with what says it now."""
    found: dict[str, Memory] = {}
    left = list(dict.fromkeys([*memory_ids, *(each.id for each in gone)]))
    while left:
        these = await house.memories.of_ids(user_id, left)
        found |= {each.id: each for each in these}
        says_it = [each.superseded_by for each in these if each.status == "merged" and each.superseded_by]
        replaced = [each.id for each in await house.memories.replaced_by(user_id, left)]
        same = [each.id for each in await _same_as(house, user_id, [*these, *gone])]
        left = [each for each in dict.fromkeys((*says_it, *replaced, *same)) if each not in found]
    return list(found.values())


async def _same_as(house: House, user_id: str, memories: Sequence[Memory]) -> list[Memory]:
    told = [(meanings(each.content), each.content) for each in memories]
    same: list[Memory] = []
    if told:
        async for each in house.memories.each(user_id):
            own = meanings(each.content)
            if any(own == meant and says_the_same(each.content, other) for meant, other in told):
                same.append(each)
    return same


async def _take_back(house: House, user_id: str, memory_id: str, replaced_id: str) -> None:
    """Something else took the place of what this was to replace, or that was forgotten: this never held."""
    [won, *_] = [each.superseded_by for each in await house.memories.of_ids(user_id, [replaced_id])] or [None]
    if not (won and await house.memories.supersede(user_id, memory_id, won, house.clock())):
        await house.memories.discard(user_id, [memory_id])
        await house.conversations.drop_contexts(user_id)


async def _title(house: House, user_id: str, memory: Memory) -> str:
    if memory.source.conversation_id is None:
        return ""
    try:
        return (await house.conversations.get(user_id, memory.source.conversation_id)).get("title", "")
    except NotFound:
        return ""


async def _stored_meanwhile(house: House, user_id: str, memory: Memory) -> Memory:
    same = (await house.memories.of_hashes(user_id, [hash_of(memory.content)])).get(hash_of(memory.content))
    return same or await house.memories.get(user_id, memory.id)


def _new_id(house: House, user_id: str, content: str, source: Source) -> str:
    """The same for the same wish of the same message, should it be made twice."""
    once = source.message_ids[0] if source.message_ids else house.new_id()
    return f"mem_{digest_of(user_id, once, hash_of(content))[:32]}"
