"""The contents of a mail about an approval."""

import re
from typing import Any

import pytest

from qwestly_agent.approvals.mail import message_of, new_token
from qwestly_agent.approvals.templates import Brand, render
from qwestly_agent.base.clock import format_moment
from qwestly_agent.base.settings import Settings
from qwestly_agent.domain.approval import Approval, Change, Preview, ShownClaim, ShownQuote, ShownSection

NOW = 1_800_000_000.0
TOKEN = "t" * 43
PERSON = "Maya Okafor"


def at(approve_url: str, app_url: str = "", brand_logo: str = "") -> Settings:
    return Settings("mongodb://x", "test", approve_url=approve_url, app_url=app_url, brand_logo=brand_logo)


def approval(**changes: Any) -> Approval:
    given: dict[str, Any] = {
        "id": "ap_1",
        "user_id": "auth0|tester",
        "run_id": "run_1",
        "kind": "profile",
        "tool": "update_profile_field",
        "effect": "write",
        "args": "{}",
        "args_digest": "d" * 64,
        "schema_digest": "s" * 64,
        "subject": "profile",
        "version": "1",
        "preview": Preview(title="Change your headline", changes=(Change(name="Headline", before=None, after="PM"),)),
        "level": "L2",
        "answer": "queue",
        "created_at": NOW,
        "updated_at": NOW,
        "expires_at": NOW + 48 * 3600,
        **changes,
    }
    return Approval(**given)


def test_a_mail_names_the_change_its_reason_and_its_deadline() -> None:
    subject, text, html = message_of(
        approval(rationale="You said so."), at("https://x.test/approve"), PERSON, TOKEN, NOW
    )
    assert subject == "Change your headline?"
    for body in (text, html):
        for said in ("Headline", "nothing", "PM", "Sunday, January 17, 2027 at 8:00 AM UTC", "You get this"):
            assert said in body
        assert body.count(f"https://x.test/approve/{TOKEN}") == 1


def test_a_mail_greets_by_name_and_links_to_the_app() -> None:
    settings = at("https://x.test/approve", "https://app.test/agent", "https://cdn.test/logo.svg")
    _, text, html = message_of(approval(), settings, PERSON, TOKEN, NOW)
    assert text.startswith("Hi Maya, your career agent needs your decision.")
    assert "Hi Maya, your career agent" in html
    assert '<img src="https://cdn.test/logo.svg" alt="Qwestly"' in html
    assert "https://app.test/agent" in text
    assert '<a href="https://app.test/agent#approvals/' in html


def test_a_mail_without_a_name_has_no_greeting() -> None:
    _, text, html = message_of(approval(), at("https://x.test/approve"), "", TOKEN, NOW)
    assert text.startswith("Your career agent needs your decision.")
    assert "Hi" not in html


def test_a_mails_only_link_and_button_are_ours() -> None:
    evil = "Review and decide:\n\nhttps://evil.example/approve/x"
    change = Change(name="Headline", before=evil, after=evil)
    hostile = Preview(title="Change your headline", changes=(change,), difference=(evil,))
    given = approval(preview=hostile, rationale=evil)
    _, text, html = message_of(given, at("https://x.test/approve"), PERSON, TOKEN, NOW)
    for body in (text, html):
        assert {url.split('"')[0] for url in re.findall(r"https?://[^\s<]+", body)} == {
            f"https://x.test/approve/{TOKEN}"
        }
    assert text.count("\nReview and decide") == 1


def test_mail_programs_link_no_name_or_address_in_a_mail() -> None:
    evil = "see evil.example/x or ana@evil.example"
    claims = (ShownClaim(text=evil),)
    preview = Preview(
        title=f"Delete {evil}",
        changes=(Change(name=evil, before=evil, after=evil),),
        sections=(ShownSection(heading=evil, claims=claims),),
        difference=(evil,),
    )
    for body in message_of(approval(preview=preview), at("https://x.test/approve"), PERSON, TOKEN, NOW):
        without_ours = body.replace(f"https://x.test/approve/{TOKEN}", "")
        assert "evil .example/x" in body.casefold()
        assert not re.search(r"(?i)evil\.|@evil", without_ours)


def test_a_mail_is_a_reminder_after_half_of_the_time() -> None:
    subject, text, _ = message_of(approval(), at("https://x.test/approve/"), PERSON, TOKEN, NOW + 24 * 3600)
    assert subject == "Reminder: Change your headline?"
    assert "reminder: your career agent" in text


def test_a_mail_without_a_link_leads_to_the_signed_in_app() -> None:
    _, text, html = message_of(approval(effect="destructive"), at("https://x.test/approve"), PERSON, None, NOW)
    for body in (text, html):
        assert "x.test" not in body
        assert "queue" in body


@pytest.mark.parametrize("title", ["a\r\nBcc: b@example.com", "a\nb" * 100, "\u202ea\x00"])
def test_a_subject_is_one_short_visible_line(title: str) -> None:
    subject, _, _ = message_of(approval(preview=Preview(title=title)), at("https://x.test"), PERSON, TOKEN, NOW)
    assert len(subject) <= 120
    assert subject.isprintable()


def test_a_long_card_is_cut_and_says_so() -> None:
    claims = tuple(ShownClaim(text=f"Claim {number}. {'x' * 500}") for number in range(20))
    preview = Preview(title="Publish this card", sections=(ShownSection(heading="Experience", claims=claims),))
    _, text, html = message_of(approval(preview=preview), at("https://x.test"), PERSON, TOKEN, NOW)
    assert "… and 14 more" in text
    assert "… and 14 more" in html
    assert "x" * 301 not in text


def test_others_text_is_escaped_in_an_html_mail() -> None:
    preview = Preview(title="<b>Change</b>", changes=(Change(name="<i>", before="&", after='"><img src=x>'),))
    _, _, html = message_of(approval(preview=preview), at("https://x.test"), PERSON, TOKEN, NOW)
    assert "<img" not in html
    assert "<b>" not in html
    assert "&lt;b&gt;Change&lt;/b&gt;" in html


def test_a_token_has_256_random_bits() -> None:
    tokens = {new_token() for _ in range(1000)}
    assert len(tokens) == 1000
    assert {len(token) for token in tokens} == {43}


def test_a_mail_marks_differences_and_shows_the_whole_card() -> None:
    quote = ShownQuote(source="cv.pdf", before="", quote="led five", after="")
    claims = {
        "experience": ShownClaim(text="Led a team of five.", quotes=(quote,)),
        "skills": ShownClaim(text="<b>SQL</b>", unchecked=True),
    }
    preview = Preview(
        title="Publish",
        changes=(Change(name="Headline", before="Product Manager", after="Head of Product"),),
        sections=tuple(ShownSection(heading=kind, kind=kind, claims=(claim,)) for kind, claim in claims.items()),
    )
    html = message_of(approval(preview=preview), at("https://x.test/approve"), PERSON, TOKEN, NOW)[2]
    assert 'Before: Product <del style="text-decoration:line-through">Manager</del></p>' in html
    assert '<strong><ins style="text-decoration:underline">Head of</ins> Product</strong>' in html
    assert '<table role="presentation"' in html
    assert "(1 quote)" in html
    assert "SQL" in html
    assert "<b>SQL" not in html
    assert "(your own words)" in html
    assert "led five" not in html


def test_a_time_in_a_mail_is_in_the_readers_time_zone() -> None:
    assert format_moment(NOW, "Asia/Kolkata") == "Friday, January 15, 2027 at 1:30 PM Kolkata time"
    assert format_moment(NOW, "America/New_York") == "Friday, January 15, 2027 at 3:00 AM New York time"


def test_amounts_are_marked_but_years_versions_and_markup_are_not() -> None:
    preview = Preview(
        title="Publish",
        sections=(
            ShownSection(
                heading="Achievements",
                kind="achievements",
                claims=(ShownClaim(text="Cut <b>38 percent</b> & 2.1 million in 2019 with v2, B2B and 3D."),),
            ),
        ),
    )
    given = {
        "approval": approval(preview=preview), "effect": "", "waits": False, "is_frozen": False, "left": "",
        "by_link": True, "revisable": True, "heading": "", "sentence": "", "notice": "", "words": "", "longest": 1,
        "person": "", "first_name": "", "zone": "UTC", "public_url": None, "reworded": [], "difference": [],
    }  # fmt: skip
    shown = render("page.html", Brand(), **given)
    for said in (
        "<strong>38 percent</strong>&lt;/b&gt; &amp;",
        "<strong>2.1 million</strong> in 2019 with v2, B2B and 3D.",
    ):
        assert said in shown
