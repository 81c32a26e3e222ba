"""Accept a résumé and start processing it."""

from qwestly_agent.approvals import pause
from qwestly_agent.base.errors import AgentError, Invalid, TooLong
from qwestly_agent.domain.approval import sha256_hex
from qwestly_agent.domain.resume import UNNAMED, ResumeRecord
from qwestly_agent.resumes import PARSE_RESUME
from qwestly_agent.services import Services
from qwestly_agent.text.clean import visible

MOST_BYTES = 4 * 1024 * 1024
MOST_A_DAY = 20
DAY_SECONDS = 86_400.0
LONGEST_NAME = 120
OPENING = "Opening the file"


class TooManyResumes(AgentError):
    code, http_status = "too_many_resumes", 429
    sentence = f"That is more than {MOST_A_DAY} résumés in a day. Please come back tomorrow."


async def start(services: Services, user_id: str, name: str, content: bytes) -> ResumeRecord:
    """Start processing a file and return its record. A file with the same content returns its existing record, unless
    that one failed or was stopped.

    Raises `Invalid`, `TooLong`, `TooManyResumes`, `Braked` and `Unavailable`.
    """
    if not content:
        raise Invalid("There is no text in this file.")
    if len(content) > MOST_BYTES:
        raise TooLong("A résumé may have 4 MB at most.")
    await pause.check(services.signals, user_id)
    now, number = services.clock(), 1
    while earlier := await services.resumes.find(user_id, _id_of(user_id, content, number)):
        if services.resumes.as_seen(earlier, now).status not in ("failed", "stopped"):
            return await PARSE_RESUME.begin(services, earlier)
        number += 1
    if await services.resumes.count_since(user_id, now - DAY_SECONDS) >= MOST_A_DAY:
        raise TooManyResumes
    resume_id = _id_of(user_id, content, number)
    await services.usage.ensure_document(user_id, now)
    # The file is stored first, so that a record always has its file.
    await services.resume_files.add(user_id, resume_id, content, now)
    shown_name = " ".join(visible(name).split())[:LONGEST_NAME] or UNNAMED
    record = ResumeRecord(
        id=resume_id, user_id=user_id, run_id=resume_id, name=shown_name, label=OPENING, created_at=now, updated_at=now
    )
    return await PARSE_RESUME.begin(services, record)


def _id_of(user_id: str, content: bytes, number: int) -> str:
    return f"res_{sha256_hex(user_id, content.hex(), str(number))[:32]}"
