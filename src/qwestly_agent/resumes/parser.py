"""The interface of résumé parsers; a design provides one."""

from typing import Protocol

from qwestly_agent.domain.resume import FoundResume
from qwestly_agent.llm.models import Tier
from qwestly_agent.services import Services

PARSED_BY: Tier = "fast"
"""The tier whose judge checks the parsed fields."""


class ResumeParser(Protocol):
    async def parse(self, services: Services, user_id: str, text: str) -> FoundResume:
        """Return the fields of the text, each with a verbatim quote. The text has no contact details. Raises the errors
        of `structured_output`."""
        ...
