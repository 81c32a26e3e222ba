"""The scripted model server, as a provider that bills."""

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from infra.local.model_faults import Reply
from infra.local.model_server import ModelServer
from infra.local.model_wire import Answer, Json


class BilledModel(ModelServer):
    """Records what a provider would bill, and does not report that it is scripted."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.usages: list[tuple[str, Mapping[str, Any]]] = []
        """Model and usage of each answer."""

    async def _models(self, request: Request) -> Response:
        return JSONResponse({"object": "list", "data": [{"id": "known", "object": "model", "owned_by": "known"}]})

    def _answer(self, reply: Reply, body: Json) -> Answer:
        answer = super()._answer(reply, body)
        self.usages.append((body["model"], answer.usage))
        return answer
