"""The input and output of the states of `brief`: ids and counts. Items and lines are in the record."""

from qwestly_agent.workflow_state import UserState


class BriefingState(UserState):
    briefing_id: str
    day: str = ""
    """The local day that it is for; empty if its user asked for it now."""
    new: int = 0
    """Items that no earlier briefing had."""
    lite: bool = False
    """True if a source was missing."""
    tries: int = 0
    """Times that it was gathered."""

    @property
    def run_name(self) -> str:
        return self.run_id
