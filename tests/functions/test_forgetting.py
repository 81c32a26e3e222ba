"""Forgetting is for good: in no prompt, in no collection, and not learnt again until its user asks for it."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from infra.local.model_server import ModelServer, Reply
from qwestly_agent.errors import Invalid, NotFound
from qwestly_agent.memory.checking import hash_of
from qwestly_agent.memory.model import Memory, Source
from qwestly_agent.memory.remembering import Remembering, correct, explain, forget, remember
from qwestly_agent.stores.conversations import Conversations
from qwestly_agent.stores.drafts import Draft
from tests.functions.talking import Talk, found, note, talking
from tests.servers import ChatServer, Client, settings_for

pytestmark = pytest.mark.anyio
HERE = Source()


@pytest.fixture
async def talk(mongodb_uri: str, database_name: str, model: ModelServer) -> AsyncIterator[Talk]:
    async with talking(mongodb_uri, database_name, model) as talk:
        yield talk


async def kept_of(talk: Talk, word: str) -> set[str]:
    """The collections in which a word stands."""
    database = talk.house.mongo[talk.house.settings.mongodb_database]
    found_in = set[str]()
    for name in await database.list_collection_names():
        if not name.startswith("system."):
            found_in |= {name async for each in database[name].find({}) if word.lower() in repr(each).lower()}
    return found_in


def in_a_turn(talk: Talk, text: str, conversation_id: str = "c9") -> Remembering:
    return Remembering(talk.house, talk.user_id, conversation_id, "m9", text)


async def put(talk: Talk, content: str, quote: str = "") -> str:
    """As it was found in a conversation."""
    talk.clock.advance(1)
    [vector] = await talk.house.embeddings.embed([content])
    memory = Memory(id=f"mem{talk.clock():.0f}", type="fact", content=content, quote=quote or content)
    assert await talk.house.memories.add(talk.user_id, memory, hash_of(content), vector, talk.clock())
    return memory.id


# --- what is left -----------------------------------------------------------------------------------------------------


@pytest.mark.thorough
async def test_what_is_left_of_it_says_nothing(talk: Talk) -> None:
    await talk.says("I worked at Acme as a nurse until 2019.", "I live in Lisbon.")
    await talk.falls_silent()
    assert "user_memories" in await kept_of(talk, "Acme")
    gone = await in_a_turn(talk, "Forget that I worked at Acme.").forget("worked at Acme")
    assert gone.gone == ("Worked at Acme as a nurse until 2019.",)
    assert await kept_of(talk, "Acme") == {"agent_messages", "agent_conversations"}
    assert await talk.remembered() == ["Lives in Lisbon."]
    [tombstone] = await talk.raw(status="forgotten")
    assert tombstone.keys() == {
        "_id", "user_id", "status", "hash", "key", "names", "organisations", "words", "content_embedding", "created",
        "created_at", "count", "last_seen", "sensitive", "consolidated", "forgotten_at", "withdrawn_at",
    }  # fmt: skip


async def test_the_title_and_the_words_stay_in_the_transcript_until_it_is_deleted(talk: Talk) -> None:
    await talk.says("I worked at Acme as a nurse until 2019.")
    await talk.falls_silent()
    await in_a_turn(talk, "Forget that I worked at Acme.").forget("Acme")
    await talk.house.conversations.delete(talk.user_id, "c1")
    assert await kept_of(talk, "Acme") == set()


async def test_what_it_replaced_goes_with_it(talk: Talk) -> None:
    for number, city in enumerate(("Leeds", "Berlin", "Lisbon")):
        await talk.says(f"I moved to {city}.", conversation_id=f"c{number}")
        await talk.falls_silent()
    memory = await talk.memory("Lives in Lisbon.")
    assert len(await forget(talk.house, talk.user_id, [memory.id])) == 3
    assert [await talk.remembered(status) for status in ("active", "superseded", "merged")] == [[], [], []]


async def test_forgotten_twice_is_forgotten_once(talk: Talk) -> None:
    await talk.says("I live in Lisbon.")
    await talk.falls_silent()
    memory = await talk.memory("Lives in Lisbon.")
    await forget(talk.house, talk.user_id, [memory.id])
    before = await talk.raw()
    talk.clock.advance(5)
    assert await forget(talk.house, talk.user_id, [memory.id]) == []
    assert await talk.raw() == before
    with pytest.raises(NotFound):
        await explain(talk.house, talk.user_id, memory.id)


async def test_a_draft_that_rests_on_it_is_flagged_and_goes_on_without(talk: Talk) -> None:
    await talk.says("I worked at Acme as a nurse until 2019.")
    await talk.falls_silent()
    memory = await talk.memory("Worked at Acme as a nurse until 2019.")
    evidence = [{"id": f"memory:{memory.id}", "text": memory.quote}, {"id": "profile", "text": "A nurse."}]
    for draft_id, parts in (("d1", {"evidence": evidence}), ("d2", {"evidence": evidence[1:]})):
        draft = Draft(
            id=draft_id, user_id=talk.user_id, run_id="r", conversation_id=None, style="standard", label="Drafted",
            created_at=talk.clock(), updated_at=talk.clock(), parts=parts,
        )  # fmt: skip
        await talk.house.drafts.add(draft)
    await forget(talk.house, talk.user_id, [memory.id])
    one, other = [await talk.house.drafts.get(talk.user_id, each) for each in ("d1", "d2")]
    assert (one.flagged, [each["id"] for each in one.parts["evidence"]]) == (True, ["profile"])
    assert not other.flagged


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("quote", "left"),
    [
        ("I worked at Acme until 2019 and I live in Lisbon", "I live in Lisbon"),
        ("I live in Lisbon since Acme let me go", ""),
        ("I live in Lisbon, I like Acme", "I live in Lisbon"),
    ],
)
async def test_the_quotes_of_others_tell_it_no_more(talk: Talk, quote: str, left: str) -> None:
    gone = await put(talk, "Worked at Acme until 2019.")
    kept = await put(talk, "Lives in Lisbon.", quote)
    await forget(talk.house, talk.user_id, [gone])
    assert (await talk.house.memories.get(talk.user_id, kept)).quote == left
    assert await kept_of(talk, "Acme") == set()


async def test_a_question_that_tells_it_goes_and_the_answer_stays(talk: Talk) -> None:
    gone = await put(talk, "Worked at Acme until 2019.")
    kept = await put(talk, "Lives in Lisbon.", "Yes, I do")
    database = talk.house.memories.database
    asked = {"question": "Do you live in Lisbon since Acme let you go?"}
    await database["user_memories"].update_one({"_id": kept}, {"$set": asked})
    await forget(talk.house, talk.user_id, [gone])
    memory = await talk.house.memories.get(talk.user_id, kept)
    assert (memory.quote, memory.question) == ("Yes, I do", "")


async def test_what_names_the_same_and_stays_keeps_its_quote(talk: Talk) -> None:
    gone = await put(talk, "Lives in Lisbon.")
    kept = await put(talk, "Works at Northwind in Lisbon.", "I work at Northwind in Lisbon")
    both = await put(talk, "Works for Globex in Lisbon.", "I live in Lisbon where I work for Globex")
    await forget(talk.house, talk.user_id, [gone])
    quotes = [(await talk.house.memories.get(talk.user_id, each)).quote for each in (kept, both)]
    assert quotes == ["I work at Northwind in Lisbon", ""]


async def test_what_says_the_same_goes_with_it(talk: Talk) -> None:
    one, other = [await put(talk, content) for content in ("Lives in Berlin.", "Is based in Berlin.")]
    await put(talk, "Likes Berlin.")
    assert set(await forget(talk.house, talk.user_id, [one])) == {one, other}
    assert await talk.remembered() == ["Likes Berlin."]


async def test_what_it_is_corrected_to_meanwhile_goes_with_it(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    known = await put(talk, "Lives in Berlin.")
    collecting = talk.house.memories.replaced_by
    corrected: list[Memory] = []

    async def replaced_by(self: Any, *asked: Any) -> list[Memory]:
        if not corrected:
            corrected.append(
                await correct(talk.house, talk.user_id, known, "Lives near the zoo.", "Near the zoo", HERE)
            )
            return []
        return await collecting(*asked)

    monkeypatch.setattr(type(talk.house.memories), "replaced_by", replaced_by)
    assert set(await forget(talk.house, talk.user_id, [known])) == {known, corrected[0].id}
    assert await talk.remembered() == []


async def test_whoever_corrects_what_is_being_forgotten_is_told_so(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    known = await put(talk, "Lives in Berlin.")
    withholding = Conversations.withhold

    async def withhold(self: Conversations, user_id: str, pattern: str) -> None:
        with pytest.raises(NotFound):
            await correct(talk.house, user_id, known, "Lives near the zoo.", "Near the zoo", HERE)
        await withholding(self, user_id, pattern)

    monkeypatch.setattr(Conversations, "withhold", withhold)
    await forget(talk.house, talk.user_id, [known])
    assert await talk.remembered() == []


async def test_it_is_withdrawn_until_after_the_last_write(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    known = await put(talk, "Lives in Berlin.")
    withholding = Conversations.withhold

    async def withhold(self: Conversations, user_id: str, pattern: str) -> None:
        talk.clock.advance(60)
        await withholding(self, user_id, pattern)

    monkeypatch.setattr(Conversations, "withhold", withhold)
    await forget(talk.house, talk.user_id, [known])
    assert await talk.house.memories.last_withdrawn(talk.user_id) == talk.clock()


# --- and is not learnt again ------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("said", "content"),
    [
        ("I worked at Acme as a nurse until 2019.", "Worked at Acme as a nurse until 2019."),
        ("As a nurse I worked at ACME, until 2019!", "worked at Acme as a nurse, until 2019"),
        ("I was a nurse at Acme for years.", "Was a nurse at Acme."),
        ("I led the billing team at Acme.", "Led the billing team at Acme."),
    ],
)
async def test_what_was_forgotten_is_not_learnt_again_in_other_words(talk: Talk, said: str, content: str) -> None:
    await talk.says("I worked at Acme as a nurse until 2019.")
    await talk.falls_silent()
    await in_a_turn(talk, "Forget that I worked at Acme.").forget("Acme")
    await talk.says(said, conversation_id="c2")
    talk.model.script(Reply(tool_calls=[found(note(content, said.rstrip(".!")))]))
    await talk.falls_silent()
    assert await talk.remembered() == []


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("wish", "first", "said", "content"),
    [
        ("Forget that I worked at Acme.", "Worked at Acme until 2019.", "i led the billing team at acme", ""),
        ("Forget that I worked at Acme.", "Worked at Acme until 2019.", "i worked at acme for years", ""),
        ("Forget that I worked at Acme.", "Worked at Acme until 2019.", "Trabajé en Acme como enfermera",
         "Trabajó en Acme como enfermera"),
        ("Forget that I worked at Acme.", "Worked at Acme until 2019.", "I used to be head of billing of Acme",
         "Was head of billing of Acme"),
        ("Forget that I worked at Acme.", "Worked at Acme until 2019.", "Acme paid for my nursing degree", ""),
        ("", "Worked at Acme in Berlin as a nurse.", "I led the billing team at Acme", ""),
        ("", "Worked at Acme Corp until 2019.", "I led the billing team at Acme", ""),
        ("Forget that I have diabetes.", "Has diabetes.", "I am a diabetic", "Is a diabetic"),
        ("Forget that I have diabetes.", "Has diabetes.", "I inject insulin for diabetes type 2", ""),
        ("Forget that I have a dog.", "Has a dog.", "My dog hates trains", "Has a dog that hates trains"),
    ],
)  # fmt: skip
async def test_nor_in_another_case_language_or_matter_of_the_same_employer(
    talk: Talk, wish: str, first: str, said: str, content: str
) -> None:
    await forget(talk.house, talk.user_id, [await put(talk, first)], wish)
    await talk.says(said, conversation_id="c2")
    text = content or said.replace("I led", "Led").replace("i led", "Led").replace("my ", "").removeprefix("i ")
    talk.model.script(Reply(tool_calls=[found(note(text.replace("I inject", "Injects"), said))]))
    [step] = await talk.falls_silent()
    assert (await talk.remembered(), await talk.remembered("proposed")) == ([], [])
    assert step.conversation_id == "c2"


@pytest.mark.parametrize(
    ("first", "said", "content"),
    [
        ("Has diabetes.", "I have a dog", "Has a dog"),
        ("Likes long trains.", "I like long walks", "Likes long walks"),
        ("Worked at Acme in Berlin.", "I like Berlin", "Likes Berlin"),
    ],
)
async def test_what_shares_a_word_with_it_is_learnt(talk: Talk, first: str, said: str, content: str) -> None:
    await forget(talk.house, talk.user_id, [await put(talk, first)])
    await talk.says(said, conversation_id="c2")
    talk.model.script(Reply(tool_calls=[found(note(content, said))]))
    await talk.falls_silent()
    assert await talk.remembered() == [content]


@pytest.mark.parametrize("said", ["I live in Lisbon.", "I worked at Globex as a nurse since 2020.", "I am a nurse."])
async def test_but_something_else_is(talk: Talk, said: str) -> None:
    await talk.says("I worked at Acme as a nurse until 2019.")
    await talk.falls_silent()
    await in_a_turn(talk, "Forget that I worked at Acme.").forget("Acme")
    await talk.says(said, conversation_id="c2")
    await talk.falls_silent()
    assert len(await talk.remembered()) == 1


@pytest.mark.thorough
async def test_whoever_asks_for_it_has_it_remembered_again(talk: Talk) -> None:
    await talk.says("I worked at Acme as a nurse until 2019.")
    await talk.falls_silent()
    await in_a_turn(talk, "Forget that I worked at Acme.").forget("Acme")
    memory = await in_a_turn(talk, "Remember that I worked at Acme.").remember("Worked at Acme.")
    assert (memory.quote, memory.trust) == ("Remember that I worked at Acme", "user_said")
    assert await talk.remembered() == ["Worked at Acme."]
    await talk.says("I led the billing team at Acme.", conversation_id="c2")
    await talk.falls_silent()
    assert await talk.remembered() == ["Led the billing team at Acme.", "Worked at Acme."]


async def test_other_matters_of_the_same_name_stay_forgotten(talk: Talk) -> None:
    for content in ("Worked at Acme until 2019.", "Was sued by Acme in 2018."):
        await forget(talk.house, talk.user_id, [await put(talk, content)])
    await in_a_turn(talk, "Remember that I worked at Acme until 2019.").remember("Worked at Acme until 2019.")
    [tombstone] = await talk.raw(status="forgotten")
    assert tombstone["hash"] == hash_of("Was sued by Acme in 2018.")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("I led the billing team at Acme.", "Led the billing team at Acme."),
        ("I worked at Acme until 2019.", "Worked at Acme until 2019."),
        ("I worked at Acme until 2019. Remember that I like tea.", "Worked at Acme until 2019."),
    ],
)
async def test_without_a_wish_what_was_forgotten_stays_so(talk: Talk, text: str, content: str) -> None:
    await forget(talk.house, talk.user_id, [await put(talk, "Worked at Acme until 2019.")])
    known = await put(talk, "Led the support team.")
    with pytest.raises(Invalid):
        await in_a_turn(talk, text).remember(content)
    with pytest.raises(Invalid):
        await in_a_turn(talk, text).correct(known, content)
    assert (len(await talk.raw(status="forgotten")), await talk.remembered()) == (1, ["Led the support team."])


async def test_the_turn_that_forgets_remembers_nothing(talk: Talk) -> None:
    await put(talk, "Worked at Acme until 2019.")
    turn = in_a_turn(talk, "Forget that I worked at Acme.")
    for _ in range(2):
        with pytest.raises(Invalid):
            await turn.remember("Worked at Acme.")
        if not turn.forgot:
            await turn.forget("Acme")
    assert await talk.remembered() == []


async def test_the_message_that_forgets_teaches_nothing(talk: Talk) -> None:
    await talk.says("I worked at Acme until 2019.")
    await talk.falls_silent()
    await talk.says("Forget that I worked at Acme. I live in Lisbon.", "I speak German.", conversation_id="c2")
    await in_a_turn(talk, "Forget that I worked at Acme.").forget("Acme")
    await talk.falls_silent()
    assert "Acme" not in talk.asked("/chat/completions")[-1].body.decode()
    assert await talk.remembered() == ["Speaks German."]


# --- by whom ----------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize(
    "text",
    [
        "What do you know about Acme?",
        "Don't forget that I worked at Acme!",
        "> Forget that I worked at Acme",
        'Here is what it says: "forget that I worked at Acme, please"',
        "Forget it.",
        "Forget that I live in Lisbon.",
        "Forget everything.",
        "To be clear: I worked at Acme as a nurse until 2019.",
        "Clear the table, I worked at Acme as a nurse.",
        "Do NOT delete that I worked at Acme as a nurse.",
        "Don't erase that I worked at Acme.",
        "Never remove that I worked at Acme.",
        "Don't stop remembering that I worked at Acme.",
        "I can't forget that I worked at Acme as a nurse.",
        "I hope you haven't forgotten that I worked at Acme as a nurse.",
        "Did you forget that I worked at Acme as a nurse?",
        "Forget that I worked at Acme?",
        "I forget when I worked at Acme as a nurse.",
        "Should I delete my work at Acme as a nurse from my CV?",
        "Delete that I worked at Acme from my CV.",
        "Remove Acme from the headline of my card, where I worked as a nurse.",
        "I was told to drop my badge when I worked at Acme as a nurse.",
        "Write a mail to HR: please delete that I worked at Acme as a nurse.",
        "Translate this:\nForget that I worked at Acme.",
        "Forget that I live in Lisbon. I worked at Acme as a nurse.",
        "Forget everything except that I worked at Acme.",
        "Do you know that I worked at Acme? Forget it.",
        "Vergiss nicht, dass I worked at Acme.",
    ],
)
async def test_nothing_is_forgotten_that_its_user_does_not_name(talk: Talk, text: str) -> None:
    await talk.says("I worked at Acme as a nurse until 2019.")
    await talk.falls_silent()
    memory = await talk.memory("Worked at Acme as a nurse until 2019.")
    for about in ("worked at Acme", memory.id):
        with pytest.raises(Invalid):
            await in_a_turn(talk, text).forget(about)
    assert len(await talk.remembered()) == 1


@pytest.mark.thorough
@pytest.mark.parametrize(
    "text",
    [
        "Can you please forget that I worked at Acme?",
        "OK, and now forget about Acme.",
        "I'd like you to forget that I worked at Acme.",
        "I want you to no longer remember that I worked at Acme.",
        "Hello. Please don't remember that I worked at Acme.",
        "Delete that I worked at Acme.",
        "Please remove Acme from your memory.",
        "Erase what you know about Acme.",
        "I worked at Acme as a nurse. Forget that, please.",
        "Vergiss bitte Acme.",
    ],
)
async def test_a_request_that_names_it_is_enough(talk: Talk, text: str) -> None:
    await put(talk, "Worked at Acme as a nurse until 2019.")
    await put(talk, "Lives in Lisbon.")
    await in_a_turn(talk, text).forget("Acme")
    assert await talk.remembered() == ["Lives in Lisbon."]


async def test_only_what_was_named_goes_and_what_is_like_it_is_told(talk: Talk) -> None:
    await talk.says("I live in Lisbon.", "I work at Northwind in Lisbon.", "I have a dog.")
    await talk.falls_silent()
    forgotten = await in_a_turn(talk, "Please forget that I live in Lisbon.").forget("lives in Lisbon")
    assert (forgotten.gone, forgotten.left) == (("Lives in Lisbon.",), ("Works at Northwind in Lisbon.",))
    forgotten = await in_a_turn(talk, "Forget everything about Lisbon.").forget("Lisbon")
    assert forgotten.gone == ("Works at Northwind in Lisbon.",)
    assert await talk.remembered() == ["Has a dog."]


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("I live in Lisbon.", "Lives in Porto."),
        ("Do I live in Lisbon?", "Lives in Lisbon."),
        ("> I live in Lisbon\n\nRemember this!", "Lives in Lisbon."),
        ("Remember my password: hunter2abc", "Has the password: hunter2abc"),
        ("I have had diabetes for years.", "Has had diabetes for years."),
        ("Do you remember that I live in Porto?", "Lives in Porto."),
        ("Do you remember if I live in Porto?", "Lives in Porto."),
        ("Do I live in Porto? Remember to answer in German.", "Lives in Porto."),
        ("Do you remember whether I told you that I have diabetes?", "Has diabetes."),
        ("Please don't remember that I have diabetes.", "Has diabetes."),
        ("Please do not save that I like trains.", "Likes trains."),
        ("Never save that I like trains.", "Likes trains."),
        ("I'd rather you did not note that I have diabetes.", "Has diabetes."),
        ("Remember nothing of this. I like trains.", "Likes trains."),
        ("I have diabetes, I can't remember since when.", "Has diabetes."),
        ("I have diabetes. Note that I am late today.", "Has diabetes."),
        ("Translate: please remember that I have diabetes.", "Has diabetes."),
        ("Translate:\nPlease remember that I have diabetes.", "Has diabetes."),
        ("My mother can't remember that I have diabetes.", "Has diabetes."),
        ("Please forget that I live in Lisbon, it is private.", "Lives in Lisbon."),
        ("I live in Lisbon, forget that.", "Lives in Lisbon."),
    ],
)
async def test_nothing_is_remembered_that_its_user_did_not_say(talk: Talk, text: str, content: str) -> None:
    with pytest.raises(Invalid):
        await in_a_turn(talk, text).remember(content)
    assert await talk.raw() == []


@pytest.mark.parametrize(
    "text",
    [
        "Please remember that I have diabetes.",
        "Could you please remember that I have diabetes?",
        "Hi! I want you to remember that I have diabetes.",
        "Don't forget that I have diabetes.",
        "I have diabetes, please remember that.",
    ],
)
async def test_what_is_sensitive_is_remembered_where_its_user_asks_for_it(talk: Talk, text: str) -> None:
    memory = await in_a_turn(talk, text).remember("Has diabetes.")
    assert (memory.status, memory.sensitive) == ("active", True)


async def test_what_waits_for_a_yes_waits_until_its_user_wishes_it(talk: Talk) -> None:
    waits = await put(talk, "Takes the blue pill every day.")
    database = talk.house.memories.database
    await database["user_memories"].update_one({"_id": waits}, {"$set": {"status": "proposed", "sensitive": True}})
    with pytest.raises(Invalid):
        await in_a_turn(talk, "I take the blue pill every day.").remember("Takes the blue pill every day.")
    assert await talk.remembered() == []
    await in_a_turn(talk, "Remember that I take the blue pill every day.").remember("Takes the blue pill every day.")
    assert await talk.remembered() == ["Takes the blue pill every day."]


async def test_remembered_and_then_read_it_is_one(talk: Talk) -> None:
    text = "Remember that I live in Lisbon."
    await talk.says(text)
    await Remembering(talk.house, talk.user_id, "c1", "msg1", text).remember("Lives in Lisbon.")
    before = await talk.raw()
    talk.model.script(Reply(tool_calls=[found(note("Lives in Lisbon.", "I live in Lisbon"))]))
    await talk.falls_silent()
    assert await talk.raw() == before


async def test_a_correction_takes_the_place_of_what_was_wrong_and_says_so(talk: Talk) -> None:
    await talk.says("I live in Berlin.")
    await talk.falls_silent()
    wrong = await talk.memory("Lives in Berlin.")
    right = await in_a_turn(talk, "That is wrong, I live in Lisbon.").correct(wrong.id, "Lives in Lisbon.")
    explained = await explain(talk.house, talk.user_id, right.id)
    assert [each.content for each in explained.before] == ["Lives in Berlin."]
    assert await talk.remembered() == ["Lives in Lisbon."]
    with pytest.raises(Invalid):
        await correct(talk.house, talk.user_id, wrong.id, "Lives in Porto.", "I live in Porto", HERE)


async def test_of_two_corrections_at_once_one_holds(talk: Talk) -> None:
    wrong = await put(talk, "Lives in Berlin.")
    made = (correct(talk.house, talk.user_id, wrong, f"Lives in {c}.", f"In {c}", HERE) for c in ("Lisbon", "Porto"))
    given = await asyncio.gather(*made, return_exceptions=True)
    [right] = [each for each in given if isinstance(each, Memory)]
    assert [type(each) for each in given if each is not right] == [Invalid]
    assert await talk.remembered() == [right.content]


async def test_a_correction_makes_nothing_sensitive_known(talk: Talk) -> None:
    known = await put(talk, "Has a dog for years.")
    with pytest.raises(Invalid):
        await in_a_turn(talk, "I have had diabetes for years.").correct(known, "Has had diabetes for years.")


async def test_a_correction_replaces_nothing_that_it_is_not_about(talk: Talk) -> None:
    await talk.says("I have three children.")
    await talk.falls_silent()
    children = await talk.memory("Has three children.")
    for text in ("I live in Lisbon now.", "Actually, I live in Lisbon now."):
        with pytest.raises(Invalid):
            await in_a_turn(talk, text).correct(children.id, "Lives in Lisbon.")
    with pytest.raises(NotFound):
        await in_a_turn(talk, "That is wrong, I live in Lisbon.").correct("mem_of_somebody", "Lives in Lisbon.")
    assert await talk.remembered() == ["Has three children."]


async def test_why_something_is_known_is_told_with_the_quote_the_day_and_the_conversation(talk: Talk) -> None:
    await talk.says("I live in Lisbon, by the way.")
    await talk.falls_silent()
    [explained] = await in_a_turn(talk, "Why do you know that I live in Lisbon?").explain("live in Lisbon")
    assert explained.memory.quote.startswith("I live in Lisbon")
    assert explained.title == "I live in Lisbon, by the way."
    assert str(explained.said_on) == "2027-01-15"


async def test_remember_at_once_from_the_page(talk: Talk) -> None:
    memory = await remember(talk.house, talk.user_id, "Lives in Lisbon.", "Lives in Lisbon.", HERE)
    again = await remember(talk.house, talk.user_id, "is based in Lisbon", "is based in Lisbon", HERE)
    assert memory.id == again.id
    assert await talk.remembered() == ["Lives in Lisbon."]


# --- in prompts -------------------------------------------------------------------------------------------------------


@contextmanager
def chatting(talk: Talk, mongodb_uri: str) -> Iterator[Client]:
    settings = settings_for(mongodb_uri, talk.model.base_url, talk.house.settings.mongodb_database)
    with ChatServer(settings, clock=talk.clock) as server, Client(server.url, talk.user_id, talk.clock) as client:
        yield client


def last_prompt(talk: Talk) -> str:
    """As the model server read it."""
    return json.dumps(talk.asked("/chat/completions")[-1].json, ensure_ascii=False)


@pytest.mark.thorough
async def test_no_prompt_holds_what_was_forgotten_until_it_is_asked_for_again(talk: Talk, mongodb_uri: str) -> None:
    with chatting(talk, mongodb_uri) as client:
        one = client.say("I worked at Acme as a nurse until 2019.").conversation_id
        await talk.falls_silent()
        other = client.say("Where did I work? Search my memories of Acme.").conversation_id
        assert "Worked at Acme as a nurse" in last_prompt(talk)
        assert "Forgotten" in client.say("Forget that I worked at Acme.", other).text
        for conversation_id in (other, one, None):
            client.say("Hello again.", conversation_id)
            assert "Acme" not in last_prompt(talk)
        # Documents of Acme are discussed, and read for what to remember.
        for text in ("> Acme Ltd certifies: she worked at Acme\n\nIs that good?", "I led a team at Acme."):
            client.say(text, other)
        await talk.falls_silent()
        client.say("What did I tell you?")
        assert "Acme" not in last_prompt(talk)
        client.say("Remember that I worked at Acme.")
        client.say("Hello.")
        assert "Worked at Acme." in last_prompt(talk)


@pytest.mark.thorough
async def test_asked_later_the_agent_knows_what_holds_since_when_and_what_was_before(
    talk: Talk, mongodb_uri: str
) -> None:
    with chatting(talk, mongodb_uri) as client:
        client.say("I live in Berlin.")
        await talk.falls_silent()
        client.say("I moved from Berlin to Lisbon.")
        await talk.falls_silent()
        client.say("Hello.")
        assert "Lives in Lisbon. (fact, since 2027-01-15" in last_prompt(talk)
        assert "Lives in Berlin" not in last_prompt(talk)
        answer = client.say("Why do you know that I live in Lisbon?").text
        assert "Lives in Lisbon" in answer
        assert "I moved from Berlin to Lisbon" in answer
        assert "Since 2027-01-15" in answer
        assert "Before that: “Lives in Berlin.”" in answer


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("Worked with Nestlé in 2019.", "So you know\nNestlé, right?"),
        ("Worked with Łódź in 2019.", "Łódź it is."),
        ("Has diabetes.", "As a diabetic, look for flexible hours."),
        ("Takes medication for anxiety.", "My anxiety is better."),
        ("Has three dogs.", "Dogs are fine."),
    ],
)
async def test_what_tells_it_in_other_words_is_in_no_prompt(
    talk: Talk, mongodb_uri: str, content: str, told: str
) -> None:
    await talk.says(told, "I like trains.", conversation_id="c2")
    await forget(talk.house, talk.user_id, [await put(talk, content)])
    with chatting(talk, mongodb_uri) as client:
        client.say("Hello again.", "c2")
        assert json.dumps(told, ensure_ascii=False)[1:-1] not in last_prompt(talk)
        assert "I like trains." in last_prompt(talk)


async def test_a_name_at_the_beginning_of_a_line_of_what_a_tool_said_is_in_no_prompt(
    talk: Talk, mongodb_uri: str
) -> None:
    await talk.says("Hello.", conversation_id="c2")
    said = json.dumps([{"parts": [{"content": "Employer:\nAcme\nLtd"}]}])
    messages = talk.house.conversations.database["agent_messages"]
    await messages.update_one({"role": "assistant"}, {"$set": {"model_messages": said}})
    await forget(talk.house, talk.user_id, [await put(talk, "Worked at Acme.")])
    assert await messages.count_documents({"withheld": True}) == 2


@pytest.mark.thorough
async def test_much_that_is_forgotten_at_once_is_looked_for_in_pieces(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_for: list[str] = []

    async def withhold(self: Conversations, user_id: str, pattern: str) -> None:
        looked_for.append(pattern)

    monkeypatch.setattr(Conversations, "withhold", withhold)
    ids = [await put(talk, f"likes {n} " + "walks " * 40, f"{n} " + "walking " * 70) for n in range(80)]
    await forget(talk.house, talk.user_id, ids)
    assert len(looked_for) > 1
    assert all(len(pattern) < 32_000 for pattern in looked_for)
