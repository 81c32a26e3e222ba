"""The pages behind a mail's link, served by the pages function."""

import json
import logging
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from infra.local.aws import AwsServer
from qwestly_agent.approvals.ask import Proposal
from qwestly_agent.approvals.autonomy import RAISE_AUTONOMY
from qwestly_agent.approvals.decide import Decision, decide_and_follow_up
from qwestly_agent.approvals.links import hash_of
from qwestly_agent.approvals.seal import new_link_token
from qwestly_agent.base.errors import Invalid
from qwestly_agent.domain.approval import LONGEST_REASON_CHARACTERS, ShownClaim
from qwestly_agent.services import Services
from tests.counts import count
from tests.functions.approving import CARD, DAY, DELETION, HEADLINE, ONE, TWO, Shown, World, a_world
from tests.servers import USER, mongo_server

AUTONOMY = Proposal(
    RAISE_AUTONOMY,
    {"tool": "update_profile_field", "level": "L2", "since": 1.0, "schema_digest": ""},
)
SEALED_BY = "a-task-token-of-the-tests"


@pytest.fixture
def token(world: World) -> str:
    """The link token of a proposal to change the user's headline."""
    world.ask()
    return world.link()


def heading(shown: Shown) -> str:
    found = re.search(r'<h2 id="outcome">(.*?)</h2>', shown.text)
    return found[1] if found else ""


@pytest.mark.thorough
def test_a_link_shows_the_proposed_change_and_its_deadline(world: World, token: str) -> None:
    shown = world.get(token)
    assert shown.status == 200
    for said in (
        "Change your headline",
        "<dd>Product <del>Manager</del></dd>",
        "<dd><ins>Head of</ins> Product</dd>",
        "You said on Monday that you lead the product group now.",
        "Asked on Friday, January 15, 2027 at 8:00 AM UTC.",
        "If you don’t decide within 2 days (by Sunday, January 17, 2027 at 8:00 AM UTC), nothing is done.",
    ):
        assert said in shown.text


def test_a_mail_and_its_page_show_times_in_the_users_time_zone(world: World) -> None:
    world.database["agent_settings"].insert_one({"_id": USER, "user_id": USER, "time_zone": "America/Sao_Paulo"})
    world.ask()
    shown = world.get(world.link())
    for text in (shown.text, world.aws.outbox[-1].text):
        assert "Sunday, January 17, 2027 at 5:00 AM Sao Paulo time" in text
        assert "UTC" not in text


def test_a_card_is_shown_with_its_evidence_and_the_claims_left_out(world: World) -> None:
    world.ask(proposal=CARD)
    shown = world.get(world.link()).text
    assert '<summary aria-label="Evidence 1: compare the underlined words">1?</summary>' in shown
    assert "<q>I <mark>led a team of five</mark> at Acme.</q> <cite>résumé.pdf</cite>" in shown
    for said in (
        "a team of <u>five</u> at",
        "We didn’t find the underlined words",
        "your own words",
        "No cited source says 2019.",
    ):
        assert said in shown


def test_none_of_the_three_decisions_is_preselected(world: World, token: str) -> None:
    shown = world.get(token).text
    assert re.findall(r'<input type="radio" name="decision" value="(\w+)">', shown) == ["approve", "revise", "reject"]
    assert " checked" not in shown
    assert "<script" not in shown


def test_an_approval_on_the_page_is_executed_at_once(world: World, token: str) -> None:
    shown = world.decide(token)
    assert (shown.status, heading(shown)) == (200, "You approved this")
    assert "Your profile is changed." in shown.text
    assert "See what has become of it" not in shown.text
    assert world.database["candidates_enhanced"].find_one({"user_id": USER})["headline"] == "Head of Product"  # type: ignore[index]
    approval = world.approval()
    assert (approval.status, approval.decided_by) == ("done", "link")
    assert approval.audit[2].endswith(f"approve by link link {hash_of(token)[:8]} from 203.0.113.7")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("decision", "status", "said"),
    [("reject", "rejected", "You declined"), ("revise", "revised", "You asked for changes")],
)
def test_any_other_decision_changes_nothing_and_stores_the_reason(
    world: World, token: str, decision: str, status: str, said: str
) -> None:
    shown = world.decide(token, decision, "Not <b>yet</b>\r\nplease")
    assert (shown.status, heading(shown)) == (200, said)
    assert "Not &lt;b&gt;yet&lt;/b&gt;\nplease" in shown.text
    approval = world.approval()
    assert (approval.status, approval.reason) == (status, "Not <b>yet</b>\nplease")
    assert world.database["candidates_enhanced"].find_one({"user_id": USER})["headline"] == "Product Manager"  # type: ignore[index]


INCOMPLETE: list[tuple[Any, str, str]] = [
    (None, "words alone", "Please choose one of the three answers."),
    ("", "", "Please choose one of the three answers."),
    ("edit", "", "Please choose one of the three answers."),
    ("expire", "", "Please choose one of the three answers."),
    ("revise", "", "Please say in a few words what should be different."),
    ("revise", " \u200b\u202e\r\n", "Please say in a few words what should be different."),
    ("reject", "x" * (LONGEST_REASON_CHARACTERS + 1), "Please say it in at most 2000 characters."),
]


@pytest.mark.thorough
def test_an_incomplete_form_is_shown_again_and_decides_nothing(world: World, token: str) -> None:
    before = world.dump()
    for decision, reason, said in INCOMPLETE:
        shown = world.decide(token, decision, reason)
        assert shown.status == 422
        assert f"{said} Nothing was decided." in shown.text
        assert " checked" not in shown.text
        assert reason.strip("\u200b\u202e\r\n ")[:100] in shown.text, "the words are not lost"
        assert world.dump() == before


def test_invisible_characters_are_removed_from_a_reason(world: World, token: str) -> None:
    world.decide(
        token,
        "reject",
        "\x00no\u202e \ud83e\udd14 \U000e0041\u2028thanks".encode("utf-16", "surrogatepass").decode("utf-16"),
    )
    assert world.approval().reason == "no 🤔 \nthanks"


def test_a_form_in_invalid_utf8_is_accepted(world: World, token: str) -> None:
    digest = world.sha256_hex(token)
    body = f"decision=reject&args_digest={digest}&reason=".encode() + b"%ff%fe no"
    assert heading(world.ask_page("POST", f"/approve/{token}", body)) == "You declined"


def test_the_first_decision_counts_and_a_later_one_gets_its_outcome(world: World, token: str) -> None:
    digest = world.sha256_hex(token)
    world.decide(token, "reject")
    before = world.dump()
    again = world.decide(token, "reject", args_digest=digest)
    assert (heading(again), "You already decided" in again.text) == ("You declined", False)
    late = world.decide(token, "approve", args_digest=digest)
    assert (late.status, heading(late)) == (200, "You declined")
    assert "You already decided this, so nothing changed." in late.text
    assert world.dump() == before


def test_the_links_of_a_mail_and_its_reminder_lead_to_the_same_approval(world: World, token: str) -> None:
    world.clock.advance(DAY)
    reminder = world.link()
    assert reminder != token
    assert heading(world.decide(token)) == heading(world.get(reminder)) == "You approved this"


def test_an_expired_link_decides_nothing(world: World, token: str) -> None:
    digest = world.sha256_hex(token)
    world.clock.advance(2 * DAY)
    before = world.dump()
    assert heading(world.get(token)) == "This wasn’t decided in time"
    assert world.dump() == before, "looking expires nothing"
    late = world.decide(token, args_digest=digest)
    assert heading(late) == "This wasn’t decided in time"
    assert 'name="decision"' not in late.text
    world.sweep()
    assert world.approval().status == "expired"
    assert heading(world.decide(token, args_digest=digest)) == "This wasn’t decided in time"
    assert world.database["candidates_enhanced"].find_one({"user_id": USER})["headline"] == "Product Manager"  # type: ignore[index]


def test_the_page_of_a_published_card_links_to_its_public_view(world: World) -> None:
    approval = world.ask(proposal=CARD)
    token = world.link()
    assert "See it as others do" not in world.get(token).text
    url = "https://app.test/cards/1"
    done = world.approval().model_copy(update={"status": "done", "decided_by": "link", "result": {"url": url}})
    world.run(lambda services: services.approvals.change(approval, lambda _: done))
    assert f'<a class="action" href="{url}" rel="noreferrer">See it as others do</a>' in world.get(token).text


def test_a_revised_proposal_marks_the_words_that_changed(world: World) -> None:
    world.ask(proposal=CARD)
    world.link(ONE)
    assert CARD.preview
    [section] = CARD.preview.sections
    other = section.model_copy(update={"claims": (ShownClaim(text="Led a team of five at Acme, remotely."),)})
    again = replace(CARD, preview=CARD.preview.model_copy(update={"sections": (other,)}))
    world.ask(TWO, proposal=again, revises=ONE)
    shown = world.get(world.link(TWO)).text
    assert "<dd>Led a team of five at <del>Acme.</del></dd>" in shown
    assert "<dd>Led a team of five at <ins>Acme, remotely.</ins></dd>" in shown
    mail = world.aws.outbox[-1]
    assert 'Before: Led a team of five at <del style="text-decoration:line-through">Acme.</del></p>' in mail.html
    assert 'Now: Led a team of five at <ins style="text-decoration:underline">Acme, remotely.</ins></p>' in mail.html
    assert "* before: Led a team of five at Acme.\n  now:    Led a team of five at Acme, remotely.\n" in mail.text
    for told in (shown, mail.html, mail.text):
        assert "New: “Led a team" not in told


def test_a_decision_made_in_the_chat_is_shown(world: World, token: str) -> None:
    decision = Decision(decision="reject", args_digest=world.sha256_hex(token), reason="Later.")
    world.run(lambda services: decide_and_follow_up(services, USER, ONE, decision, by="chat", where="test"))
    assert heading(world.get(token)) == "You declined"


TAMPERED: list[Callable[[str], str]] = [
    lambda token: ("B" if token[0] == "A" else "A") + token[1:],
    lambda token: token[:-1],
    lambda token: token + "A",
    lambda token: token.swapcase(),
    lambda token: hash_of(token),
    lambda token: token + "/",
    lambda token: "%00" + token[3:],
    lambda token: '{"$gt":""}',
    lambda token: "../" + token,
    lambda token: "",
]


@pytest.mark.thorough
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_invalid_link_says_so_and_changes_nothing(world: World, token: str, method: str) -> None:
    digest, before = world.sha256_hex(token), world.dump()
    fields = {"decision": "approve", "args_digest": digest}
    for tampered in TAMPERED:
        path = tampered(token)
        shown = world.get(path) if method == "GET" else world.post(path, fields)
        assert shown.status == 404, path
        assert "This link has expired or isn’t valid" in shown.text
        assert "location" not in shown.headers
        assert world.dump() == before


def test_a_link_decides_only_its_own_approval(world: World, token: str) -> None:
    world.ask(TWO, CARD)
    other = world.link(TWO)
    before = world.dump()
    shown = world.decide(token, args_digest=world.sha256_hex(other))
    assert shown.status == 409
    assert "This is not what you were shown." in shown.text
    assert "Change your headline" in shown.text
    assert world.dump() == before


def test_while_the_brake_is_on_nothing_is_decided(world: World, token: str) -> None:
    world.pull_brake()
    before = world.dump()
    shown = world.decide(token, "revise", "Shorter, please")
    assert shown.status == 423
    assert "Everything is paused." in shown.text
    assert "once you resume" in shown.text
    assert "once you resume" in world.get(token).text
    assert "<button disabled>" in shown.text
    assert "Shorter, please" in shown.text, "the words are there once it goes on"
    assert world.dump() == before
    world.release_brake()
    assert heading(world.decide(token)) == "You approved this"


async def made_for(services: Services, approval_id: str) -> str:
    return new_link_token(services, approval_id)


def test_an_irreversible_change_needs_a_sign_in(world: World) -> None:
    card = {"user_id": USER, "card_id": "card_1", "style": "standard", "headline": "PM", "sections": [], "version": 1}
    world.database["qc_sections"].insert_one({"_id": "card_1", **card})
    approval = world.ask(proposal=DELETION)
    token = world.run(lambda services: made_for(services, approval.id))  # no link is mailed
    linked = approval.model_copy(update={"links": (hash_of(token),)})
    world.run(lambda services: services.approvals.change(approval, lambda _: linked))
    shown = world.get(token)
    assert "Sign in to Qwestly" in shown.text
    assert "<form" not in shown.text
    before = world.dump()
    refused = world.post(token, {"decision": "approve", "args_digest": approval.args_digest})
    assert refused.status == 403
    assert world.dump() == before


@pytest.mark.parametrize("proposal", [DELETION, AUTONOMY], ids=lambda proposal: proposal.action.tool)
def test_an_approval_that_needs_a_sign_in_is_never_decided_by_link(world: World, proposal: Proposal) -> None:
    card = {"user_id": USER, "card_id": "card_1", "style": "standard", "headline": "PM", "sections": [], "version": 1}
    world.database["qc_sections"].insert_one({"_id": "card_1", **card})
    approval = world.ask(proposal=proposal)
    decision = Decision(decision="approve", args_digest=approval.args_digest)
    with pytest.raises(Invalid, match="not decided by a link"):
        world.run(lambda services: decide_and_follow_up(services, USER, approval.id, decision, by="link", where=""))
    assert world.run(lambda services: services.approvals.get(USER, approval.id)).status == "pending"


NO_FORMS = [
    (b"decision=approve&reason=" + b"x" * 17_000, "application/x-www-form-urlencoded", 413),
    (b'{"decision":"approve"}', "application/json", 415),
    (b"decision=approve", "text/plain", 415),
    (b"--x\r\n", "multipart/form-data; boundary=x", 415),
    (b"a=1&" * 2000, "application/x-www-form-urlencoded", 415),
]


def test_a_body_other_than_the_form_decides_nothing(world: World, token: str) -> None:
    before = world.dump()
    for body, kind, status in NO_FORMS:
        shown = world.ask_page("POST", f"/approve/{token}", body, kind=kind)
        assert (shown.status, shown.headers["content-type"]) == (status, "text/html; charset=utf-8")
        assert "Nothing was decided." in shown.text
        assert world.dump() == before


def test_an_oversized_body_is_rejected_for_every_method(world: World, token: str) -> None:
    for method in ("GET", "HEAD", "POST", "OPTIONS", "PUT"):
        shown = world.get(token, method, body=b"x" * 17_000)
        assert (shown.status, shown.headers["cache-control"]) == (413, "no-store"), method


def test_other_methods_change_nothing(world: World, token: str) -> None:
    before = world.dump()
    for method in ("PUT", "DELETE", "PATCH", "TRACE", "PROPFIND"):
        shown = world.get(token, method)
        assert (shown.status, shown.headers["allow"]) == (405, "GET, HEAD, POST, OPTIONS"), method
    assert world.dump() == before


@pytest.mark.thorough
def test_viewing_a_page_changes_no_document(world: World, token: str) -> None:
    before = world.dump()
    assert before["agent_approvals"]
    for number in range(count(150, 1_000)):
        shown = world.get(token, ("GET", "HEAD", "OPTIONS")[number % 3])
        assert shown.status in (200, 204)
    assert world.dump() == before


def test_a_head_request_returns_only_the_headers(world: World, token: str) -> None:
    assert world.get(token, "HEAD").text == ""


SECURITY = {
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-robots-tag": "noindex, nofollow",
}


@pytest.mark.thorough
def test_every_response_forbids_caching_framing_and_referrers(world: World, token: str) -> None:
    answers = [
        world.get(token),
        world.get(token, "HEAD"),
        world.get(token, "OPTIONS"),
        world.get("x"),
        world.get(token, "PUT"),
        world.ask_page("GET", "/"),
        world.decide(token, None),  # type: ignore[arg-type]
        world.ask_page("POST", f"/approve/{token}", b"{}", kind="application/json"),
        world.decide(token),
    ]
    for answer in answers:
        assert answer.headers.items() >= SECURITY.items()
        policy = answer.headers["content-security-policy"]
        assert re.fullmatch(
            "default-src 'none'; style-src 'sha256-[^']+'; img-src 'none'; form-action 'self'; "
            "frame-ancestors 'none'; base-uri 'none'",
            policy,
        )
        assert "max-age=" in answer.headers["strict-transport-security"]


def ask_with_task_token(world: World) -> None:
    sealed = world.run(lambda services: services.workflows.seal(SEALED_BY, ONE))
    world.wire.waiting.add(SEALED_BY)
    world.ask(proposal=CARD, task_token=sealed)


@pytest.mark.thorough
def test_twenty_concurrent_decisions_count_once_and_get_the_same_outcome(world: World) -> None:
    """Twenty is the concurrency that prod reserves for the pages."""
    ask_with_task_token(world)
    token = world.link()
    digest = world.sha256_hex(token)
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: world.decide_by_lambda(token, "approve", digest), range(count(100, 500))))
    assert {(shown.status, heading(shown)) for shown in answers} == {(200, "You approved this")}
    assert len({shown.text for shown in answers}) == 1
    assert world.wire.calls["send_task_success"] == 1
    assert world.approval().told_execution


@pytest.mark.thorough
def test_two_conflicting_concurrent_decisions_both_show_the_first(world: World) -> None:
    ask_with_task_token(world)
    token = world.link()
    digest = world.sha256_hex(token)
    verbs = ["approve", "reject"] * 50
    with ThreadPoolExecutor(100) as pool:
        answers = list(pool.map(lambda verb: world.decide_by_lambda(token, verb, digest), verbs))
    assert len({heading(shown) for shown in answers}) == 1
    assert world.wire.calls["send_task_success"] == 1


def test_neither_token_is_in_any_response_record_or_log(
    world: World, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    logging.getLogger("pymongo").setLevel(logging.INFO)
    ask_with_task_token(world)
    token = world.link()
    digest = world.sha256_hex(token)
    world.wire.failing["send_task_success"] = ClientError({"Error": {"Code": "Throttling"}}, "SendTaskSuccess")
    answers = [
        world.get(token),
        world.get(token, "PUT"),
        world.get(token + "/"),
        world.decide(token, ""),
        world.decide(token, "approve", args_digest="0" * 64),
        world.decide(token, "approve", args_digest=digest),
        world.decide(token, "approve", args_digest=digest),
    ]
    assert world.approval().status == "approved"
    said = capfd.readouterr()
    everything = [
        *(f"{answer.headers} {answer.text}" for answer in answers),
        json.dumps(world.dump(), default=str),
        caplog.text,
        said.out,
        said.err,
    ]
    for each in everything:
        assert token not in each
        assert SEALED_BY not in each


def test_if_its_execution_cannot_be_notified_a_decision_is_kept_for_the_sweep(world: World) -> None:
    ask_with_task_token(world)
    token = world.link()
    world.wire.failing["send_task_success"] = ClientError({"Error": {"Code": "Throttling"}}, "SendTaskSuccess")
    shown = world.decide(token)
    assert heading(shown) == "You approved this"
    assert "It is not done yet" in shown.text
    assert "See what has become of it" in shown.text
    assert not world.approval().told_execution
    world.wire.failing.clear()
    world.clock.advance(60)
    assert world.sweep()["told"] == 1
    assert world.approval().told_execution


def test_too_many_requests_for_a_page_are_rate_limited(
    world: World, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qwestly_agent.approvals.links.MOST_A_MINUTE", 5)
    before = world.dump()
    assert [world.get(token).status for _ in range(7)] == [200] * 5 + [429] * 2
    refused = world.post(token, {"decision": "approve", "args_digest": world.approval().args_digest})
    assert (refused.status, refused.headers["retry-after"]) == (429, "60")
    assert world.dump() == before
    world.clock.advance(60)
    assert world.get(token).status == 200


@pytest.mark.thorough
def test_guessing_links_is_rate_limited_without_affecting_others(world: World, token: str) -> None:
    statuses = [world.get(f"{number:043}", source="198.51.100.1").status for number in range(60)]
    assert statuses == sorted(statuses)
    assert set(statuses) == {404, 429}
    assert world.get(token, source="203.0.113.7").status == 200


@pytest.mark.nightly
@pytest.mark.thorough
def test_without_the_database_nothing_is_decided_or_shown(
    aws: AwsServer, mongodb_uri: str, database_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qwestly_agent.bootstrap.DATABASE_ANSWERS_WITHIN_SECONDS", 1)
    with mongo_server() as (uri, process), a_world(aws, uri, database_name, mongodb_uri) as world:
        world.ask()
        token = world.link()
        digest = world.sha256_hex(token)
        process.kill()
        process.wait()
        shown = world.decide(token, args_digest=digest)
        assert shown.status == 503
        assert "We can’t reach your data right now." in shown.text
        assert "<form" not in shown.text


def test_an_unexpected_error_is_shown_without_its_details(
    world: World, token: str, capfd: pytest.CaptureFixture[str]
) -> None:
    world.database["agent_approvals"].update_one({"_id": ONE}, {"$set": {"preview": '{"title": 7, "secret": 1}'}})
    shown = world.get(token)
    assert shown.status == 500
    assert "Something went wrong on our side." in shown.text
    assert "secret" not in shown.text + capfd.readouterr().out


def test_hostile_text_is_escaped(world: World) -> None:
    hostile = '"><script>alert(1)</script>\u202e{{ 7 * 7 }}'
    world.ask(proposal=replace(HEADLINE, args={"field": "headline", "value": hostile}, rationale=hostile))
    shown = world.get(world.link()).text
    assert "<script" not in shown
    assert "\u202e" not in shown
    assert "{{ 7 * 7 }}" in shown
    mail = world.aws.outbox[-1]
    assert "<script" not in mail.html
    assert "{{ 7 * 7 }}" in mail.text, "which is plain text"
