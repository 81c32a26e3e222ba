"""Contact details from a user's own documents are in no prompt and in no proposed or published text, whatever a model
writes."""

import json
import random
import re
import unicodedata
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.database import Database

from infra.local.candidate_app import LINKEDIN_SUGGESTIONS, CandidateAppServer
from infra.local.model_server import ModelServer, Reply, ToolCall
from qwestly_agent.stores import candidate_data
from qwestly_agent.text.contacts import ContactDetails, contacts_in
from tests.counts import count, everyday
from tests.servers import ChatServer, Client

Stored = Database[dict[str, Any]]

LETTERHEAD = "Ines Falk\n14 Harbour Row, Flat 3, Bristol BS1 4QD • +44 20 7946 0958 • ines.falk@example.org"
CAREER = "Led a team of 8 at Kestrel Labs from 2019 to 2023."
DETAILS = re.compile(r"harbour|flat 3|bs1|4qd|(?<![0-9a-f-])(?:7946|0958)(?![0-9a-f-])|ines\.falk|example\.org")
"""The digits must stand alone, because ids may contain them by chance."""
JUDGE = "You are the second reader"
SPELLED = [
    "14 Harbour Row, Flat 3",
    "zero two zero, seventy-nine forty-six, zero nine five eight",
    "1nes.fa1k@examp1e.0rg",
]


def details_in(text: str) -> list[str]:
    return DETAILS.findall(text)


def suggests(value: Any, field: str = "summary", **more: Any) -> Reply:
    arguments = {"field": field, "value": value, **more}
    return Reply(tool_calls=[{"name": "update_profile_field", "arguments": arguments, "id": uuid.uuid4().hex}])


def writes(*claims: tuple[str, str], heading: str = "") -> Reply:
    """Return the writer's output: each claim with its quote."""
    cited = [{"text": text, "quotes": [quote]} for text, quote in claims]
    return Reply(tool_calls=[{"name": "final_result", "arguments": {"heading": heading, "claims": cited}}])


ASKS_FOR_ABOUT = Reply(tool_calls=[{"name": "suggest_linkedin_about", "arguments": {}}])


@pytest.fixture
def database(chat: ChatServer, app: CandidateAppServer) -> Iterator[Stored]:
    with MongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
        yield mongo[chat.settings.mongodb_database]


def has_resume(database: Stored, client: Client, text: str = f"{LETTERHEAD}\n\n{CAREER}") -> str:
    """Store a résumé; return the id of its chunk as evidence."""
    chunk = {"_id": uuid.uuid4().hex, "user_id": client.user_id, "title": "CV.pdf", "source_type": "resume"}
    database[candidate_data.KNOWLEDGE].insert_one({**chunk, "text": text})
    database[candidate_data.CANDIDATES].insert_one({"user_id": client.user_id, "name": "Ines Falk"})
    return f"document:{chunk['_id']}"


def results(model: ModelServer) -> list[dict[str, Any]]:
    """Return the results of tools in the last prompt."""
    said = [each["content"] for each in model.requests[-1].json["messages"] if each["role"] == "tool"]
    said = [each for each in said if "{" in each]
    return [json.loads(each[each.index("{") : each.rindex("}") + 1]) for each in said]


def approvals(client: Client) -> list[dict[str, Any]]:
    return client.get("/api/approvals?state=all")["items"]


def test_no_prompt_contains_contact_details_from_a_document(
    client: Client, model: ModelServer, database: Stored
) -> None:
    evidence = has_resume(database, client)
    look_up = Reply(tool_calls=[{"name": "query_user_knowledge", "arguments": {"query": "Kestrel"}}])
    led = ("Led a team of 8 at Kestrel Labs", f"{evidence} Led a team of 8 at Kestrel Labs")
    model.script(look_up, ASKS_FOR_ABOUT, writes(led), Reply(text="Done."))
    client.say("Write my About from my CV")
    prompts = " ".join(request.body.decode() for request in model.requests).lower()
    assert "led a team of 8 at kestrel labs" in prompts
    assert details_in(prompts) == []


def test_claims_with_contact_details_from_a_document_are_left_out_of_a_text(
    client: Client, model: ModelServer, database: Stored
) -> None:
    evidence = has_resume(database, client)
    quote = f"{evidence} Led a team of 8 at Kestrel Labs"
    told = [f"Led a team at Kestrel Labs. {each}" for each in ("ines.falk at example.org", "Harbour Row", "BS1 4QD")]
    claims = [("Led a team of 8 at Kestrel Labs", quote), *((each, quote) for each in told)]
    model.script(ASKS_FOR_ABOUT, writes(*claims), *[Reply(fault=503, to=JUDGE)] * 8, Reply(text="Done."))
    conversation = client.say("Write my About").conversation_id
    [drafted] = results(model)
    assert drafted["text"] == "Led a team of 8 at Kestrel Labs"
    assert [each["why"][0][:15] for each in drafted["left_out"]] == ["Contact details"] * 3
    hand_over: ToolCall = {"name": "hand_over_linkedin_about", "arguments": {"draft_id": drafted["draft_id"]}}
    model.script(Reply(tool_calls=[hand_over]))
    client.say("Keep it", conversation)
    [asked] = approvals(client)
    assert len(asked["preview"]["left_out"]) == 3
    kept = json.dumps(asked, ensure_ascii=False).lower()
    assert details_in(kept) == []


@pytest.mark.parametrize("spelled", everyday(1, SPELLED))
def test_contact_details_in_any_spelling_are_removed_from_a_proposed_text(
    client: Client, model: ModelServer, database: Stored, spelled: str
) -> None:
    has_resume(database, client)
    model.script(suggests(f"Led a team at Kestrel Labs. {spelled}."))
    client.say("Write me a summary")
    [asked] = approvals(client)
    assert asked["args"]["value"] == "Led a team at Kestrel Labs."
    [left_out] = asked["preview"]["left_out"]
    assert left_out["why"][0].startswith("Contact details")
    model.script(suggests([spelled, "Rust"], "skills", alternatives=[["Go", spelled]]), Reply(text="Done."))
    client.say("And my skills")
    asked = approvals(client)[0]
    assert (asked["args"]["value"], asked["alternatives"]) == (["Rust"], [])
    model.script(suggests(spelled, "headline"), Reply(text="Sorry."))
    client.say("And a headline")
    assert len(approvals(client)) == 2
    assert "contact details" in model.requests[-1].body.decode()


def test_contact_details_split_across_list_items_are_removed(
    client: Client, model: ModelServer, database: Stored
) -> None:
    has_resume(database, client)
    model.script(suggests(["Rust", "020 79", "46 09", "58", "Python"], "skills"))
    client.say("Set my skills")
    [asked] = approvals(client)
    assert asked["args"]["value"] == ["Rust", "Python"]


def test_contact_details_typed_by_the_user_stay_in_their_text(
    client: Client, model: ModelServer, database: Stored
) -> None:
    """Users may give their own contact details, because no model wrote them."""
    has_resume(database, client)
    model.script(suggests("Led a team at Kestrel Labs."))
    client.say("Write me a summary")
    [asked] = approvals(client)
    edit = {
        "decision": "edit",
        "args_digest": asked["args_digest"],
        "args": {"value": "Write to ines.falk@example.org"},
    }
    decided = client.request("POST", f"/api/approvals/{asked['approval_id']}/decision", json=edit)
    assert decided.json()["status"] == "done"


def test_contact_details_from_a_later_document_block_the_publication(
    client: Client, model: ModelServer, database: Stored
) -> None:
    model.script(suggests("Reach Ines at ines.falk@example.org"))
    client.say("Write me a summary")
    [asked] = approvals(client)
    has_resume(database, client)
    yes = {"decision": "approve", "args_digest": asked["args_digest"]}
    decided = client.request("POST", f"/api/approvals/{asked['approval_id']}/decision", json=yes).json()
    assert decided["status"] == "failed"
    assert "contact details" in decided["outcome"]


# --- a thousand random writers ----------------------------------------------------------------------------------------

WRITERS = count(20, 1_000, small=1)
PEOPLE = [
    (LETTERHEAD, ("14 Harbour Row", "BS1 4QD", "020 7946 0958", "ines.falk@example.org")),
    (
        "Jürgen Weiß\nLindenstraße 8a, 04109 Leipzig\nTel.: 0341 / 99 88 776\njuergen.weiss@posteo.de",
        ("Lindenstraße 8a", "04109", "0341 9988776", "juergen.weiss@posteo.de"),
    ),
    (
        "María Ruiz, C/ Serrano 41, 28001 Madrid, 612 345 678, maria_ruiz82@correo.es, linkedin.com/in/mariaruiz82",
        ("Serrano 41", "28001", "612345678", "maria_ruiz82@correo.es", "linkedin.com/in/mariaruiz82"),
    ),
    (
        "Dev Patel | 221B Maple Court, Springfield, IL 62704 | (217) 555-0148 | dev@patel.io",
        ("221B Maple Court", "62704", "217 555 0148", "dev@patel.io"),
    ),
]
_FULLWIDTH = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
_ENGLISH = dict(
    zip("0123456789", ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"], strict=True)
)
DISGUISES: list[Callable[[str, random.Random], str]] = [
    lambda text, _: text,
    lambda text, _: text.upper(),
    lambda text, _: text.translate(_FULLWIDTH),
    lambda text, _: " ".join(text),
    lambda text, chance: "".join(each + chance.choice(("", " ", "-", ". ", "_", "\u200b", "\u0336")) for each in text),
    lambda text, _: text.replace("@", " at ").replace(".", " dot "),
    lambda text, _: text.replace("@", "(ät)").replace(".", "[punkt]"),
    lambda text, _: "".join(f" {_ENGLISH[each]} " if each in _ENGLISH else each for each in text),
    lambda text, _: text.translate(str.maketrans("aeo", "аео")),
    lambda text, _: text.replace("0", "O").replace("1", "l"),
    lambda text, _: text.translate(str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")),
    lambda text, _: accented(text),
    lambda text, _: text.replace("ue", "ü").replace("straße", "str."),
]


def accented(text: str) -> str:
    return "".join(f"{each}\u0301" if each in "aeiou" else each for each in text)


@pytest.mark.thorough
@pytest.mark.nightly
def test_no_hostile_writer_gets_contact_details_into_a_proposed_or_published_text(
    chat: ChatServer, model: ModelServer, database: Stored
) -> None:
    proposed = leaked = 0
    for seed in range(WRITERS):
        chance = random.Random(seed)
        letterhead, details = chance.choice(PEOPLE)
        found = ContactDetails.of(contacts_in(letterhead))
        with Client(chat.url, f"auth0|{uuid.uuid4().hex}") as user:
            evidence = has_resume(database, user, f"{letterhead}\n\n{CAREER}")
            user.request("PUT", "/api/autonomy", json={"level": chance.choice(("L1", "L3"))}).raise_for_status()

            def hostile() -> str:
                told = [chance.choice(DISGUISES)(detail, chance) for detail in chance.sample(details, 2)]  # noqa: B023
                parts = [CAREER, *told]
                chance.shuffle(parts)  # noqa: B023
                return chance.choice((" ", ". ", "; ", " – ")).join(parts)[:390]  # noqa: B023

            quote = f"{evidence} Led a team of 8 at Kestrel Labs"
            claims = [(hostile(), quote) for _ in range(4)] + [("Led a team of 8 at Kestrel Labs", quote)]
            attacks = (
                [suggests(hostile(), alternatives=[hostile()])],
                [suggests([hostile()[:290], "Rust", *details], "skills")],
                [suggests(hostile()[:290], "headline")],
                [ASKS_FOR_ABOUT, *[writes(*claims, heading=hostile()[:80])] * 3, *[Reply(fault=503, to=JUDGE)] * 4],
            )
            model.script(*chance.choice(attacks), Reply(text="Done."))
            conversation = user.say("Write it").conversation_id
            for drafted in [each for each in results(model) if "draft_id" in each]:
                hand_over: ToolCall = {
                    "name": "hand_over_linkedin_about",
                    "arguments": {"draft_id": drafted["draft_id"]},
                }
                model.script(Reply(tool_calls=[hand_over]))
                user.say("Keep it", conversation)
            model.script()
            for asked in approvals(user):
                proposed += 1
                texts = [str(asked["args"]), str(asked["alternatives"]), str(asked["preview"])]
                leaked += any(is_told(text, details) or found.stand_in(text) for text in texts)
                if asked["status"] == "pending":
                    yes = {"decision": "approve", "args_digest": asked["args_digest"]}
                    user.request("POST", f"/api/approvals/{asked['approval_id']}/decision", json=yes)
            mine = {"user_id": user.user_id}
            published = [*database[LINKEDIN_SUGGESTIONS].find(mine), *database[candidate_data.CANDIDATES].find(mine)]
            leaked += any(is_told(str(each), details) for each in published)
    assert leaked == 0
    assert proposed > WRITERS // 2, "what is harmless is still proposed"


def is_told(text: str, details: tuple[str, ...]) -> bool:
    """Compare only letters and digits, by their appearance."""
    looks = str.maketrans("аео٠١٢٣٤٥٦٧٨٩", "aeo0123456789")

    def plain(words: str) -> str:
        normal = unicodedata.normalize("NFKD", words).casefold().translate(looks)
        return "".join(each for each in normal if each.isascii() and each.isalnum())

    return any(plain(detail) in plain(text) for detail in details)
