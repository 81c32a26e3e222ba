"""The words of authority, as the rest of the house uses them."""

from typing import Literal, TypeAlias

Effect: TypeAlias = Literal["read", "draft", "write", "outward", "destructive"]
"""What a tool's call does: changes nothing · makes something of ours alone · changes the user's saved data · others can
see it · cannot be taken back."""

Level: TypeAlias = Literal["L0", "L1", "L2", "L3"]
"""How far the user lets the agent go: suggest · assist · supervised · autonomous."""

NEW_USERS_LEVEL: Level = "L1"
UNREADABLE_LEVEL: Level = "L0"
"""Of a level that cannot be read: what is not known to be allowed is not."""

EVERYBODY = "everybody"
"""In place of a user, for the brake that operators pull. No token may name it."""

Answer: TypeAlias = Literal["run", "ask", "queue", "refuse"]
"""Do it now · wait for the user's yes · go on, and do it once the user says yes · do not."""
