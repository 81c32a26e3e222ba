"""Designs and roles: found in folders, chosen by new conversations, and kept by each conversation."""

import json
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from infra.local.model_answers import ToolCall
from infra.local.model_server import ModelServer, Reply
from qwestly_agent.agents.default import design as default
from qwestly_agent.agents.design import DesignEvent, Role, build_designs, find_designs, read_design_settings
from qwestly_agent.base.errors import InvalidSettings
from qwestly_agent.llm.models import make_models
from tests.servers import ChatServer, Client, user_says

ROOT = Path(__file__).parents[2]
EXAMPLES = str(ROOT / "examples")
PROFILE: ToolCall = {"name": "get_user_profile", "arguments": {}}
HEADLINE: ToolCall = {
    "name": "update_profile_field",
    "arguments": {"field": "headline", "value": "Head of product", "rationale": "Asked for."},
}
TUTOR = """
from qwestly_agent.agents.design import Design
from qwestly_agent.agents.design import LibraryAgent
from qwestly_agent.agents.make import make_agent

def build(models, settings):
    return LibraryAgent(make_agent("tutor", models["fast"], instructions="Teach.", tools=[]), "tutor-1")

DESIGN = Design(name="tutor", roles={"learning": build})
"""


@contextmanager
def designs_in(chat: ChatServer, client: Client, paths: str, **changes: Any) -> Iterator[Client]:
    """The same user on a server with the designs of these folders."""
    settings = replace(chat.settings, agent_design_paths=paths, **changes)
    with ChatServer(settings) as server, Client(server.url, client.user_id) as user:
        yield user


@pytest.fixture(scope="module")
def plain_server(chat: ChatServer) -> Iterator[ChatServer]:
    with ChatServer(replace(chat.settings, agent_design_paths=EXAMPLES, agent_design="plain_openai")) as server:
        yield server


@pytest.fixture
def plain(plain_server: ChatServer, client: Client) -> Iterator[Client]:
    """A user whose turns run in the plain loop of `examples/`."""
    with Client(plain_server.url, client.user_id) as user:
        yield user


def folder(path: Path, name: str, code: str) -> str:
    (path / name).mkdir()
    (path / name / "__init__.py").write_text(code)
    return str(path)


def refusal(client: Client, **body: Any) -> str:
    refused = client.request("POST", "/api/chat", json={"message": "Hello", **body})
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "invalid"), refused.text
    return refused.json()["error"]["message"]


# --- choose a design ------------------------------------------------------------------------------------------------


def test_designs_are_listed_with_the_available_roles(client: Client, chat: ChatServer) -> None:
    assert client.get("/api/designs") == {
        "items": [{"name": "default", "is_default": True, "roles": ["chat", "onboarding", "interview", "learning"]}],
        "next": None,
    }
    with designs_in(chat, client, EXAMPLES, agent_design="plain_openai") as user:
        listed = [(each["name"], each["is_default"], each["roles"]) for each in user.get("/api/designs")["items"]]
    assert listed == [
        ("by_headings", False, ["chat", "onboarding", "interview", "learning"]),
        ("default", False, ["chat", "onboarding", "interview", "learning"]),
        ("plain_openai", True, ["chat", "onboarding", "interview", "learning"]),
    ]


def test_a_new_conversation_can_choose_its_design_in_both_protocols(client: Client, chat: ChatServer) -> None:
    with designs_in(chat, client, EXAMPLES) as user:
        plain = user.say("Hello", design="plain_openai", role="chat").conversation_id
        user.say_ai_sdk("chat-1", user_says("Hello"), design="plain_openai")
        other = user.say("Hello").conversation_id
        listed = {each["id"]: (each["design"], each["role"]) for each in user.get("/api/conversations")["items"]}
        chosen = ("plain_openai", "chat")
        assert listed == {plain: chosen, "chat-1": chosen, other: ("default", "chat")}
        for form in ("", "?as=ui"):
            read = user.get(f"/api/conversations/chat-1{form}")
            assert (read["design"], read["role"]) == ("plain_openai", "chat")
        receipt = user.get(f"/api/conversations/{plain}")["messages"][-1]["receipt"]
        assert (receipt["design"], receipt["prompt_version"]) == ("plain_openai", "plain-openai-1")


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"role": "butler"}, "role: "),
        ({"design": "no-such"}, "There is no design 'no-such'; there is default."),
        ({"design": 3}, "design: "),
        ({"id": "chat-1", "messages": [user_says("Hello")], "role": "butler"}, "role: "),
    ],
    ids=["no role", "no design", "no name", "in the AI SDK's protocol"],
)
def test_an_unknown_design_is_rejected_before_anything_is_stored(client: Client, body: Any, told: str) -> None:
    assert told in refusal(client, **body)
    assert client.get("/api/conversations")["items"] == []


def test_a_conversation_keeps_its_design_and_its_role(client: Client, chat: ChatServer) -> None:
    with designs_in(chat, client, EXAMPLES) as user:
        conversation_id = user.say("Hello").conversation_id
        told = refusal(user, conversation_id=conversation_id, design="plain_openai")
        assert "keeps its design 'default' and its role 'chat'" in told
        assert len(user.get(f"/api/conversations/{conversation_id}")["messages"]) == 2
        again = user.say("And?", conversation_id, design="default", role="chat")
        assert again.last.name == "done"


def test_a_conversation_can_be_continued_by_repeating_only_its_role(
    client: Client, chat: ChatServer, tmp_path: Path
) -> None:
    folder(tmp_path, "tutor", TUTOR)
    with designs_in(chat, client, str(tmp_path)) as user:
        lesson = user.say("Teach me", design="tutor", role="learning").conversation_id
        assert user.say("Go on", lesson, role="learning").last.name == "done"


def test_the_default_design_provides_the_roles_that_another_one_lacks(
    client: Client, chat: ChatServer, model: ModelServer, tmp_path: Path
) -> None:
    with designs_in(chat, client, folder(tmp_path, "a_tutor", TUTOR)) as user:
        roles = {each["name"]: each["roles"] for each in user.get("/api/designs")["items"]}
        assert roles == {
            "default": ["chat", "onboarding", "interview", "learning"],
            "tutor": ["chat", "onboarding", "interview", "learning"],
        }
        user.say("Hello", design="tutor", role="learning")
        assert "Teach." in model.requests[-1].body.decode()
        user.say("Hello", design="tutor")
        assert "You are Qwestly's career agent." in model.requests[-1].body.decode()


# --- find designs at startup ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("import no_such_module", "broken_.* is broken: ModuleNotFoundError"),
        ("DESIGN = 3", "broken_.*: DESIGN is no Design"),
        (TUTOR.replace('"learning"', '"butler"'), "broken_.*: there is no role 'butler'"),
        (TUTOR.replace('"tutor", roles', '"No name", roles'), "broken_.*: 'No name' is no name"),
        (TUTOR.replace('"tutor", roles', '"default", roles'), "broken_.*: there is another one called 'default'"),
        (TUTOR.replace('models["fast"]', 'models["slow"]'), r"'tutor' \(learning\) is broken: KeyError"),
    ],
    ids=["no import", "no design", "no such role", "no name", "the same name", "no agent"],
)
def test_a_broken_design_is_named_at_startup(chat: ChatServer, tmp_path: Path, code: str, told: str) -> None:
    paths = folder(tmp_path, f"broken_{uuid.uuid4().hex}", code)

    def start() -> None:
        designs = find_designs("default", paths)
        models = make_models(chat.settings, chat.services.http)
        build_designs("default", designs, read_design_settings(designs, ""), models)

    with pytest.raises(InvalidSettings, match=told):
        start()


def test_the_design_shown_in_the_docs_is_found_and_built(chat: ChatServer, tmp_path: Path) -> None:
    page = (ROOT / "docs/designs.md").read_text(encoding="utf-8")
    [code] = re.findall(r"^```python\n(.*?^DESIGN = .*?)^```", page, re.MULTILINE | re.DOTALL)
    designs = find_designs("tutor", folder(tmp_path, f"shown_{uuid.uuid4().hex}", code))
    settings = read_design_settings(designs, '{"tutor": {"lessons": 5}}')
    built = build_designs("tutor", designs, settings, make_models(chat.settings, chat.services.http))
    assert built.find("tutor", "learning") is not built.find("default", "learning")


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("{", "must be a JSON object"),
        ('{"nobody": {}}', "names no design: 'nobody'"),
        ('{"plain_openai": {"temperature": 9}}', "'plain_openai': temperature: Input should be less than"),
        ('{"default": {"more": 1}}', "'default': more: Extra inputs are not permitted"),
    ],
)
def test_settings_unknown_to_a_design_are_named_at_startup(written: str, told: str) -> None:
    with pytest.raises(InvalidSettings, match=told):
        read_design_settings(find_designs("default", EXAMPLES), written)


def test_a_folder_without_a_design_is_skipped_and_a_missing_folder_is_named(tmp_path: Path) -> None:
    assert set(find_designs("default", folder(tmp_path, "something", "X = 1"))) == {"default"}
    with pytest.raises(InvalidSettings, match="there is no folder /no/such"):
        find_designs("default", "/no/such")


# --- a plain loop ---------------------------------------------------------------------------------------------------


def test_the_settings_of_a_design_reach_its_model(client: Client, chat: ChatServer, model: ModelServer) -> None:
    written = json.dumps({"plain_openai": {"temperature": 1.5}})
    with designs_in(chat, client, EXAMPLES, agent_design_settings=written) as user:
        user.say("Hello", design="plain_openai")
    assert model.requests[-1].json["temperature"] == 1.5


def test_a_plain_loop_has_the_tools_and_its_own_event(plain: Client, model: ModelServer) -> None:
    model.script(Reply(text="Let me look.", tool_calls=[PROFILE]), Reply(text=["You are ", "new here."]))
    answer = plain.say("Who am I?")
    assert answer.names == [
        *("conversation", "text_delta", "tool_call", "tool_result", "text_delta", "text_delta", "requests_made", "done")
    ]
    assert answer.last.data["content"] == answer.text == "Let me look.\n\nYou are new here."
    assert answer.last.data["usage"]["cost_usd"] > 0
    assert answer.events[-2].data == {"requests": 2}
    [told] = [m["content"] for m in model.requests[-1].json["messages"] if m["role"] == "tool"]
    assert told.startswith('<tool_result tool="get_user_profile">')
    [step] = plain.get(f"/api/conversations/{answer.conversation_id}")["messages"][-1]["steps"]
    assert (step["name"], step["ok"]) == ("get_user_profile", True)


def test_a_plain_loop_supports_the_ai_sdk_protocol(plain: Client, model: ModelServer) -> None:
    model.script(Reply(tool_calls=[PROFILE, PROFILE]), Reply(text="Nothing yet."))
    events = plain.say_ai_sdk("chat-1", user_says("Who am I?"))
    names = [event.name for event in events]
    assert names[0] == "start"
    assert names[-2:] == ["finish", "[DONE]"]
    assert names.count("tool-input-available") == 2
    assert names.index("tool-input-available") < names.index("tool-output-available") < names.index("text-delta")
    assert [e.data["data"] for e in events if e.name == "data-requests_made"] == [{"requests": 2}]


def test_a_plain_loop_proposes_changes_and_is_told_the_outcome(plain: Client, model: ModelServer) -> None:
    model.script(Reply(tool_calls=[HEADLINE]))
    asked = plain.say("Make me head of product")
    assert asked.names[-5:] == ["approval_required", "requests_made", "text_delta", "activity", "done"]
    approval = next(event.data for event in asked.events if event.name == "approval_required")
    decision = {key: approval[key] for key in ("approval_id", "args_digest")} | {"decision": "reject"}
    model.script(Reply(text="All right."))
    said = plain.post({"conversation_id": asked.conversation_id, "decisions": [decision]})
    assert [e.data["status"] for e in said if e.name == "approval_decided"] == ["rejected"]
    last = model.requests[-1].json["messages"]
    assert "<approval_news>" in last[-1]["content"]
    called = [call["id"] for m in last for call in m.get("tool_calls") or ()]
    assert [m["tool_call_id"] for m in last if m["role"] == "tool"] == called, "each call has one result"


def test_a_plain_loop_has_a_limit_on_calls(plain: Client, model: ModelServer) -> None:
    model.script(*[Reply(tool_calls=[PROFILE])] * 3, Reply(text="That is all."))
    answer = plain.say("Again and again")
    assert [e.data["ok"] for e in answer.events if e.name == "tool_result"] == [True, False, False]
    assert "tools" not in model.requests[-1].json, "after two refusals"


def test_a_plain_loop_has_a_limit_on_cost(client: Client, chat: ChatServer, model: ModelServer) -> None:
    model.script(Reply(tool_calls=[PROFILE]), Reply(text="Never asked for."))
    with designs_in(chat, client, EXAMPLES, turn_ceiling_usd=0.000001) as user:
        answer = user.say("Who am I?", design="plain_openai")
        assert (answer.last.name, answer.last.data["code"]) == ("error", "over_budget")
        kept = user.get(f"/api/conversations/{answer.conversation_id}")["messages"][-1]
    assert (kept["status"], [step["ok"] for step in kept["steps"]]) == ("failed", [True])


def test_a_plain_loop_gives_people_in_trouble_the_fixed_answer(plain: Client, model: ModelServer) -> None:
    answer = plain.say("I want to kill myself")
    assert "988" in answer.text
    assert not [request for request in model.requests if request.path.endswith("/chat/completions")]


@pytest.mark.thorough
def test_a_plain_loop_can_be_stopped_and_keeps_its_partial_answer(plain: Client, model: ModelServer) -> None:
    model.script(Reply(text=["Half of ", "it."], hold_after=1))
    with plain.open({"message": "Tell me everything"}) as events:
        conversation_id = next(events).data["conversation_id"]
        assert next(events).data["content"] == "Half of "
        plain.request("POST", f"/api/conversations/{conversation_id}/stop", json={})
        [last] = list(events)
    assert (last.name, last.data["stopped"], last.data["content"]) == ("done", True, "Half of ")
    plain.say("Go on", conversation_id)
    said = [(m["role"], m.get("content")) for m in model.requests[-1].json["messages"] if m["role"] != "system"]
    assert said == [("user", "Tell me everything"), ("assistant", "Half of "), ("user", "Go on")]


@pytest.mark.thorough
def test_a_design_can_have_its_own_onboarding(chat: ChatServer, client: Client, model: ModelServer) -> None:
    with designs_in(chat, client, EXAMPLES, agent_design="by_headings") as user:
        for role, is_onboarding in (("onboarding", True), ("chat", False)):
            model.forget_requests()
            user.say("Hello", role=role)
            asked = [
                each.json["messages"][0]["content"] for each in model.requests if each.json and each.json.get("stream")
            ]
            begins = {each.startswith("You get to know somebody new at Qwestly") for each in asked}
            assert begins == {is_onboarding}


@pytest.mark.parametrize("kind", ["done", "Not a name", "", "data-x"])
def test_a_designs_event_must_not_use_one_of_our_names(kind: str) -> None:
    with pytest.raises(ValueError, match="cannot be the name"):
        DesignEvent(kind=kind)


@pytest.mark.parametrize("role", ["chat", "interview", "learning", "onboarding"])
def test_each_role_of_the_default_design_uses_the_version_in_its_settings(
    chat: ChatServer, role: Role, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = default.PROMPTS[role]
    assert isinstance(versions, dict)
    monkeypatch.setitem(versions, "older", "Answer as before.")
    build, models = default.DESIGN.roles[role], chat.services.models
    assert build(models, default.DefaultSettings(prompts={role: "older"})).prompt_version == "older"
    assert build(models, default.DefaultSettings()).prompt_version in versions.keys() - {"older"}
