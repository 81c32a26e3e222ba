"""The tags that fence data in a prompt. All are registered here, before the first prompt is built: tags registered
later would not be escaped in earlier prompts."""

from pydantic_ai.framing import register_tag

PROFILE, MEMORIES = register_tag("user_profile"), register_tag("user_memories")
APPROVAL_NEWS = register_tag("approval_news")
EVIDENCE, WISH, BEFORE = register_tag("evidence"), register_tag("wish"), register_tag("before")
SAID, ASKED = register_tag("said"), register_tag("asked")
NEW, KNOWN = register_tag("new"), register_tag("known")
STATEMENTS = register_tag("statements")
RESUME, ADVERTS = register_tag("resume"), register_tag("adverts")
EARLIER = register_tag("earlier_conversation")
INTERVIEW = register_tag("interview")
LEARNING, LESSON = register_tag("learning"), register_tag("lesson")
