"""After a conversation falls silent, its important facts are remembered: with evidence, once, and for good reasons."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from infra import extractions
from infra.local.model_server import ModelServer, Reply
from qwestly_agent import account
from qwestly_agent.base.errors import NotFound, Unavailable
from qwestly_agent.memory import extract_reader, extract_writer, reconcile
from qwestly_agent.memory.changes import correct
from qwestly_agent.memory.extract_writer import ConversationsToRead
from qwestly_agent.memory.judges import UserMessage
from qwestly_agent.memory.model import ExtractionState
from qwestly_agent.memory.notes import DropReason, Note
from qwestly_agent.stores.messages import NewTurn
from qwestly_agent.workflow_state import CaughtError
from tests.counts import everyday
from tests.functions.talking import JUDGE, NO_JUDGE, Talk, finds, judges, note, relates, talking
from tests.functions.test_forgetting import put

pytestmark = pytest.mark.anyio


@pytest.fixture
async def talk(mongodb_uri: str, database_name: str, model: ModelServer) -> AsyncIterator[Talk]:
    async with talking(mongodb_uri, database_name, model) as talk:
        yield talk


# --- remembered -------------------------------------------------------------------------------------------------------


async def test_a_memory_has_the_quote_and_the_message_it_is_based_on(talk: Talk) -> None:
    await talk.says("Hello!", "I live in Lisbon.", "I want to lead a product team within a year.")
    await talk.falls_silent()
    memory = await talk.memory("Lives in Lisbon.")
    assert (memory.quote, memory.trust, memory.status) == ("I live in Lisbon", "user_said", "active")
    assert (memory.source.conversation_id, memory.source.message_ids) == ("c1", ("msg2",))
    assert await talk.remembered() == ["Lives in Lisbon.", "Wants to lead a product team within a year."]


async def test_a_conversation_is_extracted_with_three_model_calls(talk: Talk) -> None:
    await talk.says("I live in Lisbon.", "I speak German.", "I want to lead a team.", "I have two children.")
    await talk.falls_silent()
    assert len(await talk.remembered()) == 4
    assert [len(talk.asked(path)) for path in ("/chat/completions", "/embeddings")] == [3, 2]
    assert [len(each.json["input"]) for each in talk.asked("/embeddings")] == [4, 4], "what was typed, and the notes"


async def test_a_conversation_without_news_adds_no_memory(talk: Talk) -> None:
    await talk.says("I live in Lisbon.", "I speak German.")
    await talk.falls_silent()
    talk.model.forget_requests()
    await talk.says("I live in Lisbon!", "I'm based in Lisbon.", "As I told you: I speak German.", conversation_id="c2")
    await talk.falls_silent()
    assert await talk.remembered() == ["Lives in Lisbon.", "Speaks German."]
    assert (await talk.memory("Lives in Lisbon.")).count == 2


@pytest.mark.thorough
async def test_extracting_a_conversation_five_times_adds_memories_only_once(talk: Talk) -> None:
    await talk.says("I live in Lisbon.", "I speak German.", "I was diagnosed with diabetes in 2019.")
    await talk.falls_silent()
    before = await talk.raw()
    for _ in range(4):
        conversation = talk.services.mongo[talk.services.settings.mongodb_database]["agent_conversations"]
        await conversation.update_one({"user_id": talk.user_id}, {"$set": {"extracted_seq": 0}})
        await talk.services.extractions.database["agent_extractions"].delete_many({"user_id": talk.user_id})
        await talk.is_read()
    assert await talk.raw() == before


async def test_only_messages_after_the_watermark_are_extracted(talk: Talk) -> None:
    await talk.says("I live in Lisbon.")
    assert len(await talk.falls_silent()) == 1
    assert await talk.falls_silent() == []
    await talk.says("I speak German.")
    await talk.falls_silent()
    assert await talk.remembered() == ["Lives in Lisbon.", "Speaks German."]
    _, _, *later = talk.asked("/chat/completions")
    for read in later[:2]:  # the extractor and the judge
        assert "German" in read.body.decode()
        assert "Lisbon" not in read.body.decode()


async def test_a_silent_conversation_is_extracted_by_only_one_sweep(talk: Talk) -> None:
    await talk.says("I live in Lisbon.")
    talk.clock.advance(599)
    assert (await extract_writer.sweep(talk.services, ConversationsToRead())).conversations == ()
    talk.clock.advance(1)
    assert len((await extract_writer.sweep(talk.services, ConversationsToRead())).conversations) == 1
    assert (await extract_writer.sweep(talk.services, ConversationsToRead())).conversations == ()
    talk.clock.advance(extract_writer.PICKED_SECONDS)
    assert len((await extract_writer.sweep(talk.services, ConversationsToRead())).conversations) == 1


@pytest.mark.thorough
async def test_a_long_conversation_is_extracted_in_parts_to_its_end(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extract_reader, "MOST_PROMPT_CHARACTERS", 40)
    await talk.says("I live in Lisbon.", "I speak German.", "I have two children.", "I want to lead a team.")
    for _ in range(5):
        await talk.falls_silent()
    assert len(await talk.remembered()) == 4
    assert await talk.falls_silent() == []


async def test_a_message_of_a_killed_turn_is_extracted(talk: Talk) -> None:
    await talk.says("I speak German.")
    talk.clock.advance(1)
    turn = NewTurn("dead", "msg9", "I live in Lisbon.", talk.clock())
    await talk.services.conversations.claim(talk.user_id, "c1", turn)
    await talk.falls_silent()
    assert await talk.remembered() == ["Lives in Lisbon.", "Speaks German."]
    assert await talk.services.conversations.find_running_run(talk.user_id, "c1", talk.clock()) is None


# --- not remembered ---------------------------------------------------------------------------------------------------


async def test_only_the_note_whose_check_fails_is_dropped(
    talk: Talk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    find_note = extract_reader.find_note

    def broken(said: UserMessage | None, **given: Any) -> Note | DropReason:
        if "Leeds" in given["content"]:
            raise IndexError(given["content"])
        return find_note(said, **given)

    monkeypatch.setattr(extract_reader, "find_note", broken)
    await talk.says("I live in Leeds.", "I speak German.")
    await talk.falls_silent()
    assert await talk.remembered() == ["Speaks German."]
    [metrics] = [line for line in capsys.readouterr().out.splitlines() if "MemoriesDropped" in line]
    assert json.loads(metrics)["MemoriesDroppedNotChecked"] == [1]


async def test_fabricated_notes_are_dropped_and_counted(talk: Talk, capsys: pytest.CaptureFixture[str]) -> None:
    await talk.says("I live in Lisbon, and that is that.")
    lies = (
        note("Lives in Porto.", "I live in Lisbon"),
        note("Is a surgeon.", "I am a surgeon"),
        note("Is a surgeon.", "I live in Lisbon", "m9"),
    )
    talk.model.script(finds(*lies), judges(False, False))
    await talk.falls_silent()
    assert await talk.remembered() == []
    said = capsys.readouterr().out
    assert '"MemoriesDropped":[3' in said.replace(" ", "")
    assert '"MemoriesDroppedNotSaid":[2' in said.replace(" ", "")
    assert '"MemoriesDroppedNotMeant":[1' in said.replace(" ", "")


async def test_a_note_rejected_by_the_judge_is_stored_in_the_users_own_words(talk: Talk) -> None:
    await talk.says("honestly i want out of on-call asap")
    talk.model.script(finds(note("Hates the team of Acme.", "i want out of on-call")))
    await talk.falls_silent()
    memory = await talk.memory("honestly i want out of on-call asap")
    assert (memory.quote, memory.status) == ("honestly i want out of on-call asap", "active")


# --- without a judge --------------------------------------------------------------------------------------------------


@pytest.mark.thorough
async def test_without_a_judge_notes_are_stored_unchecked_and_not_used(talk: Talk) -> None:
    await talk.says("I live in Lisbon.", "I was diagnosed with diabetes in 2019.")
    talk.model.script(*NO_JUDGE)
    [step] = await talk.falls_silent()
    assert not step.proposed  # nobody is asked about unchecked notes
    assert await talk.remembered("unchecked") == ["Lives in Lisbon.", "Was diagnosed with diabetes in 2019."]
    assert await talk.services.memories.most_salient(talk.user_id, 20) == []
    assert await talk.services.memories.search(talk.user_id, "Lisbon", None, 5, talk.clock()) == []


@pytest.mark.thorough
async def test_an_unchecked_note_is_judged_within_an_hour_without_a_second_extraction(talk: Talk) -> None:
    await talk.says("I live in Lisbon.", "I was diagnosed with diabetes in 2019.", "I want out of on-call.")
    talk.model.script(*NO_JUDGE, *NO_JUDGE)
    for tries in (1, 2):
        await talk.falls_silent()
        talk.clock.advance(tries * extract_writer.CHECK_AGAIN_SECONDS)
    talk.model.script()
    talk.model.forget_requests()
    [step] = await talk.falls_silent()
    assert step.proposed
    assert await talk.remembered() == ["Lives in Lisbon.", "Wants out of on-call."]
    assert await talk.remembered("proposed") == ["Was diagnosed with diabetes in 2019."]
    assert await talk.remembered("unchecked") == []
    asked = [each.json["messages"][0]["content"][:20] for each in talk.asked("/chat/completions")]
    assert sorted(asked) == sorted([JUDGE[:20]] * 3 + ["You compare notes about"[:20]])  # each note alone by now
    assert await talk.falls_silent() == []


@pytest.mark.thorough
async def test_a_note_that_the_judge_cannot_process_does_not_block_the_others(talk: Talk) -> None:
    await talk.says("I live in Lisbon.", "I speak German.")
    talk.model.script(*[Reply(fault="content_risk", to=JUDGE)] * 2)
    for tries in (1, 2):
        await talk.falls_silent()
        assert len(await talk.remembered("unchecked")) == 2
        talk.clock.advance(tries * extract_writer.CHECK_AGAIN_SECONDS)
    talk.model.script(Reply(fault="content_risk", to=JUDGE))
    await talk.falls_silent()
    assert len(await talk.remembered()) == len(await talk.remembered("unchecked")) == 1
    for days in range(2, 9):  # it is never abandoned
        talk.clock.advance(extract_writer.LONGEST_CHECK_SECONDS)
        talk.model.script(Reply(fault="content_risk", to=JUDGE))
        assert len(await talk.falls_silent()) == 1, days


@pytest.mark.thorough
async def test_an_unchecked_note_that_the_judge_rejects_later_is_deleted(talk: Talk) -> None:
    await talk.says("I live in Lisbon.")
    talk.model.script(*NO_JUDGE)
    await talk.falls_silent()
    talk.clock.advance(extract_writer.CHECK_AGAIN_SECONDS)
    talk.model.script(judges(False, False))
    await talk.falls_silent()
    assert await talk.raw() == []


@pytest.mark.thorough
async def test_an_unchecked_note_repeated_by_the_user_stays_single_and_is_checked(talk: Talk) -> None:
    await talk.says("I live in Lisbon.")
    talk.model.script(*NO_JUDGE)
    await talk.falls_silent()
    talk.model.script()
    await talk.says("I live in Lisbon.", conversation_id="c2")
    await talk.falls_silent()
    assert (await talk.remembered(), await talk.remembered("unchecked")) == (["Lives in Lisbon."], [])
    talk.clock.advance(extract_writer.CHECK_AGAIN_SECONDS)
    await talk.falls_silent()
    assert await talk.remembered() == ["Lives in Lisbon."]


@pytest.mark.thorough
async def test_a_deleted_conversation_is_not_extracted(talk: Talk) -> None:
    await talk.says("I live in Lisbon.")
    talk.model.script(*NO_JUDGE)
    await talk.falls_silent()
    await account.delete(talk.services, talk.user_id, "c1")
    assert await talk.raw() == []


# --- no longer remembered ---------------------------------------------------------------------------------------------


async def test_text_of_a_pasted_document_is_not_attributed_to_the_user(talk: Talk) -> None:
    advert = "The user is a surgeon. I am a surgeon at Acme. "
    await talk.says(f"Does this fit me?\n\n> {advert}", f"```\n{advert}\n```\nand this?", advert * 40)
    notes = [
        note(content, quote, f"m{number}")
        for number in range(1, 4)
        for content, quote in (("Is a surgeon at Acme.", "I am a surgeon at Acme"), ("Is a surgeon.", "is a surgeon"))
    ]
    talk.model.script(finds(*notes))
    await talk.falls_silent()
    assert await talk.remembered() == []
    for each in await talk.memories("proposed"):
        assert each.source.message_ids == ("msg3",), "what is long is asked about"


LONG = "I moved to Leeds for the data team. " + "We talked about it for a long time and I am still thinking. " * 30
OWN_SHAPES = {
    "dictation": (LONG, "I moved to Leeds for the data team", "proposed"),
    "times": ("From: March 2019\nTo: June 2023\nI led the data team.", "I led the data team", "active"),
    "Zeiten": ("Von: Januar 2016\nBis: August 2021\nIch war Teamleiterin.", "Ich war Teamleiterin", "active"),
    "fechas": ("De: marzo de 2019\nA: junio de 2023\nFui jefa de cocina.", "Fui jefa de cocina", "active"),
    "puces": ("» Je préfère le télétravail\n» Je ne veux pas voyager", "Je ne veux pas voyager", "active"),
    "list": ("My wishes:\n> no more calls\n> I want to write code", "I want to write code", "proposed"),
    "unclosed": ('Mi jefe dijo "ya puedes. Quiero ser jefa de equipo.', "Quiero ser jefa de equipo", "proposed"),
    "rule": ("Resumo\n----------\nTrabalhei oito anos em logística.", "Trabalhei oito anos", "proposed"),
    "blanks": ("    Ich will keine Schicht mehr.", "Ich will keine Schicht mehr", "proposed"),
    "no address": ("From: Bob\nSubject: Offer\n\nI want to lead.", "I want to lead", "proposed"),
}


@pytest.mark.parametrize("shape", everyday(3, OWN_SHAPES))
async def test_possibly_pasted_text_is_extracted(talk: Talk, shape: str) -> None:
    text, quote, status = OWN_SHAPES[shape]
    await talk.says(text)
    talk.model.script(finds(note(quote, quote)))
    await talk.falls_silent()
    assert [each.quote.partition(".")[0] for each in await talk.memories(status)] == [quote]


OTHERS_SHAPES = {
    "mail": ("From: Jane <jane@acme.com>\nTo: Sam\n\nI want a senior dev.", "I want a senior dev", "1–2 and 4"),
    "Mail": ("Von: Jobportal\nGesendet: Montag, 08:15\nAn: mich\n\nIch suche Köche.", "Ich suche Köche", "1–3 and 5"),
    "courriel": ("Et ça ?\nDe : Paul\nEnvoyé : lundi 14:05\n\nJe cherche Léa.", "Je cherche Léa", "2–3 and 5"),
    "cita": ("Ana <ana@x.es> escribió:\n> Busco trabajo.\n> Un saludo", "Busco trabajo", "1–3"),
    "bloco": ("```\nQuero trabalhar no Porto.\n```\nQue tal?", "Quero trabalhar no Porto", "2"),
}


@pytest.mark.parametrize("shape", everyday(2, OTHERS_SHAPES))
async def test_quoted_or_pasted_text_is_not_extracted_and_the_activity_lists_its_lines(talk: Talk, shape: str) -> None:
    text, quote, lines = OTHERS_SHAPES[shape]
    await talk.says(text)
    talk.model.script(finds(note(quote, quote)))
    await talk.falls_silent()
    assert await talk.raw() == []
    events = talk.services.memories.database["agent_activity"]
    [told] = await events.find({"user_id": talk.user_id, "type": "memory.extracted"}).to_list()
    assert told["title"].endswith(f"quoted or pasted: {lines}")


async def test_claims_of_the_agent_and_results_of_tools_are_not_remembered(talk: Talk) -> None:
    await talk.says(("You are a surgeon at Acme, says your profile.", "yes"), ("You live in Porto.", "OK then"))
    notes = (
        note("Is a surgeon at Acme.", "You are a surgeon at Acme", "m2"),
        note("Is a surgeon at Acme.", "yes", "m2"),
        note("Lives in Porto.", "OK then", "m4"),
    )
    talk.model.script(finds(*notes), judges(*[False] * 9))
    await talk.falls_silent()
    assert await talk.raw() == []
    assert "Acme" not in talk.asked("/chat/completions")[0].body.decode()


async def test_a_short_answer_is_inferred_from_its_question(talk: Talk) -> None:
    await talk.says(("Good. Do you live in Lisbon?", "yes"))
    await talk.falls_silent()
    memory = await talk.memory("Lives in Lisbon.")
    assert (memory.trust, memory.quote, memory.question) == ("inferred", "yes", "Do you live in Lisbon?")


async def test_a_sensitive_memory_awaiting_approval_is_in_no_prompt_and_no_search(talk: Talk) -> None:
    await talk.says("I was diagnosed with diabetes in 2019.", "I live in Lisbon.")
    [step] = await talk.falls_silent()
    assert step.proposed
    assert await talk.remembered("proposed") == ["Was diagnosed with diabetes in 2019."]
    assert [each.content for each in await talk.services.memories.most_salient(talk.user_id, 20)] == [
        "Lives in Lisbon."
    ]
    found_by = await talk.services.memories.search(talk.user_id, "diabetes", None, 5, talk.clock())
    assert [each.memory.content for each in found_by] == []


# --- compared with known memories -------------------------------------------------------------------------------------


async def test_a_memory_about_writing_style_is_tagged_as_such(talk: Talk) -> None:
    await talk.says("I prefer short texts about me.", "I don't want to leave Lisbon.")
    notes = (
        note("Prefers short texts", "I prefer short texts about me", about_writing=True),
        note("Wants to stay in Lisbon", "I don't want to leave Lisbon", "m2"),
    )
    talk.model.script(finds(*notes))
    await talk.falls_silent()
    assert [each["about_writing"] for each in await talk.raw(quote={"$regex": "texts"})] == [True]
    assert [each["about_writing"] for each in await talk.raw(quote={"$regex": "Lisbon"})] == [False]


async def test_a_changed_fact_replaces_the_previous_one(talk: Talk) -> None:
    await talk.says("I live in Berlin.")
    await talk.falls_silent()
    moved = talk.clock()
    await talk.says("I moved from Berlin to Lisbon.", conversation_id="c2")
    await talk.falls_silent()
    assert await talk.remembered() == ["Lives in Lisbon."]
    now, before = await talk.memory("Lives in Lisbon."), await talk.memory("Lives in Berlin.")
    assert (before.status, before.superseded_by) == ("superseded", now.id)
    assert now.valid_from is not None
    assert now.valid_from.timestamp() == pytest.approx(moved, abs=5)
    assert [each.content for each in await talk.services.memories.list_replaced_by(talk.user_id, [now.id])] == [
        "Lives in Berlin."
    ]


@pytest.mark.thorough
async def test_after_moving_back_the_earlier_home_is_current_again(talk: Talk) -> None:
    for number, city in enumerate(("Berlin", "Lisbon", "Berlin", "Lisbon")):
        await talk.says(f"I moved to {city}.", conversation_id=f"c{number}")
        await talk.falls_silent()
    assert await talk.remembered() == ["Lives in Lisbon."]
    assert await talk.remembered("superseded") == ["Lives in Berlin.", "Lives in Berlin.", "Lives in Lisbon."]


async def test_a_fact_changed_within_one_conversation_replaces_the_previous_one(talk: Talk) -> None:
    await talk.says("I live in Leeds.")
    await talk.falls_silent()
    await talk.says("I live in Berlin.", "I speak German.", "I moved from Berlin to Lisbon.", conversation_id="c2")
    await talk.falls_silent()
    assert await talk.remembered() == ["Lives in Lisbon.", "Speaks German."]
    now, between, before = [await talk.memory(f"Lives in {city}.") for city in ("Lisbon", "Berlin", "Leeds")]
    assert (between.superseded_by, before.superseded_by) == (now.id, between.id)


async def test_a_fact_corrected_before_its_batch_is_stored_stays_corrected(talk: Talk) -> None:
    await talk.says("I live in Berlin.")
    step = ExtractionState(user_id=talk.user_id, conversation_id="c1", run_id="r1")
    step = await reconcile.reconcile(talk.services, await extract_reader.extract(talk.services, step))
    known = await put(talk, "Lives in Berlin.")
    talk.clock.advance(1)
    corrected = await correct(talk.services, talk.user_id, known, "Lives in Lisbon.")
    await extract_writer.store(talk.services, step)
    assert await talk.remembered() == ["Lives in Lisbon."]
    assert [each["superseded_by"] for each in await talk.raw(content="Lives in Berlin.")] == [corrected.id] * 2


async def test_a_fact_repeated_after_its_correction_is_remembered(talk: Talk) -> None:
    known = await put(talk, "Lives in Berlin.")
    talk.clock.advance(1)
    await correct(talk.services, talk.user_id, known, "Lives in Lisbon.")
    await talk.says("I live in Berlin.")
    await talk.falls_silent()
    assert "Lives in Berlin." in await talk.remembered()


@pytest.mark.parametrize(
    ("verdict", "left"),
    [
        (("p1", "same", "nurse at Acme", "Acme"), 1),
        (("p1", "same", "in Acme", "Acme"), 2),  # its quote is in the other note
        (("p1", "same", "", "Acme"), 2),
        (("p1", "same", "nurse at Acme", ""), 2),
        (("p1", "same", "nurse at Acme", "at Acme"), 2),
        (("p7", "same", "nurse at Acme", "Acme"), 2),
        (("p1", "other", "nurse at Acme", "Acme"), 2),
    ],
)
@pytest.mark.thorough
async def test_notes_are_merged_only_if_the_model_says_so_and_quotes_both(
    talk: Talk, verdict: tuple[str, str, str, str], left: int
) -> None:
    await put(talk, "Was a nurse at Acme.")
    await talk.says("I nursed in Acme.")
    talk.model.script(finds(note("Nursed in Acme.", "I nursed in Acme")), relates(verdict))
    await talk.falls_silent()
    assert len(await talk.remembered()) == left


@pytest.mark.parametrize(
    ("known", "said"),
    everyday(
        2,
        [
            ("Manages 8 people", "Manages 80 people"),
            ("Wants at least 95k", "Wants at least 105k"),
            ("Hat drei Kinder", "Hat vier Kinder"),
            ("Gagne 45 000 € par an", "Gagne 54 000 € par an"),
            ("Terminó la carrera en 2015", "Terminó la carrera en 2016"),
            ("Trabalha 30 horas por semana", "Trabalha 40 horas por semana"),
        ],
    ),
)
async def test_notes_with_different_figures_are_not_merged_although_the_model_says_so(
    talk: Talk, known: str, said: str
) -> None:
    await put(talk, known)
    await talk.says(said)
    talk.model.script(finds(note(said, said)), relates(("p1", "same", known, said)))
    await talk.falls_silent()
    assert await talk.remembered() == sorted([known, said])


@pytest.mark.parametrize(("known", "status"), [(None, "proposed"), ("Plays music with an orchestra abroad", "active")])
async def test_a_note_closer_to_a_forgotten_memory_needs_approval(talk: Talk, known: str | None, status: str) -> None:
    gone = await put(talk, "Plays the cello in an orchestra in Porto")
    if known:
        await put(talk, known)
    await talk.services.tombstones.forget(talk.user_id, [gone], talk.clock())
    said = "Plays music with an orchestra"
    await talk.says(said)
    talk.model.script(finds(note(said, said)))
    await talk.falls_silent()
    assert said in await talk.remembered(status)


async def test_a_note_that_contradicts_a_later_or_more_trusted_memory_is_reported(talk: Talk) -> None:
    """It needs approval if it also supersedes something; otherwise the activity says that it was left out."""
    said = "I live in Porto and work in Acme"
    gone = relates(("p1", "contradicts", "in", "in"), ("p2", "contradicts", "in", "in"))
    await talk.says(said)
    await put(talk, "Lives in Lisbon", last_seen=talk.clock() + 9_000)
    talk.model.script(finds(note(said, said)), gone)
    await talk.falls_silent()
    [told] = await talk.services.memories.database["agent_activity"].find({"user_id": talk.user_id}).to_list()
    assert (await talk.remembered(), told["title"][:8]) == (["Lives in Lisbon"], "Left out")
    await talk.says(said, conversation_id="c2")
    await put(talk, "Works in Globex", last_seen=talk.clock() - 9)
    talk.model.script(finds(note(said, said)), gone)
    await talk.falls_silent()
    assert (await talk.remembered(), await talk.remembered("proposed")) == (
        ["Lives in Lisbon", "Works in Globex"],
        [said],
    )
    await talk.services.memories.activate_proposed(
        talk.user_id, [each.id for each in await talk.memories("proposed")], 1.0
    )
    assert await talk.remembered() == [said]


@pytest.mark.thorough
async def test_one_note_supersedes_every_memory_it_contradicts(talk: Talk) -> None:
    await talk.says("I live in Berlin.")
    await talk.falls_silent()
    await talk.says("I rent a flat in Berlin.", conversation_id="c2")
    await talk.falls_silent()
    await talk.says("I live in Lisbon now, the flat in Berlin is gone.", conversation_id="c3")
    new = note("Lives in Lisbon, no flat in Berlin.", "I live in Lisbon now, the flat in Berlin is gone")
    gone = relates(*((f"p{n}", "contradicts", "Berlin", "Berlin") for n in (1, 2)))
    talk.model.script(finds(new), gone)
    await talk.falls_silent()
    assert len(await talk.remembered()) == 1
    assert len(await talk.remembered("superseded")) == 2


async def test_an_inferred_note_does_not_replace_a_statement(talk: Talk) -> None:
    await talk.says("I live in Berlin.")
    await talk.falls_silent()
    await talk.says(("Do you live in Lisbon?", "yes"), conversation_id="c2")
    talk.model.script(
        finds(note("Lives in Lisbon.", "yes", "m2")),
        relates(("p1", "contradicts", "Lives in", "Lives in")),
    )
    await talk.falls_silent()
    assert await talk.remembered() == ["Lives in Berlin."]


async def test_an_earlier_statement_does_not_replace_a_later_one(talk: Talk) -> None:
    await talk.says("I live in Lisbon.")
    talk.clock.advance(60)
    await talk.says("I live in Porto.", conversation_id="c2")
    await talk.is_read(ExtractionState(user_id=talk.user_id, conversation_id="c2", run_id="r"))
    talk.model.script(
        finds(note("Lives in Lisbon.", "I live in Lisbon")),
        relates(("p1", "contradicts", "Lives in", "Lives in")),
    )
    await talk.is_read()
    assert await talk.remembered() == ["Lives in Porto."]


@pytest.mark.thorough
async def test_a_verdict_on_a_pair_that_was_not_asked_about_is_ignored(talk: Talk) -> None:
    await talk.says("I live in Berlin.", "I speak German.")
    await talk.falls_silent()
    other = (await talk.memory("Speaks German.")).id
    await talk.says("I live in Lisbon.", conversation_id="c2")
    talk.model.script(
        finds(note("Lives in Lisbon.", "I live in Lisbon")),
        relates((other, "contradicts", "Speaks German."), ("p7", "contradicts", "Lives in Berlin.")),
    )
    await talk.falls_silent()
    assert await talk.remembered() == ["Lives in Berlin.", "Lives in Lisbon.", "Speaks German."]


async def test_memories_compared_at_extraction_are_not_compared_again_at_night(talk: Talk) -> None:
    await talk.says("I live in Berlin.")
    await talk.falls_silent()
    assert await talk.services.merges.list_due_users("", 10**6) == []
    await talk.says("I speak German.", conversation_id="c2")
    step = ExtractionState(user_id=talk.user_id, conversation_id="c2", run_id="r2")
    step = await reconcile.reconcile(talk.services, await extract_reader.extract(talk.services, step))
    await put(talk, "Speaks Dutch")
    await extract_writer.store(talk.services, step)
    assert len(await talk.services.merges.list_new(talk.user_id, 9)) == 2, "neither was compared with the other"


# --- failures ---------------------------------------------------------------------------------------------------------


async def test_an_operator_lists_quarantined_conversations_and_has_them_extracted_again(talk: Talk) -> None:
    await talk.says("I live in Lisbon.")
    broken = ExtractionState.model_validate(
        {"user_id": talk.user_id, "conversation_id": "c1", "error": {"Error": "Internal"}}
    )
    ends = [(await extract_writer.retry_later(talk.services, broken)).end for _ in range(5)]
    assert ends == ["later"] * 4 + ["set_aside"]
    talk.clock.advance(10**6)
    assert await talk.falls_silent() == []
    [line] = await extractions.list_quarantined(talk.services.settings)
    assert {"user": talk.user_id, "conversation": "c1", "cause": "Internal", "attempts": 5}.items() <= json.loads(
        line
    ).items()
    await talk.services.watermarks.read_again(talk.user_id, "c1", talk.clock())
    assert await extractions.list_quarantined(talk.services.settings) == []
    await talk.falls_silent()
    assert await talk.remembered() == ["Lives in Lisbon."]
    with pytest.raises(NotFound):
        await extractions.again(talk.services.settings, "auth0|stranger", "c1")


@pytest.mark.parametrize("cause", ["Braked", "OverBudget"])
async def test_an_outage_does_not_count_as_an_attempt(talk: Talk, cause: str) -> None:
    await talk.says("I live in Lisbon.")
    step = ExtractionState(
        user_id=talk.user_id, conversation_id="c1", error=CaughtError.model_validate({"Error": cause})
    )
    for _ in range(9):
        assert (await extract_writer.retry_later(talk.services, step)).end == "later"
    reading = await talk.services.watermarks.get(talk.user_id, "c1")
    postponed = 0 if cause == "Braked" else extract_writer.POSTPONED_SECONDS
    assert reading.due_at == talk.clock() + postponed, "after the brake, it is due as soon as that is released"
    talk.clock.advance(postponed)
    await talk.falls_silent()
    assert await talk.remembered() == ["Lives in Lisbon."]


@pytest.mark.thorough
async def test_without_embeddings_the_comparison_fails_and_is_retried(talk: Talk) -> None:
    await talk.says("I live in Lisbon.")
    step = await extract_reader.extract(talk.services, ExtractionState(user_id=talk.user_id, conversation_id="c1"))
    talk.model.embeddings_fault = 503
    with pytest.raises(Unavailable):
        await reconcile.reconcile(talk.services, step)
    talk.model.embeddings_fault = None
    await talk.is_read(step)
    assert await talk.remembered() == ["Lives in Lisbon."]
    assert len(talk.asked("/chat/completions")) == 2


async def test_a_memory_without_a_vector_gets_one_at_the_next_extraction(talk: Talk) -> None:
    before = await put(talk, "Lives in Porto.")
    talk.model.embeddings_fault = 503
    known = await correct(talk.services, talk.user_id, before, "Lives in Faro.")
    assert not (await talk.raw(_id=known.id))[0]["content_embedding"]
    talk.model.embeddings_fault = None
    await talk.says("I speak German.")
    await talk.falls_silent()
    assert (await talk.raw(_id=known.id))[0]["content_embedding"]


async def test_no_conversation_is_extracted_once_the_daily_budget_is_spent(talk: Talk) -> None:
    await talk.says("I live in Lisbon.")
    await talk.services.usage.begin_turn(talk.user_id, "run", talk.clock())
    await talk.services.usage.add_spending(talk.user_id, {"cost_usd": 1.5}, talk.clock())
    with pytest.raises(Exception, match="limit"):
        await talk.is_read()
    assert not talk.asked("/chat/completions")
