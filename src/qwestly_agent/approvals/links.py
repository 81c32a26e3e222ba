"""Serve the page of a mailed link: anyone with the link can read and decide this one approval.

A link has 128 random bits, of which only the hash is stored, and a MAC. With only a MAC, it could not be withdrawn;
without a MAC, any function that may write proposals could store one. A GET changes nothing; a POST decides like any
other channel.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from pymongo.errors import PyMongoError

from qwestly_agent.approvals import pause
from qwestly_agent.approvals.decide import Decision, decide_and_follow_up
from qwestly_agent.approvals.seal import is_link_of
from qwestly_agent.approvals.templates import Brand, render
from qwestly_agent.approvals.view import pair_reworded, public_url
from qwestly_agent.base.clock import Clock, format_duration, format_moment
from qwestly_agent.base.errors import AgentError, Braked, ChangedMeanwhile, Internal, Invalid, NotFound, Unavailable
from qwestly_agent.base.observability import Event, cause_of
from qwestly_agent.domain.approval import LONGEST_REASON_CHARACTERS, Approval, Effect, Verb
from qwestly_agent.services import Services
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.candidate_data import Profiles
from qwestly_agent.stores.user_settings import MailKind, UserSettingsStore
from qwestly_agent.text.clean import visible, well_formed

EFFECTS: Mapping[Effect, str] = {
    "read": "Nothing is changed.",
    "draft": "Nothing of yours is changed.",
    "memory": "Your agent remembers this only if you approve. Otherwise it’s thrown away.",
    "write": "This changes what Qwestly keeps about you. Others don’t see it.",
    "outward": "Others will be able to see this.",
    "destructive": "You can’t undo this.",
}

NOT_VALID = "This link has expired or isn’t valid."
CHOOSE = "Please choose one of the three answers. Nothing was decided."
SAY_WHAT = "Please say in a few words what should be different. Nothing was decided."
TOO_LONG = f"Please say it in at most {LONGEST_REASON_CHARACTERS} characters. Nothing was decided."
LATER = "You already decided this, so nothing changed."
SIGN_IN = "Please sign in to decide this. Nothing was decided."
NOTHING_DECIDED = "Nothing was decided."

_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)
_VERBS: Mapping[str, Verb] = {"approve": "approve", "revise": "revise", "reject": "reject"}


class LinkRateExceeded(AgentError):
    code, http_status = "too_often", 429
    sentence = "Too many people are opening this page. Please try again in a minute."


@dataclass(frozen=True)
class LinkPage:
    status: int
    html: str
    brand: Brand
    retry_after: int | None = None


@dataclass(frozen=True)
class PostedForm:
    """A posted form."""

    decision: str
    args_digest: str
    reason: str


MINUTE_SECONDS = 60
MOST_A_MINUTE = 2_000
"""Maximum requests per minute, per link and per source: hundreds of users may share an address, and mail scanners send
many requests."""
INVALID_TOKEN_COUNTS = 40
"""An invalid token counts as 40 requests."""
MOST_REMEMBERED = 10_000


@dataclass
class Limits:
    """Rate limit: counts this minute's requests by link and by source.

    The counts are in memory: a GET must not write documents, deciding is idempotent, and the function's reserved
    concurrency limits the number of processes.
    """

    minute: int = 0
    asked: dict[str, int] = field(default_factory=dict)

    def count(self, now: float, *keys: str, times: int = 1) -> None:
        """Count a request. Raises `LinkRateExceeded`."""
        if int(now // MINUTE_SECONDS) != self.minute:
            self.minute = int(now // MINUTE_SECONDS)
            self.asked.clear()
        for key in keys:
            # Once the table is full, all further keys share one count.
            known = key if key in self.asked or len(self.asked) < MOST_REMEMBERED else ""
            self.asked[known] = self.asked.get(known, 0) + times
            if self.asked[known] > MOST_A_MINUTE:
                raise LinkRateExceeded(retry_after=MINUTE_SECONDS)


def hash_of(token: str) -> str:
    """Return the token's SHA-256, which suffices for tokens with 128 random bits or more."""
    return hashlib.sha256(token.encode()).hexdigest()


async def find_mail(services: Services, hashed: str) -> tuple[str, MailKind] | None:
    """Return the user id and kind of the mail whose token has this hash."""
    if user_id := await services.briefings.find_user_by_token(hashed):
        return user_id, "briefings"
    kinds: tuple[MailKind, ...] = ("questions", "reminders")
    for kind in kinds:
        if found := await services.approvals.find_by_link(f"{kind}:{hashed}"):
            return found[0], kind
    return None


def is_decided_by_link(services: Services, approval: Approval) -> bool:
    action = services.actions.get(approval.tool)
    return action is not None and action.is_link_allowed


def effect_of(approval: Approval) -> str:
    """Describe the effect of approving, for the user."""
    return EFFECTS[approval.effect]


async def render_link_page(
    services: Services, limits: Limits, token: str, source: str, posted: PostedForm | None = None
) -> LinkPage:
    """Render the page of this link. If a form was posted, decide first."""
    brand = Brand.of(services.settings)
    try:
        limits.count(services.clock(), f"link {hash_of(token)}", f"from {source}")
        try:
            approval = await _find(services, token)
        except NotFound:
            limits.count(services.clock(), f"from {source}", times=INVALID_TOKEN_COUNTS)
            raise
        if posted is None:
            return await _look(services, approval)
        return await _answer(services, approval, posted, where=f"link {hash_of(token)[:8]} from {source}")
    except AgentError as error:
        return error_page(error, brand)
    except PyMongoError as error:
        services.logger.error(Event.REQUEST_FAILED, extra=cause_of(error))
        return error_page(
            Unavailable(f"We can’t reach your data right now. {NOTHING_DECIDED} Please try again."), brand
        )
    except Exception as error:  # outermost handler: show an error page, and log without user text
        services.logger.error(Event.REQUEST_FAILED, extra=cause_of(error))
        return error_page(Internal(), brand)


def error_page(error: AgentError, brand: Brand) -> LinkPage:
    title = NOT_VALID if isinstance(error, NotFound) else "That didn’t work"
    html = render("message.html", brand, title=title, sentence=error.message)
    return LinkPage(error.http_status, html, brand, error.retry_after)


async def _look(services: Services, approval: Approval) -> LinkPage:
    is_frozen = _waits(services.clock, approval) and await services.signals.is_braked(approval.user_id)
    return await _page(services, approval, notice=pause.FROZEN if is_frozen else "", is_frozen=is_frozen)


async def _find(services: Services, token: str) -> Approval:
    found = await services.approvals.find_by_link(hash_of(token)) if _TOKEN.fullmatch(token) else None
    if found is None or not await is_link_of(services, token, found[1]):
        raise NotFound("Part of it may be missing. Sign in to find everything that waits for you in the chat.")
    return await services.approvals.get(*found)


async def _answer(services: Services, approval: Approval, posted: PostedForm, where: str) -> LinkPage:
    words = visible(well_formed(posted.reason.replace("\r\n", "\n"))).strip()
    if not _waits(services.clock, approval):
        return await _after(services, approval, posted)
    if not is_decided_by_link(services, approval):
        return await _page(services, approval, 403, SIGN_IN)
    if missing := _missing(posted, words):
        return await _page(services, approval, Invalid.http_status, missing, words)
    decision = Decision(decision=_VERBS[posted.decision], args_digest=posted.args_digest[:64], reason=words or None)
    try:
        decided = await decide_and_follow_up(services, approval.user_id, approval.id, decision, by="link", where=where)
    except (ChangedMeanwhile, Braked) as error:
        now = await services.approvals.get(approval.user_id, approval.id)
        notice, is_frozen = f"{error.message} {NOTHING_DECIDED}", isinstance(error, Braked)
        return await _page(services, now, error.http_status, notice, words, is_frozen=is_frozen)
    return await _after(services, decided, posted)


def _missing(posted: PostedForm, words: str) -> str | None:
    if posted.decision not in _VERBS:
        return CHOOSE
    if len(words) > LONGEST_REASON_CHARACTERS:
        return TOO_LONG
    return SAY_WHAT if posted.decision == "revise" and not words else None


async def _after(services: Services, approval: Approval, posted: PostedForm) -> LinkPage:
    said = {"rejected": "reject", "revised": "revise", "expired": ""}.get(approval.status, "approve")
    return await _page(
        services, approval, notice=LATER if posted.decision in _VERBS and posted.decision != said else ""
    )


def _waits(clock: Clock, approval: Approval) -> bool:
    return approval.status == "pending" and clock() < approval.expires_at


async def _page(
    services: Services,
    approval: Approval,
    status: int = 200,
    notice: str = "",
    words: str = "",
    *,
    is_frozen: bool = False,
) -> LinkPage:
    brand, zone = Brand.of(services.settings), await _zone_of(services.user_settings, approval.user_id)
    person = await _name_of(services.profiles, approval.user_id)
    waits = _waits(services.clock, approval)
    pairs, told = await _difference(services.approvals, approval)
    heading, sentence = ("", "") if waits else _outcome(approval, zone)
    html = render(
        "page.html",
        brand,
        person=person,
        first_name=person.partition(" ")[0],
        zone=zone,
        approval=approval,
        effect=effect_of(approval),
        waits=waits,
        is_frozen=is_frozen,
        left=format_duration(approval.expires_at - services.clock()),
        by_link=is_decided_by_link(services, approval),
        revisable=approval.revisable,
        heading=heading,
        sentence=sentence,
        public_url=public_url(approval),
        reworded=pairs,
        difference=told,
        notice=notice,
        words=words[:LONGEST_REASON_CHARACTERS],
        longest=LONGEST_REASON_CHARACTERS,
    )
    return LinkPage(status, html, brand)


async def previous_round(approvals: Approvals, approval: Approval) -> Approval | None:
    """Return the approval of the previous round; None if there was none, or if it cannot be read."""
    try:
        return await approvals.get(approval.user_id, approval.revises) if approval.revises else None
    except (NotFound, PyMongoError):
        return None


async def _difference(approvals: Approvals, approval: Approval) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the lines reworded since the previous approval, and the remaining differences as sentences."""
    earlier = await previous_round(approvals, approval)
    return pair_reworded(earlier.preview, approval.preview) if earlier else ([], list(approval.preview.difference))


async def _name_of(profiles: Profiles, user_id: str) -> str:
    """Return the user's name, or an empty string: a page after a decision must not fail because of a greeting."""
    try:
        return (await profiles.get_mail_recipient(user_id)).name
    except PyMongoError:
        return ""


async def _zone_of(user_settings: UserSettingsStore, user_id: str) -> str:
    """Return the user's time zone, or UTC: as with the name, the page must not fail because of it."""
    try:
        return (await user_settings.get(user_id)).zone
    except PyMongoError:
        return "UTC"


def _outcome(approval: Approval, zone: str) -> tuple[str, str]:
    yes = "It was allowed at your level" if approval.decided_by == "level" else "You approved this"
    match approval.status:
        case "expired" if approval.outcome:
            return "This question is closed", approval.outcome
        case "pending" | "expired":
            return (
                "This wasn’t decided in time",
                f"This expired on {format_moment(approval.expires_at, zone)}. Nothing was done.",
            )
        case "rejected":
            return "You declined", "Nothing was done, and your agent was told not to try again."
        case "revised":
            again = (
                "once it is rewritten" if approval.task_token or approval.redraft_id else "when you go on in the chat"
            )
            return "You asked for changes", f"Nothing was done. You are asked again {again}."
        case "approved":
            return yes, "Your answer is recorded. It is not done yet, and will be in a moment."
        case "executing":
            return yes, "It is being done right now."
        case "changed" if approval.decided_by == "nobody":
            return "This question is closed", approval.outcome or ""
        case "accepted" | "done" | "failed" | "unknown" | "changed":
            return yes, approval.outcome or ""
