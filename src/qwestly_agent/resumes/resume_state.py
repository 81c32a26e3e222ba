"""The input and output of the states of `parse_resume`: ids and enumerated words. Everything else is in the record."""

from typing import Literal

from pydantic import Field

from qwestly_agent.workflow_state import CaughtError, UserState

RUN = "resume-"


class ResumeState(UserState):
    resume_id: str
    why: str = ""
    """Why the file has no readable text; empty if it has."""
    is_kept: bool = False
    """True once the candidate app has stored the text as a document."""
    end: Literal["failed", "stopped", "unreadable", "over_budget"] | None = None
    error: CaughtError | None = Field(default=None, exclude=True)

    @property
    def run_name(self) -> str:
        return f"{RUN}{self.resume_id}"

    @property
    def labels(self) -> dict[str, str]:
        return {"run_id": self.run_id, "resume_id": self.resume_id}
