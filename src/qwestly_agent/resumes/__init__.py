"""Résumés: open the file, parse its text, check the fields, and propose changes to the profile."""

from qwestly_agent.workflow import Workflow

PARSE_RESUME = Workflow(
    "parse_resume",
    __name__,
    summary="a file, to one approval of profile changes",
    page="[files are opened apart](decisions/2026-11-23-files-are-opened-apart.md)",
    receipt_name="`resume-<résumé id>`",
    recovery="the user was notified and can upload the file again; the results so far are kept. The file is deleted "
    "after an hour",
    opener=("opener.read",),
    reader=("reader.ground", "reader.parse"),
    writer=("writer.keep_document", "note_end", "writer.propose"),
    work="resumes",
    model="model.ResumeState",
    has_parser=True,
    routers=("resumes",),
    reasons={"resume": "You gave your agent a résumé."},
)
