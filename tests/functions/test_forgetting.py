"""Forgetting is for good: in no prompt, in no collection, and not learnt again until its user asks for it."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import pytest

from infra.local.model_server import ModelServer, Reply
from qwestly_agent.errors import Invalid, NotFound
from qwestly_agent.memory.model import Source
from qwestly_agent.memory.remembering import Remembering, correct, explain, forget, remember
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


# --- what is left -----------------------------------------------------------------------------------------------------


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
        "_id", "user_id", "status", "hash", "key", "names", "content_embedding", "created", "created_at",
        "count", "last_seen", "sensitive", "consolidated", "forgotten_at", "withdrawn_at",
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


# --- and is not learnt again ------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("said", ["I live in Lisbon.", "I worked at Globex as a nurse since 2020.", "I am a nurse."])
async def test_but_something_else_is(talk: Talk, said: str) -> None:
    await talk.says("I worked at Acme as a nurse until 2019.")
    await talk.falls_silent()
    await in_a_turn(talk, "Forget that I worked at Acme.").forget("Acme")
    await talk.says(said, conversation_id="c2")
    await talk.falls_silent()
    assert len(await talk.remembered()) == 1


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


async def test_the_message_that_forgets_teaches_nothing(talk: Talk) -> None:
    await talk.says("I worked at Acme until 2019.")
    await talk.falls_silent()
    await talk.says("Forget that I worked at Acme. I live in Lisbon.", "I speak German.", conversation_id="c2")
    await in_a_turn(talk, "Forget that I worked at Acme.").forget("Acme")
    await talk.falls_silent()
    assert "Acme" not in talk.asked("/chat/completions")[-1].body.decode()
    assert await talk.remembered() == ["Speaks German."]


# --- by whom ----------------------------------------------------------------------------------------------------------


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
    ],
)
async def test_nothing_is_remembered_that_its_user_did_not_say(talk: Talk, text: str, content: str) -> None:
    with pytest.raises(Invalid):
        await in_a_turn(talk, text).remember(content)
    assert await talk.raw() == []


async def test_what_is_sensitive_is_remembered_where_its_user_asks_for_it(talk: Talk) -> None:
    memory = await in_a_turn(talk, "Please remember that I have diabetes.").remember("Has diabetes.")
    assert (memory.status, memory.sensitive) == ("active", True)


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


async def test_a_correction_replaces_nothing_that_it_is_not_about(talk: Talk) -> None:
    await talk.says("I have three children.")
    await talk.falls_silent()
    children = await talk.memory("Has three children.")
    with pytest.raises(Invalid):
        await in_a_turn(talk, "I live in Lisbon now.").correct(children.id, "Lives in Lisbon.")
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
