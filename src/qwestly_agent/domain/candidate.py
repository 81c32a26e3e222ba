"""The fields of a candidate that a user may have changed."""

from typing import Literal, TypeAlias

ProfileField: TypeAlias = Literal[
    "headline", "location", "summary", "skills", "education", "languages", "years_of_experience"
]
Preference: TypeAlias = Literal["roles", "locations", "work_mode", "industries", "company_sizes", "availability"]
