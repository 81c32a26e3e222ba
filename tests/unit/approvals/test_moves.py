"""The life of an approval: what may follow what, as the code says it and as the documents show it."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest

from qwestly_agent.domain.approval import FINAL, MOVES, Approval, IllegalMove, Preview, Status

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
def test_a_record_moves_only_to_what_may_follow(status: Status, move: str) -> None:
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


def test_nothing_follows_a_final_status_and_something_every_other() -> None:
    assert set(STATUSES) - MOVES.keys() == FINAL


def test_the_drawing_in_the_documents_is_what_the_code_does() -> None:
    drawn = set(re.findall(r"^    (\S+) --> (\S+)$", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE))
    moves = {(before, after) for before, all_after in MOVES.items() for after in all_after if before != after}
    assert drawn == moves | {("[*]", "pending"), ("[*]", "approved")}


@pytest.mark.parametrize("move", ["reject", "expire", "withdraw"])
def test_texts_of_a_private_kind_go_in_the_step_that_decides_it(move: str) -> None:
    ended = MOVING[move][1](record_of("pending", kind="memory"))
    assert (ended.rationale, ended.shown, ended.preview) == ("", {}, Preview(title="Change your headline"))
