"""The two servers of the write API's contract: the local stub, and the TypeScript reference in examples/."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import httpx2
from pymongo import MongoClient

from infra.local.candidate_app import CONTRACT, CandidateAppServer, Fault
from infra.local.environment import API_PATH, ROOT
from tests.e2e.npm import alone, installed, npm
from tests.e2e.processes import tool
from tests.servers import API_SECRET, FakeClock, candidate_app_server

REFERENCE = ROOT / "examples" / "candidate-api"
WHY = "the TypeScript reference of the write API needs it"


class ContractServer(Protocol):
    """The server that the contract tests need."""

    @property
    def url(self) -> str: ...

    @property
    def held(self) -> int: ...

    def misbehave(self, *faults: Fault) -> None: ...

    def release(self) -> None: ...

    def requests(self) -> list[dict[str, Any]]: ...

    def clear_requests(self) -> None: ...

    def find(self, collection: str, **filter: str) -> list[dict[str, Any]]: ...

    def insert(self, collection: str, document: dict[str, Any]) -> None: ...


@dataclass
class Stub:
    server: CandidateAppServer
    client: MongoClient[dict[str, Any]]

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def held(self) -> int:
        return self.server.api.held

    def misbehave(self, *faults: Fault) -> None:
        self.server.misbehave(*faults)

    def release(self) -> None:
        self.server.api.release()

    def requests(self) -> list[dict[str, Any]]:
        return list(self.server.api.requests)

    def clear_requests(self) -> None:
        self.server.api.requests.clear()

    def find(self, collection: str, **filter: str) -> list[dict[str, Any]]:
        return list(self.client[self.server.database][collection].find(filter))

    def insert(self, collection: str, document: dict[str, Any]) -> None:
        self.client[self.server.database][collection].insert_one(document)


@dataclass
class Reference:
    port: int
    http: httpx2.Client = field(default_factory=httpx2.Client)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{API_PATH}"

    @property
    def held(self) -> int:
        return self._control("GET", "held")

    def misbehave(self, *faults: Fault) -> None:
        self._control("POST", "faults", {"faults": faults})

    def release(self) -> None:
        self._control("POST", "release", {})

    def requests(self) -> list[dict[str, Any]]:
        return self._control("GET", "requests")

    def clear_requests(self) -> None:
        self._control("DELETE", "requests")

    def find(self, collection: str, **filter: str) -> list[dict[str, Any]]:
        return self._control("POST", "find", {"collection": collection, "filter": filter})

    def insert(self, collection: str, document: dict[str, Any]) -> None:
        self._control("POST", "insert", {"collection": collection, "document": document})

    def hear(self, sent: Any) -> httpx2.Response:
        """Answer an event of EventBridge."""
        return self.http.request("POST", f"http://127.0.0.1:{self.port}/_control/events", json=sent)

    def _control(self, method: str, what: str, body: Any = None) -> Any:
        return self.http.request(method, f"http://127.0.0.1:{self.port}/_control/{what}", json=body).json()


@contextmanager
def stub(mongodb_uri: str) -> Iterator[ContractServer]:
    with candidate_app_server(mongodb_uri) as server, MongoClient(mongodb_uri) as client:
        yield Stub(server, client)


@contextmanager
def reference() -> Iterator[ContractServer]:
    node = tool("node", WHY)
    project = installed(REFERENCE, WHY)
    with alone(project):
        built = project / "dist/test/controlled.js"
        sources = [*project.glob("src/*.ts"), *project.glob("test/*.ts")]
        if not built.exists() or any(each.stat().st_mtime > built.stat().st_mtime for each in sources):
            npm(project, "run", "build")
    command = [node, "dist/test/controlled.js", str(CONTRACT), str(FakeClock()()), API_SECRET]
    with subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        server = Reference(int(process.stdout.readline()))
        with server.http:
            yield server
        process.kill()
