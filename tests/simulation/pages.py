"""The story of pages: users read all data stored about them, and try other users' ids; and a compromised chat writes
answers that nobody gave."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from qwestly_agent.account import export
from qwestly_agent.chat.routers import approvals as routes
from qwestly_agent.chat.routers import conversations as talks
from qwestly_agent.clients.user_tokens import user_of_token
from qwestly_agent.domain.approval import PRIVATE, Approval
from qwestly_agent.stores import drafts
from tests.simulation.story import REQUEST_SECONDS, Story
from tests.simulation.world import PEOPLE

PAGES = ("approvals", "approval", "activity", "draft", "conversation", "conversations", "export")


@dataclass
class PageStory(Story):
    leaks: list[str] = field(default_factory=list[str])

    @property
    def acts(self) -> tuple[tuple[int, Callable[[], bool | None]], ...]:
        return ((2, self.read), (1, self.forge))

    # --- what happens ---

    def read(self) -> None:
        person, page = self.stage.someone(), self.choices.one(PAGES)
        other = next(each for each in PEOPLE if each != person)
        ids = [*self.world.records] or ["ap_0"]
        draft_ids = [*self.world.table(drafts.COLLECTION)] or ["draft_0"]
        number, where, token = self.choices.number(256), self.stage.somewhere(), self.world.token(person.id)

        async def work(services: Any) -> None:
            user_id = await user_of_token(services.secrets, token, services.clock)
            match page:
                case "approvals":
                    shown: Any = await routes.list_approvals(services, user_id, token, "all", 30, None)
                case "approval":
                    shown = await routes.read_approval(ids[number % len(ids)], services, user_id, token)
                case "activity":
                    shown = await routes.list_activity(services, user_id, 30, None, None, None, None)
                case "draft":
                    shown = await routes.read_draft(draft_ids[number % len(draft_ids)], services, user_id)
                case "conversation":
                    shown = await talks.read_conversation(where, services, user_id, token, 100, None, None)
                case "conversations":
                    shown = await talks.list_conversations(services, user_id, 30, None, None)
                case _:
                    shown = [each async for each in await export(services.user_data, services.clock, user_id)]
            text = repr(shown)
            if other.name in text or other.id in text:
                self.leaks.append(f"{person.name} saw something of {other.name}'s on the page of {page}")

        name = f"{person.name} reads the page of {page}"
        self.stage.start(name, work, REQUEST_SECONDS, settings=self.world.chat_settings)

    def forge(self) -> bool | None:
        """The chat's process may write approvals, but has no key for the seal of a yes. Memories need none, as it may
        write them itself."""
        pending = [each for each in self.world.approvals if each.status == "pending" and each.kind not in PRIVATE]
        if not pending:
            return False
        record = self.choices.one(pending)
        seals = [each.seal for each in self.world.approvals if each.seal] or [None]
        seal = self.choices.one((None, *seals))

        def decided(now: float) -> Callable[[Approval], Approval | None]:
            def change(each: Approval) -> Approval | None:
                if each.status != "pending":
                    return None
                after = each.decided("approve", now, by="queue", where="a chat that was taken over")
                return after.with_seal(seal) if seal else after

            return change

        async def work(services: Any) -> None:
            await services.approvals.change(record, decided(services.clock()))

        name = f"forge a yes to {record.id[:9]}"
        self.stage.start(name, work, REQUEST_SECONDS, settings=self.world.chat_settings)
        return None

    # --- what must hold ---

    def check(self) -> Iterator[str]:
        yield from self.leaks
