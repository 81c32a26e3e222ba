"""The raw message that goes to SES."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from qwestly_agent.base.errors import Unavailable
from qwestly_agent.clients.aws import Mail


def raw(unsubscribe: str) -> bytes:
    sent: list[bytes] = []
    client = SimpleNamespace(send_email=lambda **given: sent.append(given["Content"]["Raw"]["Data"]))
    mail = Mail(lambda _: client, "Qwestly <agent@qwestly.example>")
    send: Any = mail.send("orla@example.org", "Déjà vu", "Hello.", "<p>Hello.</p>", unsubscribe=unsubscribe)
    asyncio.run(send)
    return sent[0]


@pytest.mark.parametrize("length", [10, 200, 900])
def test_the_unsubscribe_address_is_sent_unchanged(length: int) -> None:
    url = f"https://agent.example/approve/unsubscribe/{'aB-_' * (length // 4)}"
    head = raw(url).partition(b"\n\n")[0].decode().splitlines()
    assert f"List-Unsubscribe: <{url}>" in head
    assert "List-Unsubscribe-Post: List-Unsubscribe=One-Click" in head
    assert not [each for each in head if each.startswith(" ") and "nsubscribe" in each]


def test_a_mail_without_an_unsubscribe_address_has_no_such_header() -> None:
    assert b"nsubscribe" not in raw("")


@pytest.mark.parametrize(
    "url", ["https://a.example/\nBcc: all@example.org", "https://a.example/ b", "https://ä.example/"]
)
def test_no_mail_is_sent_to_an_invalid_address(url: str) -> None:
    with pytest.raises(Unavailable):
        raw(url)
