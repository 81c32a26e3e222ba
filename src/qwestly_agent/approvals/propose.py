"""Submit a tool's proposal. The gate decides whether it is executed, requires approval or is refused."""

from dataclasses import dataclass, field

from qwestly_agent.action import has_same_subject
from qwestly_agent.approvals import pause
from qwestly_agent.approvals.ask import Proposal, ProposalContext, create_approval, id_of_call
from qwestly_agent.approvals.earned import level_of
from qwestly_agent.approvals.end import STANDS, TOO_MANY, expire_pending, withdraw, without_forgotten
from qwestly_agent.approvals.execute import execute
from qwestly_agent.approvals.gate import GateDecision, gate
from qwestly_agent.approvals.wish import is_requested, requested_changes
from qwestly_agent.base.errors import Invalid, NotFound
from qwestly_agent.domain.approval import Approval, Change, Level, canonical_json
from qwestly_agent.services import ModelServices

DAY_SECONDS = 86_400.0
REMEMBERED = 50
MOST_WAITING = 20
"""Maximum of a user's pending approvals: each is mailed, and the user must read it."""
TOO_MUCH_WAITS = "Too much waits for the user's decision already. Ask them to decide on it first."


@dataclass(frozen=True)
class Proposer:
    """Submits the proposals of one run."""

    services: ModelServices
    user_id: str
    run_id: str
    conversation_id: str
    message: str
    """The user's newest message."""
    role: str = ""
    """The run's design."""
    variant: str | None = None
    """Tag of the run's trial, for its counts."""
    earlier_runs: tuple[str, ...] = ()
    """Earlier runs that answered this same message."""
    unasked: list[str] = field(default_factory=list)
    """Actions that ran without approval in this run."""

    async def submit(self, proposal: Proposal, call_id: str) -> tuple[GateDecision, Approval | None]:
        """Return the gate's decision, with the current level and brake, and the record; None if it is refused.

        Raises `Braked`, `Invalid`, `NotFound` and `Unavailable`.
        """
        await pause.check(self.services.signals, self.user_id)
        own, level = await self._levels(proposal)
        named = await self._named_changes(proposal, level)
        is_plainly_requested = level == "L3" and await self._is_requested(proposal, named)
        decision = gate(proposal.action.effect, level, is_requested=is_plainly_requested)
        if decision.answer == "refuse":
            return decision, None
        if decision.answer != "run":
            await self._check_limits(proposal)
        context = ProposalContext(
            user_id=self.user_id,
            run_id=self.run_id,
            level=level,
            conversation_id=self.conversation_id,
            role=self.role,
            variant=self.variant,
            revises=await self._revised(proposal),
            wished=bool(named),
            earned=level != own,
        )
        approval_id = id_of_call(self.conversation_id, self.run_id, call_id)
        approval = await create_approval(self.services, approval_id, proposal, context, decision.answer)
        if decision.answer == "run":
            approval = await execute(self.services, self.user_id, approval.id)
            await self.services.approvals.mark_reported(approval)  # the model learns it from the tool's result
        # Check after writing: either we see that the conversation is gone, or its deletion sees our record.
        elif not await self.services.conversations.exists(self.user_id, self.conversation_id):
            await expire_pending(self.services, self.user_id, self.conversation_id)
            raise NotFound("The conversation was deleted meanwhile.")
        # Other proposals may have been made since the limit was checked.
        elif len(await self.services.approvals.list_open(self.user_id, MOST_WAITING + 1)) > MOST_WAITING:
            await withdraw(self.services, approval, TOO_MANY)
            raise Invalid(TOO_MUCH_WAITS)
        else:
            approval = await without_forgotten(self.services, approval)
        return decision, approval

    async def _levels(self, proposal: Proposal) -> tuple[Level, Level]:
        """Return the user's own level, and the effective one for this proposal."""
        standing = await self.services.autonomy.get(self.user_id)
        if not standing.grants:
            return standing.level, standing.level
        subject = proposal.action.subject(proposal.action.parse(proposal.args))
        held = await level_of(self.services, self.user_id, standing, proposal.action.tool, subject)
        return standing.level, held

    async def _named_changes(self, proposal: Proposal, level: Level) -> list[Change]:
        if proposal.unchecked or level == "L0":
            return []
        arguments = proposal.action.parse(proposal.args)
        return await requested_changes(self.services, self.user_id, self.message, proposal.action, arguments)

    async def _is_requested(self, proposal: Proposal, named: list[Change]) -> bool:
        if not named or await self._was_done(proposal) or await self._is_beyond_limit(proposal):
            return False
        if not await is_requested(self.services, self.user_id, self.message, named) or self.unasked:
            return False
        self.unasked.append(proposal.action.tool)  # no await since the check, as calls run in parallel
        return True

    async def _is_beyond_limit(self, proposal: Proposal) -> bool:
        action, since = proposal.action, self.services.clock() - DAY_SECONDS
        most = action.most_unasked_a_day
        return await self.services.approvals.count_without_approval(self.user_id, action.tool, since, most) >= most

    async def _was_done(self, proposal: Proposal) -> bool:
        """True if a change already ran without approval for this message, or if the user undid exactly this change in
        this conversation: regenerating an answer does not redo it."""
        asked = await self.services.approvals.list_of_conversation(self.user_id, self.conversation_id, REMEMBERED)
        undone = [each for each in asked if each.undone_by and each.tool == proposal.action.tool]
        return any(each.args == self._args_of(proposal) for each in undone) or any(
            each.decided_by == "level" and each.run_id in self.earlier_runs for each in asked
        )

    async def _check_limits(self, proposal: Proposal) -> None:
        """Check the limits. Raises `Invalid` if this conversation has the same proposal pending, or one of the same
        alternatives was taken in it, or if too many are pending."""
        waiting = await self.services.approvals.list_open(self.user_id, MOST_WAITING)
        args = self._args_of(proposal)
        for each in waiting:
            if (each.conversation_id, each.tool, each.args) == (self.conversation_id, proposal.action.tool, args):
                raise Invalid(f"This waits for the user's decision already ({each.id}).")
        if proposal.alternatives:
            asked = await self.services.approvals.list_of_conversation(self.user_id, self.conversation_id, REMEMBERED)
            choices = [each for each in asked if each.alternatives == proposal.alternatives and not each.undone_by]
            if any(each.tool == proposal.action.tool and each.status in STANDS for each in choices):
                raise Invalid("The user took one of these already.")
        if len(waiting) >= MOST_WAITING:
            raise Invalid(TOO_MUCH_WAITS)

    def _args_of(self, proposal: Proposal) -> str:
        return canonical_json(proposal.action.parse(proposal.args).model_dump(mode="json", exclude_none=True))

    async def _revised(self, proposal: Proposal) -> str | None:
        """Return the id of the record on this subject for which the user requested changes, unless it was replaced
        already."""
        asked = await self.services.approvals.list_of_conversation(self.user_id, self.conversation_id, REMEMBERED)
        revised = [each for each in asked if each.status == "revised" and each.revised_by is None]
        about = [each.id for each in revised if has_same_subject(each, proposal.action.tool, proposal.args)]
        return about[0] if about else None
