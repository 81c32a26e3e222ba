"""From a file to one question: only fields with a quote in the text are proposed."""

import uuid
from collections.abc import Mapping
from typing import Any

import pytest

from infra.local.environment import ACCOUNT, REGION, Template
from infra.local.model_server import ModelServer, Reply
from qwestly_agent import container
from qwestly_agent.approvals import pause
from qwestly_agent.approvals.decide import Decision, decide_and_follow_up
from qwestly_agent.approvals.execute import undo
from qwestly_agent.approvals.sweep import handle_due
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.cards.evidence import pieces_of
from qwestly_agent.domain.activity import ActivityEvent
from qwestly_agent.domain.approval import Approval, Level
from qwestly_agent.domain.resume import ResumeRecord, json_resume
from qwestly_agent.profile import UPDATE_PROFILE
from qwestly_agent.resumes.model import unread_lines
from qwestly_agent.resumes.unreadable import SENTENCES
from qwestly_agent.resumes.writer import start
from tests.counts import everyday
from tests.resume_files import HOSTILE, LAYOUTS, LUCIA, MAYA, ORDERS, Person, markdown, with_hidden_orders
from tests.statemachines.conftest import Case, World

TEMPLATE = Template.load()
EXECUTIONS = f"arn:aws:states:{REGION}:{ACCOUNT}:execution:{TEMPLATE.name('ParseResumeMachine')}"
PARSER, JUDGE = "You read a person's résumé", "You are the second reader"
TEXT = markdown(MAYA)


class User:
    def __init__(self, world: World, **profile: Any) -> None:
        self.world, self.user_id = world, f"auth0|{uuid.uuid4().hex}"
        candidates = world.database["candidates_enhanced"]
        candidates.insert_one({"_id": self.user_id, "user_id": self.user_id, "email": "maya@example.com", **profile})

    def gives(self, content: bytes = TEXT, name: str = "cv.pdf") -> ResumeRecord:
        return self.world.run(lambda services: start(services, self.user_id, name, content))

    def gives_and_waits(self, content: bytes = TEXT) -> tuple[str, ResumeRecord]:
        """Upload a file and wait; returns the execution's end and the record."""
        record = self.gives(content)
        status = self.world.aws.outcome(f"{EXECUTIONS}:resume-{record.id}").status
        return status, self.world.run(lambda services: services.resumes.get(self.user_id, record.id))

    def asked(self) -> Approval:
        [approval] = self.world.run(lambda services: services.approvals.list_all(self.user_id, 10))
        return approval

    def says(self, **decision: Any) -> Approval:
        asked = self.asked()
        answer = Decision(args_digest=asked.args_digest, **decision)
        return self.world.run(
            lambda services: decide_and_follow_up(services, self.user_id, asked.id, answer, by="queue", where="")
        )

    def profile(self) -> dict[str, Any]:
        return self.world.database["candidates_enhanced"].find_one({"user_id": self.user_id})

    def stints(self) -> list[dict[str, Any]]:
        found = self.world.database["employment_stints_enhanced"].find({"user_id": self.user_id}, {"_id": 0})
        stints = [{name: value for name, value in each.items() if name != "user_id"} for each in found]
        return sorted(stints, key=lambda each: each["start_date"], reverse=True)

    def is_at(self, level: Level) -> None:
        now = to_datetime(self.world.clock())
        self.world.run(lambda services: services.autonomy.set_level(self.user_id, level, now))

    def events(self) -> list[str]:
        return sorted(each.type for each in self.feed() if each.type.startswith("resume."))

    def feed(self) -> list[ActivityEvent]:
        return self.world.run(lambda services: services.activity.newest(self.user_id, 50))


def field(value: str, quote: str = "") -> dict[str, str]:
    return {"value": value, "quote": quote or value}


def ideal(person: Person) -> dict[str, Any]:
    """Return the fields that a perfect reader finds."""
    jobs = []
    for job in person.jobs:
        start, _, end = job.dates.partition(" – ")
        dates = {"startDate": field(start, job.dates), **({"endDate": field(end, job.dates)} if end else {})}
        lines = [field(line) for line in job.lines]
        jobs.append({"position": field(job.title), "name": field(job.company), **dates, "highlights": lines})
    school = {"institution": field(person.school), "studyType": field(person.degree)}
    return {
        "basics": {
            "label": field(person.headline),
            "location": field(person.place),
            "summary": field(person.summary),
        },
        "work": jobs,
        "education": [{**school, "endDate": field(person.graduated)}],
        "skills": [field(each) for each in person.skills],
        "languages": [field(each) for each in person.languages],
    }


def finds(found: dict[str, Any]) -> Reply:
    return Reply(tool_calls=[{"name": "final_result", "arguments": found}], to=PARSER)


def case(world: World, model: ModelServer) -> Case:
    user = User(world)

    def begin() -> str:
        world.clock.advance(1)
        model.script(finds(ideal(MAYA)))
        return f"{EXECUTIONS}:resume-{user.gives().id}"

    def newest() -> ResumeRecord:
        return world.run(lambda services: services.resumes.newest(user.user_id, 1))[0]

    return Case(world, user.user_id, begin, lambda: newest().status == "proposed", told=lambda: newest().label)


@pytest.mark.parametrize(
    "layout", [pytest.param(each, marks=() if each == "two columns" else pytest.mark.thorough) for each in LAYOUTS]
)
def test_every_field_found_in_a_resume_is_proposed_with_its_quote(
    world: World, model: ModelServer, layout: str
) -> None:
    person, content = LAYOUTS[layout]
    user = User(world)
    model.script(finds(ideal(person)))
    status, record = user.gives_and_waits(content)
    assert (status, record.status, record.left_out) == ("SUCCEEDED", "proposed", {})
    read = {each.path: each for each in record.read or ()}
    assert all(each.is_checked for each in read.values())
    for number, job in enumerate(person.jobs):
        at = "/".join(("", "work", str(number)))
        assert read[f"{at}/position"].value == job.title
        assert read[f"{at}/startDate"].value == job.start
        end = read.get(f"{at}/endDate")
        assert (end.value if end else "") == job.end
    changes = {each.name: each for each in user.asked().preview.changes}
    assert changes["Headline"].after == person.headline
    assert [each.quote for each in changes["Headline"].quotes] == [person.headline]
    assert changes["Skills"].after == "; ".join(person.skills)
    assert len(changes["Skills"].quotes) == len({each.casefold() for each in person.skills})
    assert user.says(decision="approve").status == "done"
    after = user.profile()
    assert (after["headline"], after["location"], after["summary"]) == (person.headline, person.place, person.summary)
    school = {"school": person.school, "degree": person.degree, "year": int(person.graduated)}
    assert (after["skills"], after["languages"]) == (list(person.skills), list(person.languages))
    assert after["education"] == [school]
    asked = [each for each in user.feed() if each.type == "approval.asked"]
    assert [each.role for each in asked] == ["resumes"]
    assert user.events() == ["resume.begun", "resume.proposed"]


@pytest.mark.thorough
def test_a_design_with_its_own_parser_reads_resumes_with_it(
    world: World, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_DESIGN_PATHS", str(TEMPLATE.folder / "examples"))
    monkeypatch.setenv("AGENT_DESIGN", "by_headings")
    container.resume_services.close()  # the next call creates new services
    user = User(world)
    status, record = user.gives_and_waits(markdown(LUCIA))
    container.resume_services.close()
    assert (status, record.status, record.left_out) == ("SUCCEEDED", "proposed", {})
    assert not [each for each in model.requests if PARSER in str(each.json)]
    changes = {each.name: each.after for each in user.asked().preview.changes}
    assert changes["Headline"] == LUCIA.headline
    assert (changes["Skills"], changes["Languages"]) == ("; ".join(LUCIA.skills), "; ".join(LUCIA.languages))


@pytest.mark.thorough
def test_a_resumes_contact_details_are_in_neither_document_nor_prompts(world: World, model: ModelServer) -> None:
    user = User(world)
    model.script(finds(ideal(MAYA)))
    asked_before = len(model.requests)
    _, record = user.gives_and_waits(LAYOUTS["one column"][1])
    chunks = list(world.database["knowledge_chunk"].find({"user_id": user.user_id}))
    text = "\n\n".join(each["text"] for each in chunks)
    assert MAYA.summary in text
    assert {(each["title"], each["source_type"]) for each in chunks} == {("cv.pdf", "resume")}
    prompts = repr(model.requests[asked_before:])
    for detail in (MAYA.email, MAYA.phone):
        assert detail not in text
        assert detail not in prompts
    assert record.contacts == {"email": (MAYA.email,), "phone": (MAYA.phone,)}
    assert MAYA.name in text
    assert MAYA.name not in unread_lines(record)
    assert MAYA.summary not in unread_lines(record)


INVENTED: Mapping[str, dict[str, Any]] = {
    "a quote that stands nowhere": {"basics": {"label": field("Chief Executive Officer")}},
    "a value that its quote does not say": {"basics": {"label": field("Chief Executive Officer", MAYA.headline)}},
    "another year": {"education": [{**ideal(MAYA)["education"][0], "endDate": field("2009", MAYA.graduated)}]},
    "a skill of nobody": {"skills": [field("Kubernetes", "SQL")]},
    "a language": {"languages": [field("Mandarin (native)", "English (native)")]},
}


@pytest.mark.thorough
@pytest.mark.parametrize("case", INVENTED)
def test_values_invented_by_the_reader_are_not_proposed(world: World, model: ModelServer, case: str) -> None:
    user = User(world)
    model.script(finds(INVENTED[case]), finds(INVENTED[case]))
    status, record = user.gives_and_waits()
    assert status == "SUCCEEDED"
    assert record.left_out
    proposed = [] if record.status == "done" else [each.after or "" for each in user.asked().preview.changes]
    assert not [each for each in proposed if "Chief" in each or "2009" in each or "Kube" in each or "Mandarin" in each]


@pytest.mark.thorough
@pytest.mark.parametrize("layout", LAYOUTS)
def test_invented_fields_are_not_proposed_in_any_layout(world: World, model: ModelServer, layout: str) -> None:
    person, content = LAYOUTS[layout]
    invented = {
        "basics": {
            "label": field("Chief Executive Officer"),
            "location": field("Atlantis", person.place),
            "summary": field(f"{person.summary} Holds twelve patents.", person.summary),
        },
        "work": [{"position": field("Astronaut"), "name": field("NASA", person.jobs[0].company)}],
        "education": [
            {"institution": field("Hogwarts", person.school), "studyType": field(person.degree)},
            {"institution": field(person.school), "endDate": field("1951", person.graduated)},
        ],
        "skills": [field("Kubernetes", person.skills[0]), field("Cobol")],
        "languages": [field("Mandarin (native)", person.languages[0])],
    }
    user = User(world)
    model.script(finds(invented), finds(invented))
    status, record = user.gives_and_waits(content)
    assert status == "SUCCEEDED"
    stand = {(each.path, each.value) for each in record.read or ()}
    # Only what is in the text: a school without the invented year, a degree without the invented school.
    assert {value for _, value in stand} <= {person.school, person.degree}
    proposed = [] if record.status == "done" else [each.after for each in user.asked().preview.changes]
    assert proposed in ([], [person.school])


@pytest.mark.thorough
def test_hidden_orders_in_a_resume_change_nothing(world: World, model: ModelServer) -> None:
    """The second reader contradicts a reader that obeys, and the user decides in any case."""
    user = User(world)
    obeyed = {"basics": {"label": field("Chief Executive Officer", ORDERS)}}
    no = {"id": 0, "why": "That is an order to a reader, and no headline."}
    refuses = Reply(tool_calls=[{"name": "final_result", "arguments": {"verdicts": [no]}}], to=JUDGE)
    model.script(finds(obeyed), refuses)
    status, record = user.gives_and_waits(with_hidden_orders())
    assert (status, record.status) == ("SUCCEEDED", "done")
    assert "headline" not in user.profile()


@pytest.mark.thorough
@pytest.mark.parametrize("case", ["encrypted", "a scan", "a picture"])
def test_a_file_without_text_is_explained_in_a_sentence_without_an_alarm(world: World, case: str) -> None:
    make, why = HOSTILE[case]
    user = User(world)
    status, record = user.gives_and_waits(make())
    assert (status, record.status, record.label) == ("SUCCEEDED", "failed", SENTENCES[why])
    assert user.events() == ["resume.begun", "resume.failed"]


def test_positions_are_proposed_with_lines_partly_accepted_and_undone(world: World, model: ModelServer) -> None:
    user = User(world)
    bank = {"user_id": user.user_id, "company": "Contoso Bank", "title": "Product Manager", "start_date": "2017-06"}
    world.database["employment_stints_enhanced"].insert_one(
        {**bank, "end_date": "2021-02", "description": "Transfers."}
    )
    before = user.stints()
    model.script(finds(ideal(MAYA)))
    user.gives_and_waits()
    asked = user.asked()
    [change] = [each for each in asked.preview.changes if each.name == "Positions"]
    assert change.before == "Product Manager, Contoso Bank\n2017-06 – 2021-02\n• Transfers."
    latest, *others = MAYA.jobs
    assert (change.after or "").split("\n\n") == [
        "\n".join([f"{latest.title}, {latest.company}", "2021-03 – present", *(f"• {each}" for each in latest.lines)]),
        change.before,
        f"Software Engineer, Fabrikam\n2013 – 2017\n• {others[-1].lines[0]}",
    ]
    assert {latest.lines[0], latest.dates, others[-1].company} <= {each.quote for each in change.quotes}
    [position] = [each for each in asked.arguments["changes"] if each["field"] == "positions"]
    taken = {**position, "value": [each for each in position["value"] if each["company"] != "Fabrikam"]}
    assert user.says(decision="edit", args={"changes": [taken]}).status == "done"
    assert user.stints() == [
        {"company": latest.company, "title": latest.title, "start_date": "2021-03", "is_current": True}
        | {"description": "\n".join(latest.lines)},
        {**before[0], "is_current": False},
    ]
    assert "headline" not in user.profile()
    world.run(lambda services: undo(services, user.user_id, asked.id))
    assert user.stints() == [{**before[0], "is_current": False}]


def test_a_line_near_another_positions_dates_stays_unchecked_and_out_of_documents(
    world: World, model: ModelServer
) -> None:
    found = ideal(MAYA)
    moved = found["work"][1]["highlights"].pop()
    found["work"][0]["highlights"].append(moved)
    user = User(world)
    model.script(finds(found))
    _, record = user.gives_and_waits()
    assert [each.value for each in record.read or () if not each.is_checked] == [moved["value"]]
    told = str(pieces_of([record.model_copy(update={"status": "done"})]))
    assert moved["value"] not in told
    assert found["work"][1]["highlights"][0]["value"] in told
    asked = user.asked()
    [change] = [each for each in asked.preview.changes if each.name == "Positions"]
    assert moved["value"] not in (change.after or "")
    assert "beside another position: 1." in asked.rationale


@pytest.mark.thorough
def test_a_resume_line_is_judged_with_its_position(world: World, model: ModelServer) -> None:
    user = User(world)
    model.script(finds(ideal(MAYA)))
    user.gives_and_waits()
    judged = "".join(str(each.json) for each in model.requests if JUDGE in str(each.json))
    assert f"Work: Fabrikam, Software Engineer, 2013 – 2017: {MAYA.jobs[2].lines[0]}" in judged


@pytest.mark.thorough
def test_known_profile_values_are_not_proposed_and_lists_lose_nothing(world: World, model: ModelServer) -> None:
    user = User(world, headline=MAYA.headline.upper(), location="Porto", skills=["sql", "Rust"], languages=["english"])
    model.script(finds(ideal(MAYA)))
    user.gives_and_waits()
    changes = {each.name: each for each in user.asked().preview.changes}
    assert "Headline" not in changes
    assert (changes["Location"].before, changes["Location"].after) == ("Porto", MAYA.place)
    assert changes["Skills"].after == "sql; Rust; Product strategy; Pricing; Figma; A/B testing"
    assert changes["Languages"].after == "english; Portuguese (fluent)"
    location = {"field": "location", "value": "Lisbon"}
    done = user.says(decision="edit", args={"changes": [location]})
    assert (done.status, user.profile()["location"], user.profile()["skills"]) == ("done", "Lisbon", ["sql", "Rust"])


@pytest.mark.parametrize(
    ("decision", "label"),
    everyday(
        1,
        [
            ("approve", "Read. What you approved is in your profile."),
            ("reject", "Read. You declined, so your profile stayed as it is."),
            ("", "Read. This wasn’t decided in time, so your profile stayed as it is."),
        ],
    ),
)
def test_a_resume_is_closed_when_its_approval_ends(world: World, model: ModelServer, decision: str, label: str) -> None:
    user = User(world)
    model.script(finds(ideal(MAYA)))
    _, record = user.gives_and_waits()
    if decision:
        user.says(decision=decision)
    else:
        asked = user.asked()
        world.clock.advance(UPDATE_PROFILE.hours * 3_600 + 1)
        world.run(lambda services: handle_due(services, user.user_id, asked.id))
    closed = world.run(lambda services: services.resumes.get(user.user_id, record.id))
    assert (closed.status, closed.label) == ("done", label)


@pytest.mark.thorough
def test_a_profile_value_that_could_not_be_restored_is_not_changed(world: World, model: ModelServer) -> None:
    user = User(world, education=[{"degree": "of an older form, without a school"}])
    model.script(finds(ideal(MAYA)))
    user.gives_and_waits()
    assert "Education" not in {each.name for each in user.asked().preview.changes}


@pytest.mark.thorough
def test_uploading_a_file_again_yields_the_same_resume(world: World, model: ModelServer) -> None:
    user = User(world)
    model.script(finds(ideal(MAYA)))
    _, record = user.gives_and_waits()
    asked = len(model.requests)
    _, again = user.gives_and_waits()
    assert (again.id, len(model.requests)) == (record.id, asked)
    assert user.events() == ["resume.begun", "resume.proposed"]


@pytest.mark.thorough
def test_at_a_suggest_only_level_a_resume_is_read_without_asking(world: World, model: ModelServer) -> None:
    user = User(world)
    user.is_at("L0")
    model.script(finds(ideal(MAYA)))
    _, record = user.gives_and_waits()
    assert record.status == "done"
    assert json_resume(record.read or ())["basics"]["label"] == MAYA.headline
    assert world.run(lambda services: services.approvals.list_all(user.user_id, 10)) == []


@pytest.mark.thorough
def test_reading_a_resume_counts_toward_the_daily_cost_of_a_user_without_chats(
    world: World, model: ModelServer
) -> None:
    user = User(world)
    model.script(finds(ideal(MAYA)))
    user.gives_and_waits()
    assert world.run(lambda services: services.usage.spent_today(user.user_id, world.clock())) > 0


@pytest.mark.thorough
def test_resume_changes_need_approval_even_at_the_highest_level(world: World, model: ModelServer) -> None:
    user = User(world)
    user.is_at("L3")
    model.script(finds(ideal(MAYA)))
    user.gives_and_waits()
    assert user.asked().status == "pending"
    assert "headline" not in user.profile()


@pytest.mark.sentinel
@pytest.mark.thorough
def test_without_a_second_reader_a_resume_is_proposed_and_marked_unchecked(world: World, model: ModelServer) -> None:
    user = User(world)
    model.script(finds(ideal(MAYA)), *[Reply(fault=503, to=JUDGE)] * 40)
    status, record = user.gives_and_waits()
    assert (status, record.status) == ("SUCCEEDED", "proposed")
    assert not any(each.is_checked for each in record.read or ())
    assert "Not checked by a second reader" in user.asked().rationale


@pytest.mark.thorough
def test_without_a_model_reading_fails_with_an_explanation_and_can_be_retried(world: World, model: ModelServer) -> None:
    user = User(world)
    model.script(*[Reply(fault=503, to=PARSER)] * 16)
    status, record = user.gives_and_waits()
    assert (status, record.status) == ("FAILED", "failed")
    assert "Our AI" in record.label
    model.script(finds(ideal(MAYA)))
    status, again = user.gives_and_waits()
    assert (status, again.status, again.id != record.id) == ("SUCCEEDED", "proposed", True)


def braked(world: World, user: User) -> Any:
    return world.run(lambda services: pause.engage(services.signals, services.sweeps, user.user_id, services.clock))


@pytest.mark.thorough
@pytest.mark.parametrize("state", ["read", "parse", "ground", "keep_document", "propose"])
def test_the_brake_stops_the_workflow_at_each_state_and_is_named(world: World, model: ModelServer, state: str) -> None:
    user = User(world)
    model.script(finds(ideal(MAYA)))

    def pulled(own: Any) -> Any:
        def handler(given: Any, context: Any) -> Any:
            world.run(lambda services: services.signals.turn_brake_on(user.user_id, world.clock()))
            return own(given, context)

        return handler

    with world.instead_of(state, pulled, "parse_resume"):
        status, record = user.gives_and_waits()
    assert (status, record.status) == ("SUCCEEDED", "stopped")
    assert f"resume-{record.id}" in str(braked(world, user))
    assert user.events() == ["resume.begun", "resume.stopped"]
