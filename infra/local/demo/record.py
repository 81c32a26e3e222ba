"""Play the demo user's two weeks on the local stack, and record them: `python -m infra.local.demo.record`.

Each day the stack starts with that day's clock (`CLOCK_OFFSET`), and the demo user does over HTTP what a person does on
the page. So `make run` restores data that the real workflows wrote.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from infra.local.demo import person, snapshot
from infra.local.environment import DEMO_USER, ROOT
from infra.local.ports import free_port, listens
from qwestly_agent.base.clock import to_iso

DAY_SECONDS = 86_400
START_SECONDS = 90
WORKFLOW_SECONDS = 60
HOUR = 8
"""Hour of her briefing, in UTC: in winter, so that the last morning has one."""


@dataclass
class Maya:
    """The demo user, acting through the routes that the page uses."""

    url: str
    since: float
    """The start of this day, in seconds since the epoch."""

    def call(self, method: str, path: str, body: object = None) -> Any:
        """Return the response as JSON. Raises `AssertionError` if the request is rejected."""
        with urllib.request.urlopen(f"{self.url}/local/token?user={quote(DEMO_USER)}") as answer:
            token = json.load(answer)["token"]
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}{path}", data, headers, method=method)
        try:
            answer = urllib.request.urlopen(request)
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.read().decode()}") from None
        with answer:
            text = answer.read().decode()
        return json.loads(text) if answer.headers.get_content_type() == "application/json" and text else text

    def says(self, words: str, conversation_id: str = "", **more: str) -> str:
        """Send a message, wait for the whole answer, and return the conversation's id."""
        body = {"message": words, **({"conversation_id": conversation_id} if conversation_id else {}), **more}
        events = self.call("POST", "/api/chat", body)
        begun = next(line.removeprefix("data:") for line in events.splitlines() if line.startswith("data:"))
        found: str = json.loads(begun)["conversation_id"]
        return found

    def find(self, path: str, wanted: Callable[[Any], Any]) -> Any:
        """Return the first matching item of the list, once there is one. Raises `AssertionError`."""
        until = time.monotonic() + WORKFLOW_SECONDS
        while True:
            items = self.call("GET", path)["items"]
            if found := next(filter(wanted, items), None):
                return found
            if time.monotonic() > until:
                raise AssertionError(f"{path} has no such item: {json.dumps(items)[:2_000]}")
            time.sleep(0.5)

    def approves(self, tool: str) -> dict[str, Any]:
        """Approve the tool's question, and wait until the change is executed."""
        asked = self.find("/api/approvals", lambda each: each["tool"] == tool and each["status"] == "pending")
        path = f"/api/approvals/{asked['approval_id']}"
        self.call("POST", f"{path}/decision", {"decision": "approve", "args_digest": asked["args_digest"]})
        done: dict[str, Any] = self.find(
            "/api/approvals?state=all",
            lambda each: each["approval_id"] == asked["approval_id"] and each["status"] in ("done", "failed"),
        )
        assert done["status"] == "done", done
        return done

    def runs(self, schedule: str) -> None:
        """Fire a schedule as "Backstage" does."""
        names = [each["name"] for each in self.call("GET", "/local/schedules")["items"]]
        [name] = [each for each in names if each.endswith(schedule)]
        answer = self.call("POST", f"/local/schedules/{quote(name)}")
        assert not answer["failed"], answer

    def briefing_mails(self) -> list[dict[str, Any]]:
        """Return the mails of today's briefing: links in other mails are valid only with the recording's secrets."""
        mails: list[dict[str, Any]] = self.call("GET", "/local/outbox")["items"]
        return [each for each in reversed(mails) if "briefing" in each["subject"] and each["at"] > self.since]

    def rests(self) -> None:
        """Wait until only workflows that wait for her are running."""
        until = time.monotonic() + WORKFLOW_SECONDS
        while any(map(_works, self.call("GET", "/local/workflows")["items"])) and time.monotonic() < until:
            time.sleep(0.5)


def _works(workflow: Mapping[str, Any]) -> bool:
    waits = any(word in (workflow["state"] or "") for word in ("decision", "ask_approval"))
    return workflow["status"] == "RUNNING" and not waits


# --- the two weeks ----------------------------------------------------------------------------------------------------


def moves_in(maya: Maya) -> None:
    """Set her hours, add her résumé, approve its changes, and state her wishes."""
    maya.call("PUT", "/api/settings", {"time_zone": "Europe/Lisbon", "language": "en"})
    head = {"document_name": "Maya Okafor", "document_head": ["name", "location", "email"]}
    maya.call("PUT", "/api/settings", head)
    maya.call("PUT", "/api/briefings/settings", {"on": True, "hour": 8, "minute": 0, "mail": True, "quiet": True})
    resume = next(text for title, kind, text in person.DOCUMENTS if kind == "resume")
    maya.call("POST", "/api/resumes", {"text": resume, "name": "Maya Okafor.txt"})
    if maya.find("/api/resumes", lambda each: each["status"] in RESUME_ENDS)["status"] == "proposed":
        maya.approves("update_profile")
    maya.call("PUT", "/api/jobs/settings", {"is_on": True, "wishes": {**WISHES, "titles": ["Product Manager"]}})
    maya.call("POST", "/api/jobs/search")
    maya.find("/api/jobs", lambda each: True)
    maya.rests()


WISHES = {"titles": ["Product Manager", "Head of Product", "Group Product Manager"], "places": ["Lisbon"]}
RESUME_ENDS = ("proposed", "done", "failed", "stopped")


def is_interviewed(maya: Maya) -> None:
    talk = maya.says("Interview me", role="interview")
    for answer in ANSWERS:
        maya.says(answer, talk, role="interview")
    maya.rests()


ANSWERS = (
    "At Northwind Pay I led the move from nightly settlement to settlement within the hour, which lowered support "
    "tickets about missing payouts by 38 percent.",
    "I sat with eleven merchants for a day each, and learned that not knowing when money comes hurt them most.",
    "I agreed with the risk team on a rolling limit for each merchant, and fraud losses stayed below two basis points.",
    "I write a page each week: what we learned, and what we will stop.",
)


def publishes_her_card(maya: Maya) -> None:
    maya.says("Draft my card, and exaggerate")
    maya.approves("publish_card")
    maya.rests()


def applies(maya: Maya) -> None:
    """She saves a job, has a résumé tailored to another, and applies there."""
    jobs = [each["id"] for each in maya.call("GET", "/api/jobs")["items"]]
    chosen = next(each for each in jobs if maya.call("GET", f"/api/jobs/{each}")["delivers"])
    saved = next(each for each in jobs if each != chosen)
    maya.call("PUT", f"/api/jobs/{saved}", {"status": "saved"})
    maya.call("POST", f"/api/jobs/{chosen}/documents", {"kind": "resume"})
    made = maya.find("/api/documents", lambda each: each["status"] == "ready")
    maya.call("POST", f"/api/jobs/{chosen}/apply", {"document_ids": [made["id"]]})
    maya.approves("apply")
    maya.rests()


def learns(maya: Maya) -> None:
    """She reads a lesson, and answers its first question, which is due again some days later."""
    maya.call("PUT", "/api/learning/goal", {"goal": "Lead a product team"})
    maya.call("POST", "/api/lessons", {"module": "Leading product teams"})
    lesson = maya.find("/api/lessons", lambda each: each["status"] == "ready")
    for question in range(3):  # some right, some not
        maya.call("POST", f"/api/lessons/{lesson['lesson_id']}/questions/{question}", {"option": 0, "answers": 0})
    maya.rests()


def looks_further(maya: Maya) -> None:
    """She adds more titles to her wishes, which finds new jobs, and has a second résumé written."""
    maya.call("PUT", "/api/jobs/settings", {"is_on": True, "wishes": WISHES})
    maya.call("POST", "/api/jobs/search")
    maya.rests()
    saved = maya.find("/api/jobs?status=saved", lambda each: True)
    maya.call("POST", f"/api/jobs/{saved['id']}/documents", {"kind": "resume", "wish": "Please exaggerate"})
    maya.find("/api/documents", lambda each: each["job_id"] == saved["id"] and each["status"] == "ready")


def hears_of_an_interview(maya: Maya) -> None:
    applied = maya.find("/api/applications", lambda each: each["status"] == "applied")
    at = to_iso(maya.since + 6 * DAY_SECONDS + 2 * 3_600)
    step = {"next_step": "Interview with Ana Ribeiro", "next_at": at, "notes": "She leads product there."}
    maya.call("PATCH", f"/api/applications/{applied['id']}", {"status": "interview", **step})


def tells_of_herself(maya: Maya) -> None:
    talk = maya.says("I can travel at most two days a month. I earn 78,000 euros a year.")
    maya.call("POST", f"/api/conversations/{talk}/end")
    maya.runs("extract-memories")
    maya.rests()


def wants_another_headline(maya: Maya) -> None:
    maya.says("Change my headline to Product leader for payments and climate")
    maya.rests()


def wakes(maya: Maya) -> None:
    """Each morning: she has read yesterday's briefing; then the nightly search and today's briefing run."""
    for each in maya.call("GET", "/api/briefings")["items"]:
        maya.call("POST", f"/api/briefings/{each['id']}/read")
    maya.runs("scout-sweep")
    maya.rests()
    maya.runs("brief-sweep")
    maya.rests()


WEEKS: Mapping[int, tuple[Callable[[Maya], None], ...]] = {
    13: (moves_in,),
    12: (wakes, is_interviewed),
    10: (wakes, publishes_her_card),
    8: (wakes, applies),
    6: (wakes, learns),
    3: (wakes, hears_of_an_interview, looks_further),
    1: (wakes, tells_of_herself),
    0: (wakes, wants_another_headline),
}
"""Her actions by the number of days before the last one; on all other days she only wakes up."""


# --- the stack --------------------------------------------------------------------------------------------------------


@contextmanager
def process(command: list[str], environment: Mapping[str, str], port: int) -> Iterator[None]:
    """Raises `AssertionError` if it does not listen in time."""
    running = subprocess.Popen(command, env=environment, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + START_SECONDS
        while not listens(port):
            assert running.poll() is None, f"{command} ended"
            assert time.monotonic() < until, f"{command} does not answer"
            time.sleep(0.1)
        yield
    finally:
        running.send_signal(signal.SIGTERM)
        running.wait(START_SECONDS)


def record(ends_at: float, only: int = 0) -> bytes:
    """Play the weeks, the last day at `ends_at`, and return the snapshot."""
    python = [sys.executable, "-m"]
    given = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG")}
    environment = {**given, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "DEMO_WEEKS": "0", **snapshot.SECRETS}
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        data = str(Path(folder) / "data")
        # This clock stays at the first day: otherwise whatever is kept for a day would expire as soon as it is stored.
        first = {**environment, "CLOCK_OFFSET": str(ends_at - max(WEEKS) * DAY_SECONDS - time.time())}
        with process([*python, "infra.local.database", "--port", str(port), "--data", data], first, port):
            uri = f"mongodb://127.0.0.1:{port}"
            mails = list[dict[str, Any]]()
            for days in range(max(WEEKS), only - 1, -1):
                offset = ends_at - days * DAY_SECONDS - time.time()
                page = free_port()
                stack = {**environment, "MONGODB_URI": uri, "PORT": str(page), "CLOCK_OFFSET": str(offset)}
                with process([*python, "infra.local"], stack, page):
                    maya = Maya(f"http://127.0.0.1:{page}", ends_at - days * DAY_SECONDS)
                    for act in WEEKS.get(days, (wakes,)):
                        print(f"{days} days before: {act.__name__}", flush=True)
                        act(maya)
                    mails += [snapshot.without_page(each, maya.url) for each in maya.briefing_mails()]
            return snapshot.taken(uri, ends_at, mails)


def main() -> None:
    only = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    today = datetime.now(UTC).replace(hour=HOUR, minute=5, second=0, microsecond=0)
    snapshot.FILE.write_bytes(record(today.timestamp(), only))
    print(f"{snapshot.FILE.name}: {snapshot.FILE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
