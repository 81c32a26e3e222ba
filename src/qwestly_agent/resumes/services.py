"""The services of the states of `parse_resume` that ask models: with the design's parser."""

from dataclasses import dataclass
from typing import Protocol

from qwestly_agent.resumes.parser import ResumeParser
from qwestly_agent.service_records import ModelServices


class HasResumeParser(Protocol):
    @property
    def resume_parser(self) -> ResumeParser: ...


@dataclass(frozen=True)
class ResumeServices(ModelServices):
    resume_parser: ResumeParser
