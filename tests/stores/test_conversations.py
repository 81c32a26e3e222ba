"""Leases of conversations, and the stored messages if a process dies."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from pymongo.asynchronous.database import AsyncDatabase

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import ConversationBusy, NotFound
from qwestly_agent.platform.collection import Document
from qwestly_agent.stores.conversations import COLLECTION as CONVERSATIONS
from qwestly_agent.stores.conversations import (
    LEASE_SECONDS,
    RETENTION_SECONDS,
    RETENTION_SLACK_SECONDS,
    Conversations,
    PartialAnswers,
    is_running,
    last_answer_fields,
    make_title,
)
from qwestly_agent.stores.messages import COLLECTION as MESSAGES
from qwestly_agent.stores.messages import ClaimedConversation, Message, Messages, NewTurn, PartialAnswer, user_message
from tests.servers import USER, FakeClock

pytestmark = pytest.mark.anyio
CHAT = "chat-1"
DAY = 86_400


@dataclass
class Person:
    """A user who chats, with a process that may die."""

    conversations: Conversations
    clock: FakeClock = field(default_factory=FakeClock)
    user_id: str = USER
    turns: int = 0

    @property
    def messages(self) -> Messages:
        return self.conversations.messages

    def turn(self, text: str | None = None, message_id: str = "") -> NewTurn:
        self.turns += 1
        n = self.turns
        return NewTurn(f"run{n}", message_id or f"m{n}", text if text is not None else f"message {n}", self.clock())

    async def begin(self, turn: NewTurn | None = None) -> ClaimedConversation:
        claim = await self.conversations.create(self.user_id, CHAT, turn or self.turn(), "default")
        assert claim
        return claim

    async def go_on(self, turn: NewTurn | None = None) -> ClaimedConversation:
        return await self.conversations.claim(self.user_id, CHAT, turn or self.turn())

    async def finish(self, claim: ClaimedConversation, *, replaced_run: str | None = None, **changes: Any) -> bool:
        return await self.conversations.finish(
            claim, exchange_of(claim), replaced_run=replaced_run, changes=changes, now=self.clock()
        )

    @property
    def partial_answers(self) -> PartialAnswers:
        return PartialAnswers(self.conversations.database)

    async def keep(self, claim: ClaimedConversation, content: str, replaced_run: str | None = None) -> PartialAnswer:
        asked, answer = exchange_of(claim)
        partial = PartialAnswer(asked, answer.model_copy(update={"content": content}), ["{}"], replaced_run)
        await self.partial_answers.save(claim, partial)
        return partial

    async def said(self) -> list[tuple[str, str]]:
        messages = await self.messages.list_recent(self.user_id, CHAT, 100)
        return [(message.role, message.content) for message in messages]

    async def document(self) -> Document:
        return await self.conversations.get(self.user_id, CHAT)


def exchange_of(claim: ClaimedConversation) -> list[Message]:
    asked = user_message(claim.turn, claim.last_seq + 1, "complete")
    answer = {"id": f"a-{claim.turn.run_id}", "seq": asked.seq + 1, "role": "assistant", "content": "Yes."}
    return [asked, Message.model_validate({**asked.model_dump(), **answer})]


@pytest.fixture
def person(database: AsyncDatabase[Document]) -> Person:
    return Person(Conversations(database))


async def test_a_turn_claims_the_conversation_is_recorded_and_releases_it(person: Person) -> None:
    assert await person.finish(await person.begin(), window_from=3)
    claim = await person.go_on()
    assert (claim.last_seq, claim.window_from, claim.design, claim.abandoned) == (2, 3, "default", ())
    assert await person.finish(claim)
    assert [(m.seq, m.role) for m in await person.messages.list_recent(USER, CHAT, 9)] == [
        (1, "user"),
        (2, "assistant"),
        (3, "user"),
        (4, "assistant"),
    ]
    assert not is_running(await person.document(), person.clock())


async def test_a_vector_is_kept_for_120_days(person: Person) -> None:
    async def with_vectors() -> list[str]:
        found = person.conversations.database[MESSAGES].find({"vector": {"$exists": True}}).sort("seq", 1)
        return [each["id"] async for each in found]

    await person.finish(await person.begin())
    await person.messages.set_vectors(USER, {"m1": [0.5, -0.25]}, person.clock())
    person.clock.now += 119 * DAY
    await person.finish(await person.go_on())
    await person.messages.set_vectors(USER, {"m2": [0.5, -0.25]}, person.clock())
    assert await with_vectors() == ["m1", "m2"]
    person.clock.now += 2 * DAY
    await person.finish(await person.go_on())
    await person.messages.set_vectors("auth0|somebody", {"m3": [0.5, -0.25]}, person.clock())
    assert await with_vectors() == ["m1", "m2"]
    await person.messages.set_vectors(USER, {"m3": [0.5, -0.25]}, person.clock())
    assert await with_vectors() == ["m2", "m3"]


async def test_a_conversation_is_created_once(person: Person) -> None:
    await person.begin()
    assert await person.conversations.create(USER, CHAT, person.turn(), "default") is None


async def test_one_of_fifty_concurrent_claims_of_a_new_conversation_wins(person: Person) -> None:
    rivals = [person.conversations.create(USER, CHAT, person.turn(), "default") for _ in range(50)]
    [winner] = [claim for claim in await asyncio.gather(*rivals) if claim]
    assert (await person.document())["holder"] == winner.turn.run_id


async def test_one_of_fifty_concurrent_claims_of_a_free_conversation_wins(person: Person) -> None:
    await person.finish(await person.begin())
    rivals = [person.go_on() for _ in range(50)]
    results = await asyncio.gather(*rivals, return_exceptions=True)
    [winner] = [claim for claim in results if isinstance(claim, ClaimedConversation)]
    assert sum(isinstance(result, ConversationBusy) for result in results) == 49
    document = await person.document()
    assert (document["holder"], list(document["turns"])) == (winner.turn.run_id, [winner.turn.run_id])


async def test_a_claimed_conversation_is_busy_and_gives_a_wait(person: Person) -> None:
    await person.begin()
    person.clock.advance(2)
    with pytest.raises(ConversationBusy) as busy:
        await person.go_on()
    assert busy.value.retry_after == LEASE_SECONDS - 2


async def test_a_conversation_is_free_after_the_announced_wait(person: Person) -> None:
    await person.begin()
    person.clock.advance(1.6)
    with pytest.raises(ConversationBusy) as busy:
        await person.go_on()
    assert busy.value.retry_after
    person.clock.advance(busy.value.retry_after + 0.001)
    await person.go_on()


async def test_a_renewed_lease_stays_valid(person: Person) -> None:
    claim = await person.begin()
    person.clock.advance(LEASE_SECONDS - 1)
    assert await person.conversations.renew(USER, CHAT, claim.turn.run_id, person.clock())
    person.clock.advance(LEASE_SECONDS - 1)
    with pytest.raises(ConversationBusy):
        await person.go_on()


async def test_an_expired_leases_dead_turn_keeps_its_text_once(
    person: Person,
) -> None:
    dead = await person.begin(person.turn("I was here"))
    person.clock.advance(LEASE_SECONDS + 0.001)
    claim = await person.go_on(person.turn("And I am back"))
    assert claim.abandoned == (dead.turn,)
    assert await person.conversations.recover(claim) == 1
    assert await person.conversations.recover(claim) == 1
    [kept] = await person.messages.list_recent(USER, CHAT, 9)
    assert (kept.content, kept.status, kept.id, kept.created_at) == (
        "I was here",
        "interrupted",
        "m1",
        to_datetime(dead.turn.started_at),
    )
    assert list((await person.document())["turns"]) == [claim.turn.run_id]


async def test_a_dead_turns_partial_answer_is_stored(person: Person) -> None:
    claim = await person.begin()
    await person.keep(claim, "Half of ")
    await person.keep(claim, "Half of it")
    person.clock.advance(LEASE_SECONDS + 1)
    again = await person.go_on()
    assert await person.conversations.recover(again) == 2
    assert await person.conversations.recover(again) == 2
    kept = await person.messages.list_recent(USER, CHAT, 9)
    assert [(each.role, each.content, each.status, each.seq) for each in kept] == [
        ("user", claim.turn.text, "complete", 1),
        ("assistant", "Half of it", "interrupted", 2),
    ]


async def test_a_dead_regenerated_turn_replaces_the_answer_only_if_it_has_text(person: Person) -> None:
    first = await person.begin()
    await person.finish(first)
    await person.go_on(replace(person.turn(), text=None))
    person.clock.advance(LEASE_SECONDS + 1)
    spoken = await person.go_on(replace(person.turn(), text=None))
    await person.conversations.recover(spoken)
    assert [each.run_id for each in await person.messages.list_recent(USER, CHAT, 9)] == [first.turn.run_id] * 2
    await person.keep(spoken, "Anew", replaced_run=first.turn.run_id)
    person.clock.advance(LEASE_SECONDS + 1)
    await person.conversations.recover(await person.go_on())
    assert {each.run_id for each in await person.messages.list_recent(USER, CHAT, 9)} == {spoken.turn.run_id}


async def test_a_turn_that_lost_its_lease_stores_nothing_more(person: Person) -> None:
    slow = await person.begin()
    person.clock.advance(LEASE_SECONDS + 1)
    await person.conversations.recover(await person.go_on())
    await person.keep(slow, "Too late")
    assert "Too late" not in str(await person.document())


async def test_a_reader_finds_how_an_answer_ended(person: Person) -> None:
    async def state(claim: ClaimedConversation) -> str:
        return (await person.partial_answers.follow(USER, CHAT, claim.turn.run_id, person.clock())).state

    claim = await person.begin()
    assert await state(claim) == "running"
    partial = await person.keep(claim, "Half")
    assert (await person.partial_answers.follow(USER, CHAT, claim.turn.run_id, person.clock())).partial == partial
    person.clock.advance(LEASE_SECONDS + 1)
    assert await state(claim) == "interrupted"
    second = await person.go_on()
    assert await state(claim) == "interrupted"
    second = replace(second, last_seq=await person.conversations.recover(second))
    assert await state(claim) == "gone"
    await person.finish(second, **last_answer_fields(second.turn.run_id, partial))
    assert await state(second) == "ended"


async def test_the_messages_of_several_dead_turns_are_kept_in_order(person: Person) -> None:
    await person.begin(person.turn("one"))
    for text in ("two", "three"):
        person.clock.advance(LEASE_SECONDS + 1)
        await person.go_on(person.turn(text))
    person.clock.advance(LEASE_SECONDS + 1)
    await person.conversations.recover(await person.go_on())
    assert await person.said() == [("user", "one"), ("user", "two"), ("user", "three")]


async def test_a_turn_that_died_after_recording_is_not_stored_twice(
    person: Person, database: AsyncDatabase[Document]
) -> None:
    claim = await person.begin()
    await person.finish(claim)
    # As if the process had died between recording and releasing.
    await database[CONVERSATIONS].update_one({}, {"$set": {f"turns.{claim.turn.run_id}": _kept(claim), "last_seq": 0}})
    assert await person.conversations.recover(await person.go_on()) == 2
    assert await person.said() == [("user", "message 1"), ("assistant", "Yes.")]


def _kept(claim: ClaimedConversation) -> Document:
    turn = claim.turn
    return {"message_id": turn.message_id, "text": turn.text, "started_at": turn.started_at}


async def test_an_abandoned_turn_releases_its_lease_at_once_and_keeps_its_message(person: Person) -> None:
    claim = await person.begin(person.turn("Hello?"))
    await person.conversations.abandon(claim)
    assert not is_running(await person.document(), person.clock())
    again = await person.go_on()
    await person.conversations.recover(again)
    await person.finish(again)
    assert ("user", "Hello?") in await person.said()


async def test_a_turn_without_a_message_leaves_none(person: Person) -> None:
    await person.finish(await person.begin())
    regenerating = await person.go_on(NewTurn("run9", "m9", None, person.clock()))
    await person.conversations.abandon(regenerating)
    claim = await person.go_on()
    assert await person.conversations.recover(claim) == 2


async def test_a_turn_whose_lease_was_taken_over_records_nothing(person: Person) -> None:
    slow = await person.begin()
    person.clock.advance(LEASE_SECONDS + 1)
    quick = await person.go_on()
    assert not await person.conversations.renew(USER, CHAT, slow.turn.run_id, person.clock())
    assert await person.finish(quick)
    assert not await person.finish(slow)
    assert await person.said() == [("user", "message 2"), ("assistant", "Yes.")]


async def test_a_turn_that_lost_its_lease_does_not_delete_recovered_messages(person: Person) -> None:
    slow = await person.begin(person.turn("Do not lose me"))
    person.clock.advance(LEASE_SECONDS + 1)
    quick = await person.go_on()
    await person.conversations.recover(quick)
    assert not await person.finish(slow)
    assert await person.said() == [("user", "Do not lose me")]


async def test_a_turn_losing_its_lease_during_recording_removes_only_its_answer(
    person: Person, database: AsyncDatabase[Document]
) -> None:
    slow = await person.begin(person.turn("Do not lose me"))

    async def take_over() -> None:
        person.clock.advance(LEASE_SECONDS + 1)
        await person.conversations.recover(await person.go_on())

    stalled = Conversations(cast(AsyncDatabase[Document], StallsWhenInserting(database, take_over)))
    assert not await stalled.finish(slow, exchange_of(slow), replaced_run=None, changes={}, now=person.clock())
    assert await person.said() == [("user", "Do not lose me")]


@dataclass
class StallsWhenInserting:
    """A database in which something happens around an `insert_many`: `before` it arrives, or `meanwhile`, before its
    answer arrives."""

    database: AsyncDatabase[Document]
    meanwhile: Callable[[], Awaitable[None]] | None = None
    before: Callable[[], Awaitable[None]] | None = None
    collection: Any = None

    def __getitem__(self, name: str) -> Any:
        return replace(self, collection=self.database[name])

    def __getattr__(self, name: str) -> Any:
        return getattr(self.collection, name)

    async def insert_many(self, documents: list[Document]) -> None:
        if self.before:
            await self.before()
        await self.collection.insert_many(documents)
        if self.meanwhile:
            await self.meanwhile()


async def test_a_turn_that_lost_its_claim_does_not_release_anothers(person: Person) -> None:
    slow = await person.begin()
    person.clock.advance(LEASE_SECONDS + 1)
    quick = await person.go_on()
    await person.conversations.abandon(slow)
    await person.finish(slow)
    assert await person.conversations.find_running_run(USER, CHAT, person.clock()) == quick.turn.run_id


async def test_a_turn_takes_the_position_of_the_replaced_one(person: Person) -> None:
    await person.finish(await person.begin(person.turn("first try", "mine")))
    claim = await person.go_on(person.turn("second try", "mine"))
    assert await person.finish(claim, replaced_run="run1")
    assert await person.said() == [("user", "second try"), ("assistant", "Yes.")]
    asked, answered = await person.messages.get_exchange(USER, CHAT, "mine")
    assert (asked.content, answered.run_id) == ("second try", "run2")


async def test_a_failed_regeneration_keeps_the_old_answer_and_blocks_nothing(person: Person) -> None:
    await person.finish(await person.begin())
    slow = await person.go_on(NewTurn("run9", "m9", None, person.clock()))
    person.clock.advance(LEASE_SECONDS + 1)
    quick = await person.go_on()
    assert await person.conversations.recover(quick) == quick.last_seq
    assert not await person.finish(slow, replaced_run="run1")
    assert await person.said() == [("user", "message 1"), ("assistant", "Yes.")]
    assert await person.finish(quick)


async def test_an_answer_is_not_found_by_its_own_or_an_unknown_message_id(person: Person) -> None:
    await person.finish(await person.begin())
    assert await person.messages.get_exchange(USER, CHAT, "a-run1") == []
    assert await person.messages.get_exchange(USER, CHAT, "never") == []


async def test_a_conversation_deleted_meanwhile_stays_deleted(
    person: Person, database: AsyncDatabase[Document]
) -> None:
    await person.finish(await person.begin())
    claim = await person.go_on()
    await person.conversations.delete(USER, CHAT)
    assert not await person.conversations.renew(USER, CHAT, claim.turn.run_id, person.clock())
    assert not await person.finish(claim)
    assert [await database[name].count_documents({}) for name in (CONVERSATIONS, MESSAGES)] == [0, 0]


async def test_a_deleted_conversations_turn_is_not_recorded_in_a_recreated_one(
    person: Person, database: AsyncDatabase[Document]
) -> None:
    slow = await person.begin(person.turn("Do not keep me"))

    async def begin_anew() -> None:
        await person.conversations.delete(USER, CHAT)
        person.clock.advance(1)
        await person.begin(person.turn("Hello again"))

    stalled = Conversations(cast(AsyncDatabase[Document], StallsWhenInserting(database, before=begin_anew)))
    assert not await stalled.finish(slow, exchange_of(slow), replaced_run=None, changes={}, now=person.clock())
    assert await person.said() == []


async def test_an_unknown_or_another_users_conversation_is_not_found(person: Person) -> None:
    await person.finish(await person.begin())
    stranger = Person(person.conversations, person.clock, "auth0|stranger")
    for ask in (
        stranger.go_on(),
        stranger.document(),
        person.conversations.delete(stranger.user_id, CHAT),
        person.conversations.find_running_run(stranger.user_id, CHAT, person.clock()),
        person.conversations.get(USER, "chat-2"),
    ):
        with pytest.raises(NotFound):
            await ask
    assert await stranger.said() == []
    assert await stranger.messages.get_exchange(stranger.user_id, CHAT, "m1") == []
    assert await stranger.conversations.list_recent(stranger.user_id, 9) == []
    assert len(await person.said()) == 2


async def test_two_users_may_have_conversations_with_the_same_id(person: Person) -> None:
    stranger = Person(person.conversations, person.clock, "auth0|stranger", turns=50)
    await person.finish(await person.begin())
    await stranger.finish(await stranger.begin())
    await person.conversations.delete(USER, CHAT)
    assert await stranger.said() == [("user", "message 51"), ("assistant", "Yes.")]


async def test_a_conversation_expires_a_year_after_its_last_use_and_its_messages_no_sooner(
    person: Person, database: AsyncDatabase[Document]
) -> None:
    async def expiries() -> tuple[datetime, set[datetime]]:
        messages = await database[MESSAGES].find({}, {"expires_at": 1}).to_list()
        return _date((await person.document())["expires_at"]), {_date(each["expires_at"]) for each in messages}

    await person.finish(await person.begin())
    began = person.clock()
    longest = to_datetime(began + RETENTION_SECONDS + RETENTION_SLACK_SECONDS)
    assert await expiries() == (to_datetime(began + RETENTION_SECONDS), {longest})

    person.clock.advance(30 * DAY)
    await person.finish(await person.go_on())
    assert await expiries() == (to_datetime(person.clock() + RETENTION_SECONDS), {longest})

    person.clock.advance(1)
    await person.finish(await person.go_on())
    longest = to_datetime(person.clock() + RETENTION_SECONDS + RETENTION_SLACK_SECONDS)
    assert await expiries() == (to_datetime(person.clock() + RETENTION_SECONDS), {longest})
    assert (await person.go_on()).messages_expire_at == person.clock() + RETENTION_SECONDS + RETENTION_SLACK_SECONDS


def _date(stored: Any) -> datetime:
    """The wire server returns a date that was set by an update as text."""
    return stored if isinstance(stored, datetime) else datetime.fromisoformat(stored).replace(tzinfo=UTC)


async def test_messages_are_read_in_pages_from_the_newest_and_in_order_within(person: Person) -> None:
    await person.finish(await person.begin())
    for _ in range(2):
        await person.finish(await person.go_on())
    newest = await person.messages.list_recent(USER, CHAT, 4)
    older = await person.messages.list_recent(USER, CHAT, 4, before=newest[0].seq)
    assert [message.seq for message in [*older, *newest]] == [1, 2, 3, 4, 5, 6]


async def test_a_message_is_read_as_it_was_stored(person: Person) -> None:
    claim = await person.begin(person.turn("Ünïcode \0 \U0001f44b\n  two"))
    kept = exchange_of(claim)
    await person.finish(claim)
    assert await person.messages.list_recent(USER, CHAT, 9) == kept


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("What do we know\n about   me?", "What do we know about me?"),
        ("", ""),
        ("x" * 80, "x" * 80),
        ("x" * 200, "x" * 80 + "…"),
        ("word " * 30, ("word " * 16).strip() + "…"),
    ],
)
async def test_a_conversation_is_titled_from_its_first_message(person: Person, text: str, title: str) -> None:
    assert make_title(text) == title
    await person.begin(person.turn(text))
    [listed] = await person.conversations.list_recent(USER, 9)
    assert listed["title"] == title
