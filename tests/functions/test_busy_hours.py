"""Two hours of a busy user: pending approvals do not pile up."""

import random
from collections import Counter
from typing import Any

import pytest

from infra.local.model_answers import ToolCall
from infra.local.model_server import ModelServer, Reply
from qwestly_agent.domain.approval import KEEPS_MEMORIES
from tests.counts import sample
from tests.functions.approving import USER, World
from tests.functions.test_act import chat, person
from tests.servers import Client

__all__ = ["chat", "person"]
"""Fixtures of the chat with local AWS."""

MINUTE = 60.0
MOST_WITHOUT_DOING = 5
TITLES, TOWNS = ("Head of Product", "Product Lead", "Chief of Staff"), ("Porto", "Lyon", "Graz")


def proposal(chance: random.Random) -> tuple[str, dict[str, Any]]:
    """Return a random proposal of a model."""
    title, town = chance.choice(TITLES), chance.choice(TOWNS)
    several = [{"field": "headline", "value": title}, {"field": "location", "value": town}]
    return chance.choice(
        [
            ("update_profile_field", {"field": "headline", "value": title}),
            ("update_profile_field", {"field": "location", "value": town}),
            ("update_profile", {"changes": several}),
            ("update_preference", {"name": "roles", "value": [title]}),
            ("update_preference", {"name": "locations", "value": [town]}),
            ("ingest_linkedin_profile", {"url": f"https://www.linkedin.com/in/{town.lower()}"}),
        ]
    )


def waiting(person: Client) -> list[dict[str, Any]]:
    return [each for each in person.get("/api/approvals?limit=100")["items"] if each["status"] == "pending"]


def subjects(approval: dict[str, Any]) -> list[tuple[str, str]]:
    """Return each changed value, or the kind of approval if there is none."""
    kind = approval["kind"]
    if kind == "memory":
        return [(kind, each["after"] or each["before"]) for each in approval["preview"]["changes"]]
    return [(kind, each["name"]) for each in approval["preview"]["changes"]] or [(kind, approval["tool"])]


@pytest.mark.thorough
@pytest.mark.nightly
@pytest.mark.parametrize("seed", sample(range(20), 3))
def test_pending_approvals_never_duplicate_a_subject_and_stay_few(
    world: World, person: Client, model: ModelServer, seed: int
) -> None:
    chance, told, most = random.Random(seed), Counter[str](), 0
    person.request("PUT", "/api/autonomy", json={"level": "L2"}).raise_for_status()
    ends_at, memories = world.clock() + 120 * MINUTE, 0
    while world.clock() < ends_at:
        world.clock.advance(chance.uniform(0.5, 3) * MINUTE)
        match chance.randrange(10):
            case 0 | 1:  # a conversation ended and contained something sensitive
                memories += 1
                ids = world.proposed(f"Secret {memories}")
                world.request_memories(ids, batch_id=f"batch_{memories}")
            case 2:
                world.sweep()
            case 3 if open_now := waiting(person):
                each = chance.choice(open_now)
                body = {"decision": chance.choice(("approve", "reject")), "args_digest": each["args_digest"]}
                person.request("POST", f"/api/approvals/{each['approval_id']}/decision", json=body).raise_for_status()
            case _:
                tool, arguments = proposal(chance)
                call: ToolCall = {"name": tool, "arguments": {**arguments, "rationale": "You said so."}}
                model.script_chat(Reply(tool_calls=[call]), Reply(text="It waits for you."))
                person.say("Do it.")
                told[tool] += 1
        pending = waiting(person)
        counted = Counter(subject for each in pending for subject in subjects(each))
        # A new proposal for one value does not close an older proposal for several.
        of_several = {s for each in pending if each["tool"] == "update_profile" for s in subjects(each)}
        twice = {subject for subject, count in counted.items() if count > 1 and subject not in of_several}
        assert twice == set(), [each["line"] for each in pending]
        own = [each for each in pending if each["tool"] in (KEEPS_MEMORIES, "raise_autonomy")]
        most = max(most, len(own))
        assert len(own) <= MOST_WITHOUT_DOING
        badge = person.get("/api/home")["counts"]["waiting"]
        assert badge == len(pending)
    assert sum(told.values()) > 20
    assert most > 1
    assert world.database["agent_approvals"].count_documents({"user_id": USER, "status": "changed"}) > 3
