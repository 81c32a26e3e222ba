"""Detect plain statements of acute trouble (self-harm, violence) by short lists of phrases in five languages.

This check needs no network. Statements in other words are left to the moderation endpoint and to the answering model
(`report_trouble`). `evals/trouble` has the rates.

A phrase matches if one clause contains its words in order, with at most four other words between two of them or before
the first, and if none of those words is in `others`. Clauses are normalized first: lower case, without accents,
apostrophes, short quotations and the language's `fillers`. In a phrase, `$` is the end of the clause and must follow
directly. `I` is any form of the first person, or the beginning of the clause if the next word follows directly.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import filterfalse
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["self_harm", "violence", "abuse"]
"""`abuse` is directed at the agent; no phrase detects it."""

MOST_BETWEEN = 4
_BEGIN, _END, _FIRST_PERSON = "^", "$", "I"
_QUOTED = re.compile(r'"[^"\n]{0,200}"|“[^”\n]{0,200}”|«[^»\n]{0,200}»|„[^“”\n]{0,200}[“”]')
_APOSTROPHE = re.compile(r"['’‘`´]")
_CLAUSE = re.compile(r"[.!?…;¡¿\n,:()\[\]/\"«»“”„–—]+|\s-+\s")
_OTHER = re.compile(r"[^\w]+|_")
_LONG = re.compile(r"([a-z])\1{2,}")


@dataclass(frozen=True)
class Trouble:
    kind: Kind
    language: str
    """ISO 639-1 code."""


@dataclass(frozen=True)
class Phrases:
    """The phrases of one language: at most forty of `self_harm` and `violence` together. Phrases are separated by
    commas, and single words by blanks."""

    self_harm: str
    violence: str
    long_ago: str
    """Phrases about the past. If one of them matches, all other matches are ignored."""
    first_person: str
    others: str
    """Words about other people or about work. A phrase does not match across them."""
    fillers: str
    apostrophe: str = ""
    """Replacement for apostrophes."""


PHRASES: Mapping[str, Phrases] = {
    "en": Phrases(
        self_harm="""
            I want die, I wanna die, I want dead, I wanna dead, wish dead, rather dead, better off dead,
            kill myself, killing myself, kms, end my life, ending my life, end it all, ending it all,
            ending it tonight, take my own life, I overdosed, im suicidal, am suicidal, feeling
            suicidal, suicidal thoughts, thinking suicide, dont want live $, dont wanna live $, dont
            want alive, dont wanna alive, dont want wake up, reason live $, hang myself, cutting myself,
            cutting again, hurting myself, harming myself, cut my arms, I took overdose, whole bottle
            of, swallowed all
        """,
        violence="hits me, dad beats me, choked me",
        long_ago="years ago, when i was, used to, as a teenager, i survived",
        first_person="i im id ill ive imma gonna wanna been always",
        others=(
            "they she he who you people patients patient clients client callers students someone somebody anyone "
            "friend kids teens users them hes shes theyre we told said prevention ideation research researcher "
            "training thesis novel book film awareness hotline helpline line bereavement watch"
        ),
        fillers=(
            "just really even only also so honestly still simply actually fucking literally kinda truly seriously "
            "very anymore any more no now"
        ),
    ),
    "de": Phrases(
        self_harm="""
            I will sterben, I sterben will, I mochte sterben, suizidal bin, I will tot, I ware tot, mich
            geschnitten, nicht mehr leben $, nicht mehr leben will, nimma lebn, leben sein, bock leben,
            verletze mich, lust leben, bring mich um, bringe mich um, bring ich mich um, mich
            umzubringen, I mich umbringe, I will mich umbringen, werde mich umbringen, mir leben nehmen,
            nehme mir leben, schluss mit meinem leben, leben beenden, selbstmordgedanken, denke
            selbstmord, an suizid, bin suizidal, suizidgedanken, mich aufhangen, hang mich auf, ritze
            mich, I ritze, schneide mir, mir weh, tabletten genommen, I uberdosis genommen
        """,
        violence="mann schlagt mich",
        long_ago="damals, vor jahren, als ich war, habe versucht, mit 19, uberlebt, fruher depressionen",
        first_person="ich i hab habe bin",
        others=(
            "er sie wer jemand nicht soldaten klienten etliche berate patient patientin klientin anrufer "
            "anruferin schuler menschen leute jugendliche gesagt sagte sagt studie forschung pravention kollege "
            "kollegin beruflicher arzten"
        ),
        fillers=(
            "einfach nur noch wirklich echt jetzt heute auch ja doch so gerade grad halt eh selbst schon ganz am "
            "liebsten"
        ),
    ),
    "fr": Phrases(
        self_harm="""
            veux mourir, veux crever, envi crever, envie crever, envie mourir, aimerais mourir, etre
            morte, etre mort, veux plus vivre $, veux pus vivre, plus envie vivre, finir avec vie, envie
            en finir, veux en finir $, fin a mes jours, fin a ma vie, me suicider, me suicide, vais me
            tuer, jvais me tuer, donner mort, foutre en l air, me pendre, pense au suicide, jpense
            suicide, suis suicidaire, I suicidaires, ouvert bras, suis fait du mal, couper bras, me fais
            mal, scarifie, I avale, avaler toute, I overdose
        """,
        violence="mari me frappe, il me frappe, tape dessus",
        long_ago="il y a ans, quand j avais, a l epoque, j ai survecu",
        first_person="je j jvais jveux ai suis jai jsuis jme",
        others=(
            "beaucoup jeunes benevole ecoute accompagne personnes il elle qui on ils patient patiente quelqu gens "
            "eleve eleves dit disait appelant prevention these roman livre formation"
        ),
        fillers="juste vraiment meme franchement ne n encore la d de",
        apostrophe=" ",
    ),
    "es": Phrases(
        self_harm="""
            quiero morir, quiero morirme, ganas morir, ganas morirme, no quiero vivir $, quiero seguir
            viviendo, quiero seguir viva, quiero seguir vivo, sin ganas vivir, no tengo ganas vivir, no
            sentido vivir, matarme, me voy matar, me quiero matar, me mato $, me quito vida, quitarme
            vida, me quitar vida, con mi vida, fin mi vida, acabar con todo, suicidarme, me voy
            suicidar, ando suicida, pensamientos suicidas, el suicidio todos, pienso suicidio, estar
            muerta, estar muerto, estuviera muerto, tome monton, me corto los, haciendo dano, ahorcarme,
            tomarme todas, tome todas, tome sobredosis
        """,
        violence="marido me pega, novio me pega, me golpea",
        long_ago="hace anos, cuando tenia, a los anos, intente, sobrevivi",
        first_person="me yo estoy soy",
        others=(
            "ella quien ellos paciente pacientes usuaria usuario alguien gente dijo dice prevencion tesis novela "
            "libro formacion linea"
        ),
        fillers="ya solo mas de verdad realmente sinceramente tambien le a wey bien",
    ),
    "pt": Phrases(
        self_harm="""
            quero morrer, queria morrer, vontade morrer, vou me matar, quero me matar, em me matar,
            vontade me matar, vou matar me, nao vontade viver, eu me mato, nao quero viver $, n quero
            viver $, nao aguento viver, sem vontade viver, nao nenhuma viver, tirar minha vida, tirar
            propria vida, com minha vida, fim minha vida, me suicidar, suicidar me, penso suicidio,
            pensamentos suicidas, to suicida, estou suicida, estar morto, estar morta, ta morta, me
            cortando, tomei remedio, me corto, cortar me, me machucando, magoar mim, me enforcar,
            enforcar me, tomei comprimidos, tomei overdose
        """,
        violence="marido me bate, me espanca",
        long_ago="ha anos, quando eu tinha, faz anos, aos anos, tentei, sobrevivi",
        first_person="eu me to estou",
        others=(
            "ele ela quem eles pessoas paciente alguem gente disse diz falou prevencao tese romance livro "
            "formacao linha"
        ),
        fillers="so ja mesmo realmente sinceramente tambem mais a de se mano",
    ),
}


def find_trouble(typed: Iterable[str], language: str = "") -> Trouble | None:
    """Return the acute trouble found in the texts that a user typed, or None. `language` is the texts' language, if
    known."""
    folded = _folded(_QUOTED.sub(" ", "\n".join(typed)))
    best: tuple[bool, int] | None = None
    trouble: Trouble | None = None
    for each in PHRASES:
        number, found = _found(folded, each)
        # Languages share phrases. Prefer the given language, then the one with the most matches.
        if number and (best is None or (each == language, number) > best):
            best, trouble = (each == language, number), found
    return trouble


def _folded(text: str) -> str:
    """Return the text in lower case, without accents."""
    plain = unicodedata.normalize("NFKD", text.lower().replace("ß", "ss"))
    return "".join(filterfalse(unicodedata.combining, plain))


@dataclass(frozen=True)
class _Phrase:
    kind: str
    words: Sequence[str]
    needed: frozenset[str]
    """The words that a clause must contain, in any position."""


@dataclass(frozen=True)
class _Compiled:
    """The parsed lists of one language."""

    phrases: Sequence[_Phrase]
    first_person: frozenset[str]
    others: frozenset[str]
    fillers: frozenset[str]
    apostrophe: str


@cache
def _compiled(language: str) -> _Compiled:
    listed = PHRASES[language]
    kinds = {"long_ago": listed.long_ago, "self_harm": listed.self_harm, "violence": listed.violence}
    phrases = [(kind, each.split()) for kind, listed_phrases in kinds.items() for each in listed_phrases.split(",")]
    return _Compiled(
        [_Phrase(kind, words, frozenset(words) - {_END, _FIRST_PERSON}) for kind, words in phrases],
        frozenset(listed.first_person.split()),
        frozenset(listed.others.split()),
        frozenset(listed.fillers.split()),
        listed.apostrophe,
    )


def _found(folded: str, language: str) -> tuple[int, Trouble | None]:
    """Return the number of matching phrases, and the trouble they indicate."""
    lists = _compiled(language)
    clauses = [
        [_BEGIN, *words, _END]
        for text in _CLAUSE.split(_LONG.sub(r"\1", _APOSTROPHE.sub(lists.apostrophe, folded)))
        if (words := [*filterfalse(lists.fillers.__contains__, _OTHER.sub(" ", text).split())])
    ]
    matches = {"long_ago": 0, "self_harm": 0, "violence": 0}
    for phrase in lists.phrases:
        for clause in clauses:
            if phrase.needed.issubset(clause) and _stands_in(clause, phrase.words, lists):
                matches[phrase.kind] += 1
                break
    if matches["long_ago"]:
        return 0, None
    kind: Kind = "self_harm" if matches["self_harm"] else "violence"
    return matches["self_harm"] + matches["violence"], Trouble(kind, language)


def _stands_in(clause: Sequence[str], phrase: Sequence[str], lists: _Compiled) -> bool:
    """True if the clause contains the words of the phrase in order and close together."""

    def goes_on(at: int, left: Sequence[str]) -> bool:
        """True if the remaining words follow from position `at` on."""
        if not left:
            return True
        between = 0 if left[0] == _END or clause[at - 1] == _BEGIN else MOST_BETWEEN
        for place in range(at, min(at + between + 1, len(clause))):
            if clause[place] == left[0] and goes_on(place + 1, left[1:]):
                return True
            if clause[place] in lists.others:
                return False
        return False

    is_first_person = phrase[0] == _FIRST_PERSON
    for at, word in enumerate(clause):
        begins = word == phrase[0] or (is_first_person and (word == _BEGIN or word in lists.first_person))
        is_alone = begins and lists.others.isdisjoint(clause[max(0, at - MOST_BETWEEN) : at])
        if is_alone and goes_on(at + 1, phrase[1:]):
            return True
    return False
