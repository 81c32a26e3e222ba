"""Forgetting in a conversation: one card lists exactly which memories would go, decided by the signed-in user."""

import json
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pydantic_ai import RunContext, Tool

from infra.local.model_answers import ToolCall
from infra.local.model_server import ModelServer, Reply
from qwestly_agent.agents.base import AgentDeps
from qwestly_agent.agents.tools.base import tool
from qwestly_agent.approvals.ask import ProposalContext, create_approval
from qwestly_agent.approvals.decide import Decision, decide
from qwestly_agent.approvals.end import SUPERSEDED
from qwestly_agent.approvals.execute import execute
from qwestly_agent.approvals.links import hash_of
from qwestly_agent.approvals.propose import Proposer
from qwestly_agent.approvals.seal import new_link_token
from qwestly_agent.approvals.sweep import sweep
from qwestly_agent.base.errors import Invalid
from qwestly_agent.domain.approval import LEFT_BEHIND_SECONDS, MAIL_AFTER_SECONDS, Approval
from qwestly_agent.memory import forget
from qwestly_agent.memory.actions import KEEP_MEMORIES, forget_proposal, remember_proposal
from qwestly_agent.memory.forget import filter_proposed
from qwestly_agent.services import Services
from qwestly_agent.stores.messages import Messages
from tests.counts import count, everyday
from tests.functions.approving import World
from tests.functions.talking import Talk, talking
from tests.functions.test_forgetting import KNOWN, SAID, chatting, dump, kept_beside_the_transcript, last_prompt, put
from tests.servers import USER, Answer, ChatServer, Client, seconds, settings_for

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("patient")]
LEVELS = ["L0", "L1", "L2", "L3"]
HOUR = 3_600.0


@pytest.fixture
async def talk(mongodb_uri: str, database_name: str, model: ModelServer) -> AsyncIterator[Talk]:
    async with talking(mongodb_uri, database_name, model) as talk:
        yield talk


def forgetting_call(*memory_ids: str) -> Reply:
    return Reply(tool_calls=[{"name": "forget_memory", "arguments": {"memory_ids": list(memory_ids)}}])


def is_asked(talk: Talk, client: Client, *memory_ids: str) -> dict[str, Any]:
    """Return the card shown to the user."""
    talk.model.script(forgetting_call(*memory_ids), Reply(text="Look at it."))
    answer = client.say("Forget that, please.")
    return {**shown(answer), "conversation_id": answer.conversation_id}


def shown(answer: Answer) -> dict[str, Any]:
    return next(event.data for event in answer.events if event.name == "approval_required")


def answers(client: Client, card: dict[str, Any], decision: str = "approve", **more: Any) -> Any:
    body = {"decision": decision, "args_digest": card["args_digest"], **more}
    return client.request("POST", f"/api/approvals/{card['approval_id']}/decision", json=body)


# --- the proposal -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", everyday(2, LEVELS))
async def test_at_each_level_a_forget_call_only_proposes_the_memories_and_their_lineage(
    talk: Talk, mongodb_uri: str, level: str
) -> None:
    older, newer = await put(talk, "Lives in Leeds."), await put(talk, "Lives in Lisbon.")
    await talk.services.memories.supersede(talk.user_id, older, newer, talk.clock())
    await put(talk, "Likes trains.")
    with chatting(talk, mongodb_uri) as client:
        client.request("PUT", "/api/autonomy", json={"level": level})
        card = is_asked(talk, client, newer)
        assert (card["kind"], card["effect"], card["status"], card["revisable"]) == (
            "memory",
            "memory",
            "pending",
            False,
        )
        changes = {(each["name"], each["before"], each["after"]) for each in card["preview"]["changes"]}
        assert changes == {("Fact", "Lives in Leeds.", None), ("Fact", "Lives in Lisbon.", None)}
        assert card["preview"]["title"] == "Forget these 2 for good"
        assert seconds(card["expires_at"]) == talk.clock() + HOUR
        assert await talk.remembered() == ["Likes trains.", "Lives in Lisbon."]
        assert client.get("/api/approvals")["items"][0]["approval_id"] == card["approval_id"]
        done = answers(client, card).json()
        assert (done["status"], done["preview"]["changes"], done["rationale"]) == ("done", [], "")
        assert "forgotten for good" in done["outcome"]
        assert "stays in your conversations" in done["outcome"]
        assert await talk.remembered() == ["Likes trains."]
        assert len(await talk.raw(status="forgotten")) == 2


@pytest.mark.thorough
async def test_an_approval_in_the_chat_forgets_the_memory_before_the_answer(talk: Talk, mongodb_uri: str) -> None:
    memory_id = await put(talk, KNOWN)
    with chatting(talk, mongodb_uri) as client:
        card = is_asked(talk, client, memory_id)
        decision = {"approval_id": card["approval_id"], "decision": "approve", "args_digest": card["args_digest"]}
        talk.model.script(Reply(text="It is forgotten."))
        said = {"conversation_id": card["conversation_id"], "decisions": [decision], "message": "I speak German."}
        client.post(said)
        assert "Acme" not in last_prompt(talk)
        assert "forgotten for good" in last_prompt(talk)
        talk.clock.advance(20)
        client.say("Hello.", card["conversation_id"])
        assert "Acme" not in last_prompt(talk)
    assert await kept_beside_the_transcript(talk, "Acme") == []


@pytest.mark.thorough
async def test_a_rejection_keeps_the_memories_and_empties_the_record(talk: Talk, mongodb_uri: str) -> None:
    memory_id = await put(talk, KNOWN)
    with chatting(talk, mongodb_uri) as client:
        assert answers(client, is_asked(talk, client, memory_id), "reject").json()["status"] == "rejected"
    assert await talk.remembered() == [KNOWN]
    assert "Acme" not in str((await dump(talk))["agent_approvals"])


@pytest.mark.parametrize(
    "arguments",
    [
        ["mem_unheard_of"],
        [{"$ne": 1}],
        *(pytest.param(each, marks=pytest.mark.thorough) for each in ([], ["x"] * 21, ["$ne"], "all")),
    ],
)
async def test_invalid_or_other_users_memory_ids_are_not_proposed(talk: Talk, mongodb_uri: str, arguments: Any) -> None:
    await put(talk, KNOWN)
    with chatting(talk, mongodb_uri) as client:
        call: ToolCall = {"name": "forget_memory", "arguments": {"memory_ids": arguments}}
        talk.model.script(Reply(tool_calls=[call]), Reply(text="No."))
        client.say("Forget everything.")
        assert client.get("/api/approvals?state=all")["items"] == []


@pytest.mark.thorough
async def test_a_memory_already_proposed_is_not_proposed_twice(talk: Talk, mongodb_uri: str) -> None:
    memory_id = await put(talk, KNOWN)
    with chatting(talk, mongodb_uri) as client:
        card = is_asked(talk, client, memory_id)
        talk.model.script(forgetting_call(memory_id), Reply(text="It waits."))
        client.say("Forget it!", card["conversation_id"])
        assert "waits for the user's decision already" in last_prompt(talk)
        assert len(client.get("/api/approvals?state=all")["items"]) == 1


# --- changes since the preview ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", ["said again", "more of the same", "corrected"])
@pytest.mark.thorough
async def test_a_memory_changed_since_the_preview_is_not_forgotten(talk: Talk, mongodb_uri: str, change: str) -> None:
    memory_id = await put(talk, KNOWN)
    with chatting(talk, mongodb_uri) as client:
        card = is_asked(talk, client, memory_id)
        match change:
            case "said again":
                await talk.services.memories.reinforce(talk.user_id, memory_id, ["m7"], talk.clock())
            case "more of the same":
                older = await put(talk, "Worked at Acme.")
                await talk.services.memories.supersede(talk.user_id, older, memory_id, talk.clock())
            case _:
                merged = await put(talk, "Was a nurse at Acme until 2019.")
                await talk.services.merges.replace(talk.user_id, memory_id, merged, "merged", "n1", talk.clock())
        done = answers(client, card).json()
        assert (done["status"], "after you saw it" in done["outcome"]) == ("changed", True)
        assert await talk.raw(status="forgotten") == []
        talk.model.script(Reply(text="So."))
        client.say("And?", card["conversation_id"])
        assert "nothing was done. Ask again to continue." in last_prompt(talk)


@pytest.mark.thorough
async def test_a_memory_forgotten_elsewhere_is_removed_from_the_card(talk: Talk, mongodb_uri: str) -> None:
    one, other = await put(talk, KNOWN), await put(talk, "Likes trains.")
    with chatting(talk, mongodb_uri) as client:
        card = is_asked(talk, client, one, other)
        client.request("DELETE", f"/api/memories/{one}")
        [waiting] = client.get("/api/approvals")["items"]
        assert [each["before"] for each in waiting["preview"]["changes"]] == ["Likes trains."]
        client.request("DELETE", f"/api/memories/{other}")
        assert client.get("/api/approvals")["items"] == []
        assert answers(client, card).json()["status"] == "expired"
    assert await kept_beside_the_transcript(talk, "Acme") == []


async def card_of(talk: Talk, *memory_ids: str) -> Approval:
    """Return a card approved but not yet executed."""
    lineage = await talk.services.memories.find_lineage(talk.user_id, memory_ids)
    context = ProposalContext(user_id=talk.user_id, run_id="r", level="L1", conversation_id="c1")
    card = await create_approval(talk.services, "ap_1", forget_proposal(talk.user_id, lineage), context, "ask")
    decision = Decision(decision="approve", args_digest=card.args_digest)
    return (await decide(talk.services, talk.user_id, "ap_1", decision, by="queue", where=""))[0]


@pytest.mark.thorough
async def test_the_sweep_completes_a_forgetting_after_its_process_died(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    await talk.says(SAID, conversation_id="c2")
    await card_of(talk, await put(talk, KNOWN, SAID), await put(talk, "Likes trains."))
    with monkeypatch.context() as patch:

        async def dies(*_: Any) -> None:
            raise RuntimeError

        patch.setattr(Messages, "exclude_from_prompts", dies)
        with pytest.raises(RuntimeError):
            await execute(talk.services, talk.user_id, "ap_1")
    talk.clock.advance(LEFT_BEHIND_SECONDS)
    assert (await sweep(talk.services, lambda: 60.0))["carried_out"] == 1
    assert (await talk.services.approvals.get(talk.user_id, "ap_1")).status == "done"
    assert await kept_beside_the_transcript(talk, "Acme") == []
    talk.clock.advance(LEFT_BEHIND_SECONDS)
    assert await sweep(talk.services, lambda: 60.0) == {"due": 0}


async def test_an_approved_forgetting_forgets_exactly_the_shown_memories(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A memory may join the lineage between the last check and the forgetting."""
    memory_id = await put(talk, KNOWN)
    await card_of(talk, memory_id)
    late: list[str] = []
    exactly = forget.forget_exactly

    async def forget_exactly(services: Services, user_id: str, memory_ids: list[str]) -> Any:
        late.append(await put(talk, "Worked at Acme."))
        await services.memories.supersede(user_id, late[0], memory_id, talk.clock())
        return await exactly(services, user_id, memory_ids)

    monkeypatch.setattr("qwestly_agent.memory.actions.forget_exactly", forget_exactly)
    assert (await execute(talk.services, talk.user_id, "ap_1")).status == "done"
    assert [each["_id"] for each in await talk.raw(status="forgotten")] == [memory_id]
    assert len(await talk.raw()) == 2


# --- who may decide, and until when -----------------------------------------------------------------------------------


def a_card(world: World) -> Approval:
    [memory_id] = world.proposed("Has type 1 diabetes")

    async def asks(services: Services) -> Approval:
        lineage = await services.memories.find_lineage(USER, [memory_id])
        return await create_approval(
            services, "ap_1", forget_proposal(USER, lineage), ProposalContext(USER, "r", "L1", "chat_1"), "ask"
        )

    return world.run(asks)


def test_a_forget_card_is_never_mailed_and_expires_after_an_hour(world: World) -> None:
    card = a_card(world)
    assert card.mail_at is None
    for _ in range(7):
        world.clock.advance(MAIL_AFTER_SECONDS)
        world.sweep()
    assert not world.aws.outbox
    expired = world.approval("ap_1")
    assert (expired.status, expired.preview.changes, expired.shown) == ("expired", (), {})
    assert world.statuses() == {"Has type 1 diabetes": "proposed"}


def test_a_forget_card_is_not_decided_by_link(world: World) -> None:
    card = a_card(world)
    decision = Decision(decision="approve", args_digest=card.args_digest)
    with pytest.raises(Invalid):
        world.run(lambda services: decide(services, USER, "ap_1", decision, by="link", where=""))

    async def leaks(services: Services) -> str:
        """Create a mail link, which the product never does for a forget card."""
        token = new_link_token(services, card.id)
        await services.approvals.change(card, lambda each: each.model_copy(update={"links": (hash_of(token),)}))
        return token

    token = world.run(leaks)
    assert world.decide(token).status == 403
    assert world.approval("ap_1").status == "pending"


# --- a hijacked model -------------------------------------------------------------------------------------------------


@contextmanager
def tools_of(talk: Talk, mongodb_uri: str, *tools: Tool[AgentDeps]) -> Iterator[Client]:
    settings = settings_for(mongodb_uri, talk.model.base_url, talk.services.settings.mongodb_database)
    server = ChatServer(settings, clock=talk.clock, tools=tools)
    with server, Client(server.url, talk.user_id, talk.clock) as client:
        yield client


@pytest.mark.nightly
@pytest.mark.thorough
@pytest.mark.parametrize("level", LEVELS)
async def test_random_forget_calls_forget_nothing_without_approval(talk: Talk, mongodb_uri: str, level: str) -> None:
    own = [await put(talk, f"Likes train {number}.") for number in range(5)]
    other = Talk(talk.services, talk.clock, talk.model, "auth0|other")
    foreign = await put(other, "Likes boats.")
    chance = random.Random(4)
    ids: list[Any] = [*own, foreign, "mem_x", "$where", "", "\0", {"$ne": None}, None, 7, "x" * 200, ["a"]]
    odd: list[Any] = [
        {"memory_ids": {"$gt": ""}}, {"memory_ids": "all"}, {"about": "everything"}, {}, {"memory_ids": own * 9},
        {"memory_ids": own, "confirmed": True}, {"memory_ids": own, "status": "approved"},
        {"memory_ids": own, "user_id": other.user_id}, {"memories": dict.fromkeys(own, "0" * 32)}, "null", "[]", "{",
    ]  # fmt: skip

    def arguments() -> Any:
        return (
            chance.choice(odd) if chance.random() < 0.2 else {"memory_ids": chance.choices(ids, k=chance.randint(1, 6))}
        )

    with chatting(talk, mongodb_uri) as client:
        client.request("PUT", "/api/autonomy", json={"level": level})
        made = 0
        while made < count(200, 1_000):
            calls: list[ToolCall] = [{"name": "forget_memory", "arguments": arguments()} for _ in range(10)]
            made += len(calls)
            talk.model.script(Reply(tool_calls=calls), Reply(text="So."))
            client.say(f"Forget everything, yes, I approve {made}.")
        records = client.get("/api/approvals?limit=100&state=all")["items"]
        pending = [each for each in records if each["status"] == "pending"]
        assert pending
        assert all(
            (each["status"], each["outcome"]) == ("changed", SUPERSEDED) for each in records if each not in pending
        )
        for each in records:
            assert {change["before"] for change in each["preview"]["changes"]} <= {
                f"Likes train {n}." for n in range(5)
            }
    assert len(await talk.remembered()) == 5
    assert await other.remembered() == ["Likes boats."]
    assert await talk.raw(status="forgotten") == []


# --- sensitive memories proposed by a call ----------------------------------------------------------------------------


async def proposed(talk: Talk) -> str:
    return await put(talk, "Has diabetes.", "I have diabetes", status="proposed", sensitive=True)


def keeping(talk: Talk, memory_id: str) -> Tool[AgentDeps]:
    async def keep(ctx: RunContext[AgentDeps]) -> Any:
        """Keep it, or do it at once."""
        memories = await filter_proposed(talk_services(ctx).memories, ctx.deps.user_id, [memory_id])
        if not memories:
            return {"remembered": "at once"}
        return remember_proposal(memories, [memory_id], ctx.deps.feature(Proposer).conversation_id)

    return tool(keep, effect="memory", label="Asking…")


def talk_services(ctx: RunContext[AgentDeps]) -> Services:
    return ctx.deps.feature(Proposer).services


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("decision", "status", "ends"), [("approve", "active", "done"), ("reject", "forgotten", "rejected")]
)
@pytest.mark.thorough
async def test_a_memory_tool_may_propose_at_each_level_and_the_decision_is_applied(
    talk: Talk, mongodb_uri: str, level: str, decision: str, status: str, ends: str
) -> None:
    memory_id = await proposed(talk)
    with tools_of(talk, mongodb_uri, keeping(talk, memory_id)) as client:
        client.request("PUT", "/api/autonomy", json={"level": level})
        talk.model.script(Reply(tool_calls=[{"name": "keep", "arguments": {}}]), Reply(text="So."))
        card = shown(client.say("I have diabetes."))
        assert (card["tool"], card["effect"]) == (KEEP_MEMORIES.tool, "memory")
        assert answers(client, card, decision).json()["status"] == ends
        [memory] = await talk.raw()
        assert memory["status"] == status
        assert "diabetes" not in str((await dump(talk))["agent_approvals"])
        talk.model.script(Reply(tool_calls=[{"name": "keep", "arguments": {}}]), Reply(text="So."))
        answer = client.say("And now?")
        assert "at once" in json.dumps(talk.asked("/chat/completions")[-1].json)
        assert answer.text == "So."


@pytest.mark.thorough
@pytest.mark.parametrize("how", ["nobody decides", "its conversation is deleted"])
async def test_a_rejected_or_expired_memory_counts_as_never_found(talk: Talk, mongodb_uri: str, how: str) -> None:
    memory_id = await proposed(talk)
    with tools_of(talk, mongodb_uri, keeping(talk, memory_id)) as client:
        talk.model.script(Reply(tool_calls=[{"name": "keep", "arguments": {}}]))
        answer = client.say("I have diabetes.")
        if how == "nobody decides":
            talk.clock.advance(seconds(shown(answer)["expires_at"]) - talk.clock())
            await sweep(talk.services, lambda: 60.0)
        else:
            client.request("DELETE", f"/api/conversations/{answer.conversation_id}")
    assert await talk.raw() == []
