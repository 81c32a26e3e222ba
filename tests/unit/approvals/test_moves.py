"""The life cycle of an approval: allowed transitions, in the code and in the documents."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest

from qwestly_agent.domain.approval import FINAL, MOVES, Approval, Change, IllegalMove, Preview, Status

DOCUMENT = Path(__file__).parents[3] / "docs/approvals.md"
STATUSES: tuple[Status, ...] = get_args(Status)
MOVING: dict[str, tuple[Status, Callable[[Approval], Approval]]] = {
    "approve": ("approved", lambda record: record.decided("approve", 2, by="queue", where="app")),
    "reject": ("rejected", lambda record: record.decided("reject", 2, by="queue", where="app")),
    "revise": ("revised", lambda record: record.decided("revise", 2, by="queue", where="app")),
    "expire": ("expired", lambda record: record.expired(2)),
    "begin": ("executing", lambda record: record.begun(2, "", None)),
    "withdraw": ("changed", lambda record: record.withdrawn(2, "why")),
    **{
        f"end as {status}": (status, lambda record, status=status: record.ended(status, 2, "what"))
        for status in ("accepted", "unknown", "done", "failed", "changed")
    },
}


def record_of(status: Status, **more: object) -> Approval:
    given = {"id": "ap_1", "user_id": "u1", "run_id": "r1", "kind": "profile", "tool": "update_profile_field"}
    given |= {"effect": "write", "args": '{"a":1}', "args_digest": "d", "schema_digest": "s", "subject": "profile"}
    given |= {"preview": Preview(title="Change your headline"), "rationale": "You asked.", "shown": {"a": "b"}}
    moments = {"created_at": 1, "expires_at": 9, "updated_at": 1}
    return Approval.model_validate(
        {**given, **moments, "version": None, "level": "L1", "answer": "ask", "conversation_id": "c1", "status": status}
        | more
    )


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("move", MOVING)
def test_a_record_makes_only_allowed_transitions(status: Status, move: str) -> None:
    after, step = MOVING[move]
    before = record_of(status)
    stays = after == status and status in ("accepted", "unknown")
    if after not in MOVES.get(status, ()) and not stays:
        with pytest.raises(IllegalMove, match=f"{status} → {after}"):
            step(before)
        return
    moved = step(before)
    assert (moved.status, moved.updated_at) == (after, 2)
    says = not stays and after != "executing"
    assert (len(moved.audit) == 1, moved.news) == (says, says)


def test_only_final_statuses_have_no_transition() -> None:
    assert set(STATUSES) - MOVES.keys() == FINAL


def test_the_documented_state_diagram_matches_the_code() -> None:
    drawn = set(re.findall(r"^    (\S+) --> (\S+)$", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE))
    moves = {(before, after) for before, all_after in MOVES.items() for after in all_after if before != after}
    assert drawn == moves | {("[*]", "pending"), ("[*]", "approved")}


@pytest.mark.parametrize("move", ["reject", "expire", "withdraw"])
def test_private_texts_are_deleted_in_the_deciding_step(move: str) -> None:
    ended = MOVING[move][1](record_of("pending", kind="memory"))
    assert (ended.rationale, ended.shown, ended.preview) == ("", {}, Preview(title="Change your headline"))


def change_of(number: int, *names: str, **more: object) -> Approval:
    changes = tuple(Change(name=name, before=None, after=str(number)) for name in names)
    preview = Preview(title="Change your profile", changes=changes)
    return record_of("pending", id=f"ap_{number}", preview=preview, **more)


@pytest.mark.parametrize(
    ("older", "newer", "is_ended"),
    [
        (["Headline"], ["Headline"], True),
        (["Headline"], ["Headline", "Location"], True),
        (["Headline", "Location"], ["Headline"], False),
        (["Headline"], ["Location"], False),
        ([], [], True),
    ],
)
def test_a_proposal_supersedes_an_older_one_it_fully_covers(older: list[str], newer: list[str], is_ended: bool) -> None:
    one, other = change_of(1, *older), change_of(2, *newer, created_at=1)
    assert one.is_superseded_by(other) is is_ended
    assert not other.is_superseded_by(one), "also of two that were made at the same time"


def test_a_newer_linkedin_suggestion_supersedes_the_older_one() -> None:
    one = change_of(1, "LinkedIn About", kind="linkedin", subject="suggestions/1")
    assert one.is_superseded_by(change_of(2, "LinkedIn About", kind="linkedin", subject="suggestions/2"))


def test_a_multi_field_change_supersedes_its_fields_but_publishing_no_deletion() -> None:
    assert change_of(1, "Headline", tool="one").is_superseded_by(change_of(2, "Headline", "Location", tool="several"))
    assert not change_of(1, tool="delete").is_superseded_by(change_of(2, tool="publish"))


@pytest.mark.parametrize("more", [{"subject": "other"}, {"kind": "memory"}, {"status": "approved"}, {"answer": "run"}])
def test_a_proposal_supersedes_nothing_else_and_nothing_decided(more: dict[str, object]) -> None:
    one = change_of(1, "Headline").model_copy(update=more)
    assert not one.is_superseded_by(change_of(2, "Headline"))
