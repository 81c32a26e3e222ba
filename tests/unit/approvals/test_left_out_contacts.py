"""Contact details, and nothing else, are left out of text that others can read."""

from typing import Any

import pytest

from qwestly_agent.approvals.ask import LEFT_OUT, NOTHING_LEFT, without_contacts
from qwestly_agent.base.errors import Invalid
from qwestly_agent.profile import UPDATE_PROFILE_FIELD
from qwestly_agent.text.contacts import Contact, ContactDetails

DETAILS = ContactDetails.of([Contact(0, 17, "email", "ines@falk.example")])
MAIL = "ines@falk.example"


def left_of(field: str, value: Any, *, drafted: bool = False) -> tuple[Any, list[str]]:
    """The remaining value, and what is reported as left out."""
    args = UPDATE_PROFILE_FIELD.parse({"field": field, "value": value})
    left, told = without_contacts(UPDATE_PROFILE_FIELD, args, DETAILS, drafted=drafted)
    return left.model_dump(mode="json", exclude_none=True)["value"], [why for each in told for why in each.why]


@pytest.mark.parametrize(
    ("field", "value", "left"),
    [
        ("summary", f"Builds boats. Write to {MAIL}. Likes rain.", "Builds boats. Likes rain."),
        ("summary", f"Builds boats\n{MAIL}", "Builds boats"),
        ("skills", ["Boats", f"Mails to {MAIL}", "Rain"], ["Boats", "Rain"]),
        (
            "education",
            [{"school": "Ulm", "degree": "Law", "year": 2001}, {"school": f"Bonn, {MAIL}", "year": 2004}],
            [{"school": "Ulm", "degree": "Law", "year": 2001}],
        ),
        ("education", [{"school": "Ulm"}, {"school": MAIL}], [{"school": "Ulm"}]),
    ],
)
def test_only_the_part_with_a_contact_detail_is_removed(field: str, value: Any, left: Any) -> None:
    assert left_of(field, value) == (left, [LEFT_OUT])


@pytest.mark.parametrize(("field", "value"), [("summary", "Builds boats."), ("education", [{"school": "Ulm"}])])
def test_a_value_without_contact_details_is_unchanged(field: str, value: Any) -> None:
    assert left_of(field, value) == (value, [])


@pytest.mark.parametrize(
    ("field", "value", "drafted"),
    [
        ("summary", MAIL, False),
        ("skills", [MAIL], False),
        ("education", [{"school": MAIL, "degree": "Law"}], False),
        ("summary", f"Builds boats. Write to {MAIL}.", True),
    ],
)
def test_a_drafted_or_emptied_field_is_rejected(field: str, value: Any, drafted: bool) -> None:
    with pytest.raises(Invalid, match=NOTHING_LEFT):
        left_of(field, value, drafted=drafted)
