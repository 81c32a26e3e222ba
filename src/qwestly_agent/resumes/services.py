"""The services of the states of `parse_resume` that call models, including the design's parser."""

from dataclasses import dataclass

from qwestly_agent.resumes.parser import ResumeParser
from qwestly_agent.services import ModelServices


@dataclass(frozen=True)
class ResumeServices(ModelServices):
    resume_parser: ResumeParser
