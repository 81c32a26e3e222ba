"""Résumés at the routes: which may be posted, who can read them, and what is deleted with them."""

from typing import Any

import pytest

from qwestly_agent.base.errors import Unavailable
from qwestly_agent.clients.aws import Workflows
from qwestly_agent.resumes.writer import MOST_A_DAY, MOST_BYTES
from tests.resume_files import MAYA, markdown, one_column
from tests.servers import ChatServer, Client

FILE = {"Content-Type": "application/octet-stream"}


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Return the inputs of the started executions."""
    started: list[dict[str, Any]] = []

    async def start(self: Workflows, workflow: str, name: str, given: Any) -> None:
        if name not in [each["name"] for each in started]:
            started.append({"name": name, **given})

    monkeypatch.setattr(Workflows, "start", start)
    return started


def post(client: Client, content: bytes, name: str = "cv.pdf") -> Any:
    headers = {**client.headers(), **FILE}
    return client.http.post(f"{client.url}/api/resumes?name={name}", content=content, headers=headers)


def test_an_uploaded_file_is_stored_and_its_reading_starts(client: Client, begun: list[dict[str, Any]]) -> None:
    answer = post(client, one_column(MAYA))
    assert answer.status_code == 202
    given = answer.json()
    assert (given["status"], given["name"], given["approval_id"]) == ("reading", "cv.pdf", None)
    [started] = begun
    assert (started["name"], started["user_id"]) == (f"resume-{given['id']}", client.user_id)
    read = client.get(f"/api/resumes/{given['id']}")
    assert (read["label"], read["resume"], read["unread"]) == ("Opening the file", {"basics": {}}, [])
    assert [each["id"] for each in client.get("/api/resumes")["items"]] == [given["id"]]


def test_a_text_can_be_posted_as_json(client: Client, begun: list[dict[str, Any]]) -> None:
    text = {"text": markdown(MAYA).decode(), "name": "pasted"}
    given = client.request("POST", "/api/resumes", json=text)
    assert (given.status_code, given.json()["name"], len(begun)) == (202, "pasted", 1)


def test_the_same_content_under_another_name_is_the_same_resume(client: Client, begun: list[dict[str, Any]]) -> None:
    first, second = post(client, markdown(MAYA)).json(), post(client, markdown(MAYA), "again.pdf").json()
    assert first == second
    assert len(begun) == 1


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"json": {"text": ""}}, 422),
        ({"json": {"text": "x", "more": 1}}, 422),
        ({"json": {}}, 422),
        ({"json": [1]}, 422),
        ({"content": b"{", "headers": {"Content-Type": "application/json"}}, 422),
        ({"content": b"x" * (MOST_BYTES + 1), "headers": FILE}, 413),
    ],
    ids=["no text", "more than that", "nothing", "a list", "no JSON", "more than 4 MB"],
)
def test_a_file_that_is_not_a_resume_is_rejected_at_once(
    client: Client, begun: list[dict[str, Any]], body: dict[str, Any], status: int
) -> None:
    headers = {**client.headers(), **body.pop("headers", {})}
    answer = client.http.post(f"{client.url}/api/resumes", headers=headers, **body)
    assert answer.status_code == status, answer.text
    assert answer.json()["error"]["message"].endswith(".")
    assert client.get("/api/resumes")["items"] == begun == []


def test_no_resume_is_accepted_while_the_brake_is_on(client: Client, begun: list[dict[str, Any]]) -> None:
    client.request("POST", "/api/brake")
    assert post(client, markdown(MAYA)).status_code == 423
    client.request("DELETE", "/api/brake")
    assert begun == []


def test_uploaded_resumes_have_a_daily_limit(client: Client, begun: list[dict[str, Any]]) -> None:
    for number in range(MOST_A_DAY):
        assert post(client, f"Résumé {number}".encode()).status_code == 202
    refused = post(client, b"One more")
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "too_many_resumes")
    assert post(client, b"R\xc3\xa9sum\xc3\xa9 0").status_code == 202, "what is there already is no new one"
    pages = [client.get("/api/resumes?limit=12")]
    pages.append(client.get(f"/api/resumes?limit=12&after={pages[0]['next']}"))
    assert len({each["id"] for page in pages for each in page["items"]}) == MOST_A_DAY
    assert pages[1]["next"] is None


def test_a_resume_that_cannot_be_read_is_reported_and_can_be_uploaded_again(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def gone(*_: object) -> None:
        raise Unavailable

    with monkeypatch.context() as patch:
        patch.setattr(Workflows, "start", gone)
        assert post(client, markdown(MAYA)).status_code == 503
    [failed] = client.get("/api/resumes")["items"]
    assert failed["status"] == "failed"

    async def start(*_: object) -> None:
        return

    monkeypatch.setattr(Workflows, "start", start)
    assert post(client, markdown(MAYA)).json()["id"] != failed["id"]


def test_another_users_resume_cannot_be_read_or_deleted(
    chat: ChatServer, client: Client, begun: list[dict[str, Any]]
) -> None:
    given = post(client, markdown(MAYA)).json()
    with Client(chat.url, "auth0|stranger-of-resumes") as stranger:
        for method in ("GET", "DELETE"):
            assert stranger.request(method, f"/api/resumes/{given['id']}").status_code == 404
        assert stranger.get("/api/resumes")["items"] == []
        assert post(stranger, markdown(MAYA)).json()["id"] != given["id"]
        stranger.request("DELETE", "/api/me")
    assert client.get(f"/api/resumes/{given['id']}")["status"] == "reading"


def test_a_deleted_resume_and_its_file_are_also_gone_from_export_and_erasure(
    client: Client, begun: list[dict[str, Any]]
) -> None:
    kept = post(client, b"Kept").json()
    given = post(client, markdown(MAYA)).json()
    assert client.request("DELETE", f"/api/resumes/{given['id']}").status_code == 204
    told = [each["data"] for each in client.get("/api/activity")["items"] if each["type"] == "resume.deleted"]
    assert told == [{"resume_id": given["id"]}]
    assert client.request("GET", f"/api/resumes/{given['id']}").status_code == 404
    exported = client.get("/api/me/export")["collections"]
    assert [each["id"] for each in exported["agent_resumes"]] == [kept["id"]]
    assert [each["id"] for each in exported["agent_resume_uploads"]] == [kept["id"]]
    erased = client.request("DELETE", "/api/me").json()["erased"]
    assert (erased["agent_resumes"], erased["agent_resume_uploads"]) == (1, 1)
