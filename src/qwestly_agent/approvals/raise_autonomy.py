"""The action that grants a higher level for one kind of change."""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict

from qwestly_agent.approvals.action import Action
from qwestly_agent.clients import candidate_app
from qwestly_agent.clients.candidate_answers import Done, Outcome
from qwestly_agent.domain.approval import Change, Level, Preview
from qwestly_agent.domain.earned import LADDER, Grant
from qwestly_agent.services import Services

KINDS: Mapping[str, str] = {
    "update_profile_field": "A field of your profile",
    "update_profile": "Several fields of your profile at once",
    "update_preference": "A preference",
}
"""The actions for which a level can be earned, by tool."""
MEANING: Mapping[Level, str] = {
    "L0": "Your agent only suggests it.",
    "L1": "Your agent asks you, and waits.",
    "L2": "It waits in your approvals while your agent goes on.",
    "L3": "What your message plainly asks for is done right away. You can undo it for a day.",
}


class AutonomyRaise(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    tool: str
    subject: str
    level: Level
    since: float
    schema_digest: str


def subject_of_offer(tool: str, subject: str) -> str:
    return f"autonomy:{tool}:{subject}"


async def _shown(services: Services, user_id: str, args: AutonomyRaise) -> dict[str, str]:  # noqa: ARG001
    return {}


def _preview(args: AutonomyRaise, _: Mapping[str, str]) -> Preview:
    before = LADDER[LADDER.index(args.level) - 1]
    change = Change(name=KINDS[args.tool], before=MEANING[before], after=MEANING[args.level])
    return Preview(title="Let your agent go one step further", changes=(change,))


async def _grant(services: Services, effect: candidate_app.Effect, args: AutonomyRaise) -> Outcome:
    await services.autonomy.grant(effect.user_id, Grant(**args.model_dump()))
    return Done(None, {})


RAISE_AUTONOMY = Action(
    tool="raise_autonomy",
    kind="autonomy",
    effect="write",
    arguments=AutonomyRaise,
    subject=lambda args: subject_of_offer(args.tool, args.subject),
    shown=_shown,
    preview=_preview,
    perform=_grant,
    done="Your agent may go one step further here. One no, edit or undo takes it back.",
    ours=True,
    revisable=False,
    signed_in_only=True,
)
