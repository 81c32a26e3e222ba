"""Parse the text with the design's parser, once."""

from qwestly_agent.resumes.resume_state import ResumeState
from qwestly_agent.resumes.services import ResumeServices
from qwestly_agent.text.clean import quoted
from qwestly_agent.text.contacts import without_contacts
from qwestly_agent.workflow_state import state


@state(ResumeState)
async def parse(services: ResumeServices, given: ResumeState) -> ResumeState:
    """Store the parsed fields. Raises the errors of `structured_output`."""
    user_id, resume_id = given.user_id, given.resume_id
    record = await services.resumes.get(user_id, resume_id)
    text = record.text
    if not text:
        opened = await services.resume_files.get_opened(user_id, resume_id)
        # Quoted as in every prompt, so that the positions of quotes match the text that is shown.
        text, contacts = without_contacts(quoted(opened.text))
        await services.resumes.save_parts(user_id, resume_id, text=text, contacts=contacts)
    if record.found is None:
        await services.resumes.move(user_id, resume_id, services.clock(), "parsing", "Finding what it says")
        found = await services.resume_parser.parse(services, user_id, text)
        await services.resumes.save_parts(user_id, resume_id, found=found)
    return given
