"""The tags that fence what is material in a prompt. All of them in one place: one that is registered after the first
prompt was made would be fenced in the next ones only."""

from pydantic_ai.framing import register_tag

PROFILE, MEMORIES = register_tag("user_profile"), register_tag("user_memories")
APPROVAL_NEWS = register_tag("approval_news")
EVIDENCE, WISH, BEFORE = register_tag("evidence"), register_tag("wish"), register_tag("before")
SAID, ASKED = register_tag("said"), register_tag("asked")
NEW, KNOWN = register_tag("new"), register_tag("known")
STATEMENTS = register_tag("statements")
