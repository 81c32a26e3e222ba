"""A newcomer's way on the running stack: résumé, "What do you know about me?", search, document.

The newcomers are invented. Steps that none of them can finish yet are tried at night, each with the planned fix.
"""

import json
import uuid
from dataclasses import dataclass
from typing import Any

import pytest

from tests.e2e.processes import Stack
from tests.resume_files import LEFT, column, pdf
from tests.resume_files import Page as Sheet
from tests.servers import Client, until

pytestmark = pytest.mark.thorough

INTERVIEWER = "an interviewer that reads the message before it asks"
ANSWERS_BY_WORDS = "typed answers that decide"


@dataclass(frozen=True)
class Newcomer:
    name: str
    cv: tuple[str, ...]
    employers: tuple[str, ...]
    title: str
    place: str
    story: tuple[str, ...]
    """Their answers in an interview."""
    told: str
    """Words of the story that belong in its draft."""
    stop: str
    facts: tuple[str, ...]
    """Answers of an onboarding, in its order."""


FREYA = Newcomer(
    name="Freya Nilsen",
    cv=(
        "Freya Nilsen",
        "Data Engineer | Bergen | freya.nilsen@example.org | +47 21 23 45 67",
        "",
        "EXPERIENCE",
        "Data Engineer, Fjordline Ferries",
        "Feb 2020 - Present",
        "- Moved 14 nightly reports to streams",
        "- Cut the time to a report from 9 hours to 20 minutes",
        "",
        "Analyst, Hardanger Fruit",
        "2016 - Jan 2020",
        "- Built the first forecast of the harvest",
        "",
        "EDUCATION",
        "MSc Statistics, University of Bergen, 2016",
        "",
        "SKILLS",
        "Python, SQL, Kafka",
        "",
        "LANGUAGES",
        "Norwegian (native), English (fluent)",
    ),
    employers=("Fjordline", "Hardanger"),
    title="Data Engineer",
    place="Berlin",
    story=("At Fjordline I moved fourteen nightly reports to streams in a year.", "There were four of us."),
    told="nightly reports",
    stop="That is enough for today, thank you.",
    facts=("Data engineer at Fjordline", "8", "Bergen", "The streams", "Python", "Norwegian and English", "Statistics"),
)
OMAR = Newcomer(
    name="Omar Haddad",
    cv=(
        "OMAR HADDAD",
        "Marseille  |  omar.haddad@example.org",
        "",
        "Career",
        "Backend Engineer, Calanque Logistics",
        "2019 - now",
        "* Wrote the service that plans 900 tours a day",
        "",
        "Junior Developer, Vieux Port Media",
        "2016 - 2019",
        "* Kept forty sites of newspapers running",
        "",
        "Education",
        "Licence Informatique, Aix-Marseille, 2016",
        "Languages: French, Arabic, English",
    ),
    employers=("Calanque", "Vieux Port"),
    title="Backend Engineer",
    place="Berlin",
    story=("I wrote the service that plans nine hundred tours a day.", "Two of us, and I did the planning."),
    told="tours",
    stop="Let's stop here.",
    facts=(
        "backend engineer",
        "nine",
        "Marseille",
        "the tour planner",
        "Python and Go",
        "French, Arabic",
        "informatics",
    ),
)
JUNE = Newcomer(
    name="June Carter-Bell",
    cv=(
        "June Carter-Bell",
        "Project Manager, Leeds",
        "june.cb@example.org",
        "",
        "Work",
        "Project Manager, Aire Valley Housing",
        "03/2018 - 09/2024",
        "Handed over 212 homes, all before winter",
        "",
        "Site Secretary, Aire Valley Housing",
        "2014 - 2018",
        "",
        "Training",
        "PRINCE2 Practitioner, 2017",
    ),
    employers=("Aire Valley",),
    title="Product Manager",
    place="Leeds",
    story=("We handed over 212 homes, all before winter.", "I planned it, and nine trades did it."),
    told="212 homes",
    stop="I'd like to end the interview now",
    facts=("project manager until September", "ten", "leeds", "the homes", "planning", "english", "PRINCE2"),
)


class Road:
    def __init__(self, client: Client, person: Newcomer) -> None:
        self.client, self.person = client, person

    def resume(self) -> None:
        sheet = Sheet()
        column(sheet, LEFT, [(line, 10) for line in self.person.cv], 90)
        file = {"content": pdf([sheet]), "params": {"name": "cv.pdf"}}
        number = self.client.request("POST", "/api/resumes", **file).raise_for_status().json()["id"]

        def ended() -> Any:
            read = self.client.get(f"/api/resumes/{number}")
            return read["status"] in ("proposed", "done", "failed") and read

        read = until(ended)
        assert read["status"] in ("proposed", "done")
        assert read["resume"]["basics"]["name"] == self.person.cv[0]
        for employer in self.person.employers:
            assert employer in json.dumps(read["resume"])

    def known(self) -> None:
        answer = self.client.say("What do you know about me?").text
        assert any(employer in answer for employer in self.person.employers), answer
        assert "not yet approved" in answer

    def approved(self) -> None:
        [asked] = self.client.get("/api/approvals")["items"]
        decision = {"decision": "approve", "args_digest": asked["args_digest"]}
        self.client.request("POST", f"/api/approvals/{asked['approval_id']}/decision", json=decision).raise_for_status()
        [read] = until(lambda: (it := self.client.get("/api/resumes")["items"])[0]["status"] == "done" and it)
        assert read["label"] == "Read. What you approved is in your profile."

    def search(self) -> None:
        first = self.client.request("POST", "/api/jobs/search").raise_for_status().json()["run_id"]
        until(lambda: not self.client.get("/api/jobs")["is_searching"])
        wishes = {"titles": [self.person.title], "places": [self.person.place]}
        self._settings(wishes)
        again = self.client.request("POST", "/api/jobs/search").raise_for_status().json()["run_id"]
        assert again != first
        found = until(lambda: not (jobs := self.client.get("/api/jobs"))["is_searching"] and jobs)
        assert found["items"], found
        refused = self.client.request("POST", "/api/jobs/search")
        assert (refused.status_code, "Change what you want" in refused.text) == (422, True)
        assert self._settings(wishes)["is_on"] is True

    def document(self) -> None:
        job = self.client.get("/api/jobs")["items"][0]["id"]
        asked = self.client.request("POST", f"/api/jobs/{job}/documents", json={"kind": "resume"})
        number = asked.raise_for_status().json()["id"]
        until(lambda: self.client.get(f"/api/documents/{number}")["status"] != "writing", seconds=60)
        file = self.client.request("GET", f"/api/documents/{number}/download", params={"format": "md"})
        assert file.raise_for_status().text.splitlines()[0] == f"# {self.person.cv[0]}"

    def _settings(self, wishes: dict[str, Any]) -> dict[str, Any]:
        body = {"is_on": True, "wishes": wishes}
        return self.client.request("PUT", "/api/jobs/settings", json=body).raise_for_status().json()

    # --- known to fail ------------------------------------------------------------------------------------------------

    def onboarding(self) -> None:
        conversation = self.client.say("Hi!", role="onboarding").conversation_id
        for fact in self.person.facts:
            self.client.say(fact, conversation)
        topics = self._interview(conversation)["topics"]
        assert sum(aspect["status"] == "covered" for topic in topics for aspect in topic["aspects"]) >= 6

    def interview(self) -> None:
        opening = self.client.say("Interview me", role="interview")
        answers = [self.client.say(each, opening.conversation_id).text for each in self.person.story]
        assert len({opening.text, *answers}) == 1 + len(answers), "a question was asked again"
        assert self.person.told in json.dumps(self._interview(opening.conversation_id)["draft"])

    def stop(self) -> None:
        conversation = self.client.say("Interview me", role="interview").conversation_id
        self.client.say(self.person.story[0], conversation)
        self.client.say(self.person.stop, conversation)
        assert self._interview(conversation)["ended"]

    def typed_yes(self) -> None:
        conversation = self.client.say("Change my headline to Keeper of small things").conversation_id
        answer = self.client.say("yes", conversation).text
        assert not any("Keeper of small" in json.dumps(each) for each in self.client.get("/api/approvals")["items"])
        assert "I can't do it" not in answer

    def _interview(self, conversation_id: str) -> dict[str, Any]:
        path = f"/api/interviews/{conversation_id}"
        return until(lambda: not (view := self.client.get(path))["is_writing"] and view)


REQUIRED = ("resume", "known", "approved", "search", "document")
LATER = {
    "onboarding": INTERVIEWER,
    "interview": INTERVIEWER,
    "stop": INTERVIEWER,
    "typed_yes": ANSWERS_BY_WORDS,
}


AT_NIGHT = [pytest.param(each, marks=pytest.mark.nightly) for each in (OMAR, JUNE)]
UNMENDED = [pytest.param(step, marks=pytest.mark.xfail(reason=why)) for step, why in LATER.items()]


@pytest.mark.nightly
@pytest.mark.parametrize("person", [FREYA, *AT_NIGHT], ids=lambda each: each.name)
def test_a_newcomer_gets_from_a_resume_to_a_document(stack: Stack, person: Newcomer) -> None:
    with Client(stack.url, f"auth0|{uuid.uuid4().hex}") as client:
        road = Road(client, person)
        for step in REQUIRED:
            getattr(road, step)()


@pytest.mark.nightly
@pytest.mark.parametrize("step", UNMENDED)
@pytest.mark.parametrize("person", [FREYA, OMAR, JUNE], ids=lambda each: each.name)
def test_a_newcomer_step_known_to_fail(stack: Stack, person: Newcomer, step: str) -> None:
    with Client(stack.url, f"auth0|{uuid.uuid4().hex}") as client:
        getattr(Road(client, person), step)()
