"""The user's own hand on what is remembered: remember, correct, forget, explain.

In a conversation the permission is the user's own sentence in that turn: whatever a model passes, what is remembered
must be said in it, and what is forgotten must be asked for in it by name.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from qwestly_agent.authority import brake
from qwestly_agent.authority.model import digest_of
from qwestly_agent.bootstrap import FullHouse, House
from qwestly_agent.cards.passages import bare
from qwestly_agent.clock import to_datetime
from qwestly_agent.errors import Invalid, NotFound
from qwestly_agent.memory.checking import (
    Claimed,
    Passed,
    Reason,
    Said,
    check,
    hash_of,
    is_sensitive,
    meanings,
    names_in,
    says_the_same,
    typed_parts,
    words_of,
)
from qwestly_agent.memory.finding import find
from qwestly_agent.memory.forgetting import hashed, names_to_keep, organisations_in, was_forgotten
from qwestly_agent.memory.model import Memory, Source
from qwestly_agent.text import masked, visible

MOST_CONSIDERED = 200
"""Memories that are looked at for what a user wants forgotten: the nearest to their words."""
MOST_EXPLAINED = 5
LEAST_SHARED = 0.5
"""Of a memory's words, so many must stand in the sentence that names it without a name."""
_TRUSTED_IMPORTANCE = 0.7
"""Of what a user takes the trouble to tell us to remember."""

FORGETS = re.compile(
    r"\b(?:forget|forgotten|unlearn|delete|remove|erase|drop|wipe|clear|scrub"
    r"|(?:don['’]?t|do not|no longer|stop) (?:\w+ )?(?:remember\w*|know\w*|keep\w*|sav\w*|stor\w*)"
    r"|vergiss|vergessen|l[öo]sch\w*|entfern\w*|oublie[rz]?|efface[rz]?|supprime[rz]?|olvid\w*|borra\w*|elimina\w*|esque[çc]\w*|apag\w*)\b",
    re.IGNORECASE,
)
_DOES_NOT = re.compile(
    r"\b(?:don['’]?t|do not|never|not to|won['’]?t|nicht|nunca|n[ãa]o|no)\s+(?:ever\s+|te\s+|me\s+)?"
    r"(?:forget|vergiss\w*|vergessen|olvid\w*|esque[çc]\w*)\b",
    re.IGNORECASE,
)
REMEMBERS = re.compile(
    r"\b(?:remember|note|keep in mind|don['’]?t forget|do not forget|memori[sz]e|save|merk\w*|notier\w*|rappelle\w*"
    r"|retiens|recuerda\w*|anota\w*|lembr\w*)\b",
    re.IGNORECASE,
)
CORRECTS = re.compile(
    r"\b(?:wrong|incorrect|not (?:right|true|so|correct)|untrue|mistake\w*|correct\w*|actually|instead|no longer"
    r"|any ?more|outdated|changed|update\w*|falsch|stimmt nicht|nicht mehr|korrigier\w*"
    r"|faux|corrige\w*|incorrecto|errad[oa])\b",
    re.IGNORECASE,
)
_ALL_OF = re.compile(r"\b(?:everything|anything|all|every|alles|tout|todo|tudo)\b", re.IGNORECASE)

_WHY: dict[Reason, str] = {
    Reason.DOCUMENT: "What is pasted or quoted is not the user's own word. Ask them to say it themselves.",
    Reason.QUESTION: "The user asked; they did not tell. A question is not remembered.",
    Reason.CREDENTIAL: "Passwords, keys and addresses are not remembered.",
    Reason.TOO_LONG: "That is too long to be remembered. Say it in one short sentence.",
    Reason.NOTHING: "There is nothing in that to remember.",
}
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
) -> Memory:
    """Stored at once, and said by its user: whoever had it forgotten wants it back. What says the same already is
    confirmed by it. Raises `Invalid` and `Unavailable`."""
    content = written_content(content)
    await brake.check(house.signals, user_id)
    now = house.clock()
    [vector] = await house.embeddings.embed([content])
    asked = [(content, vector)]
    [tombstones] = await house.memories.tombstones(user_id, asked)
    [near] = await house.memories.near(user_id, asked, MOST_EXPLAINED)
    again = [
        each.id for each in tombstones if was_forgotten(user_id, content, [each], house.settings.memory_forgotten_from)
    ]
    await house.memories.unforget(user_id, again)
    exactly = (await house.memories.of_hashes(user_id, [hash_of(content)])).get(hash_of(content))
    same = exactly or next((each.memory for each in near if says_the_same(content, each.memory.content)), None)
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
        valid_from=to_datetime(now) if replaces else None,
    )
    if not await house.memories.add(user_id, memory, hash_of(content), vector, now):
        return await _stored_meanwhile(house, user_id, memory)
    if replaces:
        await house.memories.supersede(user_id, replaces.id, memory.id, now)
    return await house.memories.get(user_id, memory.id)


async def correct(house: FullHouse, user_id: str, memory_id: str, content: str, quote: str, source: Source) -> Memory:
    """What takes its place; the older keeps its text and says by what it was replaced. Raises `NotFound`, `Invalid` and
    `Unavailable`."""
    known = await house.memories.get(user_id, memory_id)
    if known.status not in ("active", "proposed"):
        raise Invalid("That does not hold any more: something else has taken its place.")
    return await remember(house, user_id, content, quote, source, replaces=known)


async def forget(house: House, user_id: str, memory_ids: Collection[str], words: str = "") -> list[str]:
    """For good, with all that was merged into these or superseded by them; the ids of all that went. `words` are those
    in which its user asked for it.

    Their texts go from the memories, from what waits for a yes, and from the turns that a prompt could still hold;
    drafts that rest on them are flagged, and are drafted without them from now on.
    """
    gone = await _with_all_that_says_it(house, user_id, memory_ids)
    if not gone:
        return []
    ids, said = [each.id for each in gone], [bare(word) for word in words_of(words)]
    names = {each.id: names_to_keep(each.content, said) for each in gone}
    # What others hold of it first: whoever dies in between still finds it, and forgets it again.
    await house.conversations.withhold(user_id, _pattern_of(gone, names))
    await house.conversations.drop_contexts(user_id)
    await house.drafts.forget_evidence(user_id, [f"memory:{each}" for each in ids])
    await house.approvals.scrub_memories(user_id, ids)
    hashes = {name: hashed(user_id, found) for name, found in names.items()}
    await house.memories.forget(user_id, ids, hashes, house.clock())
    return ids


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
    if masked(content) != content:
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
        passed = self._said(content)
        if passed.sensitive and not REMEMBERS.search(self._typed):
            raise Invalid("That is sensitive: it is remembered only if the user asks for it. Ask them.")
        source = Source(conversation_id=self.conversation_id, message_ids=(self.message_id,))
        return await remember(self.house, self.user_id, passed.content, passed.quote, source, question=passed.question)

    async def correct(self, memory_id: str, content: str) -> Memory:
        """The same, in the place of what is known. Raises `NotFound` too, and `Invalid` where what they said is about
        something else."""
        passed = self._said(content)
        known = await self.house.memories.get(self.user_id, memory_id)
        said = meanings(f"{self._typed}\n{passed.content}")
        if not (CORRECTS.search(self._typed) or meanings(known.content) & said):
            raise Invalid("What the user says is about something else. Remember it beside that, or ask them.")
        source = Source(conversation_id=self.conversation_id, message_ids=(self.message_id,))
        return await correct(self.house, self.user_id, memory_id, passed.content, passed.quote, source)

    async def forget(self, about: str) -> Forgotten:
        """What its user's sentence asks for and names, as far as `about` (words, or a memory's id) means it too."""
        if not FORGETS.search(_DOES_NOT.sub(" ", self._typed)):
            raise Invalid("The user's message does not ask for anything to be forgotten. Ask them what they want.")
        named, like = await self._named(about)
        if not named:
            raise Invalid(_name_it(like))
        self.forgot = True
        gone = await forget(self.house, self.user_id, [each.id for each in named], self._typed)
        return Forgotten(
            tuple(each.content for each in named), tuple(each.content for each in like if each.id not in gone)
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

    def _said(self, content: str) -> Passed:
        now = to_datetime(self.house.clock())
        # "Could you remember that I live in Porto?" asks for it, and tells it.
        text = self.text.replace("?", ".") if REMEMBERS.search(self._typed) else self.text
        said = Said(self.message_id, text, now)
        # Its quote is what they wrote: the sentence of theirs that says most of it.
        passed = [
            judged
            for sentence in _sentences(said.typed)
            if isinstance(judged := check(Claimed(content, sentence), said, now.date()), Passed)
        ]
        if passed:
            wanted = meanings(content)
            return max(passed, key=lambda each: len(wanted & meanings(each.quote)))
        judged = check(Claimed(content, self._typed or self.text), said, now.date())
        raise Invalid(_WHY.get(judged, _NOT_SAID) if isinstance(judged, Reason) else _NOT_SAID)

    async def _named(self, about: str) -> tuple[list[Memory], list[Memory]]:
        """What the user's sentence names, and what is only like it."""
        asked = FORGETS.sub(" ", self._typed)
        try:
            known = await self.house.memories.get(self.user_id, about)
            near, meant = [known], True
        except NotFound:
            near, meant = await self._near(f"{about} {asked}"), False
        all_of = bool(_ALL_OF.search(asked))
        named = [
            each
            for each in near
            if _is_named(asked, each, all_of) and (meant or _is_named(about, each, all_of) or _shares(about, each))
        ]
        ids = {each.id for each in named}
        return named, [each for each in near if each.id not in ids and names_in(each.content) & _bare(asked)]

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
    return [part.strip() for text in texts for part in re.split(r"(?<=[.!?])\s+|\n+", text) if words_of(part)]


# --- what else says it ------------------------------------------------------------------------------------------------


async def _with_all_that_says_it(house: House, user_id: str, memory_ids: Collection[str]) -> list[Memory]:
    """With all that they took the place of, and, of what was merged, with what says it now."""
    gone: dict[str, Memory] = {}
    left = list(dict.fromkeys(memory_ids))
    while left:
        found = await house.memories.of_ids(user_id, left)
        gone |= {each.id: each for each in found}
        says_it = [each.superseded_by for each in found if each.status == "merged" and each.superseded_by]
        replaced = [each.id for each in await house.memories.replaced_by(user_id, [each.id for each in found])]
        left = [each for each in dict.fromkeys((*says_it, *replaced)) if each not in gone]
    return list(gone.values())


def _pattern_of(gone: Sequence[Memory], names: Mapping[str, frozenset[str]]) -> str:
    """A regular expression of what tells it: its names as they are written; without any, its quote and content."""
    told: list[str] = []
    for each in gone:
        named = [word for word in words_of(f"{each.content} {each.quote}") if bare(word) in names[each.id]]
        texts = [words_of(text) for text in (each.quote, each.content)]
        told += [rf"\b{re.escape(word)}\b" for word in named] or [
            r"\W+".join(map(re.escape, words)) for words in texts if words
        ]
    return "|".join(dict.fromkeys(told))


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
