"""Parse dates for the JSON Resume schema."""

from qwestly_agent.grounding.figures import DATES, Day, days_of


def iso_date(written: str) -> str:
    """Return YYYY, YYYY-MM or YYYY-MM-DD; empty if ambiguous, or for "present"."""
    found = [{*days_of(match, "")} for match in DATES.finditer(written)]
    if len(found) == 1 and len(found[0]) == 1:
        return _iso(*found[0])
    digits = written.strip()
    is_year = len(digits) == 4 and digits.isascii() and digits.isdigit() and digits[:2] in ("19", "20")
    return digits if is_year else ""


def _iso(day: Day) -> str:
    if day.year is None or day.quarter or day.decade:
        return ""
    parts = [f"{day.year}", *(f"{each:02}" for each in (day.month, day.month and day.day) if each)]
    return "-".join(parts)
