"""Open the file, in a function without keys that can reach only uploaded files."""

from qwestly_agent.resumes.open_file import open_file
from qwestly_agent.resumes.resume_state import ResumeState
from qwestly_agent.resumes.unreadable import UnreadableFile
from qwestly_agent.services import Services
from qwestly_agent.stores.resumes import OpenedFile
from qwestly_agent.workflow_state import state


@state(ResumeState)
async def read(services: Services, given: ResumeState) -> ResumeState:
    """Extract and store the text. `why` is set if there is none. Raises `NotFound` if the file is gone."""
    files = services.resume_files
    opened = await files.get_opened(given.user_id, given.resume_id)
    if not opened.text and not opened.why:
        opened = await _open(await files.get_content(given.user_id, given.resume_id))
        await files.save_opened(given.user_id, given.resume_id, opened)
    return given.model_copy(update={"why": opened.why})


async def _open(content: bytes) -> OpenedFile:
    try:
        return OpenedFile(await open_file(content), "")
    except UnreadableFile as error:
        return OpenedFile("", error.why)
