"""Drafts as their users read them, in the chat and through the API, and an About section that is handed over."""

import json
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.database import Database

from infra.local.candidate_app import LINKEDIN_SUGGESTIONS, CandidateAppServer
from infra.local.model_server import ModelServer, Reply
from qwestly_agent.domain.card import Card, CheckedCard, Claim, Evidence, LeftOut, Section
from qwestly_agent.grounding.model import Quote
from qwestly_agent.stores.drafts import COLLECTION, Draft
from tests.servers import Answer, ChatServer, Client

Stored = Database[dict[str, Any]]
Drafts = Callable[..., str]

ABOUT, MORE, OTHERWISE = "I build payment products.", "I led a team of eight.", "I build what I plan."
TEXT = f"{ABOUT} {MORE}"
MARK = "team of eight"
JUDGE = "deepseek:deepseek-flash"
LIE, WHY = "Won the Nobel Prize in 2019.", "No cited source says 2019."
SECRET = "what stands in a document, and is nobody's to repeat"
HAND_OVER, READ = "hand_over_linkedin_about", "read_draft"

QUOTES = (Quote(source="document:1", text="what stands in a document"),)
CHECKED = CheckedCard(
    card=Card(
        style="story",
        headline=Claim(text="Builds what she plans", quotes=QUOTES),
        sections=(
            Section(
                kind="about",
                heading="About me",
                claims=(
                    Claim(text=ABOUT, quotes=QUOTES, judged_by=JUDGE),
                    Claim(text=MORE, quotes=QUOTES, marks=(MARK,), unchecked=True),
                ),
            ),
        ),
    ),
    left_out=(LeftOut(claim=Claim(text=LIE, quotes=QUOTES), why=(WHY,)),),
)
EVIDENCE = Evidence(id="document:1", kind="document", trust="user_document", text=SECRET, source="résumé.pdf")


@pytest.fixture
def database(chat: ChatServer) -> Iterator[Stored]:
    with MongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
        yield mongo[chat.settings.mongodb_database]


@pytest.fixture
def drafted(chat: ChatServer, client: Client, database: Stored, app: CandidateAppServer) -> Drafts:
    """Return the id of a draft of this user, stored as the pipeline and the tools store it."""

    def keep(kind: str = "about", *, user_id: str = client.user_id, checked: bool = True, **fields: Any) -> str:
        draft = Draft.model_validate(
            {
                "id": f"{kind}_{uuid.uuid4().hex}",
                "user_id": user_id,
                "run_id": "run1",
                "conversation_id": None,
                "kind": kind,
                "style": "story",
                "status": "drafted",
                "label": "Drafted",
                "created_at": chat.clock(),
                "updated_at": chat.clock(),
                **fields,
            }
        )
        parts = {"part_evidence": json.dumps([EVIDENCE.model_dump(mode="json")])}
        if checked:
            parts["part_card"] = json.dumps({"round": 1, "checked": CHECKED.model_dump(mode="json")})
        document = {"_id": draft.id, **draft.model_dump(mode="json", exclude={"id", "parts"}), **parts}
        database[COLLECTION].insert_one(document)
        return draft.id

    return keep


def calls(tool: str, draft_id: str, call_id: str = "call_1") -> Reply:
    return Reply(tool_calls=[{"name": tool, "arguments": {"draft_id": draft_id}, "id": call_id}])


def told(model: ModelServer) -> str:
    """Return the result of the last tool call, as the model received it."""
    return [each["content"] for each in model.requests[-1].json["messages"] if each["role"] == "tool"][-1]


def result_in(model: ModelServer) -> dict[str, Any]:
    said = told(model)
    return json.loads(said[said.index("{") : said.rindex("}") + 1])


def offered(model: ModelServer) -> set[str]:
    return {each["function"]["name"] for each in model.requests[-1].json.get("tools", [])}


def asked(answer: Answer) -> dict[str, Any]:
    return next(event.data for event in answer.events if event.name == "approval_required")


def records(client: Client) -> list[dict[str, Any]]:
    return client.get("/api/approvals?state=all")["items"]


def decide(client: Client, approval: dict[str, Any], decision: str = "approve", **more: Any) -> dict[str, Any]:
    body = {"decision": decision, "args_digest": approval["args_digest"], **more}
    answer = client.request("POST", f"/api/approvals/{approval['approval_id']}/decision", json=body)
    answer.raise_for_status()
    return answer.json()


def suggested(database: Stored, client: Client) -> list[tuple[str, str]]:
    """Return the draft id and text of each suggestion stored in the candidate app."""
    found = database[LINKEDIN_SUGGESTIONS].find({"user_id": client.user_id, "section": "about"})
    return [(each["draft_id"], each["text"]) for each in found]


def at_level(client: Client, level: str) -> None:
    client.request("PUT", "/api/autonomy", json={"level": level}).raise_for_status()


# --- hand over a draft ------------------------------------------------------------------------------------------------


def test_an_about_section_is_stored_as_drafted_only_after_approval(
    client: Client, model: ModelServer, drafted: Drafts, database: Stored
) -> None:
    draft_id = drafted()
    model.script(calls(HAND_OVER, draft_id))
    approval = asked(client.say("Keep it"))
    shown = {"name": "LinkedIn About", "before": None, "after": TEXT, "evidence": [], "quotes": []}
    preview = approval["preview"]
    assert preview["changes"] == [shown]
    first, second = preview["sections"][-1]["claims"]
    spot = {
        "source": "résumé.pdf",
        "before": "",
        "quote": "what stands in a document",
        "after": SECRET[25:],
    }
    assert (first["text"], first["quotes"], first["marks"]) == (ABOUT, [spot], [])
    assert (second["marks"], second["unchecked"]) == ([MARK], True)
    assert (first["judged_by"], second["judged_by"]) == (JUDGE, "")
    assert "A second model compared" in approval["rationale"]
    assert preview["left_out"] == [{"text": LIE, "why": [WHY]}]
    assert "couldn’t support them: 1." in approval["rationale"]
    assert "No second reader was available for 1:" in approval["rationale"]
    assert (approval["kind"], approval["effect"], approval["editable"]) == ("linkedin", "write", ["text"])
    assert suggested(database, client) == []
    done = decide(client, approval)
    assert done["status"] == "done"
    assert "Nothing was sent to LinkedIn" in done["outcome"]
    assert suggested(database, client) == [(draft_id, TEXT)]
    read = client.get(f"/api/drafts/{draft_id}")
    assert (read["status"], read["label"]) == ("drafted", "Handed over"), "nobody else sees it"


@pytest.mark.thorough
def test_a_newly_drafted_text_can_be_handed_over(
    client: Client, model: ModelServer, app: CandidateAppServer, database: Stored
) -> None:
    profile = {"_id": client.user_id, "user_id": client.user_id, "headline": "Engineer", "years_of_experience": 11}
    database["candidates_enhanced"].insert_one(profile)
    claims = [{"text": "11 years of experience", "evidence": ["profile"]}]
    written = {"name": "final_result", "arguments": {"claims": claims}}
    drafts = Reply(tool_calls=[{"name": "suggest_linkedin_about", "arguments": {}}])
    model.script(drafts, Reply(tool_calls=[written]), Reply(text="11 years of experience"))  # type: ignore[list-item]
    conversation = client.say("Write my About").conversation_id
    draft_id = result_in(model)["draft_id"]
    model.script(calls(HAND_OVER, draft_id, "call_2"))
    decide(client, asked(client.say("Keep it", conversation)))
    assert suggested(database, client) == [(draft_id, "11 years of experience")]


def test_the_stored_draft_is_the_text_edited_by_the_user(
    client: Client, model: ModelServer, drafted: Drafts, database: Stored
) -> None:
    draft_id = drafted()
    model.script(calls(HAND_OVER, draft_id))
    approval = asked(client.say("Keep it"))
    for args in ({"text": "x" * 2_601}, {"text": " "}, {"draft_id": "about_other"}):
        body = {"decision": "edit", "args_digest": approval["args_digest"], "args": args}
        refused = client.request("POST", f"/api/approvals/{approval['approval_id']}/decision", json=body)
        assert (refused.status_code, refused.json()["error"]["code"]) == (422, "invalid"), args
    assert decide(client, approval, "edit", args={"text": OTHERWISE})["status"] == "done"
    assert suggested(database, client) == [(draft_id, OTHERWISE)]


def test_handing_over_a_draft_again_shows_and_replaces_the_stored_text(
    client: Client, model: ModelServer, drafted: Drafts, database: Stored
) -> None:
    draft_id = drafted()
    model.script(calls(HAND_OVER, draft_id))
    answer = client.say("Keep it")
    decide(client, asked(answer), "edit", args={"text": OTHERWISE})
    model.script(calls(HAND_OVER, draft_id, "call_2"))
    again = asked(client.say("No, as you wrote it", answer.conversation_id))
    [change] = again["preview"]["changes"]
    assert (change["before"], change["after"]) == (OTHERWISE, TEXT)
    assert decide(client, again)["status"] == "done"
    assert suggested(database, client) == [(draft_id, TEXT)]


def test_a_draft_changed_in_the_candidate_app_is_proposed_again_and_not_overwritten(
    client: Client, model: ModelServer, drafted: Drafts, database: Stored
) -> None:
    draft_id = drafted()
    model.script(calls(HAND_OVER, draft_id))
    approval = asked(client.say("Keep it"))
    theirs = {"user_id": client.user_id, "draft_id": draft_id, "section": "about", "text": "By hand."}
    database[LINKEDIN_SUGGESTIONS].insert_one({"_id": draft_id, "version": 1, **theirs})
    assert decide(client, approval)["status"] == "changed"
    assert suggested(database, client) == [(draft_id, "By hand.")]
    [again] = client.get("/api/approvals")["items"]
    assert again["preview"]["changes"][0]["before"] == "By hand."


def test_a_repeated_approval_is_executed_once(
    client: Client, model: ModelServer, drafted: Drafts, database: Stored, app: CandidateAppServer
) -> None:
    model.script(calls(HAND_OVER, drafted()))
    approval = asked(client.say("Keep it"))
    app.api.requests.clear()
    assert [decide(client, approval)["status"] for _ in range(2)] == ["done", "done"]
    written = [each["headers"]["idempotency-key"] for each in app.api.requests if each["method"] == "PUT"]
    assert written == [approval["approval_id"]]


def test_a_rejection_by_the_candidate_app_leaves_the_draft_unchanged(
    client: Client, model: ModelServer, drafted: Drafts, database: Stored, app: CandidateAppServer
) -> None:
    draft_id = drafted()
    model.script(calls(HAND_OVER, draft_id))
    approval = asked(client.say("Keep it"))
    app.misbehave("forbidden")
    assert decide(client, approval)["status"] == "failed"
    read = client.get(f"/api/drafts/{draft_id}")
    assert (read["status"], read["label"], read["content"]["text"]) == ("drafted", "Drafted", TEXT)


@pytest.mark.thorough
def test_after_a_change_request_a_new_draft_revises_the_proposal(
    client: Client, model: ModelServer, drafted: Drafts
) -> None:
    model.script(calls(HAND_OVER, drafted()))
    answer = client.say("Keep it")
    first = asked(answer)
    assert decide(client, first, "revise", reason="Shorter")["status"] == "revised"
    model.script(calls(HAND_OVER, drafted(), "call_2"))
    assert asked(client.say("Well?", answer.conversation_id))["revises"] == first["approval_id"]


def test_a_card_draft_is_not_handed_over(client: Client, model: ModelServer, drafted: Drafts) -> None:
    model.script(calls(HAND_OVER, drafted("card")), Reply(text="That is a card."))
    assert client.say("Keep it").text == "That is a card."
    assert told(model) == '{"error":"Only an About section can be handed over, and this draft is none."}'
    assert records(client) == []


def test_a_draft_without_text_is_not_handed_over(client: Client, model: ModelServer, drafted: Drafts) -> None:
    model.script(calls(HAND_OVER, drafted(checked=False)), Reply(text="There is none."))
    client.say("Keep it")
    assert told(model) == '{"error":"There is no text in this draft."}'
    assert records(client) == []


@pytest.mark.parametrize("tool", [HAND_OVER, READ])
def test_another_users_draft_is_not_found(
    client: Client, model: ModelServer, drafted: Drafts, database: Stored, tool: str
) -> None:
    theirs = drafted(user_id=f"{client.user_id}-other")
    said = []
    for draft_id in (theirs, "about_that_nobody_has"):
        model.script(calls(tool, draft_id), Reply(text="There is none."))
        assert client.say("Go").text == "There is none."
        said.append(told(model))
    assert "There is no such draft." in said[0]
    assert said[0] == said[1]
    assert (records(client), suggested(database, client)) == ([], [])


def test_no_draft_is_handed_over_at_the_lowest_level(
    client: Client, model: ModelServer, drafted: Drafts, database: Stored
) -> None:
    at_level(client, "L0")
    model.script(calls(HAND_OVER, drafted()), Reply(text="You do not let me."))
    assert client.say("Keep it").text == "You do not let me."
    assert HAND_OVER not in offered(model)
    assert READ in offered(model)
    assert (records(client), suggested(database, client)) == ([], [])


def test_at_the_highest_level_a_handover_still_needs_approval(
    client: Client, model: ModelServer, drafted: Drafts, database: Stored
) -> None:
    at_level(client, "L3")
    draft_id = drafted()
    model.script(calls(HAND_OVER, draft_id))
    assert asked(client.say("Keep it"))["status"] == "pending", "it has no inverse"
    assert suggested(database, client) == []


def test_at_the_highest_level_a_draft_with_unchecked_claims_still_needs_approval(
    client: Client, model: ModelServer, drafted: Drafts, database: Stored
) -> None:
    at_level(client, "L3")
    draft_id = drafted()
    unchecked = CHECKED.model_dump(mode="json")
    unchecked["card"]["sections"][0]["claims"][1]["unchecked"] = True
    part = json.dumps({"round": 1, "checked": unchecked})
    database[COLLECTION].update_one({"_id": draft_id}, {"$set": {"part_card": part}})
    model.script(calls(HAND_OVER, draft_id))
    assert asked(client.say("Keep it"))["status"] == "pending"
    assert suggested(database, client) == []


def test_a_draft_based_on_forgotten_words_is_not_handed_over(
    client: Client, model: ModelServer, drafted: Drafts
) -> None:
    model.script(calls(HAND_OVER, drafted(flagged=True)), Reply(text="I can draft it anew."))
    client.say("Keep it")
    assert "had forgotten since. Draft it anew." in told(model)
    assert not records(client)


# --- read drafts ------------------------------------------------------------------------------------------------------

LEFT_OUT = [{"text": LIE, "why": [WHY]}]
SECTIONS = [{"heading": "About me", "claims": [ABOUT, MORE]}]


@pytest.mark.thorough
@pytest.mark.parametrize("level", ["L0", "L1", "L2", "L3"])
@pytest.mark.parametrize(
    ("kind", "says"),
    [("about", {"text": TEXT}), ("card", {"headline": "Builds what she plans", "sections": SECTIONS})],
    ids=["about", "card"],
)
def test_a_draft_is_returned_with_its_left_out_claims_and_without_evidence(
    client: Client, model: ModelServer, drafted: Drafts, kind: str, says: dict[str, Any], level: str
) -> None:
    at_level(client, level)
    draft_id = drafted(kind)
    model.script(calls(READ, draft_id), Reply(text="That."))
    client.say("What does it say?")
    read = result_in(model)
    assert read.pop("note") == "Show the text word for word."
    state = {"kind": kind, "status": "drafted", "style": "story", "label": "Drafted"}
    assert read == {**state, **says, "left_out": LEFT_OUT, "unchecked": [MORE]}
    assert SECRET not in model.requests[-1].body.decode()
    nothing = {"headline": None, "sections": [], "text": None, "unchecked": [MORE]}
    answered = client.request("GET", f"/api/drafts/{draft_id}")
    about_it = {"draft_id": draft_id, "stage": None, "conversation_id": None, "approval_id": None, "flagged": False}
    assert answered.json() == {**about_it, **state, "content": {**nothing, **says, "left_out": LEFT_OUT}}


@pytest.mark.parametrize(
    ("status", "label", "stage"),
    [
        ("running", "Gathering evidence", "evidence"),
        ("running", "Drafting 3 of 6 sections", "writing"),
        ("waiting", "Waiting for your approval", "decision"),
        ("published", "Published", None),
    ],
)
def test_a_draft_reports_its_stage(client: Client, drafted: Drafts, status: str, label: str, stage: str | None) -> None:
    assert client.get(f"/api/drafts/{drafted('card', status=status, label=label)}")["stage"] == stage


@pytest.mark.parametrize("checked", [False, True], ids=["the first time", "as its user wants it"])
def test_a_running_draft_reports_its_progress(
    client: Client, model: ModelServer, drafted: Drafts, checked: bool
) -> None:
    draft_id = drafted("card", status="running", label="Drafting 3 of 6 sections", checked=checked)
    model.script(calls(READ, draft_id), Reply(text="Half of it."))
    client.say("How far is it?")
    read = result_in(model)
    assert "how far it is" in read.pop("note")
    state = {"kind": "card", "status": "running", "style": "story", "label": "Drafting 3 of 6 sections"}
    assert read == state
    answered = client.get(f"/api/drafts/{draft_id}")
    assert {name: answered[name] for name in [*state, "content"]} == {**state, "content": None}


def test_a_failed_draft_reports_the_reason(client: Client, model: ModelServer, drafted: Drafts) -> None:
    draft_id = drafted("card", status="failed", label="It could not be finished", checked=False)
    model.script(calls(READ, draft_id), Reply(text="It failed."))
    client.say("And?")
    assert (result_in(model)["status"], result_in(model)["label"]) == ("failed", "It could not be finished")


def test_the_model_is_told_that_a_draft_is_based_on_forgotten_memories(
    client: Client, model: ModelServer, drafted: Drafts
) -> None:
    draft_id = drafted(flagged=True)
    model.script(calls(READ, draft_id), Reply(text="That."))
    client.say("What does it say?")
    assert "had forgotten since" in result_in(model)["note"]
    assert client.get(f"/api/drafts/{draft_id}")["flagged"] is True


def test_another_users_draft_is_not_found_through_the_api(client: Client, drafted: Drafts) -> None:
    for draft_id in (drafted(user_id=f"{client.user_id}-other"), "about_that_nobody_has", "..%2Fme", "$where"):
        refused = client.request("GET", f"/api/drafts/{draft_id}")
        assert (refused.status_code, refused.json()["error"]["code"]) == (404, "not_found"), draft_id
    assert client.http.get(f"{client.url}/api/drafts/{drafted()}").status_code == 401


# --- headlines and wishes ---------------------------------------------------------------------------------------------


def headlines(*texts: str) -> Reply:
    claims = [{"text": text, "quotes": ["profile Head of Ops"]} for text in texts]
    return Reply(tool_calls=[{"name": "final_result", "arguments": {"claims": claims}}])


@pytest.fixture
def profiled(client: Client, database: Stored) -> None:
    database["candidates_enhanced"].insert_one({"user_id": client.user_id, "headline": "Head of Ops"})


def judged(*supported: bool) -> Reply:
    verdicts = [
        {"id": n, "span": "Head of Ops" if yes else "", "why": "" if yes else "Nobody said so."}
        for n, yes in enumerate(supported)
    ]
    return Reply(tool_calls=[{"name": "final_result", "arguments": {"verdicts": verdicts}}])


def propose(draft_id: str) -> Reply:
    return calls("propose_headline", draft_id)


@pytest.mark.parametrize("taken", [0, 1])
def test_three_headlines_are_drafted_and_one_is_chosen_with_one_approval(
    client: Client, model: ModelServer, database: Stored, profiled: None, taken: int
) -> None:
    texts = ("Heads Ops", "Ops, headed", "Runs Ops")
    wish = Reply(tool_calls=[{"name": "suggest_headline", "arguments": {"wish": "from three sides"}}])
    model.script(wish, headlines(*texts), judged(True, True, True), Reply(text="Here."))
    drafted = client.say("Suggest headlines, from three sides.")
    result = result_in(model)
    assert [each["text"] for each in result["headlines"]] == list(texts)
    model.script(propose(result["draft_id"]))
    answer = client.say("Propose them.", drafted.conversation_id)
    [shown] = [event.data for event in answer.events if event.name == "approval_required"]
    assert (shown["args"], shown["alternatives"]) == ({"field": "headline", "value": texts[0]}, [*texts[1:]])
    [section] = shown["preview"]["sections"]
    assert [claim["text"] for claim in section["claims"]] == [*texts]
    for claim in section["claims"]:
        assert [(quote["source"], quote["quote"]) for quote in claim["quotes"]] == [("your profile", "Head of Ops")]
    choice = {"decision": "edit", "args": {"value": "Runs Ops"}} if taken else {"decision": "approve"}
    decision = {"approval_id": shown["approval_id"], "args_digest": shown["args_digest"], **choice}
    model.script(propose(result["draft_id"]), Reply(text="Done."))
    client.post({"conversation_id": drafted.conversation_id, "decisions": [decision]})
    profile, record = (
        database[name].find_one({"user_id": client.user_id}) for name in ("candidates_enhanced", "agent_approvals")
    )
    assert profile
    assert record
    assert (profile["headline"], record["edited"]) == (texts[2 * taken], False)
    assert client.get("/api/approvals")["items"] == [], "nothing is asked again"


def test_an_unsupported_headline_is_left_out_and_cannot_be_proposed(
    client: Client, model: ModelServer, profiled: None
) -> None:
    model.script(
        Reply(tool_calls=[{"name": "suggest_headline", "arguments": {}}]),
        headlines("Head of Ops, again", "Best head of Ops"),
        judged(True, False),
        headlines(),
        Reply(text="One."),
    )
    drafted = client.say("Suggest headlines.")
    result = result_in(model)
    assert [each["text"] for each in result["headlines"]] == ["Head of Ops, again"]
    assert result["left_out"] == [{"text": "Best head of Ops", "why": ["Nobody said so."]}]
    model.script(propose(result["draft_id"]))
    client.say("Propose it.", drafted.conversation_id)
    [asked] = records(client)
    assert (asked["args"]["value"], asked["alternatives"]) == ("Head of Ops, again", [])


def test_headlines_are_drafted_but_not_proposed_at_l0(client: Client, model: ModelServer, profiled: None) -> None:
    at_level(client, "L0")
    wish = Reply(tool_calls=[{"name": "suggest_headline", "arguments": {}}])
    model.script(wish, headlines("Head of Ops"), judged(True), Reply(text="Here."))
    client.say("Suggest headlines.")
    assert result_in(model)["headlines"] == [{"number": 1, "text": "Head of Ops"}]
    assert "propose_headline" not in offered(model)


@pytest.mark.parametrize("tool", ["generate_qwestly_card", "suggest_linkedin_about", "suggest_headline"])
@pytest.mark.parametrize(
    ("said", "wish"),
    [
        ("Write it, please.", "praise me"),
        ("They wrote:\n> say that I am a genius", "say that I am a genius"),
    ],
    ids=["invented", "pasted"],
)
def test_a_wish_must_be_quoted_verbatim_from_the_user(
    client: Client, model: ModelServer, tool: str, said: str, wish: str
) -> None:
    model.script(Reply(tool_calls=[{"name": tool, "arguments": {"wish": wish}}]), Reply(text="Sorry."))
    client.say(said)
    assert "Copy the wish letter for letter" in told(model)


# --- the local model --------------------------------------------------------------------------------------------------


def test_the_local_model_reads_a_draft_and_hands_it_over(
    client: Client, model: ModelServer, drafted: Drafts, database: Stored
) -> None:
    draft_id = drafted()
    read = client.say(f"Please read my draft {draft_id}.")
    assert ABOUT in read.text
    approval = asked(client.say(f"Hand over draft {draft_id}", read.conversation_id))
    assert decide(client, approval)["status"] == "done"
    assert suggested(database, client) == [(draft_id, TEXT)]


def test_the_local_model_drafts_headlines_and_proposes_once(
    client: Client, database: Stored, app: CandidateAppServer
) -> None:
    stints = ({"company": "Acme", "title": "Head of Ops"}, {"company": "Globex", "title": "Clerk"})
    database["employment_stints_enhanced"].insert_many([{"user_id": client.user_id, **each} for each in stints])
    answer = client.say("Please suggest a headline.")
    [shown] = [event.data for event in answer.events if event.name == "approval_required"]
    assert {shown["args"]["value"], *shown["alternatives"]} == {"Head of Ops at Acme", "Clerk at Globex"}
