"""Users' tokens: the candidate app's are accepted, and no others."""

import base64
import hmac
import json
from dataclasses import replace
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from hypothesis import given, settings
from hypothesis import strategies as st

from qwestly_agent.base.errors import Unauthorized
from qwestly_agent.base.settings import Settings
from qwestly_agent.clients.user_tokens import (
    CLOCK_SKEW_SECONDS,
    LONGEST_LIFE_SECONDS,
    LONGEST_TOKEN_CHARACTERS,
    OUR_ISSUER,
    verify_token,
)
from tests.servers import SECRET, USER, FakeClock

NOW = 1_800_000_000
OLD_SECRET = "the-secret-that-is-being-rotated-out-of-service"
SETTINGS = Settings("mongodb://127.0.0.1", "qwestly_local", SECRET)
CLAIMS: dict[str, Any] = {"user_id": USER, "email": "t@example.com", "name": "T", "iat": NOW, "exp": NOW + 300}
LATEST_EXP = NOW + LONGEST_LIFE_SECONDS + CLOCK_SKEW_SECONDS


def signed(secret: str = SECRET, without: str = "", **changes: Any) -> str:
    claims = {**CLAIMS, **changes}
    return jwt.encode({name: claims[name] for name in claims if name != without}, secret, algorithm="HS256")


def signed_as_it_stands(payload: str, header: str = '{"alg":"HS256","typ":"JWT"}') -> str:
    """Sign a payload unchecked, which a library refuses to do."""
    signing_input = f"{_encoded(header)}.{_encoded(payload)}"
    return f"{signing_input}.{_encoded(hmac.digest(SECRET.encode(), signing_input.encode(), 'sha256'))}"


def _encoded(part: str | bytes) -> str:
    data = part.encode() if isinstance(part, str) else part
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def user_of(token: str, settings: Settings = SETTINGS, now: float = NOW) -> str:
    return verify_token(token, settings, FakeClock(now))


REFUSED = {
    "alg none": jwt.encode(CLAIMS, "", algorithm="none"),
    "alg none, signed": signed_as_it_stands(json.dumps(CLAIMS), '{"alg":"none","typ":"JWT"}'),
    "HS512": jwt.encode(CLAIMS, SECRET * 2, algorithm="HS512"),
    "RS256": jwt.encode(CLAIMS, rsa.generate_private_key(65537, 2048), algorithm="RS256"),
    "ES256": jwt.encode(CLAIMS, ec.generate_private_key(ec.SECP256R1()), algorithm="ES256"),
    "wrong key": signed("another-secret-with-at-least-thirty-two-bytes"),
    "unsigned": signed().rpartition(".")[0] + ".",
    "changed after it was signed": signed().replace(".ey", ".ez", 1),
    "expired": signed(exp=NOW - 1),
    "far future": signed(exp=LATEST_EXP + 60),
    "milliseconds": signed(exp=(NOW + 300) * 1000),
    "no exp": signed(without="exp"),
    "exp null": signed_as_it_stands(json.dumps({**CLAIMS, "exp": None})),
    "exp a string": signed_as_it_stands(json.dumps({**CLAIMS, "exp": str(NOW + 300)})),
    "exp words": signed_as_it_stands(json.dumps({**CLAIMS, "exp": "soon"})),
    "exp NaN": signed_as_it_stands(json.dumps({**CLAIMS, "exp": float("nan")})),
    "exp infinite": signed_as_it_stands(json.dumps({**CLAIMS, "exp": float("inf")})),
    "exp true": signed_as_it_stands(json.dumps({**CLAIMS, "exp": True})),
    "exp a list": signed_as_it_stands(json.dumps({**CLAIMS, "exp": [NOW + 300]})),
    "exp of 400 digits": signed_as_it_stands(json.dumps({**CLAIMS, "exp": 10**400})),
    "not yet in force": signed(nbf=NOW + CLOCK_SKEW_SECONDS + 1),
    "nbf a string": signed_as_it_stands(json.dumps({**CLAIMS, "nbf": str(NOW)})),
    "nbf NaN": signed_as_it_stands(json.dumps({**CLAIMS, "nbf": float("nan")})),
    "no user_id": signed(without="user_id"),
    "empty user_id": signed(user_id=""),
    "user_id a number": signed(user_id=7),
    "user_id a list": signed(user_id=[USER]),
    "user_id an operator": signed(user_id={"$ne": None}),
    "user_id null": signed(user_id=None),
    "user_id true": signed(user_id=True),
    "user_id of 257 characters": signed(user_id="u" * 257),
    "user_id a lone surrogate": signed(user_id="\ud800"),
    "our own": signed(iss=OUR_ISSUER),
    "iss a list": signed_as_it_stands(json.dumps({**CLAIMS, "iss": [OUR_ISSUER]})),
    "ten kilobytes": signed(name="x" * 10_000),
    "claims in a list": signed_as_it_stands(json.dumps([CLAIMS])),
    "claims not JSON": signed_as_it_stands("{"),
    "a header nested a thousand deep": f"{_encoded('[' * 2900)}.e30.AA",
    "a header of another kind": f"{_encoded('[1]')}.e30.AA",
    "alg a list": f"{_encoded(json.dumps({'alg': ['HS256']}))}.e30.AA",
    "garbage": "garbage",
    "not ASCII": "é.ÿ.ü",
    "not base64": "!.!.!",
    "empty": "",
    "two dots": "..",
    "four parts": signed() + ".AA",
    "quoted": f'"{signed()}"',
}


@pytest.mark.parametrize("token", REFUSED.values(), ids=list(REFUSED))
def test_an_invalid_token_is_rejected(token: str) -> None:
    with pytest.raises(Unauthorized):
        user_of(token)


ACCEPTED = {
    "as the candidate app signs it": signed(),
    "without iat": signed(without="iat"),
    "issued by a clock that runs ahead": signed(iat=NOW + CLOCK_SKEW_SECONDS),
    "in force since now": signed(nbf=NOW),
    "in force by a clock that runs ahead": signed(nbf=NOW + CLOCK_SKEW_SECONDS),
    "with a fraction of a second": signed(exp=NOW + 0.5),
    "at its longest": signed(exp=LATEST_EXP),
    "with an audience that nobody asked for": signed(aud="candidate-app"),
    "with an issuer that nobody asked for": signed(iss="candidate-app"),
}


@pytest.mark.parametrize("token", ACCEPTED.values(), ids=list(ACCEPTED))
def test_the_candidate_apps_token_identifies_the_user(token: str) -> None:
    assert user_of(token) == USER


def test_a_token_is_valid_until_the_second_it_expires() -> None:
    token = signed(exp=NOW + 300)
    assert user_of(token, now=NOW + 299.999) == USER
    with pytest.raises(Unauthorized):
        user_of(token, now=NOW + 300)


def test_a_token_is_rejected_while_it_has_over_fifteen_minutes_left() -> None:
    token = signed(exp=LATEST_EXP + 1)
    with pytest.raises(Unauthorized):
        user_of(token, now=NOW)
    assert user_of(token, now=NOW + 1) == USER


def test_a_token_is_rejected_before_its_not_before_time() -> None:
    token = signed(nbf=NOW + CLOCK_SKEW_SECONDS + 1)
    with pytest.raises(Unauthorized):
        user_of(token, now=NOW)
    assert user_of(token, now=NOW + 1) == USER


def test_tokens_signed_with_either_secret_are_valid_during_rotation() -> None:
    rotating = replace(SETTINGS, qwestly_agent_shared_secret=f"{SECRET}, {OLD_SECRET}")
    assert [user_of(signed(secret), rotating) for secret in (SECRET, OLD_SECRET)] == [USER, USER]
    with pytest.raises(Unauthorized):
        user_of(signed(OLD_SECRET), SETTINGS)


def test_a_rejected_claim_is_not_accepted_by_the_second_secret() -> None:
    rotating = replace(SETTINGS, qwestly_agent_shared_secret=f"{OLD_SECRET},{SECRET}")
    with pytest.raises(Unauthorized):
        user_of(signed(exp=NOW - 1), rotating)


def test_a_token_above_four_kilobytes_is_rejected() -> None:
    room = LONGEST_TOKEN_CHARACTERS - len(signed(name=""))
    fitting = signed(name="x" * (room * 3 // 4 - 1))
    assert len(fitting) <= LONGEST_TOKEN_CHARACTERS
    assert user_of(fitting) == USER
    with pytest.raises(Unauthorized):
        user_of(signed(name="x" * (room * 3 // 4 + 4)))


WITH_AUDIENCE = replace(SETTINGS, qwestly_jwt_audience="qwestly-agent-chat", qwestly_jwt_issuer="candidate-app")


@pytest.mark.parametrize(
    "changes",
    [
        {"aud": "qwestly-agent-chat"},
        {"iss": "candidate-app"},
        {"aud": "somebody-else", "iss": "candidate-app"},
        {"aud": "qwestly-agent-chat", "iss": "somebody-else"},
        {"aud": "qwestly-agent-chat", "iss": OUR_ISSUER},
        {"aud": [], "iss": "candidate-app"},
        {"aud": ["somebody-else"], "iss": "candidate-app"},
        {"aud": 7, "iss": "candidate-app"},
        {"aud": "qwestly-agent-chat", "iss": ""},
    ],
    ids=str,
)
def test_a_configured_audience_and_issuer_are_required(changes: dict[str, Any]) -> None:
    with pytest.raises(Unauthorized):
        user_of(signed_as_it_stands(json.dumps({**CLAIMS, **changes})), WITH_AUDIENCE)


@pytest.mark.parametrize("audience", ["qwestly-agent-chat", ["another", "qwestly-agent-chat"]], ids=str)
def test_a_token_for_us_from_the_configured_issuer_is_valid(audience: str | list[str]) -> None:
    assert user_of(signed(aud=audience, iss="candidate-app"), WITH_AUDIENCE) == USER


def test_our_own_issuer_is_rejected_even_if_configured() -> None:
    with pytest.raises(Unauthorized):
        user_of(signed(iss=OUR_ISSUER), replace(SETTINGS, qwestly_jwt_issuer=OUR_ISSUER))


@given(st.text(st.characters(max_codepoint=255), max_size=200))
@pytest.mark.thorough
def test_any_header_is_a_valid_token_or_unauthorized(token: str) -> None:
    with pytest.raises(Unauthorized):
        user_of(token)


PARTS = _encoded('{"alg":"HS256" }'), _encoded(json.dumps({**CLAIMS, "name": "x"}))


def padded(*places: int) -> str:
    """A valid token with base64 padding at these of its parts, signed in that form."""
    header, payload = (part + "=" * (-len(part) % 4) if place in places else part for place, part in enumerate(PARTS))
    signature = _encoded(hmac.digest(SECRET.encode(), f"{header}.{payload}".encode(), "sha256"))
    return f"{header}.{payload}.{signature}{'=' if 2 in places else ''}"


@pytest.mark.parametrize("places", [(0,), (1,), (2,), (0, 1, 2)], ids=str)
def test_a_padded_token_is_rejected_despite_a_valid_signature(places: tuple[int, ...]) -> None:
    assert user_of(padded()) == USER
    assert "=" in padded(*places)
    with pytest.raises(Unauthorized):
        user_of(padded(*places))


@pytest.mark.thorough
@given(st.data())
@settings(max_examples=500)
def test_a_valid_token_with_anything_added_is_unauthorized(data: st.DataObject) -> None:
    token = signed()
    more = data.draw(st.text(st.one_of(st.sampled_from("=.-_+/ \t\n\0A"), st.characters()), min_size=1, max_size=5))
    begin = data.draw(st.integers(0, len(token)))
    end = data.draw(st.integers(begin, min(len(token), begin + 5)))
    changed = token[:begin] + more + token[end:]
    if changed != token:
        with pytest.raises(Unauthorized):
            user_of(changed)


@pytest.mark.thorough
@given(
    st.dictionaries(
        st.sampled_from(["user_id", "exp", "nbf", "iss", "aud", "sub", "jti"]),
        st.one_of(
            st.none(),
            st.booleans(),
            st.integers(),
            st.floats(),
            st.text(max_size=5),
            st.lists(st.integers(), max_size=2),
        ),
        max_size=4,
    )
)
def test_any_signed_claims_give_a_user_or_unauthorized(claims: dict[str, Any]) -> None:
    try:
        user = user_of(signed_as_it_stands(json.dumps({**CLAIMS, **claims})))
    except Unauthorized:
        return
    assert user == claims.get("user_id", USER)
