"""Forgetting is permanent: in no prompt, in no collection but the transcript, and not learned again unless the user
asks."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from infra.local.model_answers import ToolCall
from infra.local.model_server import ModelServer, Reply
from qwestly_agent.approvals.ask import Proposal, ProposalContext, create_approval
from qwestly_agent.approvals.execute import execute
from qwestly_agent.approvals.seal import sealed
from qwestly_agent.base.errors import Invalid, NotFound
from qwestly_agent.cards.forget import drop_forgotten, words_of_topics
from qwestly_agent.cards.publication import publication_of
from qwestly_agent.domain.approval import Approval
from qwestly_agent.domain.card import Card, CheckedCard, Claim, Evidence, LeftOut, Section, SectionDraft
from qwestly_agent.domain.memory import Memory, MemorySource, signature_of
from qwestly_agent.grounding.model import GroundingVerdict, Quote
from qwestly_agent.memory.changes import correct, explain
from qwestly_agent.memory.forget import Forgotten, forget, match_tombstones
from qwestly_agent.memory.notes import hash_of
from qwestly_agent.memory.service import MemoryService
from qwestly_agent.profile import SUGGEST_LINKEDIN_ABOUT, UPDATE_PROFILE_FIELD
from qwestly_agent.stores.drafts import Draft
from qwestly_agent.stores.messages import Messages
from tests.functions.talking import Talk, finds, note, talking
from tests.servers import ChatServer, Client, settings_for

pytestmark = pytest.mark.anyio
HERE = MemorySource()
SAID = "I worked at Acme as a nurse until 2019."
KNOWN = "Worked at Acme as a nurse until 2019."


@pytest.fixture
async def talk(mongodb_uri: str, database_name: str, model: ModelServer) -> AsyncIterator[Talk]:
    async with talking(mongodb_uri, database_name, model) as talk:
        yield talk


async def dump(talk: Talk) -> dict[str, list[dict[str, Any]]]:
    """Return every document of every collection."""
    database = talk.services.mongo[talk.services.settings.mongodb_database]
    names = [name for name in await database.list_collection_names() if not name.startswith("system.")]
    return {name: [each async for each in database[name].find({})] for name in names}


async def kept_of(talk: Talk, word: str) -> set[str]:
    """Return the collections that contain a word."""
    dumped = await dump(talk)
    return {name for name, documents in dumped.items() if word.lower() in repr(documents).lower()}


async def kept_beside_the_transcript(talk: Talk, word: str) -> list[str]:
    """Return the places of a word, except those that the user can read anyway: withheld messages, and text left by a
    killed process, which is the user's own."""
    dumped = await dump(talk)
    for each in dumped.get("agent_messages", []):
        if each["withheld"]:
            each["content"] = ""
    for each in dumped.get("agent_conversations", []):
        for turn in each.get("turns", {}).values():
            turn["text"] = "" if turn.get("withheld") else turn["text"]
    return [f"{name}: {each}" for name, found in dumped.items() for each in found if word.lower() in repr(each).lower()]


def in_a_turn(talk: Talk, text: str, conversation_id: str = "c9") -> MemoryService:
    return MemoryService(talk.services, talk.user_id, conversation_id, "m9", text)


async def put(talk: Talk, content: str, quote: str = "", **more: Any) -> str:
    """Store a memory as extraction does."""
    talk.clock.advance(1)
    [vector] = await talk.services.embeddings.embed([content])
    memory = Memory(id=f"mem{talk.clock():.0f}", type="fact", content=content, quote=quote or content, **more)
    assert await talk.services.memories.add(talk.user_id, memory, hash_of(content), vector, talk.clock())
    return memory.id


async def forgets(talk: Talk, *memory_ids: str) -> Forgotten:
    return await forget(talk.services, talk.user_id, memory_ids)


async def was_said(talk: Talk, text: str = SAID, content: str = KNOWN, **more: Any) -> str:
    """Store a message and a memory based on it."""
    await talk.says(text, **more)
    return await put(
        talk, content, text.rstrip("."), source=MemorySource(conversation_id="c1", message_ids=(f"msg{talk.turns}",))
    )


async def messages(talk: Talk, **query: Any) -> list[dict[str, Any]]:
    found = talk.services.conversations.database["agent_messages"].find({"user_id": talk.user_id, **query})
    return await found.sort("seq", 1).to_list()


async def withheld(talk: Talk, **query: Any) -> list[str]:
    return [each["content"] for each in await messages(talk, withheld=True, **query)]


async def changes_message(talk: Talk, content: str, **fields: Any) -> None:
    """Change the stored texts of an answer or of its model messages."""
    collection = talk.services.conversations.database["agent_messages"]
    changed = await collection.update_one({"user_id": talk.user_id, "content": content}, {"$set": fields})
    assert changed.matched_count == 1


# --- remains ----------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
async def test_a_tombstone_contains_no_user_content(talk: Talk) -> None:
    await talk.says(SAID, "I live in Lisbon.")
    await talk.falls_silent()
    assert "user_memories" in await kept_of(talk, "Acme")
    forgotten = await forgets(talk, (await talk.memory(KNOWN)).id)
    assert len(forgotten.ids) == 1
    assert await kept_beside_the_transcript(talk, "Acme") == []
    assert await talk.remembered() == ["Lives in Lisbon."]
    [tombstone] = await talk.raw(status="forgotten")
    assert tombstone.keys() == {
        "_id", "user_id", "status", "key", "hashes", "stems", "signature", "dimensions", "seen", "forgotten_at",
        "withdrawn_at", "events", "events_written", "events_copied",
    }  # fmt: skip
    assert {len(each) for each in tombstone["stems"]} == {3}  # 12 bits: some twenty words share one


async def test_forgotten_words_stay_in_the_transcript_until_it_is_deleted(talk: Talk) -> None:
    memory_id = await was_said(talk)
    await forgets(talk, memory_id)
    assert await kept_of(talk, "Acme") == {"agent_messages"}
    await talk.services.conversations.delete(talk.user_id, "c1")
    assert await kept_of(talk, "Acme") == set()


async def test_forgetting_a_memory_also_forgets_the_one_it_replaced(talk: Talk) -> None:
    older = await put(talk, "Lives in Leeds.")
    newer = await correct(talk.services, talk.user_id, older, "Lives in Lisbon.")
    assert set((await forgets(talk, newer.id)).ids) == {older, newer.id}
    assert [await talk.remembered(status) for status in ("active", "superseded", "merged")] == [[], [], []]


async def test_forgetting_a_memory_also_forgets_equal_ones_but_not_similar_ones(talk: Talk) -> None:
    older = await put(talk, "Lives in Berlin.")
    newer = await correct(talk.services, talk.user_id, older, "Lives in Porto.")
    again = await put(talk, "lives in  BERLIN")
    await put(talk, "Likes Berlin.")
    assert set((await forgets(talk, again)).ids) == {older, again}
    assert await talk.remembered() == ["Likes Berlin.", newer.content]


async def test_forgetting_a_memory_also_forgets_those_merged_into_it(talk: Talk) -> None:
    one, other = await put(talk, "Lives in Berlin."), await put(talk, "Is based in Berlin.")
    await talk.services.merges.replace(talk.user_id, one, other, "merged", "night1", talk.clock())
    assert set((await forgets(talk, one)).ids) == {one, other}


async def test_forgetting_a_memory_twice_is_idempotent(talk: Talk) -> None:
    memory_id = await was_said(talk)
    await forgets(talk, memory_id)
    before = await talk.raw()
    talk.clock.advance(5)
    assert await forgets(talk, memory_id) == Forgotten()
    assert await talk.raw() == before
    with pytest.raises(NotFound):
        await explain(talk.services.conversations, talk.services.memories, talk.user_id, memory_id)


async def test_an_interrupted_forgetting_is_completed_by_the_next_process(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory_id, other = await was_said(talk), await put(talk, "Likes trains.")
    with monkeypatch.context() as patch:
        patch.setattr(Messages, "exclude_from_prompts", _dies)
        with pytest.raises(RuntimeError):
            await forgets(talk, memory_id)
    assert await talk.remembered() == ["Likes trains."]
    await forgets(talk, other)
    assert await kept_beside_the_transcript(talk, "Acme") == []


async def _dies(*_: Any) -> None:
    raise RuntimeError


async def test_forgetting_a_memory_also_forgets_a_concurrent_correction(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = await put(talk, "Lives in Berlin.")
    beginning = talk.services.tombstones.begin
    corrected: list[Memory] = []

    async def begin(self: Any, *asked: Any) -> dict[str, str]:
        if not corrected:
            corrected.append(await correct(talk.services, talk.user_id, known, "Lives near the zoo."))
        return await beginning(*asked)

    monkeypatch.setattr(type(talk.services.tombstones), "begin", begin)
    assert set((await forgets(talk, known)).ids) == {known, corrected[0].id}
    assert await talk.remembered() == []


async def test_correcting_a_memory_being_forgotten_is_rejected_with_a_reason(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = await put(talk, "Lives in Berlin.")
    exclude = Messages.exclude_from_prompts

    async def exclude_from_prompts(self: Messages, *asked: Any) -> None:
        with pytest.raises(NotFound):
            await correct(talk.services, talk.user_id, known, "Lives near the zoo.")
        talk.clock.advance(60)
        await exclude(self, *asked)

    monkeypatch.setattr(Messages, "exclude_from_prompts", exclude_from_prompts)
    await forgets(talk, known)
    assert await talk.remembered() == []
    # Until after the last write: anything derived meanwhile is derived again.
    assert await talk.services.tombstones.last_withdrawn_at(talk.user_id) == talk.clock()


# --- messages ---------------------------------------------------------------------------------------------------------


async def test_forgetting_withholds_the_message_and_its_answers_but_no_other_messages(
    talk: Talk,
) -> None:
    await talk.says("I like trains.")
    memory_id = await was_said(talk)
    await talk.says("I speak German.")
    await talk.says("Hello.", conversation_id="c2")
    await forgets(talk, memory_id)
    assert await withheld(talk, role="user") == [SAID]
    assert [each["seq"] for each in await messages(talk, withheld=True, role="assistant")] == [4, 6]
    assert await withheld(talk, conversation_id="c2") == []


async def test_forgetting_withholds_each_message_that_confirmed_the_memory(talk: Talk) -> None:
    memory_id = await was_said(talk)
    await talk.says("Acme again.", conversation_id="c2")
    await talk.services.memories.reinforce(talk.user_id, memory_id, ["msg2"], talk.clock())
    await forgets(talk, memory_id)
    assert await withheld(talk, role="user") == [SAID, "Acme again."]


@pytest.mark.parametrize(
    ("quote", "text", "told"),
    [
        ("I worked at Acme", "As I said: “I  WORKED at Acme”, you know?", True),
        ("I worked at Acme", "I worked at Acmes.", False),
        ("I worked at Acme", "I was with Acme.", False),
        ("Ich war krank", "Ich war krank.", True),
        ("Yes", "Yes, I like trains.", False),
        ("in Lisbon", "It rains in Lisbon.", False),
        ("我住在里斯本市", "你好，我住在里斯本市。", True),
    ],
)
@pytest.mark.thorough
async def test_forgetting_withholds_a_message_only_if_it_contains_the_quote_verbatim(
    talk: Talk, quote: str, text: str, told: bool
) -> None:
    await talk.says(text, conversation_id="c2")
    await forgets(talk, await put(talk, "Said something.", quote))
    assert await withheld(talk, role="user") == ([text] if told else [])


async def test_forgetting_withholds_an_answer_that_contains_the_memory_verbatim(talk: Talk) -> None:
    await talk.says(("Worked at Acme until 2019, is that so?", "Yes."), conversation_id="c2")
    await forgets(talk, await put(talk, "Worked at Acme until 2019.", "Yes"))
    assert "Worked at Acme until 2019, is that so?" in await withheld(talk, role="assistant")
    assert await withheld(talk, role="user") == []


@pytest.mark.thorough
@pytest.mark.parametrize("place", ["the context", "a tool's result", "an answer before"])
async def test_answers_that_saw_a_forgotten_memory_are_withheld_but_not_the_users_messages(
    talk: Talk, mongodb_uri: str, place: str
) -> None:
    memory_id = await put(talk, KNOWN) if place == "the context" else ""
    with chatting(talk, mongodb_uri) as client:
        talk.model.script(Reply(text="Hello, nurse."))
        conversation_id = client.say("Hello.").conversation_id
        if not memory_id:
            memory_id = await put(talk, KNOWN)
            look: ToolCall = {"name": "query_user_knowledge", "arguments": {"only": "memories", "query": "work"}}
            talk.model.script(Reply(tool_calls=[look]), Reply(text="A nurse."))
            client.say("What did I do?", conversation_id)
        if place == "an answer before":
            talk.model.script(Reply(text="As a nurse."))
            client.say("I speak German. As what?", conversation_id)
    await forgets(talk, memory_id)
    last = (await messages(talk))[-1]
    assert (last["withheld"], last["model_messages"], memory_id in last["saw"]) == (True, "[]", True)
    assert await withheld(talk, role="user") == []
    first = (await messages(talk, role="assistant"))[0]
    assert first["withheld"] == (place == "the context")
    assert await kept_beside_the_transcript(talk, "Acme") == []


@pytest.mark.thorough
async def test_an_answer_that_saw_a_memory_at_the_end_of_a_long_result_is_linked_to_it(
    talk: Talk, mongodb_uri: str
) -> None:
    await put(talk, "Likes " + "very " * 4_000 + "long trains.")
    memory_id = await put(talk, KNOWN)
    with chatting(talk, mongodb_uri) as client:
        look: ToolCall = {"name": "query_user_knowledge", "arguments": {"only": "memories", "query": "long trains"}}
        talk.model.script(Reply(tool_calls=[look]), Reply(text="Trains."))
        client.say("What do I like?")
    assert memory_id in (await messages(talk))[-1]["saw"]


async def test_an_answer_with_forgotten_words_in_a_tool_result_is_withheld(talk: Talk) -> None:
    await talk.says("Hello.", conversation_id="c2")
    said = json.dumps([{"parts": [{"content": "Employer:\nI worked at\nAcme Ltd"}]}])
    await changes_message(talk, "I see.", model_messages=said)
    await forgets(talk, await put(talk, "Was with them.", "I worked at Acme"))
    assert await withheld(talk) == ["I see."]


async def test_a_note_with_a_forgotten_quote_is_deleted_and_its_message_kept(talk: Talk) -> None:
    await talk.says("Hello.", conversation_id="c2")
    await changes_message(talk, "Hello.", note="They wrote: “I worked at Acme”")
    await forgets(talk, await put(talk, "Was with them.", "I worked at Acme"))
    assert [each["note"] for each in await messages(talk, role="user")] == [""]
    assert await withheld(talk) == []


@pytest.mark.thorough
async def test_audits_of_calls_with_forgotten_words_are_emptied(talk: Talk, mongodb_uri: str) -> None:
    memory_id = await put(talk, KNOWN)
    with chatting(talk, mongodb_uri) as client:
        look: ToolCall = {"name": "query_user_knowledge", "arguments": {"only": "memories", "query": "Acme"}}
        talk.model.script(Reply(tool_calls=[look]), Reply(text="A nurse."))
        client.say("What did I do?")
    assert "agent_tool_calls" in await kept_of(talk, "Acme")
    await forgets(talk, memory_id)
    assert "agent_tool_calls" not in await kept_of(talk, "Acme")
    [entry] = (await dump(talk))["agent_tool_calls"]
    assert (entry["tool"], entry["outcome"], entry["result"]) == ("query_user_knowledge", "succeeded", None)


async def test_forgetting_keeps_unlinked_text_and_says_so(talk: Talk) -> None:
    await talk.says("The hospital that let me go was a mess.", conversation_id="c2")
    memory_id = await was_said(talk)
    told = await forgets(talk, memory_id)
    assert await withheld(talk, conversation_id="c2") == []
    assert "in other words stays in your conversations" in told.note


async def test_other_memories_lose_a_forgotten_quote_but_are_kept(talk: Talk) -> None:
    gone = await put(talk, "Worked at Acme.", "I worked at Acme")
    kept = await put(talk, "Lives in Lisbon.", "I worked at Acme and I live in Lisbon")
    asked = await put(talk, "Likes trains.", "Yes, I do", question="You said “I worked at Acme”: do you like trains?")
    other = await put(talk, "Knows Acme well.", "I know Acme well")
    await forgets(talk, gone)
    told = [await talk.services.memories.get(talk.user_id, each) for each in (kept, asked, other)]
    assert [(each.quote, each.question) for each in told] == [("", ""), ("Yes, I do", ""), ("I know Acme well", "")]
    assert await talk.remembered() == ["Knows Acme well.", "Likes trains.", "Lives in Lisbon."]


# --- not learned again ------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("content", "quote", "expected"),
    [
        (KNOWN, "whatever", "exact"),
        ("worked at  ACME as a nurse until 2019", "", "exact"),
        ("Was a nurse.", "I WORKED at Acme as a nurse until 2019", "exact"),
        ("Worked at Acme as a nurse up to 2019.", "", "near"),
        ("Likes trains.", "I like trains", None),
        ("Yes.", "Yes", None),
    ],
)
async def test_a_new_note_matches_a_tombstone_exactly_nearly_or_not_at_all(
    talk: Talk, content: str, quote: str, expected: str | None
) -> None:
    await forgets(talk, await was_said(talk), await put(talk, "Likes walking long distances.", "Yes"))
    tombstones = await talk.services.tombstones.list_all(talk.user_id)
    [vector] = await talk.services.embeddings.embed([content])
    near_from = talk.services.settings.memory_forgotten_from
    found = match_tombstones(tombstones, content, quote, vector, near_from)
    assert (found and ("exact" if found.is_exact else "near")) == expected


async def test_a_near_match_from_the_same_message_counts_as_exact(talk: Talk) -> None:
    await forgets(talk, await was_said(talk))
    [tombstone] = await talk.services.tombstones.list_all(talk.user_id)
    [vector] = await talk.services.embeddings.embed(["Worked at Acme as a nurse up to 2019."])
    for message_ids, is_exact in ((tombstone.message_ids, True), (("msg99",), False)):
        found = match_tombstones([tombstone], "Worked at Acme up to 2019.", "", vector, 0.4, message_ids)
        assert found is not None
        assert found.is_exact is is_exact


async def test_tombstone_hashes_are_salted_per_user_and_no_vector_is_stored(talk: Talk) -> None:
    await forgets(talk, await put(talk, KNOWN))
    await talk.services.tombstones.forget("auth0|other", [], talk.clock())
    [mine] = await talk.raw()
    other = Talk(talk.services, talk.clock, talk.model, "auth0|other")
    await forgets(other, await put(other, KNOWN))
    [theirs] = await other.raw()
    assert set(mine["hashes"]).isdisjoint(theirs["hashes"])
    assert mine["signature"] == theirs["signature"]
    assert len(bytes.fromhex(mine["signature"])) == 32


async def test_a_vector_from_another_model_matches_no_tombstone(talk: Talk) -> None:
    await forgets(talk, await put(talk, KNOWN))
    [tombstone] = await talk.services.tombstones.list_all(talk.user_id)
    assert tombstone.cosine([1.0, 0.0]) == 0.0
    assert signature_of([]) == b""


async def test_a_forgotten_memory_is_not_learned_again(talk: Talk) -> None:
    memory_id = await was_said(talk)
    await forgets(talk, memory_id)
    await talk.says(SAID, conversation_id="c2")
    talk.model.script(finds(note(KNOWN, SAID.rstrip("."))))
    await talk.falls_silent()
    assert (await talk.remembered(), await talk.remembered("proposed")) == ([], [])


async def test_a_forgotten_memory_is_stored_again_on_request(talk: Talk) -> None:
    await forgets(talk, await put(talk, "Worked at Acme."))
    turn = in_a_turn(talk, "Remember that I worked at Acme.")
    proposal = await turn.remember("experience", "Worked at Acme.", "I worked at Acme", ask=False)
    assert isinstance(proposal, Proposal)
    assert "like something you had forgotten" in proposal.rationale
    assert await talk.remembered() == []
    await talk.services.memories.activate_proposed(talk.user_id, proposal.args["memory_ids"], talk.clock())
    assert await talk.remembered() == ["Worked at Acme."]
    assert await talk.raw(status="forgotten") == []


# --- drafts, approvals and interviews based on it ---------------------------------------------------------------------


def claim(text: str, source: str, quote: str) -> Claim:
    return Claim(text=text, quotes=(Quote(source=source, text=quote),))


async def drafted(talk: Talk, memory_id: str, kind: str = "card", **fields: Any) -> Draft:
    """Store a draft with two claims, one of them based on the memory, with everything its pipeline stores."""
    now, source = talk.clock(), f"memory:{memory_id}"
    acme, nurse = claim("Was a nurse at Acme.", source, "I worked at Acme"), claim("Is a nurse.", "profile", "A nurse")
    section = Section(kind="experience", heading="Work", claims=(acme, nurse))
    card = Card(style="standard", headline=claim("Acme's nurse", source, "I worked at Acme"), sections=(section,))
    checked = CheckedCard(card=card, left_out=(LeftOut(claim=acme, why=("It is too good.",)),))
    kept = SectionDraft(section=section, verdicts=(GroundingVerdict(outcome="supported"),) * 2, done=True)
    told = {"kind": "memory", "trust": "user_said", "source": "your message"}
    evidence = [
        Evidence.model_validate({"id": source, "text": SAID.rstrip("."), **told}),
        Evidence.model_validate({"id": "profile", "text": "A nurse", **told, "kind": "profile"}),
        Evidence.model_validate({"id": "person:2", "text": f"Say more. {SAID}", **told, "kind": "person"}),
    ]
    parts = {
        "evidence": [each.model_dump(mode="json") for each in evidence],
        "plan": ["experience"],
        "section_experience": kept.model_dump(mode="json"),
        "card": {"round": 1, "checked": checked.model_dump(mode="json")},
        "undo": [checked.model_dump(mode="json")],
        "wish": f"Mention this: {SAID}",
    }
    draft = Draft.model_validate(
        {
            "id": f"{kind}_{now:.0f}", "user_id": talk.user_id, "run_id": "r", "conversation_id": "c1", "kind": kind,
            "style": "standard", "status": "drafted", "label": "Drafted", "created_at": now, "updated_at": now,
            "parts": parts, **fields,
        }
    )  # fmt: skip
    assert await talk.services.drafts.add(draft)
    return draft


async def asked(talk: Talk, proposal: Proposal, approval_id: str = "ap_1", **changes: Any) -> Approval:
    """Store an approval, pending or with these changes."""
    proposal = Proposal(proposal.action, proposal.args, evidence=proposal.evidence, preview=proposal.preview, shown={})
    context = ProposalContext(user_id=talk.user_id, run_id="r", level="L1", conversation_id="c1")
    approval = await create_approval(talk.services, approval_id, proposal, context, "ask")
    changed = sealed(talk.services, approval.model_copy(update=changes))
    return (await talk.services.approvals.change(approval, lambda _: changed))[0]


async def _no_version(*_: Any) -> None:
    return None


def headline(memory_id: str, value: str = "Nurse") -> Proposal:
    return Proposal(UPDATE_PROFILE_FIELD, {"field": "headline", "value": value}, evidence=(f"memory:{memory_id}",))


async def test_a_draft_based_on_a_forgotten_memory_is_flagged_and_emptied(talk: Talk) -> None:
    memory_id = await was_said(talk)
    draft = await drafted(talk, memory_id)
    other = await drafted(talk, "another", id="d2", parts={"evidence": []})
    await forgets(talk, memory_id)
    one, two = [await talk.services.drafts.get(talk.user_id, each.id) for each in (draft, other)]
    assert (one.flagged, two.flagged) == (True, False)
    assert [each["id"] for each in one.parts["evidence"]] == ["profile"]
    publication = publication_of(one)
    assert publication.args["content"]["sections"][0]["claims"] == ["Is a nurse."]
    assert "You" not in str(publication.args)
    assert await kept_beside_the_transcript(talk, "Acme") == []


@pytest.mark.thorough
@pytest.mark.parametrize("status", ["pending", "approved"])
@pytest.mark.parametrize("what", ["card", "about", "headline", "says it"])
async def test_a_pending_approval_that_cites_a_forgotten_memory_is_closed_and_reported(
    talk: Talk, what: str, status: str
) -> None:
    memory_id = await was_said(talk)
    draft = await drafted(talk, memory_id)
    proposal = {
        "card": publication_of(draft),
        "about": Proposal(
            SUGGEST_LINKEDIN_ABOUT, {"draft_id": draft.id, "text": "At Acme."}, evidence=(f"memory:{memory_id}",)
        ),
        "headline": headline(memory_id),
        "says it": Proposal(UPDATE_PROFILE_FIELD, {"field": "summary", "value": f"Hello. {SAID}"}),
    }[what]
    decided = {"status": status, "decided_at": talk.clock(), "decided_by": "queue"} if status == "approved" else {}
    await asked(talk, proposal, **decided)
    await asked(talk, Proposal(UPDATE_PROFILE_FIELD, {"field": "location", "value": "Porto"}), "ap_2")
    await forgets(talk, memory_id)
    approval = await talk.services.approvals.get(talk.user_id, "ap_1")
    assert (approval.status, approval.news, approval.args) == ("changed", True, "{}")
    assert "forgotten" in (approval.outcome or "")
    assert (await execute(talk.services, talk.user_id, "ap_1")).status == "changed"
    assert (await talk.services.approvals.get(talk.user_id, "ap_2")).status == "pending"
    assert await kept_beside_the_transcript(talk, "Acme") == []


async def test_forgetting_names_a_publication_with_the_memory_and_empties_its_record(talk: Talk) -> None:
    memory_id = await was_said(talk)
    draft = await drafted(talk, memory_id)
    await asked(talk, publication_of(draft), status="done", outcome="Your card is published.")
    told = await forgets(talk, memory_id)
    assert [each.title for each in told.published] == ["Publish your career card"]
    assert "“Publish your career card” on Friday, January 15, 2027" in told.note
    assert (await talk.services.approvals.get(talk.user_id, "ap_1")).outcome == "Your card is published."
    assert await kept_beside_the_transcript(talk, "Acme") == []


async def test_an_approval_created_while_its_memory_is_being_forgotten_is_never_executed(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The forgetting cannot find the record yet."""
    monkeypatch.setattr(type(talk.services.candidate_app), "version_of", _no_version)
    memory_id = await was_said(talk)
    draft = await drafted(talk, memory_id)
    proposal = publication_of(draft)
    await forgets(talk, memory_id)
    decided = {"status": "approved", "decided_at": talk.clock(), "decided_by": "queue"}
    for number, late in enumerate((proposal, headline(memory_id)), 1):
        await asked(talk, late, f"ap_{number}", **decided)
        assert (await execute(talk.services, talk.user_id, f"ap_{number}")).status == "changed"
    assert await kept_beside_the_transcript(talk, "Acme") == []


async def test_an_interview_loses_statements_and_aspects_that_quote_a_forgotten_memory(talk: Talk) -> None:
    memory_id = await was_said(talk)
    kept = talk.services.conversations.database["agent_conversations"]
    [conversation] = await kept.find({"user_id": talk.user_id}).to_list()
    quotes = [{"message_id": "msg1", "text": "a nurse until 2019"}]
    other = [{"message_id": "msg0", "text": "eight people"}]
    aspects = [
        {"name": "until when", "status": "covered", "quotes": quotes},
        {"name": "team size", "status": "covered", "quotes": other},
    ]
    statement = {"topic": "Work", "aspects": ["until when"], "text": "A nurse.", "quotes": quotes, "since": 1}
    statements = [statement, {**statement, "text": "Led eight people.", "quotes": other}]
    topics = [{"title": "Work", "status": "active", "aspects": aspects}]
    interview = {"topics": topics, "statements": statements, "version": 1, "reasoning": "Ask why they left Acme."}
    changes = {"role": "interview", "interview": interview, "interview_work": {"run_id": "r1", "seq": 9, "version": 1}}
    await kept.update_one({"id": conversation["id"], "user_id": talk.user_id}, {"$set": changes})
    evidence = await words_of_topics(talk.services.interviews, talk.user_id)
    draft = await drafted(talk, memory_id, parts={})
    [(evidence_id, words)] = evidence.items()
    said = Evidence(id=evidence_id, kind="interview", trust="user_said", text=words, source="your interview")
    await talk.services.drafts.save_parts(talk.user_id, draft.id, evidence=[said.model_dump(mode="json")])
    await forgets(talk, memory_id)

    left = (await talk.services.interviews.get_stored(talk.user_id, conversation["id"])).interview
    assert [each.text for each in left.draft] == ["Led eight people."]
    assert [(each.name, each.status) for each in left.topics[0].aspects] == [
        ("until when", "open"),
        ("team size", "covered"),
    ]
    assert "Acme" not in str(left)
    assert await talk.services.interviews.get_work(talk.user_id, conversation["id"], "r1") is None
    assert (await talk.services.drafts.get(talk.user_id, draft.id)).parts["evidence"] == []


async def test_a_draft_written_while_its_memory_is_being_forgotten_loses_it(talk: Talk) -> None:
    memory_id = await was_said(talk)
    await forgets(talk, memory_id)
    draft = await drafted(talk, memory_id, parts={})
    fresh = await drafted(talk, memory_id, id="late")
    await talk.services.drafts.save_parts(talk.user_id, draft.id, section_experience=fresh.parts["section_experience"])
    for each in (draft, fresh):
        left = await drop_forgotten(talk.services, talk.user_id, each.id)
        assert left.flagged
        assert "Was a nurse at Acme." not in str(left.parts)


# --- prompts ----------------------------------------------------------------------------------------------------------


@contextmanager
def chatting(talk: Talk, mongodb_uri: str) -> Iterator[Client]:
    settings = settings_for(mongodb_uri, talk.model.base_url, talk.services.settings.mongodb_database)
    with ChatServer(settings, clock=talk.clock) as server, Client(server.url, talk.user_id, talk.clock) as client:
        yield client


def last_prompt(talk: Talk) -> str:
    """Return the last prompt received by the model server."""
    return json.dumps(talk.asked("/chat/completions")[-1].json, ensure_ascii=False)


@pytest.mark.thorough
async def test_forgotten_words_are_in_no_collection_prompt_search_or_queue(talk: Talk, mongodb_uri: str) -> None:
    with chatting(talk, mongodb_uri) as client:
        one = client.say(SAID).conversation_id
        await talk.falls_silent()
        memory = await talk.memory(KNOWN)
        look: ToolCall = {"name": "query_user_knowledge", "arguments": {"only": "memories", "query": "Acme"}}
        why: ToolCall = {"name": "explain_memory", "arguments": {"about": memory.id}}
        card: ToolCall = {"name": "forget_memory", "arguments": {"memory_ids": [memory.id]}}
        talk.model.script(
            Reply(tool_calls=[look, why]), Reply(text="At Acme you were a nurse."), Reply(tool_calls=[card])
        )
        other = client.say("Where did I work?").conversation_id
        client.say("Forget it, but wait.", other)
        draft = await drafted(talk, memory.id)
        await asked(talk, publication_of(draft))
        await asked(talk, headline(memory.id, "Nurse at Acme"), "ap_2", status="done", outcome="Done.")
        await talk.says("I led a team.", SAID, conversation_id="c3")
        await talk.services.watermarks.schedule_now(talk.user_id, "c3", talk.clock())
        assert await kept_of(talk, "Acme") >= {"user_memories", "agent_tool_calls", "agent_drafts", "agent_approvals"}
        answer = client.request("DELETE", f"/api/memories/{memory.id}").json()
        assert answer["forgotten"] == [memory.id]
        assert [each["title"] for each in answer["published"]] == ["Change your headline"]
        assert "stays in your conversations" in answer["note"]
        assert await kept_beside_the_transcript(talk, "Acme") == []
        assert client.get("/api/approvals")["items"] == []
        talk.clock.advance(20)
        for conversation_id in (other, one, "c3", None):
            client.say("Hello again.", conversation_id)
            assert "Acme" not in last_prompt(talk)
        talk.model.script(Reply(tool_calls=[look]), Reply(text="Nothing."))
        client.say("Where did I work?")
        assert "nurse" not in last_prompt(talk)
        for path in ("/api/memories", "/api/memories?query=Acme"):
            assert "Acme" not in str(client.get(path))
        exported = client.get("/api/me/export")["collections"]
        assert [each["status"] for each in exported["user_memories"]] == ["forgotten"]
        assert "Acme" not in str([exported["user_memories"], exported["agent_approvals"], exported["agent_drafts"]])


# --- remember and correct ---------------------------------------------------------------------------------------------


async def test_a_memory_stored_in_chat_is_not_duplicated_by_extraction(talk: Talk) -> None:
    text = "Remember that I live in Lisbon."
    await talk.says(text)
    turn = MemoryService(talk.services, talk.user_id, "c1", "msg1", text)
    await turn.remember("fact", "Lives in Lisbon.", "I live in Lisbon", ask=False)
    before = await talk.raw()
    talk.model.script(finds(note("Lives in Lisbon.", "I live in Lisbon")))
    await talk.falls_silent()
    assert await talk.raw() == before


async def test_only_one_of_two_concurrent_corrections_is_kept(talk: Talk) -> None:
    wrong = await put(talk, "Lives in Berlin.")
    made = (correct(talk.services, talk.user_id, wrong, f"Lives in {c}.") for c in ("Lisbon", "Porto"))
    given = await asyncio.gather(*made, return_exceptions=True)
    [right] = [each for each in given if isinstance(each, Memory)]
    assert [type(each) for each in given if each is not right] == [Invalid]
    assert await talk.remembered() == [right.content]


@pytest.mark.thorough
async def test_the_agent_can_explain_since_when_a_memory_is_valid_and_what_it_replaced(
    talk: Talk, mongodb_uri: str
) -> None:
    with chatting(talk, mongodb_uri) as client:
        client.say("I live in Berlin.")
        await talk.falls_silent()
        client.say("I moved from Berlin to Lisbon.")
        await talk.falls_silent()
        client.say("Hello.")
        assert "Lives in Lisbon. (fact, since Friday, January 15, 2027" in last_prompt(talk)
        assert "Lives in Berlin" not in last_prompt(talk)
        answer = client.say("Why do you know that I live in Lisbon?").text
        assert "Lives in Lisbon" in answer
        assert "I moved from Berlin to Lisbon" in answer
        assert "Since Friday, January 15, 2027" in answer
        assert "Before that: “Lives in Berlin.”" in answer
