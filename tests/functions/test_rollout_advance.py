"""A trial's progress over weeks, its journal and metrics, and the operators' commands."""

import argparse
import json
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from infra import rollout as operators
from infra.stages import WrongUsage
from qwestly_agent.agents.default.design import VERSION
from qwestly_agent.base.errors import NotFound
from qwestly_agent.bootstrap import bootstrap
from qwestly_agent.domain.rollout import BASE, FEATURE, Rollout, Trial
from qwestly_agent.platform.collection import Document
from qwestly_agent.rollout.look import Finding
from qwestly_agent.rollout.writer import Advanced, advance, apply_finding, counts_by_user
from qwestly_agent.services import Services
from tests.servers import FakeClock, settings_for

PROMPT = f"{VERSION}-brief"

pytestmark = pytest.mark.anyio

WEEK = 7 * 86_400.0
USER = {"turns": 10, "spoken": 10, "conversations": 2, "cost_usd": 0.012}
Operate = Callable[..., str]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    clock = FakeClock()
    monkeypatch.setattr(operators, "system_clock", clock)
    return clock


@pytest.fixture
async def services(mongodb_uri: str, database_name: str, clock: FakeClock) -> AsyncIterator[Services]:
    made = await bootstrap(settings_for(mongodb_uri, "http://127.0.0.1:9", database_name), clock=clock)
    yield made
    await made.close()


@pytest.fixture
def operate(services: Services, capsys: pytest.CaptureFixture[str]) -> Operate:
    """Run `qwestly-agent rollout` with these arguments."""

    def operate(*given: str, code: int = 0) -> str:
        parser = argparse.ArgumentParser()
        operators.add_arguments(parser)
        settings = services.settings
        environment = {"MONGODB_URI": settings.mongodb_uri, "MONGODB_DATABASE": settings.mongodb_database}
        capsys.readouterr()
        with ThreadPoolExecutor() as pool:  # a loop of its own
            assert pool.submit(operators.command, parser.parse_args(given), environment).result() == code
        return capsys.readouterr().out

    return operate


async def current(services: Services) -> Rollout:
    found = await services.rollouts.get(journal=True)
    assert found
    return found


async def trial_of(services: Services) -> Trial:
    trial = (await current(services)).trial
    assert trial
    return trial


async def counted(services: Services, *, with_it: int, without: int, **changes: float) -> None:
    """Add users with these counts to both sides of the trial."""
    trial = await trial_of(services)
    groups = ((trial.tag(trial.variant), with_it, {**USER, **changes}), (trial.tag(BASE), without, USER))
    documents = [
        {"_id": f"{tag}:u{number}", "user_id": f"u{number}-{tag}", "tag": tag, **counts}
        for tag, users, counts in groups
        for number in range(users)
    ]
    await services.rollouts.database["agent_variant_counts"].insert_many(documents)


async def looked(services: Services) -> str:
    return (await advance(services, Advanced())).move


# --- over weeks -------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
async def test_an_equally_good_variant_reaches_100_percent_in_three_weeks_and_is_kept(
    services: Services, operate: Operate, clock: FakeClock
) -> None:
    operate("begin", "brief")
    for share, with_it, without, move in ((10, 250, 2_250, "on"), (50, 250, 250, "on"), (100, 500, 0, "kept")):
        trial = await trial_of(services)
        assert (trial.share, trial.state) == (share, "trying")
        await counted(services, with_it=with_it, without=without) if without else await counted_alone(services, with_it)
        assert await looked(services) == "", "not before a week"
        clock.advance(WEEK)
        assert await looked(services) == move
        assert await looked(services) == "", "one look a leg"
    kept = await current(services)
    assert [(each.move, each.share) for each in kept.journal] == [("begun", 10), ("on", 50), ("on", 100), ("kept", 100)]
    assert kept.trial
    assert (kept.trial.state, kept.trial.share) == ("kept", 100)
    await counted_alone(services, 100, "of an outage", failed=10)
    assert await looked(services) == "", "nothing beside it to be compared with"
    assert kept.journal[-1].why[0].startswith("failed turns: 0.0%, the base's 0.0%")


async def counted_alone(services: Services, users: int, name: str = "u", **changes: float) -> None:
    trial = await trial_of(services)
    tag, counts = trial.tag(trial.variant), {**USER, **changes}
    rows = [{"_id": f"{tag}:{name}{each}", "user_id": f"{name}{each}", "tag": tag, **counts} for each in range(users)]
    await services.rollouts.database["agent_variant_counts"].insert_many(rows)


async def test_a_variant_with_slow_first_texts_is_rolled_back_with_a_reason(
    services: Services, operate: Operate, clock: FakeClock, capsys: pytest.CaptureFixture[str]
) -> None:
    operate("begin", "brief", "--why", "Shorter answers")
    await counted(services, with_it=250, without=2_250, slow=1.0)
    clock.advance(WEEK)
    assert await looked(services) == "back"
    assert metrics(capsys)["RolloutsTakenBack"] == 1
    now = await current(services)
    assert (now.trial, now.flags) == (None, {})
    assert now.journal[0].why == ("Shorter answers",)
    assert now.journal[-1].why[0].startswith("first texts above 1 s: 10.0%, the base's 0.0%, limit 5.0%")
    assert "first texts above 1 s: 10.0%" in operate("show")


async def test_an_emergency_rolls_the_variant_back_at_once(
    services: Services, operate: Operate, clock: FakeClock
) -> None:
    operate("begin", "brief")
    await counted(services, with_it=19, without=180, failed=5)
    assert await looked(services) == "", "190 turns"
    await services.rollouts.database["agent_variant_counts"].delete_many({})
    await counted(services, with_it=20, without=180, failed=5)
    assert await looked(services) == "back"
    assert (await current(services)).journal[-1].why == ("emergency: 50.0% of 200 turns failed, the base's 0.0%",)


async def test_an_unreadable_rollout_is_reported_and_left_unchanged(
    services: Services, operate: Operate, capsys: pytest.CaptureFixture[str]
) -> None:
    await services.rollouts.database["agent_rollout"].insert_one({"_id": "rollout", "trial": 7})
    assert await looked(services) == "unreadable"
    assert metrics(capsys)["RolloutsHeld"] == 1
    assert "cannot be read" in operate("show", code=1)
    assert "cannot be read" in operate("begin", "brief", code=1)
    operate("forget")
    assert "Nothing is being tried" in operate("show")


async def test_without_a_trial_no_variant_starts_by_itself(
    services: Services, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await looked(services) == ""
    assert await services.rollouts.get() is None
    assert metrics(capsys)["RolloutShare"] == 0


async def test_a_result_for_a_trial_changed_by_an_operator_is_ignored(
    services: Services, operate: Operate, clock: FakeClock
) -> None:
    operate("begin", "brief")
    seen = await trial_of(services)
    operate("step", "20")
    assert apply_finding(await current(services), seen, Finding("back", ()), clock()) is None


def metrics(capsys: pytest.CaptureFixture[str]) -> Document:
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if '"_aws"' in line]
    return {name: value[0] for name, value in lines[-1].items() if name.startswith("Rollout")}


# --- operators --------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
async def test_the_table_shows_declared_variants_and_the_next_check(services: Services, operate: Operate) -> None:
    shown = operate("begin", "brief")
    assert f"brief           default         2026-11-24          10 %              0  {PROMPT}" in shown
    assert "brief: trying, 10 % of the users since 2027-01-15 08:00 UTC" in shown
    assert "next look: once there are 7.0 days, 2000 turns of the variant" in shown
    await counted(services, with_it=250, without=2_250)
    shown = operate("show")
    assert "next look: once there are 7.0 days more" in shown
    assert "counts: 250 users, 500 conversations, 2500 turns, 0 failed; the base's: 2250 users" in shown
    assert "cost of a conversation: $0.0060, the base's $0.0060, limit $0.0200 (p = 1)" in shown


async def test_the_table_counts_conversations_and_lists_undeclared_variants(
    services: Services, operate: Operate
) -> None:
    assignment = {"trial": "t1", "leg": 0, "given_up": False}
    rows = [
        {"_id": f"u:{number}", "user_id": "u", "assignment": {**assignment, "variant": variant}}
        for number, variant in enumerate(("brief", "brief", "of-yesterday", BASE))
    ]
    await services.rollouts.database["agent_conversations"].insert_many(rows)
    shown = operate("show")
    assert f"10 %              2  {PROMPT}" in shown
    assert "of-yesterday    no longer declared: they have the base                1" in shown


async def test_a_forced_step_restarts_the_counts_and_an_end_returns_all_users_to_the_base(
    services: Services, operate: Operate
) -> None:
    operate("begin", "brief")
    operate("step", "50", "--why", "Nobody complained")
    trial = await trial_of(services)
    assert (trial.share, trial.leg, trial.state) == (50, 1, "trying")
    shares = (await current(services)).flags[FEATURE]["rules"]["share"]["conditions"]
    assert shares[1]["value"] == {"BASE": 10_000, "START": 0, "END": 4_999}
    shown = operate("end", "--why", "Enough")
    assert "ended by operator: brief at 0 %\n    Enough" in shown
    assert (await current(services)).trial is None


async def test_only_one_variant_is_tried_at_a_time_until_it_is_kept(services: Services, operate: Operate) -> None:
    operate("begin", "brief")
    with pytest.raises(WrongUsage, match="brief is being tried"):
        operate("begin", "brief")
    await services.rollouts.change(lambda before: with_state(before, "kept"))
    operate("begin", "brief")
    assert (await trial_of(services)).state == "trying"


def with_state(rollout: Rollout, state: str) -> Rollout:
    assert rollout.trial
    return rollout.model_copy(update={"trial": rollout.trial.model_copy(update={"state": state})})


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (("begin",), "takes 1 argument"),
        (("begin", "nobody"), "declared is brief"),
        (("step", "0"), "whole number from 1 to 100"),
        (("step", "101"), "whole number from 1 to 100"),
        (("pin", "auth0|ada", "nobody"), "no variant 'nobody'"),
        (("show", "all"), "takes 0 arguments"),
    ],
)
async def test_an_inconsistent_rollout_is_rejected(
    services: Services, operate: Operate, given: tuple[str, ...], problem: str
) -> None:
    with pytest.raises(WrongUsage, match=problem):
        operate(*given)
    assert await services.rollouts.get() is None


async def test_a_variant_starts_on_its_date(services: Services, operate: Operate, clock: FakeClock) -> None:
    clock.now = 1_700_000_000.0
    with pytest.raises(WrongUsage, match="from 2026-11-24 on"):
        operate("begin", "brief")


async def test_stepping_or_ending_without_a_trial_fails(services: Services, operate: Operate) -> None:
    for given in (("step", "50"), ("end",)):
        with pytest.raises(NotFound):
            operate(*given)


async def test_a_user_is_pinned_and_unpinned(services: Services, operate: Operate) -> None:
    operate("begin", "brief")
    operate("pin", "auth0|ada", "brief")
    ended = operate("end")
    assert "Nothing is being tried: everybody who is not pinned has the base." in ended
    assert "1 pinned user keeps a variant until `unpin`." in ended
    assert (await services.user_settings.get("auth0|ada")).variant == "brief"
    operate("unpin", "auth0|ada")
    assert "pinned user keeps" not in operate("show")
    assert (await services.user_settings.get("auth0|ada")).variant is None


async def test_decisions_and_claims_are_counted_with_their_user(services: Services, operate: Operate) -> None:
    operate("begin", "brief")
    await counted(services, with_it=2, without=2)
    trial = await trial_of(services)
    tag = trial.tag("brief")
    claims = [{"heading": "About", "claims": [{"text": "One"}, {"text": "Two"}]}]
    preview = {"title": "x", "sections": claims, "left_out": [{"text": "Three", "why": ["nothing"]}]}
    plain = {"title": "x"}

    def approval(number: int, status: str, by: str | None, preview: dict[str, Any]) -> Document:
        asked = {"_id": f"a{number}", "user_id": f"u0-{tag}", "variant": tag, "links": []}
        return {**asked, "status": status, "decided_by": by, "preview": json.dumps(preview)}

    asked = [
        approval(1, "done", "chat", preview),
        approval(2, "rejected", "link", plain),
        approval(3, "revised", "queue", plain),
        approval(4, "pending", None, plain),
        approval(5, "done", "level", plain),
    ]
    await services.rollouts.database["agent_approvals"].insert_many(asked)
    users = await counts_by_user(services.variant_counts, services.approvals, tag)
    assert sorted((each.get("decided", 0), each.get("denied", 0)) for each in users) == [(0, 0), (3, 2)]
    assert sorted((each.get("claims", 0), each.get("left_out", 0)) for each in users) == [(0, 0), (3, 1)]
