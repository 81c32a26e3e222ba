"""The scripted model's comparison of adverts with a person."""

from infra.local.model_jobs import compare_jobs

PROMPT = """<adverts>job 1
Product Manager
Northwind is looking for a Product Manager in Lisbon.
You will own the roadmap of our payments product.
We ask for experience as a product manager in payments.
We ask for a nursing registration.
</adverts>
<evidence>employment:1
Senior Product Manager, payments, Lisbon

wishes
I would like to work in Lisbon
</evidence>"""


def test_a_place_is_no_reason_and_a_skill_the_person_has_is_no_drawback() -> None:
    [job] = compare_jobs([PROMPT])["jobs"]
    assert job["reasons_for"][0]["text"] == "You can do it: “Senior Product Manager”"
    assert "lisbon" not in str([each["text"] for each in job["reasons_for"]]).lower()
    assert [each["text"] for each in job["reasons_against"]] == ["They ask for a nursing registration."]
    assert job["fit"] > 5
