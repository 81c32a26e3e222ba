"""Run memory's code on labelled conversations, pairs, searches and retellings: `python -m evals.memories`.

The judge is ideal: it answers by the labels. So this measures what code drops and keeps, and no model. Pairs and
retellings are compared by an embedding: the laptop's scripted one, which knows words but not meaning, or a real one,
which is English, so that its figures for other languages are not meaningful.
"""

import argparse
import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import yaml

from evals.statistics import wilson
from infra.local import model_minilm as minilm
from infra.local.environment import SafeLoader
from infra.local.model_embedding import embedding
from infra.local.model_minilm import Embed
from qwestly_agent.base.settings import Settings
from qwestly_agent.domain.memory import MemoryType, Tombstone, hashes_of, signature_of, stem_hashes
from qwestly_agent.grounding.judge import Judged, Question
from qwestly_agent.memory.find import NEIGHBOURS
from qwestly_agent.memory.forget import match_tombstones
from qwestly_agent.memory.judges import OWN_WORDS, RefusedNote, UserMessage, find_note, ground_notes
from qwestly_agent.memory.notes import DropReason
from qwestly_agent.stores.memories import rank_nearest

FOLDER = Path(__file__).parent / "memories"
NOW = datetime(2026, 11, 22, tzinfo=UTC)
DIMENSIONS = 1_536
BEST = 10
"""Results of a search, as in `recall@10`."""

Half: TypeAlias = Literal["tuned", "kept"]
HALVES: tuple[Half, ...] = ("tuned", "kept")
RELATED = ("same", "contradicts")


@dataclass(frozen=True)
class Candidate:
    """A note on a conversation, labelled right or wrong."""

    half: Half
    language: str
    said: UserMessage | None
    note: Mapping[str, Any]
    is_right: bool
    may_keep_own_words: bool
    needs_question: bool


def conversations(folder: Path) -> Iterator[Candidate]:
    for _, _, candidates in by_conversation(folder):
        yield from candidates


def by_conversation(folder: Path) -> Iterator[tuple[str, list[UserMessage], list[Candidate]]]:
    """Yield for each conversation its name, what the person wrote, and the labelled notes."""
    for file in sorted(folder.glob("conversations-*.yaml")):
        for index, conversation in enumerate(_read(file)):
            said = dict(_said(conversation["messages"]))
            labelled = [(note, key == "memories") for key in ("memories", "not_memories") for note in conversation[key]]
            candidates = [
                Candidate(
                    half=_half(index),
                    language=file.stem.removeprefix("conversations-"),
                    said=said.get(note["message"]),
                    note=note,
                    is_right=is_right,
                    may_keep_own_words=is_right or note["own_words"],
                    needs_question="asked" in note,
                )
                for note, is_right in labelled
            ]
            yield conversation.get("conversation", f"{file.stem}-{index}"), list(said.values()), candidates


def _said(messages: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, UserMessage]]:
    before = ""
    for message in messages:
        if message["by"] == "agent":
            before = message["text"]
        else:
            yield message["id"], UserMessage(message["id"], message["text"], NOW, before)
            before = ""


Fate: TypeAlias = Literal["kept", "own words", "lost", "unchecked"]


async def fate_of(candidate: Candidate, *, judged: bool = True, by_tool: bool = False) -> tuple[Fate, str]:
    """Return the fate of a note, with or without the ideal judge, and the reason if it is dropped. `by_tool`: a tool of
    the chat makes it."""
    given = candidate.note
    kind: MemoryType = given["type"]
    note = find_note(
        candidate.said,
        kind=kind,
        content=given["content"],
        quote=given["quote"],
        conversation_id="c",
        importance=0.5,
        is_asked_for=by_tool,
    )
    if isinstance(note, DropReason):
        return "lost", note.value

    async def ideal(questions: Sequence[Question]) -> Mapping[int, Judged]:
        return {each.number: _answer(candidate, each) for each in questions}

    [read] = await ground_notes([note], ideal if judged else None)
    if isinstance(read, RefusedNote):
        return "lost", " ".join(read.reasons)
    if not read.is_checked:
        return "unchecked", ""
    return ("kept" if read.content == note.content else "own words"), ""


def _answer(candidate: Candidate, question: Question) -> Judged:
    is_own = question.statement.text == OWN_WORDS
    is_right = candidate.is_right and (len(question.quotes) > 1 or not candidate.needs_question)
    quote = next(iter(question.quotes)).text
    if candidate.may_keep_own_words if is_own else is_right:
        meant = " … ".join(each.text for each in question.quotes)
        return Judged(id=question.number, span=quote[:1_000], meant=[meant] * len(question.look_at))
    return Judged(id=question.number, why="The ideal judge says no.")


# --- pairs and retellings ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Labelled:
    half: Half
    language: str
    relation: str
    is_found: bool
    """True if code lets a model compare the pair, or detects the retelling."""

    @property
    def group(self) -> str:
        return "English" if self.language == "en" else "others"


def pairs(folder: Path, embed: Embed) -> Iterator[Labelled]:
    """Yield whether the earlier memory of each pair is among the later one's neighbors, together with forty notes in
    its language."""
    others = {each["language"]: each["memories"] for each in _read(folder / "queries.yaml")}
    for index, given in enumerate(_read(folder / "pairs.yaml")):
        beside = [each["text"] for each in others.get(given["language"], others["mixed"])]
        documents = [
            {"_id": str(at), "type": "fact", "content": text, "content_embedding": embed(text)}
            for at, text in enumerate([given["a"], *beside])
        ]
        found = rank_nearest(documents, given["b"], embed(given["b"]), NEIGHBOURS)
        is_found = "0" in {each.memory.id for each in found}
        yield Labelled(_half(index), given["language"], given["relation"], is_found)


def searches(folder: Path, embed: Embed) -> Iterator[Labelled]:
    """Yield for each memory relevant to a query whether it is among the ten best."""
    for index, person in enumerate(_read(folder / "queries.yaml")):
        documents = [
            {"_id": each["id"], "type": "fact", "content": each["text"], "content_embedding": embed(each["text"])}
            for each in person["memories"]
        ]
        for query in person["queries"]:
            found = {each.memory.id for each in rank_nearest(documents, query["text"], embed(query["text"]), BEST)}
            for relevant in query["relevant"]:
                yield Labelled(_half(index), person["language"], "relevant", relevant in found)


def retellings(folder: Path, embed: Embed, near_from: float) -> Iterator[Labelled]:
    """Yield for each retelling and each other topic whether the user would be asked about it. The other notes are forty
    in the same language and the first other topic, which concerns the same part of the person's life."""
    people = _read(folder / "queries.yaml")
    notes = {person["language"]: [each["text"] for each in person["memories"]] for person in people}
    for index, given in enumerate(_read(folder / "retellings.yaml")):
        gone = given["forgotten"]
        vector = embed(gone["content"])
        hashes = hashes_of("u", gone["content"], gone["quote"])
        stems = stem_hashes("u", gone["content"], gone["quote"])
        tombstone = Tombstone("t", "u", hashes, signature_of(vector), len(vector), stems=stems)
        known = np.array([embed(each) for each in (*notes.get(given["language"], notes["mixed"]), given["others"][0])])
        for relation, texts in (("retelling", given["retellings"]), ("other matter", given["others"][1:])):
            for text in texts:
                beside = float((known @ np.array(embed(text))).max())
                near = match_tombstones((tombstone,), text, text, embed(text), near_from, beside=beside)
                yield Labelled(_half(index), given["language"], relation, near is not None)


def _half(index: int) -> Half:
    return "kept" if index % 2 else "tuned"


def _read(file: Path) -> Any:
    return yaml.load(file.read_text(encoding="utf-8"), SafeLoader)  # noqa: S506


# --- the report -------------------------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    embed = minilm.MiniLM() if options.embedding == "minilm" else _scripted
    told = list(conversations(options.folder))
    fates, by_tool = (asyncio.run(_fates(told, by_tool=each)) for each in (False, True))
    for half, (title, some) in product(HALVES, (("", fates), (", by the chat's tool", by_tool))):
        print(f"\n{half}: conversations, with an ideal judge{title}")
        for language in (*sorted({each.language for each in told}), ""):
            _print_fates(language, [each for each in some if each[0].half == half])
    if options.show:
        for candidate, fate, why in fates:
            if candidate.half == "tuned" and fate == "lost" and candidate.is_right:
                print(f"\nlost ({why}): {candidate.note['content']}\n  quotes: {candidate.note['quote']}")
    _print_found("pairs that are put to a model, beside forty others", list(pairs(options.folder, embed)))
    _print_found("found among the ten best of forty", list(searches(options.folder, embed)))
    for near_from in options.near_from:
        near = list(retellings(options.folder, embed, near_from))
        _print_found(f"taken for near to what was forgotten, from a cosine of {near_from:.2f}", near)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    settings = Settings.from_env({"MONGODB_URI": "mongodb://none", "MONGODB_DATABASE": "none"})
    near_from = [settings.memory_forgotten_from]
    parser = argparse.ArgumentParser(prog="python -m evals.memories", description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="of YAML files")
    parser.add_argument("--embedding", choices=("scripted", "minilm"), default="scripted")
    parser.add_argument("--near-from", type=float, nargs="+", default=near_from, metavar="COSINE", help="compare these")
    parser.add_argument("--show", action="store_true", help="print what is lost of the half that is tuned on")
    return parser.parse_args(arguments)


def _scripted(text: str) -> Sequence[float]:
    return embedding(text, DIMENSIONS)


async def _fates(candidates: Iterable[Candidate], *, by_tool: bool) -> list[tuple[Candidate, Fate, str]]:
    return [(each, *await fate_of(each, by_tool=by_tool)) for each in candidates]


def _print_fates(language: str, fates: Sequence[tuple[Candidate, Fate, str]]) -> None:
    these = [each for each in fates if language in ("", each[0].language)]
    right = Counter(fate for candidate, fate, _ in these if candidate.is_right)
    wrong = Counter(fate for candidate, fate, _ in these if not candidate.is_right and not candidate.may_keep_own_words)
    of, kept = right.total(), wrong["kept"] + wrong["own words"]
    own_words = f"in own words {right['own words']:3}"
    print(f"  {language or 'all':4} right lost {_rate(right['lost'], of)}  {own_words}  wrong kept {kept}")


def _print_found(title: str, labelled: Sequence[Labelled]) -> None:
    print(f"\n{title}")
    rows = product(HALVES, dict.fromkeys(each.relation for each in labelled), ("English", "others"))
    for row in rows:
        these = [each.is_found for each in labelled if (each.half, each.relation, each.group) == row]
        print(f"  {row[0]:6} {row[1]:14} {row[2]:8} {_rate(sum(these), len(these))}")


def _rate(found: int, of: int) -> str:
    low, high = wilson(found, of)
    return f"{found:4} of {of:4} = {100 * found / max(of, 1):5.1f} % ({100 * low:.1f}–{100 * high:.1f})"


if __name__ == "__main__":
    main()
