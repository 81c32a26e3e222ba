"""Properties of an approval record: until when it waits, when it is due, how it is displayed, and what it earns."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pydantic import ValidationError

from qwestly_agent.approvals.execute import is_due
from qwestly_agent.domain.approval import (
    KEEPS_MEMORIES,
    LADDER,
    LEFT_BEHIND_SECONDS,
    LONGEST_VALUE,
    UNDO_SECONDS,
    Approval,
    Change,
    Grant,
    Level,
    Preview,
    ShownClaim,
    ShownLeftOut,
    ShownQuote,
    ShownSection,
    Standing,
    Status,
    days_of_yes,
    higher,
    is_no,
    is_standing,
    is_yes,
    lower,
    sha256_hex,
)
from qwestly_agent.services import Services
from tests.unit.approvals.test_moves import record_of

DAY = 86_400.0


def preview_of(*changes: Change, title: str = "Change your location") -> Preview:
    return Preview(title=title, changes=changes)


def to(after: str | None, before: str | None = None) -> Change:
    return Change(name="Location", before=before, after=after)


# --- shown ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("preview", "about"),
    [
        (preview_of(to("Porto")), "Change your location to Porto"),
        (preview_of(to("x" * LONGEST_VALUE)), f"Change your location to {'x' * LONGEST_VALUE}"),
        (preview_of(to("x" * (LONGEST_VALUE + 1))), "Change your location"),
        (preview_of(to("Porto\nLisbon")), "Change your location"),
        (preview_of(to(None, "Porto")), "Change your location"),
        (preview_of(to("Porto"), to("Lisbon")), "Change your location"),
        (preview_of(), "Change your location"),
    ],
)
def test_a_title_names_the_new_value_if_it_is_one_short_line(preview: Preview, about: str) -> None:
    assert preview.about == about
    assert record_of("pending", preview=preview).about == about
    assert record_of("pending", preview=preview).line == about


@pytest.mark.parametrize(
    ("tool", "changes", "line"),
    [
        (KEEPS_MEMORIES, [to("Lives in Porto.")], "Remember: Lives in Porto"),
        (KEEPS_MEMORIES, [to("Lives in Porto."), to("Sings")], "Remember: Lives in Porto; Sings"),
        ("forget_memory", [to(None, "Lives in Porto.")], "Forget: Lives in Porto"),
        ("forget_memory", [], "Change your location"),
    ],
)
def test_a_memorys_line_contains_its_texts_but_its_title_does_not(
    tool: str, changes: Sequence[Change], line: str
) -> None:
    record = record_of("pending", kind="memory", tool=tool, preview=preview_of(*changes))
    assert record.line == line
    assert record.about == "Change your location"


def test_a_records_repr_contains_no_secrets() -> None:
    record = record_of("approved", task_token="token-1", links=("link-1",), seal="seal-1")
    assert not [each for each in ("token-1", "link-1", "seal-1") if each in repr(record)]


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (record_of("pending"), "status"),
        (to("Porto"), "after"),
        (preview_of(), "title"),
        (ShownQuote(source="cv.pdf", before="", quote="q", after=""), "quote"),
        (ShownClaim(text="t"), "text"),
        (ShownSection(heading="h"), "heading"),
        (ShownLeftOut(text="t", why=()), "text"),
        (Grant(tool="t", level="L3", since=1.0, schema_digest="s"), "level"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_record_and_its_parts_are_immutable(value: Any, name: str) -> None:
    with pytest.raises(ValidationError, match="frozen"):
        setattr(value, name, "other")


def test_a_new_records_flags_are_false() -> None:
    record = record_of("pending")
    flags = ("opened", "earned", "edited", "told_execution", "news")
    assert not any(getattr(record, name) for name in flags)
    assert (record.revisable, record.round, record.mails) == (True, 1, 0)
    claim = ShownClaim(text="t")
    assert (claim.confirmed, claim.unchecked, claim.is_detail) == (False, False, False)


def test_a_digest_depends_on_the_boundaries_of_its_texts() -> None:
    assert sha256_hex("ab", "c") != sha256_hex("a", "bc")


# --- until when, and when it is due -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("now", "waits"), [(8.9, True), (9.0, False), (9.1, False)])
def test_a_record_waits_until_its_deadline(now: float, waits: bool) -> None:
    assert record_of("pending").waits(now) is waits
    assert not record_of("approved").waits(now)


@pytest.mark.parametrize(
    ("more", "until"),
    [
        ({}, 5.0 + UNDO_SECONDS),
        ({"status": "accepted"}, None),
        ({"inverse": ""}, None),
        ({"undone_by": "ap_2"}, None),
        ({"begun_at": None}, None),
    ],
)
def test_an_executed_effect_with_an_inverse_can_be_undone_for_a_day(
    more: Mapping[str, Any], until: float | None
) -> None:
    given = {"status": "done", "begun_at": 5.0, "inverse": "{}", **more}
    assert record_of(given.pop("status"), **given).undo_until == until
    assert UNDO_SECONDS == DAY


@pytest.mark.parametrize(
    ("status", "more", "due"),
    [
        ("pending", {}, 9.0),
        ("pending", {"mail_at": 4.0}, 4.0),
        ("pending", {"mail_at": 10.0}, 9.0),
        ("approved", {"decided_at": 3.0}, 3.0 + LEFT_BEHIND_SECONDS),
        ("approved", {}, 1.0 + LEFT_BEHIND_SECONDS),
        ("executing", {"begun_at": 4.0}, 4.0 + LEFT_BEHIND_SECONDS),
        ("executing", {}, 1.0 + LEFT_BEHIND_SECONDS),
        ("accepted", {"begun_at": 4.0, "updated_at": 4.0}, 6.0),
        ("unknown", {"begun_at": 4.0, "updated_at": 6.0}, 9.0),
        ("unknown", {"begun_at": 4.0, "updated_at": 9.0}, 14.0),
        ("unknown", {"begun_at": 4.0, "updated_at": 14.0}, 34.0),
        ("unknown", {"begun_at": 4.0, "updated_at": 34.0}, 64.0),
        ("unknown", {"updated_at": 1.0}, 3.0),
        ("done", {}, None),
        ("rejected", {}, None),
        ("rejected", {"task_token": "t"}, 1.0 + LEFT_BEHIND_SECONDS),
        ("rejected", {"kind": "memory"}, 1.0 + LEFT_BEHIND_SECONDS),
        ("revised", {"redraft_id": "d"}, 1.0 + LEFT_BEHIND_SECONDS),
        ("expired", {"work": "resumes"}, 1.0 + LEFT_BEHIND_SECONDS),
        ("rejected", {"task_token": "t", "told_execution": True}, None),
    ],
)
def test_a_record_is_due_when_its_next_step_is(status: Status, more: Mapping[str, Any], due: float | None) -> None:
    assert record_of(status, **more).due_at == due


@pytest.mark.parametrize(
    ("token", "told", "waits"), [("t", False, True), ("t", True, False), (None, False, False), (None, True, False)]
)
def test_an_execution_waits_until_it_is_notified(token: str | None, told: bool, waits: bool) -> None:
    assert record_of("approved", task_token=token, told_execution=told).waits_for_execution is waits


def test_another_delivery_of_the_task_is_notified_too() -> None:
    told = record_of("approved", task_token="t1").with_execution_notified()
    assert not told.waits_for_execution
    assert told.awaited_by("t2").waits_for_execution
    assert told.with_execution_notified(is_gone=True).task_token is None


def test_a_decided_record_is_not_mailed_again() -> None:
    sent = record_of("pending").mailing(["l1"], 5.0).mailing(["l2"], 6.0)
    assert (sent.mails, sent.links, sent.mail_at) == (2, ("l1", "l2"), 6.0)
    decided = sent.decided("reject", 7.0, by="link", where="here")
    assert decided.mail_at is None
    assert decided.mailed(8.0).mail_at is None
    assert sent.mailed(8.0, "line").mail_at == 8.0
    assert sent.mail_returned("bounce", 7.0).mail_at is None


def test_a_repeated_outcome_is_not_reported_again() -> None:
    sent = record_of("executing").ended("unknown", 2, "Looking.").model_told()
    again = sent.ended("unknown", 3, "Still looking.")
    assert (again.news, again.updated_at, again.outcome) == (False, 3, "Still looking.")
    assert again.ended("done", 4, "Done.").news
    assert sent.refused_again(1.5, 3, "Looking.").begun_at == 1.5


# --- earned -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("one", "other"), [(a, b) for a in LADDER for b in LADDER])
def test_levels_compare_by_their_order(one: Level, other: Level) -> None:
    assert (lower(one, other), higher(one, other)) == (min(one, other), max(one, other))


def grant_of(level: Level = "L3", **more: Any) -> Grant:
    return Grant(**{"tool": "t", "level": level, "since": 10.0, "schema_digest": "s", **more})


@pytest.mark.parametrize(
    ("level", "ceiling", "earned", "effective", "offers"),
    [
        ("L1", "L3", None, "L1", "L3"),
        ("L1", "L3", "L3", "L3", None),
        ("L1", "L2", "L3", "L2", None),
        ("L1", "L1", "L3", "L1", None),
        ("L2", "L3", "L1", "L2", "L3"),
        ("L0", "L3", None, "L0", None),
        ("L0", "L0", "L3", "L0", None),
        ("L3", "L3", None, "L3", None),
    ],
)
def test_an_earned_level_counts_up_to_the_ceiling(
    level: Level, ceiling: Level, earned: Level | None, effective: Level, offers: Level | None
) -> None:
    grant = grant_of(earned) if earned else None
    standing = Standing(level, ceiling, (grant,) if grant else ())
    assert standing.find_grant("t") == grant
    assert standing.find_grant("other") is None
    assert (standing.with_grant(grant), standing.offers(grant)) == (effective, offers)


def decided(status: Status = "done", **more: Any) -> Approval:
    return record_of(status, **{"decided_by": "queue", "opened": True, "decided_at": 20.0, **more})


YES: Sequence[tuple[Approval, bool]] = [
    (decided(), True),
    (decided(decided_by="chat"), True),
    (decided("approved"), True),
    (decided("executing"), True),
    (decided("accepted"), True),
    (decided("failed"), False),
    (decided("rejected"), False),
    (decided(decided_by="link"), False),
    (decided(decided_by="words"), False),
    (decided(decided_by="level"), False),
    (decided(opened=False), False),
    (decided(edited=True), False),
    (decided(undone_by="ap_2"), False),
    (decided(undoes="ap_0"), False),
]
NO: Sequence[tuple[Approval, bool]] = [
    (decided("rejected"), True),
    (decided("revised"), True),
    (decided(edited=True), True),
    (decided("rejected", decided_by="link"), True),
    (decided(undoes="ap_0"), True),
    (decided("failed", undoes="ap_0"), False),
    (decided(), False),
    (decided("expired"), False),
    (decided("changed"), False),
]


@pytest.mark.parametrize(("record", "counts"), YES)
def test_a_yes_counts_if_given_below_the_whole_card(record: Approval, counts: bool) -> None:
    assert is_yes(record) is counts


@pytest.mark.parametrize(("record", "counts"), NO)
def test_a_no_an_edit_or_an_undo_counts_against(record: Approval, counts: bool) -> None:
    assert is_no(record) is counts


def test_days_with_a_yes_are_counted_once_and_in_the_persons_zone() -> None:
    late, early = 23.5 * 3_600, 24.5 * 3_600
    same = [decided(decided_at=late), decided(decided_at=late + 60), decided(decided_at=early)]
    assert days_of_yes(same, "s", "UTC") == 2
    assert days_of_yes(same, "s", "Europe/Lisbon") == 1
    assert days_of_yes(same, "other", "UTC") == 0


def test_a_no_resets_the_count_in_any_order() -> None:
    yes = [decided(decided_at=each * DAY) for each in (1, 2, 4, 5)]
    assert days_of_yes([*yes[2:], decided("rejected", decided_at=3 * DAY), *yes[:2]], "s", "UTC") == 2


@pytest.mark.parametrize(
    ("grant", "records", "stands"),
    [
        (grant_of(), [decided()], True),
        (grant_of(), [decided("rejected", decided_at=9.9)], True),
        (grant_of(), [decided("rejected", decided_at=10.0)], False),
        (grant_of(), [decided("rejected", decided_at=10.1)], False),
        (grant_of(ended_at=11.0), [], False),
        (grant_of(schema_digest="older"), [], False),
    ],
)
def test_an_earned_level_lasts_until_a_rejection(grant: Grant, records: Sequence[Approval], stands: bool) -> None:
    assert is_standing(grant, records, "s") is stands


# --- outcomes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "now", "due"),
    [
        ("accepted", 5.9, False),
        ("accepted", 6.0, True),
        ("unknown", 6.0, True),
        ("pending", 60.0, False),
        ("approved", 900.0, False),
        ("executing", 900.0, False),
        ("done", 900.0, False),
    ],
)
def test_only_outcomes_of_sent_effects_are_looked_up_and_only_when_due(status: Status, now: float, due: bool) -> None:
    services = cast(Services, SimpleNamespace(clock=lambda: now))
    assert is_due(services, record_of(status, begun_at=4.0, updated_at=4.0)) is due
