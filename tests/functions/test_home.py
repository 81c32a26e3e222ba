"""`GET /api/home`: open tasks, news and the user's goal, with figures that match the stores."""

import json
import random
import re
import uuid
from collections import Counter
from datetime import UTC, datetime
from typing import Any, get_args

import pytest

from qwestly_agent.briefings.model import BriefingState
from qwestly_agent.briefings.sources import SOURCES
from qwestly_agent.briefings.writer import deliver, gather
from qwestly_agent.chat.home import NEW_SECONDS
from qwestly_agent.domain.approval import Approval, Change, Preview
from qwestly_agent.domain.approval import Status as ApprovalStatus
from qwestly_agent.domain.job import OVER, Advert, Application, ApplicationStatus, JobMatch, MatchStatus, Reason
from qwestly_agent.domain.learning import Lesson, LessonQuestion, Practice
from qwestly_agent.learning.progress import new_practice
from qwestly_agent.stores.drafts import Draft, DraftStatus
from tests.counts import everyday, sample
from tests.functions.approving import DAY, USER, World
from tests.functions.talking import add_memory
from tests.functions.test_act import chat, person
from tests.servers import ChatServer, Client, seconds

__all__ = ["chat", "person"]
"""Fixtures of the chat with local AWS."""


class History:
    """A user's history, written into the stores."""

    def __init__(self, world: World, user_id: str = USER) -> None:
        self.world, self.user_id = world, user_id

    def add(self, store: str, record: Any) -> str:
        self.world.run(lambda services: getattr(services, store).add(record))
        return record.id

    def _times(self, days: float) -> Any:
        at = self.world.clock() - days * DAY
        return {"created_at": at, "updated_at": at}

    def asked(self, title: str, after: str, days: float = 0.0, **more: Any) -> str:
        name = f"ap_{uuid.uuid4().hex}"
        change = Change(name="Value", before=None, after=after)
        given = {
            "id": name, "user_id": self.user_id, "run_id": "r", "kind": "profile", "tool": "update_profile_field",
            "effect": "write", "args": "{}", "args_digest": "0", "schema_digest": "0", "subject": name,
            "preview": Preview(title=title, changes=(change,)), "level": "L1", "answer": "queue",
            "expires_at": self.world.clock() + DAY, **self._times(days), **more,
        }  # fmt: skip
        return self.add("approvals", Approval.model_validate(given))

    def found(self, title: str, days: float = 0.0, *, is_open: bool = True, **more: Any) -> str:
        name, at = f"job_{uuid.uuid4().hex}", self.world.clock() - days * DAY
        advert = Advert(id=f"adzuna:{name}", title=title, company="Adyen", board="adzuna", seen_at=at)
        if is_open:
            self.world.run(lambda services: services.adverts.save([advert]))
        match = JobMatch(id=name, user_id=self.user_id, run_id="r", advert=advert, found_at=at, updated_at=at, **more)
        return self.add("job_matches", match)

    def applied(self, title: str, days: float = 0.0, **more: Any) -> str:
        name = f"app_{uuid.uuid4().hex}"
        given = {"id": name, "user_id": self.user_id, "job_id": f"job_{name}", "title": title, "company": "Adyen"}
        application = Application.model_validate({**given, "status": "applied", **self._times(days), **more})
        self.world.run(lambda services: services.applications.add_or_get(application))
        return name

    def drafted(self, status: DraftStatus, days: float = 0.0) -> str:
        given = {"user_id": self.user_id, "run_id": "r", "conversation_id": None, "style": "standard", "label": "Here"}
        return self.add("drafts", Draft(id=f"card_{uuid.uuid4().hex}", status=status, **given, **self._times(days)))

    def learns(self, title: str, due_in_days: tuple[float, ...], *, unanswered: int = 0) -> str:
        now = self.world.clock()
        answered = {"answers": 1, "right": 1, "is_known": True, "last_at": now - 4 * DAY}
        questions = tuple(LessonQuestion(text="Why?", options=("a", "b"), right=0, sentence=0) for _ in due_in_days)
        practices: tuple[Practice, ...] = tuple(
            new_practice(now + days * DAY).model_copy(update=answered if number >= unanswered else {})
            for number, days in enumerate(due_in_days)
        )
        given = {"user_id": self.user_id, "run_id": "r", "conversation_id": None, "topic": title, "title": title}
        lesson = Lesson(
            id=f"lesson_{uuid.uuid4().hex}", status="ready", questions=questions, practices=practices, **given,
            **self._times(1),
        )  # fmt: skip
        return self.add("lessons", lesson)

    def remembers(self, content: str, days: float = 0.0) -> str:
        at = self.world.clock() - days * DAY
        return self.world.run(lambda services: add_memory(services, self.user_id, at, content))


def test_home_lists_open_tasks_news_and_the_goal(world: World, person: Client) -> None:
    person.request("PUT", "/api/settings", json={"time_zone": "America/New_York"}).raise_for_status()
    history, now = History(world), world.clock()
    reasons = tuple(Reason(text=f"Reason {number}.", advert_quote="It.") for number in range(3))
    job_id = history.found("Payments Engineer", reasons_for=reasons)
    history.applied("Cook", next_step="Interview with Ana", next_at=now + 3 * DAY, status="interview")
    history.applied("Clerk", days=20, next_step="Bring the menu", next_at=now - 2 * DAY)
    history.remembers("Has two children.", days=1)
    question = history.asked("Remember something you said", "lives in Porto", kind="memory", tool="keep_memories")
    lesson_id = history.learns("Active listening", (-1.0, -1.0, 2.0))
    person.request("PUT", "/api/learning/goal", json={"goal": "Lead a team"})

    home = person.get("/api/home")
    assert (home["name"], home["hour"]) == ("Tess", datetime.fromtimestamp(now - 5 * 3600, UTC).hour)
    assert home["counts"] == {
        "needs_you": 3, "found": 1, "changed": 1, "failed": 0, "done": 0, "under_way": 0, "remembered": 1,
        "waiting": 1, "due": 2, "unread": 0,
    }  # fmt: skip
    assert home["summary"] == ("3 things need you; 1 job was found; 1 application changed; 1 thing was remembered.")
    lines = {each["source"]: each for each in home["needs_you"]}
    assert lines["questions"]["text"] == "Remember: lives in Porto?"
    assert lines["questions"]["action"] == {"label": "Answer", "place": "approvals", "id": question}
    assert lines["follow_ups"]["text"] == "Clerk at Adyen: Bring the menu"
    assert lines["follow_ups"]["when"].startswith("due since ")
    assert lines["lessons"]["text"] == "Answer 2 questions of your lesson: Active listening"
    assert lines["lessons"]["action"] == {"label": "Practice", "place": "lessons", "id": lesson_id}
    assert (home["first"]["approval_id"], home["first"]["status"]) == (question, "pending")
    assert [each["text"] for each in home["new"]] == [
        "You have an interview: Cook at Adyen",
        "Remembered something that you said: Has two children",
    ]
    [job] = home["jobs"]
    assert (job["id"], [each["text"] for each in job["reasons_for"]]) == (job_id, ["Reason 0.", "Reason 1."])
    going = home["going"]
    assert (going["step"]["job"], going["step"]["step"]) == ("Cook at Adyen", "Interview with Ana")
    assert seconds(going["step"]["at"]) == now + 3 * DAY
    assert seconds(home["at"]) - seconds(home["since"]) == NEW_SECONDS


def test_the_home_of_a_new_user_is_empty_and_private(world: World, chat: ChatServer) -> None:
    History(world).asked("Change your headline", "Cook")
    with Client(chat.url, "auth0|somebody-new", clock=world.clock) as stranger:
        home = stranger.get("/api/home")
    assert set(home["counts"].values()) == {0}
    assert (home["name"], home["summary"], home["needs_you"], home["first"]) == ("", "", [], None)
    assert (home["new"], home["jobs"], home["missing"]) == ([], [], [])
    assert home["going"] == {"goal": "", "step": None, "lesson": None}


# --- figures ----------------------------------------------------------------------------------------------------------


CHANGED = {"applied", "interview", "offer", "rejected", "withdrawn", "closed"}
ENDED_WELL, ENDED_BADLY = {"drafted", "published", "rejected"}, {"expired", "stopped", "failed"}
NOT_DONE = {"failed", "unknown", "changed", "expired"}


def live(history: History, chance: random.Random) -> None:
    """Create a random history of a few days, partly older than what counts as new."""

    def some(kind: Any) -> Any:
        return chance.choice(get_args(kind))

    for number in range(chance.randrange(2, 30)):
        days, title = chance.uniform(0.1, 14), f"{chance.choice(('Cook', 'Nurse', 'Clerk'))} {number % 5}"
        match chance.randrange(7):
            case 0:
                history.asked("Change your headline", title, days, status=some(ApprovalStatus))
            case 1:
                history.asked("Remember something you said", title, days, kind="memory", tool="keep_memories")
            case 2:
                history.found(title, days, is_open=chance.random() < 0.8, status=some(MatchStatus))
            case 3:
                next_at = history.world.clock() + chance.uniform(-9, 9) * DAY if chance.random() < 0.5 else None
                history.applied(title, days, status=some(ApplicationStatus), next_at=next_at)
            case 4:
                history.drafted(some(DraftStatus), days)
            case 5:
                due = tuple(chance.uniform(-3, 3) for _ in range(chance.randrange(4)))
                history.learns(title, due, unanswered=chance.randrange(2))
            case _:
                history.remembers(f"Likes {number} things.", days)


def counted_by_hand(history: History, since: float) -> Counter[str]:
    """Count directly in the documents, without any of our code."""
    now, database = history.world.clock(), history.world.database

    def documents(name: str) -> list[dict[str, Any]]:
        return list(database[name].find({"user_id": history.user_id}))

    counts = Counter[str]()
    counts["waiting"] = sum(each["status"] == "pending" for each in documents("agent_approvals"))
    counts["needs_you"] = counts["waiting"]
    for each in documents("agent_applications"):
        days = 1 if each["status"] == "interview" else 0
        planned = each["next_at"] - days * DAY if each["next_at"] else None
        usual = each["applied_at"] + 7 * DAY if each["status"] == "applied" and each["applied_at"] else None
        due = planned or usual
        counts["needs_you"] += each["status"] not in OVER and due is not None and due <= now
        counts["changed"] += each["status"] in CHANGED and each["updated_at"] > since
    due_now = list[tuple[float, str]]()
    for each in documents("agent_lessons"):
        practices = json.loads(each["practices"])
        due_now += [(one["due_at"], each["_id"]) for one in practices if one["answers"] and one["due_at"] <= now]
        is_unread = any(not one["answers"] for one in practices)
        counts["unread"] += is_unread
        counts["done"] += is_unread and each["updated_at"] > since
    counts["due"] = len(today := sorted(due_now)[:10])
    counts["needs_you"] += len({name for _, name in today})
    still_open = {each["_id"] for each in database["agent_adverts"].find()}
    for each in documents("agent_job_matches"):
        counts["found"] += each["status"] == "new" and each["found_at"] > since and each["advert_id"] in still_open
    for each in documents("agent_drafts"):
        counts["under_way"] += each["status"] == "running"
        counts["done"] += each["status"] in ENDED_WELL and each["updated_at"] > since
        counts["failed"] += each["status"] in ENDED_BADLY and each["updated_at"] > since
    for each in documents("agent_approvals"):
        is_new = each["updated_at"] > since
        counts["done"] += each["status"] == "done" and each["kind"] == "profile" and is_new
        counts["failed"] += each["status"] in NOT_DONE and is_new
    for each in documents("user_memories"):
        counts["remembered"] += each["status"] == "active" and each["created"] > since
    return Counter({name: count for name, count in counts.items() if count})


@pytest.mark.parametrize("seed", everyday(2, sample(range(60), 4)))
def test_every_figure_in_home_briefing_mail_and_badge_matches_the_stores(
    world: World, person: Client, seed: int
) -> None:
    chance, history = random.Random(seed), History(world)
    live(history, chance)
    queue = [each for each in person.get("/api/approvals?limit=100")["items"] if each["status"] == "pending"]

    home = person.get("/api/home")
    by_hand = counted_by_hand(history, seconds(home["since"]))
    assert Counter({name: count for name, count in home["counts"].items() if count}) == by_hand
    assert len(queue) == by_hand["waiting"], "the badge"
    suggested = [each["label"] for each in person.get("/api/suggestions") if each["does"] == "review"]
    assert [int(re.sub(r"\bone\b", "1", label).split()[2]) for label in suggested] == [len(queue)] * bool(queue)

    # A briefing for the same period, and its mail.
    async def brief(services: Any) -> None:
        await services.briefing_plans.change(USER, {"on": True}, world.clock())
        await services.briefing_plans.advance_marks(USER, dict.fromkeys(SOURCES, seconds(home["since"])))
        given = BriefingState(user_id=USER, run_id="brief-1", briefing_id="brief-1", day="2026-11-23")
        await deliver(services, await gather(services, given))

    world.run(brief)
    [briefing] = person.get("/api/briefings")["items"]
    by_topic = Counter({name: count for name, count in by_hand.items() if name not in ("waiting", "due", "unread")})
    told = Counter[str]()
    for line in briefing["lines"]:
        told[line["topic"]] += len(line["records"])
        assert all((line["text"], line["when"], line["why"] or line["now"], line["action"]["label"])), line
    assert told == by_topic
    figures = [int(each) for each in re.findall(r"(?:^|; )(\d+) ", briefing["summary"])]
    assert sorted(figures) == sorted(by_topic.values())
    assert not home["summary"] or briefing["summary"].startswith(home["summary"][:-1].split(";")[0])
    for mail in world.aws.outbox:
        first = briefing["summary"].partition(";")[0].rstrip(".")
        assert mail.subject == f"Your first briefing: {first}"
        assert briefing["summary"] in " ".join(mail.text.split())
