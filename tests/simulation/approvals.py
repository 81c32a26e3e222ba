"""The story of approvals: a person, other devices, the sweep and strangers decide on private actions, and undo them."""

import asyncio
import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from qwestly_agent.approvals import decide
from qwestly_agent.approvals.act import ActRequest, ask_act, refresh_outcomes
from qwestly_agent.approvals.ask import Proposal
from qwestly_agent.approvals.execute import ASKED_AGAIN, LATEST_SECONDS, NEVER_KNOWN, NOT_AS_SHOWN, REBASES, execute
from qwestly_agent.approvals.pause import named_run
from qwestly_agent.approvals.propose import Proposer
from qwestly_agent.approvals.sweep import NOTIFY_SECONDS, sweep
from qwestly_agent.base.errors import ChangedMeanwhile
from qwestly_agent.domain.activity import of_approval
from qwestly_agent.domain.approval import FINAL, MOVES, PRIVATE, SENT, UNDO_SECONDS, Approval, Verb, sha256_hex
from qwestly_agent.profile import INGEST_LINKEDIN_PROFILE, UPDATE_PREFERENCE, UPDATE_PROFILE, UPDATE_PROFILE_FIELD
from qwestly_agent.stores import activity, jobs, user_settings
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.drafts import pipeline_id_of
from qwestly_agent.workflows import ACTIONS
from tests.simulation.database import Document
from tests.simulation.settings import CHAT_SETTINGS
from tests.simulation.story import (
    CHAT_SECONDS,
    REQUEST_SECONDS,
    SKEW,
    SWEEP_SECONDS,
    Decided,
    Story,
    were,
    written,
)
from tests.simulation.world import BEGINS, FIRST_VALUES, Effect, Person, Version

VERBS: tuple[Verb, ...] = ("approve", "approve", "approve", "edit", "revise", "reject")


@dataclass
class ApprovalStory(Story):
    undone: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    """Times of undo requests, by approval."""
    proposals: int = 0

    @property
    def acts(self) -> tuple[tuple[int, Callable[[], bool | None]], ...]:
        return (
            (3, self.propose),
            (12, self.decide),
            (6, self.undo),
            (2, self.sweep),
            (1, self.look),
            (2, self.carry_out),
            (2, self.change_elsewhere),
            (3, self.contend),
        )

    # --- what happens ---

    def propose(self) -> None:
        person, where = self.stage.someone(), self.stage.somewhere()
        self.propose_to(person, where, self.choices.number(5), self.stage.times())

    def propose_to(self, person: Person, where: str, kind: int, times: int = 1) -> None:
        proposal, message = self.new_proposal(person, kind)
        run_id = f"run-{self.proposals}"

        async def work(services: Any) -> None:
            self.world.say(person.id, where, run_id, message)
            asking = Proposer(services, person.id, run_id, where, message, token=self.world.token(person.id))
            async with named_run(services.runs, person.id, run_id, services.clock):
                await asking.submit(proposal, "call")

        name = f"propose to {person.name}: {message}"
        self.stage.start(name, work, CHAT_SECONDS, times, CHAT_SETTINGS)

    def new_proposal(self, person: Person, kind: int) -> tuple[Proposal, str]:
        """And the message that asks for it. Its value names the person, so that everybody sees whose it is."""
        self.proposals += 1
        number, word = self.proposals, f"Nurse {person.name} {self.proposals}"
        values = {"headline": word, "location": word, "remote": "only" if number % 2 else "no"}
        changes = [{"field": field, "value": value} for field, value in values.items()]
        return (
            (Proposal(UPDATE_PROFILE_FIELD, {"field": "headline", "value": word}), f"Change my headline to {word}"),
            (Proposal(UPDATE_PROFILE_FIELD, {"field": "location", "value": word}), f"Change my location to {word}"),
            (Proposal(UPDATE_PROFILE, {"changes": changes}), "Please change my profile."),
            (Proposal(UPDATE_PREFERENCE, {"name": "roles", "value": [word]}), f"Change my roles to {word}"),
            (
                Proposal(INGEST_LINKEDIN_PROFILE, {"url": f"https://linkedin.com/in/{number}", "refresh": True}),
                "Please read my LinkedIn profile.",
            ),
        )[kind]

    def decide(self) -> bool | None:
        if not (pending := [each for each in self.world.approvals if each.status == "pending"]):
            return False
        record = self.choices.one(pending)
        verb, by = self.choices.one(VERBS), self.choices.one(("chat", "queue"))
        # Now and then a page shows an older question.
        seen = self.choices.one([record] * 7 + [self.world.approvals[0]])
        self.decide_on(record, verb, "queue" if record.conversation_id is None else by, seen)
        return None

    def decide_on(self, record: Approval, verb: Verb, by: Any, seen: Approval, *, opened: bool = False) -> None:
        edit = _edited(record) if verb == "edit" else None
        reason = "Shorter, please" if verb == "revise" else None
        decision = decide.Decision(
            decision=verb, args_digest=seen.args_digest, args=edit, reason=reason, opened=opened or None
        )
        token, is_theirs = self.stage.token_for(record.user_id)

        async def work(services: Any) -> None:
            if is_theirs:
                self.stage.decided.setdefault(record.id, []).append(Decided(self.stage.now, by, decision))
            here = record.conversation_id if by == "chat" else None
            asked = ActRequest(token=token, approval_id=record.id, conversation_id=here, act=decision)
            await ask_act(services, asked)

        limit = CHAT_SECONDS if by == "chat" else REQUEST_SECONDS
        name = f"{verb} {record.id[:9]}, seen as {seen.id[:9]}{'' if is_theirs else ', by a stranger'}"
        self.stage.start(name, work, limit, self.stage.times(), CHAT_SETTINGS)

    def contend(self) -> bool | None:
        """Two things are done to one approval at once."""
        records = [each for each in self.world.approvals if each.status in ("pending", "approved", "executing", "done")]
        if not records:
            return False
        record, ours = self.choices.one(records), VERBS
        acts: tuple[Callable[[], object], ...] = (
            lambda: self.decide_on(record, self.choices.one(ours), "queue", record),
            lambda: self.decide_on(record, self.choices.one(ours), "queue", record),
            lambda: self.undo(record),
            lambda: self.carry_out(record),
            self.change_elsewhere,
            self.sweep,
            self.propose,
        )
        self.stage.rivals(self.choices.one(acts), self.choices.one(acts))
        return None

    def undo(self, record: Approval | None = None) -> bool | None:
        if not (done := [each for each in self.world.approvals if each.status == "done" and each.inverse]):
            return False
        fresh = [each for each in done if not each.undone_by and (each.undo_until or 0.0) > self.world.time]
        record = record or self.choices.one(fresh if fresh and self.choices.number(4) else done)
        token, is_theirs = self.stage.token_for(record.user_id)

        async def work(services: Any) -> None:
            if is_theirs:
                self.undone.setdefault(record.id, []).append(self.stage.now)
            await ask_act(services, ActRequest(token=token, approval_id=record.id, act="undo"))

        def ask() -> None:
            name = f"undo {record.id[:9]}{'' if is_theirs else ', by a stranger'}"
            self.stage.start(name, work, REQUEST_SECONDS, self.stage.times(), CHAT_SETTINGS)

        ask()
        if self.choices.number(2):  # and asks again where nothing seems to happen

            async def ask_again() -> None:
                await asyncio.sleep(12.0)
                ask()

            self.stage.go_on(ask_again())
        return None

    def sweep(self) -> None:
        ends = self.stage.now + SWEEP_SECONDS
        self.stage.start("sweep", lambda services: sweep(services, lambda: ends - self.stage.now), SWEEP_SECONDS)

    def look(self) -> None:
        person = self.stage.someone()

        async def work(services: Any) -> None:
            found = await services.approvals.list_open(person.id, 100)
            await refresh_outcomes(services, found, self.world.token(person.id))

        self.stage.start("look at the queue", work, REQUEST_SECONDS, settings=CHAT_SETTINGS)

    def carry_out(self, record: Approval | None = None) -> None:
        """Execute as a workflow's state that is delivered again."""
        if records := self.world.approvals:
            record = record or self.choices.one(records)
            self.stage.start(
                f"carry out {record.id[:9]}",
                lambda services: execute(services, record.user_id, record.id),
                CHAT_SECONDS,
            )

    def change_elsewhere(self) -> None:
        person, name = self.stage.someone(), self.choices.one(("headline", "location"))
        value = self.choices.one(("Elsewhere", FIRST_VALUES[name]))

        async def work(_: Any) -> None:
            self.world.change_elsewhere(person.id, **{name: value})

        self.stage.start(f"change {person.name}'s {name} elsewhere to {value}", work, REQUEST_SECONDS)

    # --- what must hold ---

    def check(self) -> Iterator[str]:
        for record in self.world.approvals:
            versions = written(self.world.records[record.id])
            yield from (f"{record.id[:9]} {each}" for each in self._history(versions))
            yield from (f"{record.id[:9]} {each}" for each in self._end(record, versions))
        for key, versions in self.world.records.items():
            yield from (f"{key[:9]} {each}" for each in self._permission(key, versions))
            yield from (f"{key[:9]} {each}" for each in self._as_decided(key, versions))
            yield from (f"{key[:9]} {each}" for each in self._beside_older(versions))
        yield from self._undone_once()
        yield from self._pauses()

    def _history(self, versions: list[tuple[float, Document]]) -> Iterator[str]:
        wanted: set[str] = set()
        for (_, before), (_, after) in itertools.pairwise(versions):
            moved = before["status"], after["status"]
            if moved[0] != moved[1] and moved[1] not in MOVES.get(moved[0], ()):
                yield f"went from {moved[0]} to {moved[1]}"
            if unexplained := sorted(_unexplained(before, after)):
                yield f"had its {', '.join(unexplained)} changed while it went from {moved[0]} to {moved[1]}"
        for number, (_, document) in enumerate(versions):
            is_silent = (document["status"], document["answer"]) == ("pending", "run")
            before = versions[number - 1][1] if number else {}
            is_same = all(document[name] == before.get(name) for name in ("status", "answer"))
            if not (is_silent or is_same):
                wanted.add(of_approval(Approvals.from_document(document)).id)
        feed = self.world.table(activity.COLLECTION)
        fed = {key for key in feed if key.startswith(f"{versions[0][1]['_id']}:")}
        if fed != wanted:
            yield f"has other events in the feed than in its history: {sorted(fed ^ wanted)}"

    def _end(self, record: Approval, versions: list[tuple[float, Document]]) -> Iterator[str]:
        effects = [each for each in self.world.effects if each.act == record.id]
        action = ACTIONS[record.tool]
        if record.status not in FINAL or record.is_unfinished:
            yield f"never ended: it is {record.status}"
        elif len(effects) > 1:
            yield f"was done {len(effects)} times"
        elif record.status == "done" and not effects and not action.is_own_data:
            yield "says that it was done, and it was not"
        elif record.status != "done" and effects and record.outcome != NEVER_KNOWN:
            ended = next(at for at, each in versions if each["status"] == record.status)
            yield f"says {record.status} ({record.outcome}), and it was done{' later' * (effects[0].at > ended)}"
        if record.status == "expired" and not record.outcome and record.kind != "memory":
            expired = next(at for at, each in versions if each["status"] == "expired")
            is_early = BEGINS + expired < record.expires_at - SKEW
            if is_early and record.user_id not in self.stage.leaving:
                yield "expired before its time"
        is_started = record.redraft_id is None or pipeline_id_of(record.redraft_id) in self.world.aws.started
        if not (is_started or self._was_given_up(record, versions)):
            yield "was to be drafted anew, and was not"
        wishes = {"remote"} & {each["field"] for each in record.arguments.get("changes", ())}
        if record.tool == UPDATE_PROFILE.tool and record.status == "done" and wishes:
            search = self.world.table(jobs.JOB_SEARCHES).get(record.user_id, {})
            if record.id not in search.get("wishes_changed_by", ()):
                yield "says that it was done, and its wishes were not kept"
        if record.undoes and record.status == "done" and effects:
            yield from self._undo(record, effects[0])
        if record.status == "changed" and record.outcome in (ASKED_AGAIN, NOT_AS_SHOWN):
            yield from self._changed(record)
        for effect in effects:
            if effect.user_id != record.user_id:
                yield "changed what is somebody else's"
            sent = next(each for at, each in reversed(versions) if at <= effect.at and each["status"] == "executing")
            if other := {name for name in effect.after if effect.changed(name)} - _named(sent).keys() - {"cards"}:
                yield f"changed {', '.join(sorted(other))}, which it does not name"
            if wrong := [name for name, value in _named(sent).items() if effect.after[name] != value]:
                yield f"did not change {', '.join(wrong)} to what it says"

    def _changed(self, record: Approval) -> Iterator[str]:
        """What is not done because it changed, somebody has changed since it was asked."""
        first = self.world.records[record.id][0]
        since = first.process.begun if first.process else first.at
        names = {each["field"] for each in _changes(first.document or {})} & {*FIRST_VALUES, "remote"}
        others = [(at, name) for at, user_id, name in self.world.elsewhere if user_id == record.user_id]
        effects = [each for each in self.world.effects if each.user_id == record.user_id]
        every = [*others, *((each.at, name) for each in effects for name in each.after if each.changed(name))]
        # A wish is kept after its effect.
        done = [each for each in self.world.approvals if each.status == "done" and each.user_id == record.user_id]
        every += [(each.updated_at - BEGINS + SKEW, "remote") for each in done if each.tool == UPDATE_PROFILE.tool]
        later = [name for at, name in every if at >= since]
        if names and names.isdisjoint(later) and len(later) < REBASES:
            yield "says that it changed, and nobody has changed it"

    def _was_given_up(self, record: Approval, versions: list[tuple[float, Document]]) -> bool:
        """True if no sweep came while its execution could still be started."""
        told = next((at for at, each in versions if each["told_execution"]), 0.0)
        return BEGINS + told - record.updated_at > NOTIFY_SECONDS - SKEW

    def _undo(self, record: Approval, effect: Effect) -> Iterator[str]:
        before, after, undone_at = effect.before, effect.after, effect.at
        original = next(each for each in self.world.approvals if each.id == record.undoes)
        done = next((each for each in self.world.effects if each.act == original.id), None)
        if done is None:
            yield "undid what was never done"
            return
        asked = self.undone.get(original.id, ())
        if all(at > done.at + UNDO_SECONDS + SKEW for at in asked):
            yield "was undone after its time"
        changed = {name for name in done.after if done.changed(name)}
        if any(before[name] != done.after[name] for name in changed):
            ours = [
                (each.at, each.user_id, name) for each in self.world.effects for name in changed if each.changed(name)
            ]
            every = [
                at
                for at, user_id, name in (*self.world.elsewhere, *ours)
                if user_id == record.user_id and name in changed and done.at < at < undone_at
            ]
            is_new = any(begun <= at for at in every for begun in asked)
            yield f"undid what somebody {'changed while it was asked for' if is_new else 'had changed since'}"
        elif any(after[name] != done.before[name] for name in changed):
            yield "did not restore what was there"
        if original.undone_by != record.id:
            yield f"undid {original.id[:9]}, which says that it was undone by {original.undone_by}"

    def _undone_once(self) -> Iterator[str]:
        """Whoever asks twice for an undo gets one, and it is sent under one key."""
        undos: dict[str, list[Approval]] = {}
        for each in self.world.approvals:
            if each.undoes and each.begun_at:
                undos.setdefault(each.undoes, []).append(each)
        for key, found in undos.items():
            may_be_done = [each for each in found if each.status not in ("failed", "changed")]
            done = [each for each in self.world.effects if each.act in {every.id for every in found}]
            if len(may_be_done) > 1 or len(done) > 1:
                yield f"{key[:9]} was undone by {', '.join(each.id[:9] for each in found)}"
            for process in self.world.scheduler.processes:
                is_refused = process.name == f"undo {key[:9]}" and isinstance(process.error, ChangedMeanwhile)
                ended = max(process.begun, process.ended)
                states = [{*were(self._statuses(each.id), process.begun, ended)} for each in found]
                if is_refused and any(each <= {"approved", "executing", *SENT, "done"} for each in states):
                    yield f"{key[:9]} could not be undone, and its undo was {states}"

    def _permission(self, key: str, every: list[Version]) -> Iterator[str]:
        world, asked, versions = self.world, self.stage.decided.get(key, []), written(every)
        first = versions[0][1]
        user_id = first["user_id"]
        requests = [each for each in world.sent if each.act == key]
        for earlier, sent in itertools.pairwise(requests):
            never_arrived = [at for at in world.never_arrived.get(sent.key, ()) if earlier.at < at < sent.at]
            if earlier.process is not sent.process and not never_arrived:
                yield "was sent again, and nobody has said that it never arrived"
        for sent in requests:
            now = next(document for at, document in reversed(versions) if at <= sent.at)
            begun = max((at for at, each in versions if each["status"] == "executing" and at <= sent.at), default=None)
            if sent.user_id != user_id:
                yield "was sent for somebody else"
            if now["status"] != "executing" or begun is None:
                yield f"was sent while its record was {now['status']}"
                continue
            if not any(False in were(self._brake(whose), begun, sent.at) for whose in (user_id,)) or False not in were(
                self._brake("everybody"), begun, sent.at
            ):
                yield "was sent while everything was paused"
            since = sent.process.begun if sent.process else 0.0
            levels = were(self._levels(user_id), since, sent.at)
            if not first["undoes"] and {*levels} == {"L0"}:
                yield "was sent at a level that refuses it"
            if now["begun_at"] > now["decided_at"] + LATEST_SECONDS + CHAT_SECONDS + SKEW:
                yield "was sent long after it was decided"
            if sha256_hex(first["tool"], now["args"]) != now["args_digest"]:
                yield "was sent with arguments that have another digest"
            values = {each: json.dumps(each, ensure_ascii=False).encode() for each in _values(now)}
            if missing := [each for each, text in values.items() if text not in sent.body]:
                yield f"was sent without {missing}"
            match now["decided_by"]:
                case "level":
                    if not now["earned"] and "L3" not in levels:
                        yield "was done without asking, below L3"
                    if first["effect"] != "write":
                        yield "was done without asking, and others can see it"
                case "undo":
                    if first["undoes"] not in self.undone:
                        yield "was undone by nobody"
                case "words":
                    pass  # the story of chats knows what was typed
                case by:
                    yield from self._person(versions, by, asked)

    def _person(self, versions: list[tuple[float, Document]], by: str, asked: list[Decided]) -> Iterator[str]:
        first, decided = versions[0][1], next(each for _, each in versions if each["status"] == "approved")
        if decided["decided_at"] > first["expires_at"]:
            yield "was approved after its time"
        yes = [each for each in asked if each.by == by and each.decision.decision in ("approve", "edit")]
        if not any(each.decision.args_digest == first["args_digest"] for each in yes):
            yield "was approved by nobody who saw it"
        if decided["edited"] and not any(each.decision.decision == "edit" for each in yes):
            yield "was approved as nobody edited it"
        if any(each["status"] == "rejected" for _, each in versions):
            yield "was done although it was declined"

    def _as_decided(self, key: str, every: list[Version]) -> Iterator[str]:
        """What a person decided on a page stands in the record as they decided it."""
        first = written(every)[0][1]
        after = next((each for each in every if each.document and each.document["status"] != "pending"), None)
        if after is None or after.document is None or after.document["decided_by"] not in ("chat", "queue", "link"):
            return
        if after.process and after.process.name.startswith("forge "):
            return
        found = after.document
        verbs = {"approved": ("approve", "edit"), "rejected": ("reject",), "revised": ("revise",)}[found["status"]]
        given = [
            each.decision
            for each in self.stage.decided.get(key, ())
            if each.by == found["decided_by"] and each.decision.decision in verbs
        ]
        if not any(each.args_digest == first["args_digest"] for each in given):
            yield f"was {found['status']} by nobody who saw it"
            return
        if not any(bool(each.opened) == found["opened"] for each in given):
            yield "was opened by nobody" if found["opened"] else "was opened, and does not say so"
        if found["kind"] not in PRIVATE and not any(each.reason == found["reason"] for each in given):
            yield f"says {found['reason']}, which nobody wrote"
        if not any((each.args or {}).items() <= json.loads(found["args"]).items() for each in given):
            yield "was decided as nobody edited it"

    def _beside_older(self, every: list[Version]) -> Iterator[str]:
        """No older question for the same waits beside a newer one."""
        asking = every[0].process
        if not asking or asking.ended < 0 or asking.faults or asking.error:
            return
        [now] = were([(each.at, each.document) for each in every], asking.ended, asking.ended) or [None]
        if not now or now["status"] != "pending":
            return
        newer = Approvals.from_document(now)
        for versions in self.world.records.values():
            [then] = were([(each.at, each.document) for each in versions], asking.ended, asking.ended) or [None]
            if not then or then["user_id"] != now["user_id"] or versions[0].at >= asking.begun:
                continue
            older = Approvals.from_document(then)
            is_emptied = older.kind in PRIVATE and not older.shown  # by a forgetting, which ends it
            if older.is_superseded_by(newer) and not is_emptied:
                yield f"waits beside {then['_id'][:9]}, which it replaces"

    def _pauses(self) -> Iterator[str]:
        for begin, whose in self.stage.paused:
            brake = self._brake(whose)
            end = next((at for at, is_on in brake if at >= begin and not is_on), float("inf"))
            for sent in self.world.sent:
                if begin < sent.at < end and sent.user_id == whose:
                    yield f"{sent.act[:9]} was sent after the user was told that nothing runs"
            for prompt in self.world.prompts:
                if begin < prompt.at < end and prompt.user_id == whose:
                    yield "a model was asked after the user was told that nothing runs"
            for effect in self.world.effects:
                if begin < effect.at < end and effect.user_id == whose:
                    yield f"{effect.act[:9]} was done after the user was told that nothing runs"

    def _statuses(self, key: str) -> list[tuple[float, str]]:
        return [(-1.0, ""), *((at, each["status"]) for at, each in written(self.world.records[key]))]

    def _brake(self, whose: str) -> list[tuple[float, bool]]:
        return self.stage.states(user_settings.SIGNALS, whose, lambda each: bool(each.get("brake_since")), False)

    def _levels(self, user_id: str) -> list[tuple[float, str]]:
        return self.stage.states(user_settings.AUTONOMY, user_id, lambda each: each["level"], "L1")


_AT_ANY_TIME = {
    *("revision", "updated_at", "due_at", "audit", "news", "mails", "mail_at", "links", "returned_as", "task_token"),
    *("told_execution", "revised_by", "events", "events_written", "events_copied", "uncopied_since"),
}
_IN_DECISION = {"status", "decided_at", "decided_by", "reason", "redraft_id", "opened", "seal", "outcome"}
_IN_EDIT = {"args", "args_digest", "schema_digest", "preview", "shown", "edited"}
_IN_EFFECT = {"status", "begun_at", "inverse", "version", "outcome", "result", "seal"}
_TEXTS = {"preview", "shown", "rationale", "alternatives", "inverse", "args", "reason", "wish", "outcome"}


def _unexplained(before: Document, after: Document) -> set[str]:
    """The fields that no change of a record may have changed like this."""
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)} - _AT_ANY_TIME
    if before["status"] == "pending":
        decision = _IN_DECISION if after["status"] != "pending" else {"answer", "mail_at"}
        changed -= decision | (_IN_EDIT if after["edited"] else set())
    elif before["status"] not in FINAL:
        # Another attempt undoes what the first one has found.
        changed -= _IN_EFFECT - ({"inverse"} if before["begun_at"] else set())
    if before["conversation_id"] and after["conversation_id"] is None:
        changed.discard("conversation_id")
    if before["undone_by"] is None:
        changed.discard("undone_by")
    is_less = after["kind"] in PRIVATE or after["args"] == "{}"  # its texts were taken out
    lost = {name for name in ("links", "audit") if after[name][: len(before[name])] != before[name]}
    return lost | (changed - _TEXTS if is_less else changed)


def _named(document: Document) -> dict[str, Any]:
    """The fields of its person that it says it will change, and their values."""
    return {each["field"]: each["value"] for each in _changes(document) if each["field"] in FIRST_VALUES}


def _changes(document: Document) -> list[dict[str, Any]]:
    args = json.loads(document["args"])
    return args.get("changes") or [{"field": args.get("field") or args.get("name"), "value": args.get("value")}]


def _edited(record: Approval) -> dict[str, Any]:
    """Other arguments, as a person writes them on the card, or fewer."""
    match record.arguments.get("value"):
        case str() as value:
            return {"value": f"{value} too"}
        case list() as values:
            return {"value": [f"{each} too" for each in values]}
        case _:
            return {"changes": (record.arguments.get("changes") or ())[:1] or None}


def _values(document: Document) -> list[Any]:
    """The values that a request for this record must have."""
    args = json.loads(document["args"])
    if content := args.get("content"):
        return [claim for section in content["sections"] for claim in section["claims"]]
    changes = args.get("changes") or [args]
    named = [each.get("value", args.get("url")) for each in changes if each.get("field") != "remote"]
    return [item for each in named for item in (each if isinstance(each, list) else [each])]
