"""The story of mails: people and scanners open and post their links, late and again, and mails come back."""

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from urllib.parse import urlencode

from functions.approve import pages
from qwestly_agent.approvals.decide import Decision
from qwestly_agent.approvals.links import hash_of
from qwestly_agent.approvals.mail import TRY_AGAIN_SECONDS, note_returned_mail
from qwestly_agent.domain.approval import EVERYBODY, MAIL_AFTER_SECONDS, PRIVATE, Verb
from qwestly_agent.stores import approvals, user_settings
from qwestly_agent.workflows import ACTIONS
from tests.simulation.aws import SentMail
from tests.simulation.database import Document
from tests.simulation.story import REQUEST_SECONDS, SKEW, Decided, Story, were, written
from tests.simulation.world import BEGINS, PEOPLE, World

LINK = re.compile(r"https://approve\.example/approve/(?:unsubscribe/)?([A-Za-z0-9_-]{43})")
DIGEST = re.compile(r'name="args_digest" value="([0-9a-f]+)"')
CHOICES: tuple[Verb | str, ...] = ("approve", "approve", "reject", "revise", "", "edit")
THINKS = (0.1, 3.0, 61.0, 700.0)


@dataclass(frozen=True)
class Container:
    """Replaces the container of the pages' function."""

    world: World

    def start(self, work: Callable[[Any], Any]) -> "asyncio.Future[Any]":
        running = self.world.scheduler.running
        assert running is not None
        return asyncio.ensure_future(work(self.world.serving[running.number]))


@dataclass
class MailStory(Story):
    ended: list[tuple[float, str, str]] = field(default_factory=list[tuple[float, str, str]])
    """Times when users were told that a kind of mail has ended."""
    unsubscribed: set[str] = field(default_factory=set[str])
    """Users who asked for that, whether or not they were told."""
    returned: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])
    """Times from which mail to a user is known to come back."""
    leaked: list[str] = field(default_factory=list[str])

    @property
    def acts(self) -> tuple[tuple[int, Callable[[], bool | None]], ...]:
        return (
            (5, self.click),
            (2, self.scan),
            (1, self.guess),
            (1, self.unsubscribe),
            (1, self.come_back),
        )

    # --- what happens ---

    def click(self) -> bool | None:
        """A person opens the link of some mail, thinks, and answers what the page shows."""
        if not (mail := self._some_mail()) or not (token := _link_of(mail)):
            return False
        verb, thinks = self.choices.one(CHOICES), self.choices.one(THINKS)
        owner = self._owner_of(token)

        async def work(services: Any) -> None:
            shown = await ask_page(self.world, "GET", f"/approve/{token}")
            digest = "".join(DIGEST.findall(shown[1])[:1])
            await asyncio.sleep(thinks)
            reason = "Shorter, please" if verb == "revise" else ""
            if owner and verb in ("approve", "reject", "revise"):
                decision = Decision(decision=verb, args_digest=digest, reason=reason or None)  # type: ignore[arg-type]
                self.stage.decided.setdefault(owner, []).append(Decided(self.stage.now, "link", decision))
            form = {"decision": verb, "args_digest": digest, "reason": reason}
            await ask_page(self.world, "POST", f"/approve/{token}", form)

        self.stage.start(f"click and {verb or 'choose nothing'}", work, 800.0, self.stage.times())
        return None

    def scan(self) -> bool | None:
        """A scanner opens every link of some mail, in whichever way."""
        if not (mail := self._some_mail()):
            return False
        method = self.choices.one(("GET", "HEAD", "OPTIONS"))

        async def work(services: Any) -> None:
            for found in LINK.finditer(mail.text):
                status, text = await ask_page(self.world, method, found[0].removeprefix("https://approve.example"))
                self._note_leaks(mail, status, text)

        self.stage.start("scan", work, REQUEST_SECONDS)
        return None

    def guess(self) -> bool | None:
        """Post an altered link."""
        if not (mail := self._some_mail()) or not (token := _link_of(mail)):
            return False
        place = self.choices.one((0, 20, 41))
        letter = "A" if token[place] != "A" else "B"
        altered = f"{token[:place]}{letter}{token[place + 1 :]}"
        record = next((each for each in self.world.approvals if each.id == self._owner_of(token)), None)

        async def work(services: Any) -> None:
            form = {"decision": "approve", "args_digest": record.args_digest if record else "", "reason": ""}
            status, _ = await ask_page(self.world, "POST", f"/approve/{altered}", form)
            if status != 404 and status < 500:
                self.leaked.append(f"a link that was altered is answered with {status}")

        self.stage.start("guess a link", work, REQUEST_SECONDS)
        return None

    def unsubscribe(self) -> bool | None:
        if not (mail := self._some_mail()):
            return False
        person = next(each for each in PEOPLE if each.address == mail.to)

        async def work(services: Any) -> None:
            path = mail.unsubscribe.removeprefix("https://approve.example")
            status, _ = await ask_page(self.world, "POST", path, {"List-Unsubscribe": "One-Click"})
            if status == 200:
                self.ended.append((self.stage.now, person.id, kind_of(mail)))

        self.unsubscribed.add(person.id)
        self.stage.start(f"unsubscribe {person.name}", work, REQUEST_SECONDS)
        return None

    def come_back(self) -> bool | None:
        if not (mail := self._some_mail()):
            return False
        person = next(each for each in PEOPLE if each.address == mail.to)
        how = self.choices.one(("Permanent", "Transient"))
        tag = hash_of(mail.unsubscribe.rpartition("/")[2])
        bounce = {"bounceType": how, "bouncedRecipients": [{"emailAddress": mail.to}]}
        detail = {"eventType": "Bounce", "mail": {"tags": {"mail": [tag]}}, "bounce": bounce}

        async def work(services: Any) -> None:
            told = await note_returned_mail(services, {"source": "aws.ses", "detail": detail})
            if told["returned"]:
                self.returned.append((self.stage.now, person.id))

        self.stage.start(f"a mail to {person.name} comes back ({how})", work, REQUEST_SECONDS)
        return None

    def _some_mail(self) -> SentMail | None:
        mails = self.world.aws.mails
        return self.choices.one(mails[-8:]) if mails else None

    def _owner_of(self, token: str) -> str | None:
        """The id of the approval to which the link was mailed."""
        hashed = hash_of(token)
        for key, versions in self.world.records.items():
            if any(hashed in document["links"] for _, document in written(versions)):
                return key
        return None

    def _note_leaks(self, mail: SentMail, status: int, text: str) -> None:
        others = [each.name for each in PEOPLE if each.address != mail.to]
        if any(f"Hi {each}" in text for each in others):
            self.leaked.append("a page greets somebody else")

    # --- what must hold ---

    def check(self) -> Iterator[str]:
        yield from self.leaked
        by_record: dict[str, list[SentMail]] = {}
        for mail in self.world.aws.mails:
            hashed = {hash_of(each) for each in LINK.findall(mail.text)}
            of = [key for key, versions in self.world.records.items() if _has_links(written(versions), hashed)]
            if len(of) != 1:
                yield f"a mail is about {len(of)} approvals"
                continue
            by_record.setdefault(of[0], []).append(mail)
            yield from (f"{of[0][:9]} {each}" for each in self._mail(of[0], mail))
        for key, mails in by_record.items():
            yield from (f"{key[:9]} {each}" for each in self._once(mails))
        for key in self.world.records:
            yield from (f"{key[:9]} {each}" for each in self._was_mailed(key, by_record.get(key, [])))
        yield from self._only_looked()

    def _mail(self, key: str, mail: SentMail) -> Iterator[str]:
        versions = written(self.world.records[key])
        first, user_id = versions[0][1], versions[0][1]["user_id"]
        person = next(each for each in PEOPLE if each.id == user_id)
        begun = mail.process.begun if mail.process else 0.0
        if mail.to != person.address:
            yield "was mailed to somebody else"
        if any(each.name in LINK.sub("", mail.text) for each in PEOPLE if each != person):
            yield "was mailed with somebody else's name"
        if next(each for at, each in reversed(versions) if at <= begun or at == versions[0][0])["status"] != "pending":
            yield "was mailed although it was decided"
        due = first["created_at"] + (MAIL_AFTER_SECONDS if first["answer"] == "ask" else 0.0)
        if BEGINS + mail.at < due - SKEW and all(each["answer"] == first["answer"] for _, each in versions):
            yield "was mailed before it was due"
        if BEGINS + mail.at > first["expires_at"] + SKEW + REQUEST_SECONDS:
            yield "was mailed after its time"
        if first["kind"] in PRIVATE and any(
            change["after"] and change["after"] in mail.text for change in _changes(first)
        ):
            yield "was mailed with what only its person may see"
        action = ACTIONS[first["tool"]]
        if action.signed_in_only:
            yield "was mailed, and it is decided signed in only"
        if _link_of(mail) and not action.is_link_allowed:
            yield "was mailed with a link that may not decide it"
        if any(at < begun - SKEW and (whose, kind) == (user_id, kind_of(mail)) for at, whose, kind in self.ended):
            yield f"was mailed although {kind_of(mail)} were unsubscribed"
        if self._is_known_to_return(user_id, begun):
            yield "was mailed to an address whose mail comes back"
        if False not in were(self._brake(user_id), begun, mail.at):
            yield "was mailed while everything was paused"

    def _is_known_to_return(self, user_id: str, begun: float) -> bool:
        states = self.stage.states(
            user_settings.COLLECTION, user_id, lambda each: bool(each.get("mail_returned")), False
        )
        return all(were(states, begun - SKEW, begun))

    def _brake(self, whose: str) -> list[tuple[float, bool]]:
        return self.stage.states(user_settings.SIGNALS, whose, lambda each: bool(each.get("brake_since")), False)

    def _once(self, mails: list[SentMail]) -> Iterator[str]:
        for kind in ("questions", "reminders"):
            of_kind = [each for each in mails if kind_of(each) == kind]
            for earlier, later in pairwise(of_kind):
                is_sure = earlier.process and not (earlier.process.faults or earlier.process.is_dead)
                if is_sure or later.at - earlier.at < TRY_AGAIN_SECONDS[0] - SKEW:
                    yield f"was mailed twice, as {kind}"

    def _was_mailed(self, key: str, mails: list[SentMail]) -> Iterator[str]:
        versions = written(self.world.records[key])
        last = versions[-1][1]
        is_asked = last["answer"] in ("ask", "queue") and not ACTIONS[last["tool"]].signed_in_only
        user_id = last["user_id"]
        disturbed = user_id in self.unsubscribed or any(whose == user_id for _, whose in self.returned)
        disturbed = disturbed or self._is_known_to_return(user_id, self.stage.now)
        brakes = (*self._brake(user_id), *self._brake(EVERYBODY))
        disturbed = disturbed or True in [is_on for _, is_on in brakes] or last["mails"] >= 4
        in_time = last["status"] == "expired" and last["decided_at"] > last["expires_at"] - SKEW
        if not (is_asked and in_time) or disturbed:
            return
        asked, half = last["created_at"], (last["created_at"] + last["expires_at"]) / 2
        due = asked + (MAIL_AFTER_SECONDS if last["answer"] == "ask" else 0.0)
        for kind, begin, end in (("questions", due, half), ("reminders", half, last["expires_at"])):
            sweeps = [
                not each.faults
                for each in self.world.scheduler.processes
                if each.name == "sweep" and begin + 2 * SKEW < BEGINS + each.begun < end - 2 * SKEW
            ]
            if sweeps and all(sweeps) and kind not in map(kind_of, mails):
                yield f"expired, and no mail came of {kind}"

    def _only_looked(self) -> Iterator[str]:
        for (collection, key), version in self.world.written_by.items():
            if version.process and version.process.name == "scan":
                yield f"a scanner changed {key} of {collection}"
        for key, versions in self.world.records.items():
            if any(each.process and each.process.name == "scan" for each in versions):
                yield f"a scanner changed {key[:9]} of {approvals.COLLECTION}"


async def ask_page(world: World, method: str, path: str, form: dict[str, str] | None = None) -> tuple[int, str]:
    """The answer of the pages' function."""
    found: list[Any] = []
    bodies = [{"type": "http.request", "body": urlencode(form or {}).encode(), "more_body": False}]

    async def receive() -> Any:
        return bodies.pop() if bodies else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        found.append(message)

    headers = [(b"content-type", b"application/x-www-form-urlencoded")] if method == "POST" else []
    scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": headers}
    scope |= {"scheme": "https", "server": ("approve.example", 443), "client": ("192.0.2.1", 1), "root_path": ""}
    await pages.app(scope, receive, send)
    return found[0]["status"], b"".join(each.get("body", b"") for each in found[1:]).decode()


def _has_links(versions: list[tuple[float, Document]], hashed: set[str]) -> bool:
    known = {link.rpartition(":")[2] for _, each in versions[-1:] for link in each["links"]}
    return bool(known & hashed)


def _link_of(mail: SentMail) -> str | None:
    found = [each for each in LINK.finditer(mail.text) if "/unsubscribe/" not in each[0]]
    return found[0][1] if found else None


def kind_of(mail: SentMail) -> str:
    return "reminders" if mail.subject.startswith("Reminder") else "questions"


def _changes(document: Document) -> list[Any]:
    return json.loads(document["preview"])["changes"]
