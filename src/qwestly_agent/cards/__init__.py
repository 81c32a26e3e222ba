"""Career cards and profile texts: gather evidence, draft, check, publish."""

from qwestly_agent.workflow import Workflow

GENERATE_CARD = Workflow(
    "generate_card",
    __name__,
    summary="evidence about a user, to a published card",
    page="[above](#a-card-state-by-state)",
    receipt_name="`card-<draft id>`",
    recovery="the user was notified and can ask again. Started again as above, it continues with the sections that are "
    "already written",
    reader=("reader.cover", "reader.draft_section", "reader.gather_evidence"),
    writer=("writer.keep_draft", "writer.note_end", "writer.publish", "writer.read_decision"),
    actions=("actions.PUBLISH_CARD", "actions.SAVE_CARD_AS_ACTIVE", "actions.DELETE_CARD"),
    asks="publication.ask_to_publish",
)
