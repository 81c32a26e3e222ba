"""Faults that the simulation has found, each as a short script that failed until it was mended."""

import asyncio
from dataclasses import replace
from typing import Any

from qwestly_agent.agents.tools.knowledge import remember
from qwestly_agent.workflows import ACTIONS
from tests.simulation.agent import Looks, Slow
from tests.simulation.chats import Tab
from tests.simulation.schedule import Schedule, play
from tests.simulation.scheduler import (
    BUSY,
    DIED_AFTER,
    FAILED,
    FAILED_AFTER,
    LATE_AND_DEAD,
    SLOW_AFTER,
    SLOW_BEFORE,
    Choices,
)
from tests.simulation.settings import TIGHT
from tests.simulation.world import ADA, bounded


def check(schedule: Schedule) -> None:
    assert schedule.broken == [], "\n".join(schedule.script)


def test_an_undone_record_says_so_though_the_database_fails_then() -> None:
    async def tell(schedule: Schedule) -> None:
        schedule.world.scheduler.placed["act", "update agent_approvals", 6] = FAILED, 0.0
        schedule.approvals.propose()
        await asyncio.sleep(3)
        schedule.approvals.decide()
        await asyncio.sleep(3)
        schedule.approvals.undo()
        await schedule.end_quietly()

    check(play(Choices.of("x"), tell))


def test_an_undo_leaves_what_somebody_changes_while_it_is_asked_for() -> None:
    async def tell(schedule: Schedule) -> None:
        schedule.world.scheduler.placed["act", "find agent_autonomy", 1] = SLOW_AFTER, 1.0
        schedule.approvals.propose()
        await asyncio.sleep(3)
        schedule.approvals.decide()
        await asyncio.sleep(3)
        schedule.approvals.undo()
        await asyncio.sleep(0.5)
        schedule.approvals.change_elsewhere()
        await schedule.end_quietly()

    check(play(Choices.of("x"), tell))


def test_a_refusal_of_the_second_request_says_nothing_about_the_first() -> None:
    async def tell(schedule: Schedule) -> None:
        schedule.world.scheduler.placed["act", "PATCH /profile", 1] = SLOW_BEFORE, 40.0
        schedule.world.scheduler.placed["sweep", "PATCH /profile", 1] = BUSY, 0.0
        schedule.approvals.propose()
        await asyncio.sleep(3)
        schedule.approvals.decide()
        await asyncio.sleep(20)
        schedule.approvals.sweep()
        await schedule.end_quietly()

    check(play(Choices.of("x"), tell))


def test_nothing_is_called_undone_while_its_token_is_valid() -> None:
    async def tell(schedule: Schedule) -> None:
        schedule.world.scheduler.placed["act", "find agent_signals", 3] = SLOW_AFTER, 2.0
        schedule.world.scheduler.placed["act", "PATCH /profile", 1] = LATE_AND_DEAD, 59.5
        schedule.approvals.propose()
        await asyncio.sleep(3)
        schedule.approvals.decide()
        await asyncio.sleep(5)
        schedule.accounts.change_level()
        await asyncio.sleep(55.4)
        schedule.approvals.sweep()
        await schedule.end_quietly()

    check(play(Choices.of("x"), tell))


def test_nothing_of_a_dead_turn_is_left_of_a_conversation_that_is_deleted_while_it_is_recovered() -> None:
    async def tell(schedule: Schedule) -> None:
        schedule.world.scheduler.placed["turn", "insert agent_messages", 1] = SLOW_BEFORE, 1.0
        schedule.world.say(ADA.id, "morning", "a-dead-run", "Hello")
        schedule.chats.talk()
        await asyncio.sleep(0.5)
        schedule.chats.delete()
        await schedule.end_quietly()

    check(play(Choices.of("x"), tell))


def test_an_unasked_change_of_a_deleted_conversation_does_not_wait() -> None:
    async def tell(schedule: Schedule) -> None:
        schedule.world.scheduler.placed["turn", "insert agent_approvals", 1] = SLOW_BEFORE, 1.0
        schedule.world.set_level(ADA.id, "L3", "L3")
        schedule.chats.ask_for_change()
        await asyncio.sleep(0.6)
        schedule.chats.delete()
        await schedule.end_quietly()

    check(play(Choices.of("x"), tell))


def test_a_memory_forgotten_during_a_turn_with_a_fast_clock_is_in_no_context() -> None:
    async def tell(schedule: Schedule) -> None:
        schedule.world.scheduler.placed["turn", "update agent_usage", 4] = SLOW_BEFORE, 1.0
        schedule.memories.remember()
        await asyncio.sleep(3)
        [turn] = schedule.chats.say(Tab(ADA, "evening"), "Hello")
        turn.skew = 2.0
        await asyncio.sleep(0.5)
        schedule.memories.forget()
        await schedule.end_quietly()

    check(play(Choices.of("x"), tell))


def test_an_approval_asked_during_its_conversations_deletion_does_not_wait() -> None:
    async def tell(schedule: Schedule) -> None:
        placed = schedule.world.scheduler.placed
        placed["turn", "insert agent_approvals", 1] = SLOW_BEFORE, 1.0
        placed["turn", "bulk write agent_activity", 1] = SLOW_BEFORE, 1.0
        placed["delete", "update agent_approvals", 1] = SLOW_BEFORE, 1.0
        schedule.chats.ask_for_change()
        await asyncio.sleep(0.5)
        schedule.chats.delete()
        await schedule.end_quietly()

    check(play(Choices.of("x"), tell))


def test_no_more_changes_run_unasked_at_once_than_in_a_day() -> None:
    async def tell(schedule: Schedule) -> None:
        schedule.world.actions = {tool: bounded(each) for tool, each in ACTIONS.items()}
        schedule.world.set_level(ADA.id, "L3", "L3")
        placed = schedule.world.scheduler.placed
        placed["act", "update agent_approvals", 1] = placed["act", "update agent_approvals", 2] = SLOW_BEFORE, 1.0
        for where in ("morning", "evening", "noon"):
            schedule.chats.ask_for_change(Tab(ADA, where), 0)
        await schedule.end_quietly()

    check(play(Choices.of("x"), tell))


def test_what_waits_in_a_conversation_begun_anew_ends_with_it_though_the_first_is_still_being_deleted() -> None:
    async def tell(schedule: Schedule) -> None:
        schedule.world.scheduler.placed["delete", "update agent_approvals", 1] = SLOW_BEFORE, 1.0
        tab = schedule.chats.tab()
        schedule.chats.say(tab, "Hello")
        await asyncio.sleep(3)
        schedule.chats.delete(tab)
        await asyncio.sleep(0.3)
        schedule.chats.ask_for_change(tab, 0)
        await asyncio.sleep(3)
        schedule.chats.delete(tab)
        await schedule.end_quietly()

    check(play(Choices.of("x"), tell))


def test_nothing_is_left_of_a_turn_that_had_read_the_brake_before_its_person_was_erased() -> None:
    async def tell(schedule: Schedule) -> None:
        schedule.world.scheduler.placed["turn", "insert agent_conversations", 1] = SLOW_BEFORE, 0.5
        schedule.chats.talk()
        await asyncio.sleep(0.01)
        schedule.accounts.erase()
        await schedule.end_quietly()

    check(play(Choices.of("x"), tell))


def test_an_outcome_is_reported_once_though_its_record_is_written_while_a_turn_reports_it() -> None:
    async def tell(schedule: Schedule) -> None:
        schedule.world.scheduler.placed["act", "update agent_approvals", 3] = SLOW_BEFORE, 0.35
        tab, fact = schedule.chats.tab(), schedule.memories.new_fact(ADA, is_sensitive=True)

        async def plan(context: Any) -> Any:
            return await remember(context, "fact", fact.text, fact.text, True)

        fact.said += schedule.chats.say(tab, f"Remember that {fact.text}.", plan)
        await asyncio.sleep(3)
        [record] = schedule.world.approvals
        schedule.approvals.decide_on(record, "reject", "queue", record)
        await asyncio.sleep(0.4)
        schedule.chats.say(tab, "Hello")
        await asyncio.sleep(3)
        schedule.chats.say(tab, "Hello again")
        await schedule.end_quietly()

    check(play(Choices.of("x"), tell))


def test_no_model_is_asked_by_a_turn_that_began_before_the_brake_and_claims_its_conversation_later() -> None:
    async def tell(schedule: Schedule) -> None:
        schedule.world.scheduler.placed["turn", "insert agent_conversations", 1] = SLOW_BEFORE, 0.5
        schedule.chats.talk()
        await asyncio.sleep(0.01)
        schedule.brakes.pause()
        await schedule.end_quietly()

    check(play(Choices.of("x"), tell))


def test_a_persons_first_turn_is_counted_though_another_at_the_same_moment_is_refused() -> None:
    async def tell(schedule: Schedule) -> None:
        placed = schedule.world.scheduler.placed
        placed["turn", "insert agent_conversations", 2] = SLOW_BEFORE, 0.2
        placed["turn", "update agent_usage", 3] = SLOW_BEFORE, 1.0
        schedule.chats.say(Tab(ADA, "morning"), "Hello", times=2)
        await schedule.end_quietly()

    check(play(Choices.of("x"), tell))


def test_the_brake_waits_for_a_turn_whose_conversation_is_deleted() -> None:
    async def tell(schedule: Schedule) -> None:
        schedule.world.scheduler.placed["turn", "update agent_usage", 1] = SLOW_AFTER, 0.2
        tab = schedule.chats.tab()
        schedule.chats.say(tab, "Hello")
        await asyncio.sleep(0.04)
        schedule.chats.delete(tab)
        await asyncio.sleep(0.03)
        schedule.brakes.pause()
        await schedule.end_quietly()

    check(play(Choices.of("x"), tell))


def test_an_approval_asked_in_a_deleted_conversation_does_not_wait_in_one_begun_anew() -> None:
    async def tell(schedule: Schedule) -> None:
        schedule.world.scheduler.placed["turn", "insert agent_approvals", 1] = SLOW_BEFORE, 0.1
        tab = schedule.chats.tab()
        schedule.chats.ask_for_change(tab, 0)
        await asyncio.sleep(0.05)
        schedule.chats.delete(tab)
        await asyncio.sleep(0.02)
        schedule.chats.say(tab, "Hello")
        await schedule.end_quietly()

    check(play(Choices.of("x"), tell))


def test_an_execution_that_asks_while_its_conversation_is_deleted_does_not_wait() -> None:
    async def tell(schedule: Schedule) -> None:
        schedule.world.scheduler.placed["ask_approval", "insert agent_approvals", 1] = SLOW_BEFORE, 1.0
        tab = schedule.chats.tab()
        schedule.chats.say(tab, "Hello")
        await asyncio.sleep(3)
        schedule.executions.draft_card()
        await asyncio.sleep(0.5)
        schedule.chats.delete(tab)
        await schedule.end_quietly()

    check(play(Choices.of("x"), tell))


def test_a_message_that_arrives_during_an_erasure_leaves_nothing() -> None:
    async def tell(schedule: Schedule) -> None:
        tab, fact = schedule.chats.tab(), schedule.memories.new_fact(ADA)

        async def plan(context: Any) -> Any:
            return await remember(context, "fact", fact.text, fact.text)

        fact.said += schedule.chats.say(tab, f"Remember that {fact.text}.", plan)
        await asyncio.sleep(3)
        schedule.world.scheduler.placed["turn", "update agent_conversations", 1] = SLOW_BEFORE, 2.0
        schedule.chats.say(tab, "Hello")
        schedule.accounts.erase()
        await schedule.end_quietly()

    check(play(Choices.of("x"), tell))


def test_a_memory_corrected_and_forgotten_by_a_slow_clock_is_in_no_context() -> None:
    async def tell(schedule: Schedule) -> None:
        schedule.memories.remember()
        await asyncio.sleep(3)
        schedule.memories.correct()
        await asyncio.sleep(0.2)
        schedule.world.scheduler.placed["turn", "insert agent_messages", 1] = SLOW_BEFORE, 1.0
        schedule.chats.say(Tab(ADA, "evening"), "Hello")
        await asyncio.sleep(0.1)
        schedule.memories.forget()
        schedule.world.scheduler.processes[-1].skew = -2.0
        await schedule.end_quietly()

    check(play(Choices.of("x"), tell))


def test_a_repeated_state_is_told_of_a_yes_though_its_conversation_is_being_deleted() -> None:
    async def tell(schedule: Schedule) -> None:
        placed = schedule.world.scheduler.placed
        placed["ask_approval", "insert agent_approvals", 1] = FAILED_AFTER, 0.0
        placed["delete", "update agent_approvals", 1] = SLOW_BEFORE, 9.0
        tab = schedule.chats.tab()
        schedule.chats.say(tab, "Hello")
        await asyncio.sleep(3)
        schedule.executions.draft_card()
        await asyncio.sleep(0.7)
        [record] = schedule.world.approvals
        schedule.approvals.decide_on(record, "approve", "queue", record)
        await asyncio.sleep(0.3)
        schedule.chats.delete(tab)
        await schedule.end_quietly()

    check(play(Choices.of("x"), tell))


def test_a_receipt_keeps_what_another_request_has_written() -> None:
    async def tell(schedule: Schedule) -> None:
        placed = schedule.world.scheduler.placed
        placed["turn", "insert agent_conversations", 2] = DIED_AFTER, 0.0
        placed["pause", "find agent_conversations", 1] = SLOW_AFTER, 2.0
        schedule.chats.say(Tab(ADA, "evening"), "Hello")
        await asyncio.sleep(3)
        schedule.brakes.pause()
        await asyncio.sleep(0.1)
        schedule.chats.talk()
        await asyncio.sleep(0.6)
        schedule.brakes.pause()
        await schedule.end_quietly()

    check(play(Choices.of("x"), tell))


def test_a_card_that_is_approved_while_its_state_still_asks_stays_published() -> None:
    async def tell(schedule: Schedule) -> None:
        schedule.world.scheduler.placed["ask_approval", "find agent_drafts", 2] = SLOW_BEFORE, 2.0
        schedule.chats.say(schedule.chats.tab(), "Hello")
        await asyncio.sleep(3)
        schedule.executions.draft_card()
        await asyncio.sleep(0.7)
        [record] = schedule.world.approvals
        schedule.approvals.decide_on(record, "approve", "queue", record)
        await schedule.end_quietly()

    check(play(Choices.of("x"), tell))


def test_a_conversation_that_was_deleted_while_its_first_turn_was_refused_is_not_restored() -> None:
    async def tell(schedule: Schedule) -> None:
        schedule.world.chat_settings = replace(schedule.world.chat_settings, **TIGHT)
        schedule.chats.say(Tab(ADA, "evening"), "Hello", Slow(30.0))
        await asyncio.sleep(0.5)
        tab = schedule.chats.tab()
        schedule.chats.say(tab, "Hello")
        await asyncio.sleep(0.03)
        assert "auth0|ada:morning" in schedule.world.table("agent_conversations")
        schedule.restores.back_up()
        await asyncio.sleep(3)
        assert "auth0|ada:morning" not in schedule.world.table("agent_conversations")
        schedule.chats.delete(tab)
        await schedule.world.scheduler.settled()
        await schedule.restores.go_back()

    check(play(Choices.of("x"), tell))


def test_a_question_that_is_asked_anew_ends_with_its_conversation() -> None:
    async def tell(schedule: Schedule) -> None:
        schedule.world.scheduler.placed["act", "insert agent_approvals", 1] = SLOW_BEFORE, 2.0
        tab = schedule.chats.tab()
        schedule.approvals.propose()
        await asyncio.sleep(3)
        schedule.approvals.change_elsewhere()
        await asyncio.sleep(3)
        schedule.approvals.decide()
        await asyncio.sleep(0.5)
        schedule.chats.delete(tab)
        await schedule.world.scheduler.settled()
        await asyncio.sleep(100)
        [_, anew] = schedule.world.approvals
        assert anew.status == "expired"
        await schedule.end_quietly()

    check(play(Choices.of("x"), tell))


def test_a_turn_keeps_no_context_from_the_middle_of_a_forgetting() -> None:
    async def tell(schedule: Schedule) -> None:
        placed = schedule.world.scheduler.placed
        schedule.memories.remember()
        await asyncio.sleep(3)
        placed["turn", "find user_memories", 2] = SLOW_BEFORE, 1.0  # when something was forgotten last
        placed["forget", "replace user_memories", 1] = SLOW_BEFORE, 2.0
        [turn] = schedule.chats.say(Tab(ADA, "evening"), "Hello")
        turn.skew = 2.0
        await asyncio.sleep(0.05)
        schedule.memories.forget()
        await schedule.world.scheduler.settled()
        await schedule.end_quietly()

    check(play(Choices.of("x"), tell))


def test_an_answer_has_no_source_that_was_forgotten_while_it_was_written() -> None:
    async def tell(schedule: Schedule) -> None:
        schedule.memories.remember()
        await asyncio.sleep(3)
        schedule.world.scheduler.placed["turn", "insert agent_messages", 1] = SLOW_BEFORE, 2.0
        schedule.chats.say(Tab(ADA, "evening"), "What do you know of me?", Looks("bee"))
        await asyncio.sleep(0.3)
        schedule.memories.forget()
        await schedule.world.scheduler.settled()
        await schedule.end_quietly()

    check(play(Choices.of("x"), tell))


def test_a_deletion_that_an_erasure_overtakes_leaves_nothing() -> None:
    async def tell(schedule: Schedule) -> None:
        schedule.world.scheduler.placed["delete", "find agent_conversations", 1] = SLOW_AFTER, 2.0
        tab = schedule.chats.tab()
        schedule.chats.say(tab, "Hello", Slow(30.0))
        await asyncio.sleep(3)
        schedule.chats.delete(tab)
        await asyncio.sleep(0.05)
        schedule.accounts.erase()
        await schedule.end_quietly()

    check(play(Choices.of("x"), tell))


def test_a_card_is_called_published_though_its_execution_was_stopped_and_its_act_died() -> None:
    async def tell(schedule: Schedule) -> None:
        schedule.world.scheduler.placed["act", "bulk write agent_activity", 3] = DIED_AFTER, 0.0
        schedule.chats.say(schedule.chats.tab(), "Hello")
        await asyncio.sleep(3)
        schedule.executions.draft_card()
        await asyncio.sleep(0.7)
        schedule.executions.stop()
        [record] = schedule.world.approvals
        schedule.approvals.decide_on(record, "approve", "queue", record)
        await asyncio.sleep(3)
        await schedule.end_quietly()

    check(play(Choices.of("x"), tell))


def test_what_a_night_replaces_by_something_that_is_undone_meanwhile_holds_again() -> None:
    async def tell(schedule: Schedule) -> None:
        tab = schedule.chats.tab()
        older, newer = schedule.memories.new_fact(tab.person), schedule.memories.new_fact(tab.person)
        schedule.memories.takes_place(newer, older)
        for each in (older, newer):
            schedule.memories.tell(tab, each)
            await asyncio.sleep(3)
        schedule.world.scheduler.placed["undo", "find user_memories", 4] = SLOW_AFTER, 2.0
        found = next(each for each in schedule.world.table("user_memories").values() if each["content"] == newer.text)
        schedule.memories.undo((found, newer))
        schedule.nights.consolidate()
        await schedule.end_quietly()

    check(play(Choices.of("x"), tell))


def test_what_a_night_merges_into_something_that_is_forgotten_meanwhile_is_forgotten_too() -> None:
    async def tell(schedule: Schedule) -> None:
        tab = schedule.chats.tab()
        older, newer = schedule.memories.new_fact(tab.person), schedule.memories.new_fact(tab.person)
        schedule.memories.takes_place(newer, older)
        told = [older, newer]
        for each in told:
            schedule.memories.tell(tab, each)
            await asyncio.sleep(3)
        schedule.nights.consolidate()
        await asyncio.sleep(3)
        for each in (schedule.memories.reworded(older), older):
            schedule.memories.tell(tab, each)
            await asyncio.sleep(3)
        schedule.world.scheduler.placed["forget", "update user_memories", 1] = SLOW_BEFORE, 2.0
        found = next(each for each in schedule.world.table("user_memories").values() if each["content"] == newer.text)
        schedule.memories.forget((found, newer))
        await asyncio.sleep(0.5)
        schedule.nights.consolidate()
        await schedule.end_quietly()

    check(play(Choices.of("x"), tell))


def test_what_somebody_asks_to_leave_out_while_it_is_read_is_not_stored() -> None:
    async def tell(schedule: Schedule) -> None:
        schedule.world.scheduler.placed["reconcile", "find agent_extractions", 1] = SLOW_AFTER, 2.0
        tab = schedule.chats.tab()
        schedule.readings.tell_in_passing(tab)
        await asyncio.sleep(3)
        schedule.readings.read_whole(tab)
        await asyncio.sleep(1)
        schedule.readings.leave_out(tab)
        await schedule.end_quietly()

    check(play(Choices.of("x"), tell))
