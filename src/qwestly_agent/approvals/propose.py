"""Hand in what a tool proposes. The gate says whether it waits, is done or is refused."""

from dataclasses import dataclass

from qwestly_agent.approvals import pause
from qwestly_agent.approvals.decide import Asker, Proposal, ask, id_of_call, parse
from qwestly_agent.approvals.end import withdraw, without_forgotten
from qwestly_agent.approvals.execute import ExecuteServices, execute
from qwestly_agent.approvals.gate import Decision, gate
from qwestly_agent.base.errors import Invalid, NotFound
from qwestly_agent.domain.approval import Approval, canonical_json

REMEMBERED = 50
MOST_WAITING = 20
"""Questions of a user at a time: each is mailed, and somebody must read it."""
SAYING_WHAT = ("field", "name", "card_id")
"""The arguments that say what an action is about, and not how it shall be."""


@dataclass(frozen=True)
class Proposer:
    """Of one run, on behalf of its user."""

    services: ExecuteServices
    user_id: str
    run_id: str
    conversation_id: str

    async def submit(
        self, proposal: Proposal, call_id: str, *, untrusted_content: bool
    ) -> tuple[Decision, Approval | None]:
        """What the gate says now, by a fresh look at level and brake, and the record; none where it refuses.

        Raises `Braked`, `Invalid`, `NotFound` and `Unavailable`.
        """
        await pause.check(self.services.signals, self.user_id)
        level = await self.services.autonomy.level(self.user_id)
        decision = gate(proposal.action.effect, level, untrusted_content=untrusted_content)
        if decision.answer == "refuse":
            return decision, None
        if decision.answer != "run":
            await self._bounded(proposal)
        asker = Asker(
            user_id=self.user_id,
            run_id=self.run_id,
            level=level,
            conversation_id=self.conversation_id,
            revises=await self._revised(proposal),
        )
        approval_id = id_of_call(self.conversation_id, self.run_id, call_id)
        approval = await ask(self.services, approval_id, proposal, asker, decision.answer)
        if decision.answer == "run":
            approval = await execute(self.services, self.user_id, approval.id)
            await self.services.approvals.told(approval)  # the call's result says it
        # Looked for after writing: either we see that it is gone, or whoever deletes it sees what we wrote.
        elif not await self.services.conversations.exists(self.user_id, self.conversation_id):
            await withdraw(self.services, self.user_id, self.conversation_id)
            raise NotFound("The conversation was deleted meanwhile.")
        else:
            approval = await without_forgotten(self.services, approval)
        return decision, approval

    async def _bounded(self, proposal: Proposal) -> None:
        """Raises `Invalid` for what this conversation asks already, and where too much waits."""
        waiting = await self.services.approvals.waiting(self.user_id, MOST_WAITING)
        args = canonical_json(parse(proposal.action, proposal.args).model_dump(mode="json", exclude_none=True))
        for each in waiting:
            if (each.conversation_id, each.tool, each.args) == (self.conversation_id, proposal.action.tool, args):
                raise Invalid(f"This waits for the user's decision already ({each.id}).")
        if len(waiting) >= MOST_WAITING:
            raise Invalid("Too much waits for the user's decision already. Ask them to decide on it first.")

    async def _revised(self, proposal: Proposal) -> str | None:
        """The record of the same that its user wanted otherwise, and that nothing took the place of yet."""
        asked = await self.services.approvals.of_conversation(self.user_id, self.conversation_id, REMEMBERED)
        revised = [each for each in asked if (each.tool, each.status) == (proposal.action.tool, "revised")]
        about = [each.id for each in revised if each.revised_by is None and _is_about(each, proposal)]
        return about[0] if about else None


def _is_about(approval: Approval, proposal: Proposal) -> bool:
    return all(approval.arguments.get(name) == proposal.args.get(name) for name in SAYING_WHAT)
