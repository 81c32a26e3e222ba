"""A chat process replaced by an attacker: it has the chat's environment, database user and invoke rights, and sends
whatever it likes."""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from functions.approve import act, pages
from infra.mongo.roles import CHAT
from qwestly_agent.approvals import ask
from qwestly_agent.approvals.links import hash_of
from qwestly_agent.approvals.seal import NOT_SEALED
from qwestly_agent.base.settings import Settings
from qwestly_agent.domain.approval import Approval
from qwestly_agent.services import Services
from qwestly_agent.stores import approvals, user_settings
from tests.counts import count
from tests.functions.approving import DAY, TEMPLATE, World
from tests.servers import USER, token

CANDIDATE_APP = ec.generate_private_key(ec.SECP256R1())
"""The candidate app's private key; nobody else has it."""
PUBLIC = base64.b64encode(
    CANDIDATE_APP.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
).decode()
IDS = [f"ap_{number:032}" for number in range(count(40, 40, small=5))]


class ChatsDatabase:
    """The database with the rights of the chat's user."""

    def __init__(self, world: World) -> None:
        self.world = world

    def do(self, action: str, collection: str, call: Callable[[Any], Any]) -> bool:
        """Do it if the role allows it; return False otherwise."""
        allowed = action in CHAT.actions.get(collection, ())
        if allowed:
            call(self.world.database[collection])
        return allowed

    def set(self, approval_id: str, **fields: Any) -> None:
        assert self.do("update", approvals.COLLECTION, lambda it: it.update_one({"_id": approval_id}, {"$set": fields}))

    def insert(self, approval_id: str, **fields: Any) -> None:
        found = self.world.database[approvals.COLLECTION].find_one({"_id": IDS[0]})
        assert found
        assert self.do(
            "insert", approvals.COLLECTION, lambda it: it.insert_one({**found, "_id": approval_id, **fields})
        )


@pytest.fixture
def world(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """Tokens are verified with the candidate app's public key, as in production. Approvals of one field do not replace
    each other."""

    async def nothing_ends(_services: Services, _newer: Approval) -> None: ...

    async def by_public_key(services: Services) -> None:
        settings = replace(services.secrets.settings, qwestly_jwt_public_keys=PUBLIC, qwestly_agent_shared_secret="")
        services.secrets.settings = settings
        services.secrets._read = lambda: settings

    world.run(by_public_key)
    with monkeypatch.context() as patch:
        patch.setattr(ask, "end_superseded", nothing_ends)
        for each in IDS:
            world.ask(each)
    return world


@pytest.fixture
def chat_database(world: World) -> ChatsDatabase:
    return ChatsDatabase(world)


def signed_in(world: World, user_id: str = USER) -> str:
    claims = {"user_id": user_id, "exp": int(world.clock()) + 600}
    return jwt.encode(claims, CANDIDATE_APP, algorithm="ES256")


def invoke(world: World, approval_id: str, token: str, what: Any) -> dict[str, Any]:
    return act.handler(json.loads(json.dumps({"token": token, "approval_id": approval_id, "act": what})), None)


def forged(world: World) -> list[str]:
    """Return tokens signed with the chat's public key and with the attacker's own keys."""
    claims = {"user_id": USER, "exp": int(world.clock()) + 600}
    header, body = ({"alg": "HS256", "typ": "JWT"}, claims)
    parts = [base64.urlsafe_b64encode(json.dumps(each).encode()).decode().rstrip("=") for each in (header, body)]
    confused = [
        base64.urlsafe_b64encode(hmac.new(key, ".".join(parts).encode(), hashlib.sha256).digest())
        for key in (PUBLIC.encode(), base64.b64decode(PUBLIC), b"")
    ]
    return [
        *(".".join((*parts, each.decode().rstrip("="))) for each in confused),
        jwt.encode(claims, ec.generate_private_key(ec.SECP256R1()), algorithm="ES256"),
        jwt.encode(claims, "", algorithm="none"),
        token(clock=world.clock),
        "",
    ]


def decision(world: World, approval_id: str) -> dict[str, Any]:
    return {"decision": "approve", "args_digest": world.approval(approval_id).args_digest}


def nothing_was_done(world: World) -> bool:
    found = world.database["candidates_enhanced"].find_one({"user_id": USER}) or {}
    return found["headline"] == "Product Manager" and not world.wire.calls["send_task_success"]


def sweep_for_a_day(world: World) -> None:
    for _ in range(3):
        world.clock.advance(DAY / 3)
        world.sweep()


def test_the_chats_environment_contains_no_secret_that_can_act() -> None:
    for name in ("ChatFunction", "ApiFunction"):
        environment = TEMPLATE.environment(name)
        assert not environment.keys() & {"QWESTLY_CANDIDATE_API_SECRET", "TASK_TOKEN_KEY"}
        assert environment["MONGODB_URI"].endswith("/mongodb-chat-uri")
    resolved = Settings("mongodb://none", "db", qwestly_jwt_public_keys=PUBLIC, qwestly_agent_shared_secret="ssm:/s")
    assert resolved.resolve(lambda _: {}).qwestly_agent_shared_secret == "", "where tokens are signed by a private key"


def test_a_signed_in_user_can_still_decide_through_a_replaced_chat(world: World) -> None:
    assert invoke(world, IDS[0], signed_in(world), decision(world, IDS[0]))["approval_id"] == IDS[0]
    assert (world.approval(IDS[0]).status, nothing_was_done(world)) == ("done", False)


def test_a_replaced_chat_cannot_decide_with_its_own_tokens(world: World) -> None:
    acts = (
        "undo",
        "look",
        "run",
        "erase",
        {"level": "L3", "ceiling": "L3"},
        {"takes_back": "x"},
        {"run_id": "run_1", "answers": "m"},
    )
    for each in IDS:
        digest = decision(world, each)
        answers = [invoke(world, each, one, what) for one in forged(world) for what in (digest, *acts)]
        assert {answer["error"] for answer in answers} == {"Unauthorized"}
        another = [invoke(world, each, signed_in(world, "auth0|another"), what) for what in (digest, *acts[:3])]
        assert {answer["error"] for answer in another} == {"NotFound"}
    assert {world.approval(each).status for each in IDS} == {"pending"}
    sweep_for_a_day(world)
    assert nothing_was_done(world)


@pytest.mark.parametrize(
    "claimed",
    [
        {"status": "approved", "decided_by": "queue"},
        {"status": "approved", "decided_by": "level", "answer": "run"},
        {"status": "executing", "begun_at": 1.0},
        {"status": "unknown", "begun_at": 1.0},
        {"status": "accepted", "begun_at": 1.0},
        {"status": "approved", "seal": "0" * 64 + "." + "0" * 64},
        {"status": "approved", "seal": ""},
        {"status": "approved", "seal": "."},
    ],
    ids=str,
)
def test_an_approval_forged_by_a_replaced_chat_is_not_executed(
    world: World, chat_database: ChatsDatabase, claimed: dict[str, Any]
) -> None:
    now = world.clock()
    for each in IDS:
        chat_database.set(each, **{"decided_at": now, "due_at": now, **claimed})
    chat_database.insert("ap_" + "f" * 32, **{"decided_at": now, "due_at": now, "_id": "ap_" + "f" * 32, **claimed})
    for each in IDS:
        invoke(world, each, signed_in(world), "look")
    sweep_for_a_day(world)
    assert nothing_was_done(world)
    assert {(world.approval(each).status, world.approval(each).outcome) for each in IDS} == {("failed", NOT_SEALED)}


def test_the_seal_of_an_approval_is_valid_only_for_it_and_only_once(world: World, chat_database: ChatsDatabase) -> None:
    assert invoke(world, IDS[0], signed_in(world), decision(world, IDS[0]))["approval_id"] == IDS[0]
    world.database["candidates_enhanced"].update_one({"user_id": USER}, {"$set": {"headline": "Product Manager"}})
    done = world.database[approvals.COLLECTION].find_one({"_id": IDS[0]})
    assert done
    again = {"status": "approved", "outcome": None, "due_at": world.clock(), "seal": done["seal"]}
    for each in IDS[1:]:
        chat_database.set(each, **again, decided_at=done["decided_at"])
    chat_database.set(IDS[0], **again, decided_at=world.clock() + 3 * DAY)
    for _ in range(3):
        world.clock.advance(DAY)
        world.sweep()
    assert nothing_was_done(world)


def test_an_undo_forged_by_a_replaced_chat_is_not_executed(world: World, chat_database: ChatsDatabase) -> None:
    invoke(world, IDS[0], signed_in(world), decision(world, IDS[0]))
    chat_database.set(IDS[0], inverse=json.dumps({"field": "headline", "value": "Owned"}))
    chat_database.set(
        IDS[1], status="done", begun_at=world.clock(), inverse=json.dumps({"field": "headline", "value": "Owned"})
    )
    for each in IDS[:2]:
        assert invoke(world, each, signed_in(world), "undo")["error"] == "ChangedMeanwhile"
    found = world.database["candidates_enhanced"].find_one({"user_id": USER})
    assert found
    assert found["headline"] == "Head of Product"


def test_a_link_forged_by_a_replaced_chat_decides_nothing(
    world: World, chat_database: ChatsDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    mailed = world.link(IDS[0])  # for example of its own approval
    for number, each in enumerate(IDS):
        mine = base64.urlsafe_b64encode(bytes([number]) * 32).decode().rstrip("=")
        chat_database.set(each, links=[hash_of(mine), hash_of(mailed)])
        fields = {"decision": "approve", "args_digest": world.approval(each).args_digest, "reason": ""}
        monkeypatch.setattr(pages, "limits", pages.Limits())
        assert (world.get(mine).status, world.post(mine, fields).status) == (404, 404)
    assert world.get(mailed).status in (200, 404)
    assert {world.approval(each).status for each in IDS} == {"pending"}
    assert nothing_was_done(world)


def test_a_replaced_chat_cannot_set_a_level_or_delete_a_decision(world: World, chat_database: ChatsDatabase) -> None:
    def raised(it: Any) -> None:
        it.update_one({"_id": USER}, {"$set": {"user_id": USER, "level": "L3"}}, upsert=True)

    for action in ("insert", "update"):
        assert not chat_database.do(action, user_settings.AUTONOMY, raised)
    assert not chat_database.do("remove", user_settings.AUTONOMY, lambda it: it.delete_many({}))
    assert not chat_database.do("remove", approvals.COLLECTION, lambda it: it.delete_many({}))
    assert world.run(lambda services: services.autonomy.level(USER)) == "L1"
    assert len([world.approval(each) for each in IDS]) == len(IDS)
