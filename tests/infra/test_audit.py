"""`qwestly-agent audit`: each step of approvals as JSON Lines, without content."""

import argparse
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from infra.audit import add_arguments, command
from infra.local.model_server import ModelServer, Reply
from infra.stages import WrongUsage
from tests.servers import ChatServer, Client


def audit(chat: ChatServer, capsys: pytest.CaptureFixture[str], since: str) -> list[dict[str, Any]]:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    uri, name = chat.settings.mongodb_uri, chat.settings.mongodb_database
    capsys.readouterr()
    assert command(parser.parse_args(["--since", since]), {"MONGODB_URI": uri, "MONGODB_DATABASE": name}) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_the_audit_lists_who_and_digest_of_each_step_without_content(
    chat: ChatServer, client: Client, model: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    change = {"field": "headline", "value": "Head of Product, payments"}
    model.script_chat(Reply(tool_calls=[{"name": "update_profile_field", "arguments": change}]), Reply(text="Asked."))
    client.say("Make it Head of Product, payments?")
    [asked] = client.get("/api/approvals")["items"]
    client.request(
        "POST",
        f"/api/approvals/{asked['approval_id']}/decision",
        json={"decision": "reject", "args_digest": asked["args_digest"], "reason": "Not payments"},
    ).raise_for_status()
    told = [each for each in audit(chat, capsys, "2020-01-01") if each["user"] == client.user_id]
    assert [(each["step"], each.get("decided_by")) for each in told] == [("asked", None), ("rejected", "queue")]
    for each in told:
        assert (each["approval_id"], each["digest"]) == (asked["approval_id"], asked["args_digest"])
        assert (each["tool"], each["level"]) == ("update_profile_field", "L1")
    assert "ayments" not in json.dumps(told)
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    assert audit(chat, capsys, tomorrow) == []


def test_an_invalid_time_is_rejected(chat: ChatServer, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(WrongUsage, match="no time"):
        audit(chat, capsys, "yesterday")
