"""Record for the user why the processing of a résumé failed or was stopped."""

from contextlib import suppress
from typing import cast

from qwestly_agent.base.errors import NotFound
from qwestly_agent.resumes.keep_document import NotKept
from qwestly_agent.resumes.resume_state import ResumeState
from qwestly_agent.resumes.unreadable import SENTENCES, Why
from qwestly_agent.services import Services
from qwestly_agent.workflow_state import OVER_BUDGET, messages_by_error, state

STOPPED_KEPT = "Stopped by your pause. Its text is kept as a document already."
TRY_AGAIN = "It could not be finished. Please upload it again."
_SAID = {
    **messages_by_error("Please upload it again later."),
    "ContentRefused": "Our AI couldn’t work with this text. Please tell us, so we can fix it.",
    "NotKept": NotKept.sentence,
    "OutcomeUnknown": "Your résumé was read. Nobody can tell yet whether its text is kept as a document.",
}
"""By the type of error."""


@state(ResumeState, ignores_brake=True)
async def note_end(services: Services, given: ResumeState) -> ResumeState:
    """Record the end of the processing. Runs under the brake too, since nothing else would record that it stopped."""
    error = given.error.kind if given.error else ""
    label = SENTENCES[cast(Why, given.why)] if given.why in SENTENCES else _SAID.get(error, TRY_AGAIN)
    if error == "Braked" and given.is_kept:
        label = STOPPED_KEPT
    status = "stopped" if error in ("Braked", "NotFound") else "failed"
    end = "unreadable" if given.why in SENTENCES else "over_budget" if error in OVER_BUDGET else status
    with suppress(NotFound):  # the user deleted it meanwhile
        await services.resumes.set_status(given.user_id, given.resume_id, services.clock(), status, label)
    return given.model_copy(update={"end": end})
