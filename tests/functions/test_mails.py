"""Every kind of mail, parsed by another library than the one that writes it, and its links."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, get_args
from urllib.parse import urlsplit

import pytest
from fast_mail_parser import parse_email

from qwestly_agent.approvals.ask import Proposal
from qwestly_agent.briefings.model import BriefingState
from qwestly_agent.briefings.view import Place
from qwestly_agent.briefings.writer import deliver, gather
from qwestly_agent.memory.actions import KEEP_MEMORIES
from tests.functions.approving import (
    ADDRESS,
    APPROVE_URL,
    CARD,
    DAY,
    DELETION,
    HEADLINE,
    ONE,
    SENDER,
    TWO,
    USER,
    World,
)
from tests.functions.test_home import History

APP = "https://app.test/agent"
SECRET = "was promoted, which nobody knows yet"


@pytest.fixture
def app(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """An app that the mails link to."""

    async def given(services: Any) -> None:
        object.__setattr__(services, "settings", replace(services.settings, app_url=APP))

    world.run(given)
    return world


def read(world: World) -> Any:
    """Return the newest mail, parsed by another library."""
    raw = world.wire.mails[-1]["Content"]["Raw"]["Data"]
    mail = parse_email(raw)
    assert mail.warnings == []
    assert mail.headers["From"] == [SENDER]
    assert mail.headers["To"] == [ADDRESS]
    assert (len(mail.text_plain), len(mail.text_html), mail.attachments) == (1, 1, [])
    # As in RFC 8058: one address, and one value to post to it.
    [unsubscribe] = mail.headers["List-Unsubscribe"]
    assert mail.headers["List-Unsubscribe-Post"] == ["List-Unsubscribe=One-Click"]
    assert re.fullmatch(rf"<{re.escape(APPROVE_URL)}/unsubscribe/[\w-]{{43}}>", unsubscribe)
    assert unsubscribe[1:-1] in mail.text_plain[0]
    assert unsubscribe[1:-1] in mail.text_html[0]
    assert world.ask_page("GET", urlsplit(unsubscribe[1:-1]).path).status == 200
    return mail


def links(mail: Any) -> set[str]:
    """Return all links but the unsubscribe link; they are the same in both forms."""
    of_text = {each for each in re.findall(r"https://\S+", mail.text_plain[0]) if "/unsubscribe/" not in each}
    of_html = {each for each in re.findall(r'href="(.+?)"', mail.text_html[0]) if "/unsubscribe/" not in each}
    assert of_text == of_html
    return of_text


@pytest.mark.parametrize(("proposal", "answers"), [(HEADLINE, 3), (CARD, 3)])
@pytest.mark.parametrize("is_reminder", [False, True])
def test_an_approval_by_mail_can_be_decided_on_its_page_as_described(
    app: World, proposal: Proposal, answers: int, is_reminder: bool
) -> None:
    app.ask(proposal=proposal)
    app.sweep()
    if is_reminder:
        app.clock.advance(4 * DAY if proposal is CARD else DAY)
        app.sweep()
    mail = read(app)
    assert mail.subject.startswith("Reminder: ") is is_reminder
    assert mail.subject.endswith("?")
    link, place = sorted(links(mail), key=lambda each: each.startswith(APP))
    assert place == f"{APP}#approvals/{ONE}"
    token = link.removeprefix(f"{APPROVE_URL}/")
    page = app.get(token)
    assert page.status == 200
    offered = re.findall(r'name="decision" value="(\w+)"', page.text)
    assert len(offered) == answers
    assert ("ask for changes" in mail.text_plain[0]) is ("revise" in offered)
    app.decide(token, "reject")
    assert (app.approval().status, app.approval().decided_by) == ("rejected", "link")


def test_a_mail_about_an_approval_that_needs_a_sign_in_links_to_the_app(app: World) -> None:
    card = {"user_id": USER, "card_id": "card_1", "style": "standard", "headline": "PM", "sections": [], "version": 1}
    app.database["qc_sections"].insert_one({"_id": "card_1", **card})
    app.ask(TWO, DELETION)
    app.sweep()
    mail = read(app)
    assert links(mail) == {f"{APP}#approvals/{TWO}"}
    assert "sign in" in mail.text_plain[0].lower()


def test_a_mail_about_a_memory_does_not_contain_it(app: World) -> None:
    [memory_id] = app.proposed(SECRET)
    app.request_memories([memory_id])
    app.sweep()
    mail = read(app)
    assert mail.subject == "Remember something sensitive?"
    assert SECRET not in mail.text_plain[0] + mail.text_html[0]
    assert app.approval(mail_approval(app)).kind == KEEP_MEMORIES.kind


def mail_approval(world: World) -> str:
    found = world.database["agent_approvals"].find_one({"user_id": USER})
    assert found
    return str(found["_id"])


@pytest.mark.parametrize("is_first", [True, False])
def test_a_briefing_mail_links_each_line_to_its_place_in_the_app(app: World, is_first: bool) -> None:
    history, now = History(app), app.clock()
    asked = history.asked("Change your location", "Köln")
    history.asked("Remember something you said", SECRET, kind="memory", tool="keep_memories")
    application = history.applied("Pâtissier", days=9, next_step="Call “Zoë”", next_at=now - DAY)
    history.found("Payments Engineer")
    history.found("Data Engineer")
    lesson = history.learns("Active listening", (-1.0,))
    history.drafted("failed")
    history.remembers(SECRET)

    async def brief(services: Any) -> None:
        await services.briefing_plans.change(USER, {"on": True}, app.clock())
        for number in range(1 if is_first else 2):
            name = f"brief-{number}"
            given = BriefingState(user_id=USER, run_id=name, briefing_id=name, day=f"2026-11-2{number}")
            await deliver(services, (await gather(services, given)).model_copy(update={"new": 1}))

    app.run(brief)
    mail = read(app)
    assert mail.subject == f"Your {'first ' if is_first else ''}briefing: 4 things need you"
    assert SECRET not in mail.text_plain[0] + mail.text_html[0]
    told = " ".join(mail.text_plain[0].split())
    day = datetime.fromtimestamp(now, UTC)
    for said in ("Change your location to Köln (today at", "Call “Zoë” (due since yesterday)", "(today at"):
        assert said in told
        assert said.split(" (")[0] in mail.text_html[0]
    assert f"{day:%A, %B} {day.day}" in told  # as of
    led = links(mail)
    assert {f"{APP}#approvals/{asked}", f"{APP}#applications/{application}", f"{APP}#lessons/{lesson}", APP} <= led
    for each in led - {APP}:
        assert each.removeprefix(f"{APP}#").split("/")[0] in get_args(Place)
