"""Faults that the simulation has found, each as a short script that failed until it was mended."""

import asyncio

from tests.simulation.approvals import Story, play
from tests.simulation.scheduler import BUSY, FAILED, LATE_AND_DEAD, SLOW_AFTER, SLOW_BEFORE, Choices


def check(story: Story) -> None:
    assert story.broken == [], "\n".join(story.script)


def test_an_undone_record_says_so_though_the_database_fails_then() -> None:
    async def tell(story: Story) -> None:
        story.world.scheduler.placed["act", "update agent_approvals", 6] = FAILED, 0.0
        story.propose()
        await asyncio.sleep(3)
        story.decide()
        await asyncio.sleep(3)
        story.undo()
        await story.end_quietly()

    check(play(Choices.of("x"), tell))


def test_an_undo_leaves_what_somebody_changes_while_it_is_asked_for() -> None:
    async def tell(story: Story) -> None:
        story.world.scheduler.placed["act", "find agent_autonomy", 1] = SLOW_AFTER, 1.0
        story.propose()
        await asyncio.sleep(3)
        story.decide()
        await asyncio.sleep(3)
        story.undo()
        await asyncio.sleep(0.5)
        story.change_elsewhere()
        await story.end_quietly()

    check(play(Choices.of("x"), tell))


def test_a_refusal_of_the_second_request_says_nothing_about_the_first() -> None:
    async def tell(story: Story) -> None:
        story.world.scheduler.placed["act", "PATCH /profile", 1] = SLOW_BEFORE, 40.0
        story.world.scheduler.placed["sweep", "PATCH /profile", 1] = BUSY, 0.0
        story.propose()
        await asyncio.sleep(3)
        story.decide()
        await asyncio.sleep(20)
        story.sweep()
        await story.end_quietly()

    check(play(Choices.of("x"), tell))


def test_nothing_is_called_undone_while_its_token_is_valid() -> None:
    async def tell(story: Story) -> None:
        story.world.scheduler.placed["act", "find agent_signals", 3] = SLOW_AFTER, 2.0
        story.world.scheduler.placed["act", "PATCH /profile", 1] = LATE_AND_DEAD, 59.5
        story.propose()
        await asyncio.sleep(3)
        story.decide()
        await asyncio.sleep(5)
        story.change_level()
        await asyncio.sleep(55.4)
        story.sweep()
        await story.end_quietly()

    check(play(Choices.of("x"), tell))
