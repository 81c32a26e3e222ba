"""Draw the results as one picture."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks import latency, streams, turns
from benchmarks.servers import OURS, PLAIN

COLOURS = {PLAIN: "#9aa5b1", OURS: "#1f6feb"}
INCHES = (13, 10.5)


def draw(found: Mapping[str, Any], path: Path) -> None:
    # The same figures give the same file, and its text stays text.
    mpl.rcParams.update({"svg.hashsalt": "qwestly-agent", "svg.fonttype": "none", "font.size": 9})
    figure = Figure(figsize=INCHES, layout="constrained")
    panels: Sequence[Axes] = figure.subplots(3, 2).flat
    _turns(panels[0], found["turns"])
    _lambda(panels[1], found["turns"])
    _first_texts(panels[2], found["streams"])
    _cpu_by_streams(panels[3], found["streams"])
    _memory(panels[4], found["streams"])
    _latency(panels[5], found["latency"])
    figure.savefig(path, metadata={"Date": None, "Creator": None})


def _turns(axes: Axes, found: Mapping[str, Any]) -> None:
    paces = [pace.name for pace in turns.PACES]
    _pairs(axes, paces, {name: [found["paces"][pace][name]["cpu_ms"] for pace in paces] for name in (PLAIN, OURS)})
    _label(axes, "CPU of a turn of 100 chunks", "", "ms")


def _lambda(axes: Axes, found: Mapping[str, Any]) -> None:
    sizes = list(found["lambda"])
    _pairs(axes, sizes, {name: [found["lambda"][size][name] for size in sizes] for name in (PLAIN, OURS)})
    _label(axes, "A turn on Lambda, 20 ms a chunk (computed)", "memory, MB", "GB-seconds")


def _first_texts(axes: Axes, found: Mapping[str, Any]) -> None:
    _by_streams(axes, found, "first_text_ms", streams.WITH_A_FIRST_TEXT)
    _label(axes, "First text_delta, median", "streams at once", "ms")


def _cpu_by_streams(axes: Axes, found: Mapping[str, Any]) -> None:
    _by_streams(axes, found, "cpu_ms", streams.STREAMS)
    _label(axes, "CPU of a turn", "streams at once", "ms")


def _by_streams(axes: Axes, found: Mapping[str, Any], of: str, sizes: Sequence[int]) -> None:
    for name in (PLAIN, OURS):
        _line(axes, name, sizes, [found["at_once"][str(size)][name][of] for size in sizes])


def _memory(axes: Axes, found: Mapping[str, Any]) -> None:
    for name in (PLAIN, OURS):
        _line(axes, name, streams.HELD, [found["memory_mb"][name][str(size)] for size in streams.HELD])
    _label(axes, "Memory of the process", "streams at once", "MB")


def _latency(axes: Axes, found: Mapping[str, Any]) -> None:
    for of, title, style in (("warm_ms", "warm", "-o"), ("first_turn_ms", "first turn of a process", "--o")):
        texts = [found["added_ms"][str(added)][of] for added in latency.ADDED_MS]
        axes.plot(latency.ADDED_MS, texts, style, color=COLOURS[OURS], label=title)
    _label(axes, "First text_delta by the database's distance", "ms farther", "ms")


def _pairs(axes: Axes, names: Sequence[str], values: Mapping[str, Sequence[float]]) -> None:
    for place, (name, each) in enumerate(values.items()):
        bars = axes.bar([n + place * 0.4 for n in range(len(names))], each, 0.4, color=COLOURS[name], label=name)
        axes.bar_label(bars, fmt="%.3g")
    axes.set_xticks([n + 0.2 for n in range(len(names))], names)


def _line(axes: Axes, name: str, at: Sequence[int], values: Sequence[float]) -> None:
    axes.plot(at, values, "-o", color=COLOURS[name], label=name)


def _label(axes: Axes, title: str, x: str, y: str) -> None:
    axes.set_title(title)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.legend()
    if axes.get_yscale() == "linear":
        axes.set_ylim(bottom=0)
