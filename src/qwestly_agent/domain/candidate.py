"""The candidate's fields that a user may have changed."""

from typing import Literal, TypeAlias

ProfileField: TypeAlias = Literal[
    "headline", "location", "summary", "skills", "education", "languages", "years_of_experience"
]
Preference: TypeAlias = Literal["roles", "locations", "work_mode", "industries", "company_sizes", "availability"]
WORK_MODE_LABELS = (
    (
        "remote",
        "fully remote",
        "remotely",
        "from home",
        "home office",
        "télétravail",
        "à distance",
        "remoto",
        "en remoto",
    ),
    ("hybrid", "hybrides Arbeiten", "hybride", "híbrido"),
    ("on-site", "onsite", "on site", "in the office", "vor Ort", "im Büro", "sur site", "au bureau", "presencial"),
)
"""Labels of each way to work, in people's words and in forms. All labels in a group mean the same."""
