"""Open an untrusted file, in a function without keys and a process without secrets."""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process

from pydantic import BaseModel, ValidationError

from qwestly_agent.base.settings import bare_environment
from qwestly_agent.resumes.model import ResumeState
from qwestly_agent.resumes.unreadable import MOST_CHARACTERS, UnreadableFile, Why
from qwestly_agent.services import Services
from qwestly_agent.stores.resumes import OpenedFile
from qwestly_agent.workflow_state import state

# --- open file --------------------------------------------------------------------------------------------------------
# Open an untrusted file in a separate process without secrets.


SECONDS = 18.0
MOST_BYTES = 12 * MOST_CHARACTERS
"""Maximum size of the output: a character takes up to twelve bytes in JSON."""


class _Answer(BaseModel):
    text: str = ""
    why: Why | None = None


async def open_file(content: bytes) -> str:
    """Return the text of a file. Raises `UnreadableFile`."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-s", "-m", "qwestly_agent.resumes.file_text"),
        stdin=PIPE,
        stdout=PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={**bare_environment(), "PYTHONPATH": ":".join(filter(None, sys.path))},
    )
    try:
        async with asyncio.timeout(SECONDS):
            answered = await _talk(process, content)
    except TimeoutError:
        raise UnreadableFile("heavy") from None
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
    return _text_in(answered)


async def _talk(process: Process, content: bytes) -> bytes:
    assert process.stdin
    assert process.stdout
    writing = asyncio.create_task(_write(process.stdin, content))
    try:
        answered = b""
        while len(answered) <= MOST_BYTES and (piece := await process.stdout.read(MOST_BYTES)):
            answered += piece
        return answered
    finally:
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)


async def _write(stdin: asyncio.StreamWriter, content: bytes) -> None:
    stdin.write(content)
    await stdin.drain()
    stdin.close()


def _text_in(answered: bytes) -> str:
    try:
        answer = _Answer.model_validate_json(answered)
    except ValidationError:  # the process was killed at one of its limits, or its output is invalid
        raise UnreadableFile("heavy") from None
    if answer.why:
        raise UnreadableFile(answer.why)
    if not 0 < len(answer.text) <= MOST_CHARACTERS:
        raise UnreadableFile("heavy")
    return answer.text


# --- read -------------------------------------------------------------------------------------------------------------
# Open the file, in a function that has no keys and can access only uploaded files.


@state(ResumeState)
async def read(services: Services, given: ResumeState) -> ResumeState:
    """Extract and store the text, or set `why` if there is none. Raises `NotFound` if the file is gone."""
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
