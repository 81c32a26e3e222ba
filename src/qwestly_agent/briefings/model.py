"""The input and output of the states of `brief`. They carry ids and counts; items and lines are in the record."""

from qwestly_agent.workflow_state import UserState


class BriefingState(UserState):
    briefing_id: str
    day: str = ""
    """The local day of the briefing; empty if the user requested it."""
    new: int = 0
    """Number of items that no earlier briefing contained."""
    lite: bool = False
    """True if a source was missing."""
    tries: int = 0
    """How often the items were collected."""

    @property
    def run_name(self) -> str:
        return self.run_id
