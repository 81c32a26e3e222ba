"""An error in the API."""

from pydantic import BaseModel

from qwestly_agent.stores.messages import Problem


class ErrorDetail(Problem):
    request_id: str


class Failure(BaseModel):
    """The format of all errors."""

    error: ErrorDetail
