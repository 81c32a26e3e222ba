"""Turns of a run, recorded with names replaced. Each can be streamed again as the answer of the scripted model server.

JSON Lines: `{"source", "asked", "request": {"model", "messages", "tools"}, "instructions", "reply": {"deltas"}}`, where
`reply` is a `Reply` of `infra.local.model_faults`. The text of instructions is stored once, by the hash that names it.
"""

import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evals.pseudonyms import Pseudonyms
from qwestly_agent.domain.approval import sha256_hex

WORDS_A_CHUNK = 3


@dataclass
class Recorder:
    file: Path
    source: str
    """The model and the date; begins with "recorded"."""
    names: Pseudonyms
    _known: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, body: Mapping[str, Any], answered: bytes) -> None:
        """Record a streamed answer and its request."""
        deltas = _deltas_of(answered)
        text = "".join(each.get("content") or "" for each in deltas)
        calls = [call for each in deltas for call in each.get("tool_calls") or ()]
        if not (text or calls):
            return
        messages = list(body["messages"])
        instructions = "\n".join(str(each.get("content")) for each in messages if each.get("role") == "system")
        said = [each for each in messages if each.get("role") != "system"]
        asked = next((str(each.get("content")) for each in reversed(said) if each.get("role") == "user"), "")
        name = sha256_hex(instructions)[:12]
        line = {
            "source": self.source,
            "asked": self.names.of(asked),
            "request": {
                "model": body["model"],
                "messages": self._renamed(said),
                "tools": [each["function"]["name"] for each in body.get("tools", ())],
            },
            "instructions": name,
            "reply": {"deltas": self._renamed_deltas(deltas)},
        }
        with self._lock, self.file.open("a", encoding="utf-8") as out:
            if name not in self._known:
                self._known.add(name)
                out.write(json.dumps({"instructions": name, "text": self.names.of(instructions)}) + "\n")
            out.write(json.dumps(line, ensure_ascii=False) + "\n")

    def _renamed(self, value: Any) -> Any:
        match value:
            case str():
                return self.names.of(value)
            case list():
                return [self._renamed(each) for each in value]
            case dict():
                return {
                    key: each if key in ("id", "tool_call_id") else self._renamed(each) for key, each in value.items()
                }
            case _:
                return value

    def _renamed_deltas(self, deltas: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the deltas unchanged or, if a name was replaced, the renamed text and calls in new deltas: a name may
        be spread over several."""
        text, calls = "", dict[int, dict[str, Any]]()
        for delta in deltas:
            text += delta.get("content") or ""
            for call in delta.get("tool_calls") or ():
                whole = calls.setdefault(call.get("index", 0), {"id": call.get("id"), "name": "", "arguments": ""})
                function = call.get("function") or {}
                whole["name"] += function.get("name") or ""
                whole["arguments"] += function.get("arguments") or ""
        renamed = self.names.of(text)
        arguments = {at: self.names.of(call["arguments"]) for at, call in calls.items()}
        if renamed == text and all(arguments[at] == call["arguments"] for at, call in calls.items()):
            return deltas
        words = renamed.split(" ")
        pieces = [" ".join(words[at : at + WORDS_A_CHUNK]) for at in range(0, len(words), WORDS_A_CHUNK)]
        new: list[dict[str, Any]] = [
            {"content": piece if at == 0 else f" {piece}"} for at, piece in enumerate(pieces) if renamed
        ]
        for at, call in calls.items():
            function = {"name": call["name"], "arguments": arguments[at]}
            new.append({"tool_calls": [{"index": at, "id": call["id"], "type": "function", "function": function}]})
        return new


def _deltas_of(answered: bytes) -> list[dict[str, Any]]:
    deltas = list[dict[str, Any]]()
    for line in answered.decode("utf-8", "replace").splitlines():
        if line.startswith("data:") and "[DONE]" not in line:
            for choice in json.loads(line.removeprefix("data:")).get("choices", ()):
                if delta := {
                    name: value for name, value in choice.get("delta", {}).items() if name != "role" and value
                }:
                    deltas.append(delta)
    return deltas


def turns_in(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the recorded turns of a file."""
    for line in file.read_text(encoding="utf-8").splitlines():
        read = json.loads(line)
        if "reply" in read:
            yield read
