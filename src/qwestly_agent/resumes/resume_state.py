"""The input and output of the states of `parse_resume`: ids and enumerated words. Everything else is in the record."""

from collections.abc import Mapping
from typing import ClassVar, cast

from qwestly_agent.base.errors import AgentError
from qwestly_agent.resumes.unreadable import SENTENCES, Why
from qwestly_agent.workflow_state import End, WorkState

STOPPED_KEPT = "Stopped by your pause. Its text is kept as a document already."


class NotKept(AgentError):
    code, http_status, sentence = "not_kept", 502, "Your résumé was read, but could not be kept as a document."


class ResumeState(WorkState):
    subject, later = "resume", "Please upload it again later."
    messages: ClassVar[Mapping[str, str]] = {
        "ContentRefused": "Our AI couldn’t work with this text. Please tell us, so we can fix it.",
        "NotKept": NotKept.sentence,
        "OutcomeUnknown": "Your résumé was read. Nobody can tell yet whether its text is kept as a document.",
    }
    resume_id: str
    why: str = ""
    """Why the file has no readable text; empty if it has."""
    is_kept: bool = False
    """True once the candidate app has stored the text as a document."""

    def known_end(self) -> tuple[End, str] | None:
        if self.why in SENTENCES:
            return "unreadable", SENTENCES[cast(Why, self.why)]
        return ("stopped", STOPPED_KEPT) if self.error_kind == "Braked" and self.is_kept else None
