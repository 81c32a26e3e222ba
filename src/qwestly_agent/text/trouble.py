"""Detect plain statements of acute trouble (self-harm, violence) by short lists of phrases in five languages.

This check needs no network. Statements in other words are left to the moderation endpoint and to the answering model
(`report_trouble`). `evals/README.md` has the rates.

Sentences are split into clauses at punctuation and at the language's `conjunctions`. Words are normalized first: lower
case, without accents, apostrophes, short quotations and the language's `fillers`. Within a clause, a new statement
begins at each word of `first_person`.

A phrase matches if one clause contains its words in order, with at most `MOST_BETWEEN` other words between two of them.
In a phrase, `a|b` is any of these words. `I` is the first person: a word of `first_person`, or the beginning of the
clause if the next word follows directly. `$` forbids `places` around it: people who do not want to live somewhere want
to move. A phrase does not match

- across a word of `others` or `negations`, or shortly after one of `negations`;
- in a clause with one of `topics`;
- if a word of `others` comes before it in the same statement;
- after one of `reports`, which introduces another person's words;
- if its sentence contains a phrase of `long_ago` or a year, unless the first person is in the phrase itself, as in "I
  want to die".
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import filterfalse
from operator import itemgetter
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["self_harm", "violence", "abuse"]
"""`abuse` is directed at the agent; no phrase detects it."""

MOST_BETWEEN = 4
_FIRST_PERSON, _NO_PLACE = "I", "$"
_QUOTED = re.compile(r'"[^"\n]{0,200}"|“[^”\n]{0,200}”|«[^»\n]{0,200}»|„[^“”\n]{0,200}[“”]')
_APOSTROPHE = re.compile(r"['’‘`´]")
_SENTENCE = re.compile(r"[.!?…\n]+")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_CLAUSE = re.compile(r"[;¡¿,:()\[\]/\"«»“”„–—]+|\s-+\s")
_OTHER = re.compile(r"[^\w]+|_")
_REPORTED_TO = frozenset(("me", "mir", "us", "uns", "nous", "nos", "mim", "pra", "that", "dass", "que"))
"""Words that may stand between a verb of reporting and the reported statement."""
_LONG = re.compile(r"([a-z])\1{2,}")


@dataclass(frozen=True)
class Trouble:
    kind: Kind
    language: str
    """ISO 639-1 code."""


@dataclass(frozen=True)
class Phrases:
    """The phrases of one language: at most twenty-five in `self_harm` and `violence` together. Phrases are separated by
    commas, words by spaces."""

    self_harm: str
    violence: str
    long_ago: str
    """Phrases about the past."""
    first_person: str
    others: str
    """Words about other people."""
    reports: str
    """Verbs that introduce other people's statements."""
    negations: str
    places: str
    """Words that precede a place or other circumstances of living."""
    topics: str
    """Words from figures of speech, and from work and art about suicide."""
    conjunctions: str
    fillers: str
    apostrophe: str = ""
    """Replacement for apostrophes."""


PHRASES: Mapping[str, Phrases] = {
    "en": Phrases(
        self_harm="""
            I want|wanna|wish|hope|ready|deserve die|dead|dying, rather|better be|off dead,
            kill|hang|shoot|drown myself, about killing myself, kms, end|ending my life, taking|take my own life,
            end|ending it all|tonight, am|im|been|feel suicidal, feeling|thinking|considering|planning suicide|suicidal,
            suicidal thoughts, dont|not|no|cant|nothing|reason want|wanna|to live|alive|living|exist|wake $,
            cutting|hurting|harming|burning myself|again, cut my arms|wrists, jump bridge|roof,
            took|taken|swallowed all|whole|handful|bottle pills|tablets|meds|of, I overdosed, I took overdose
        """,
        violence=(
            "husband|boyfriend|wife|dad|he|ex hits|beats|choked|raped me $, threatened|threatening|threatens kill me"
        ),
        long_ago="years ago, when i was, used to, as a teenager, i survived",
        first_person="i im ill ive",
        others="they she he who you patients patient clients client students someone kids users",
        reports="told said says say",
        negations="not never",
        places="at in with here there on by from like",
        topics="laughing boredom embarrassment prevention hotline helpline research novel film",
        conjunctions="and but",
        fillers="just really also so honestly anymore any more now",
    ),
    "de": Phrases(
        self_harm="""
            I will|mochte|mag|werde|plane|denk sterben|tot|umbringen|umzubringen|springen, sterben will|mochte,
            ware|war|sein tot, tot sein|ware $, I mich umbringe|erhange|ritze, bring|bringe mich um,
            mich umzubringen, mir leben nehmen, nehme mir leben, schluss|ende meinem|dem leben, leben beenden,
            nicht mehr leben|aufwachen $, nimma|nimmer leben|lebn $, kein|keinen|keine lust|bock|sinn leben,
            bin|selber suizidal, suizidgedanken, selbstmordgedanken, denk|denke suizid|selbstmord,
            ritze|verletze|schneide mich|mir, mich geschnitten $, tu|tue mir weh,
            tabletten|uberdosis genommen|geschluckt, spring|springe brucke|zug|dach
        """,
        violence="mann|freund|er schlagt mich $, er mich umbringt|gewurgt|schlagt",
        long_ago="damals, vor jahren, als ich war, mit 14|15|16|17|18|19, fruher, jahre her",
        first_person="ich i hab habe bin",
        others="er sie etliche klienten patient menschen leute jugendliche",
        reports="sagte sagt",
        negations="nicht nie",
        places="in im bei beim mit hier von vom davon so tief",
        topics="lachen studie pravention hilfe gegen wollen",
        conjunctions="und aber",
        fillers="einfach nur noch wirklich jetzt heute auch so",
    ),
    "fr": Phrases(
        self_harm="""
            I veux|voudrais|prefere|envie|envi mourir|crever|mort|morte, envie|veux mourir|crever,
            veux|plus|pas|aucune plus|pus|pas|envie|raison vivre $, marre vivre $, me suicide|suicider,
            vais|jvais|veux|envie me tuer|pendre|jeter, I me tue $, finir vie, veux|envie|vais en finir $,
            fin mes|ma jours|vie, me donner mort, me foutre air, suis suicidaire, fait overdose,
            pense|jpense suicide, me|jme scarifie, coupe|couper|ouvert bras|veines, me fais|fait du mal,
            avale|avaler|pris toute|tous|plein medicaments|cachets|boite|somniferes
        """,
        violence="mari|femme|copain|il me frappe|bat $, chef|ex|il m violee, menace me tuer",
        long_ago="il y a ans, quand j avais, survecu",
        first_person="je j jvais jveux jai jme g",
        others="jeunes personnes il elle qui patient patients",
        reports="dit disait",
        negations="pas jamais",
        places="a au aux chez avec dans ici en sur",
        topics="rire honte faim ennui embarras prevention roman",
        conjunctions="et mais",
        fillers="juste vraiment ne n encore d de",
        apostrophe=" ",
    ),
    "es": Phrases(
        self_harm="""
            quiero|kiero|qro|ganas|ojala morir|morirme|muerta|muerto,
            no|sin quiero|kiero|ganas|sentido vivir|viviendo|viva|vivo $, cansado|cansada|harto vivir $,
            quiero|voy|pensando|planeo|ganas matarme, suicidarme,
            me voy|quiero|kiero matar|suicidar, me mato $, me quito|quitar vida, quitarme vida,
            acabar|fin|terminar mi vida, acabar con todo, pienso|pensamientos|ando suicidio|suicida|suicidas,
            me corto|cortando los|brazos|venas, me autolesiono, me hago|haciendo dano, hacerme dano,
            tome|tomado|tomarme todas|monton|bote|caja, tome sobredosis, tirarme|tiro puente
        """,
        violence="marido|novio|pareja|padre me pega|golpea $, amenazo|amenaza matarme",
        long_ago="hace anos, cuando tenia, a los, sobrevivi",
        first_person="yo estoy soy quiero kiero tengo voy pienso",
        others="ella quien paciente pacientes gente",
        reports="dijo dice",
        negations="nunca jamas",
        places="en con aqui de asi",
        topics="risa verguenza hambre prevencion novela",
        conjunctions="y pero",
        fillers="ya solo mas verdad bien",
    ),
    "pt": Phrases(
        self_harm="""
            quero|queria|vontade|dera morrer|morto|morta, nao|n|sem quero|vontade|aguento|sentido viver|vivo|viva $,
            cansei|cansado|cansada|farto viver $, vou|quero|vontade|em me matar|suicidar,
            vou|pensar matar me, suicidar me, eu|me me mato $,
            tirar minha|propria vida, acabar|fim minha vida, ponho|por fim vida, penso suicidio,
            pensamentos|estou|to suicida|suicidas, me cortando, eu me corto, corto bracos|pernas,
            me machucando, magoar mim, tomei|engoli todos|monte|caixa, tomei|tive overdose,
            vou jogar|atirar ponte
        """,
        violence="marido|namorado|pai|ele me bate|espanca, ameaca|ameacou me matar",
        long_ago="ha anos, anos atras, quando eu tinha, aos, sobrevivi",
        first_person="eu to estou quero vou tenho penso",
        others="ela ele pessoas paciente pacientes",
        reports="disse diz falou dizia",
        negations="nunca jamais",
        places="em no na com aqui",
        topics="rir vergonha fome prevencao romance",
        conjunctions="e mas",
        fillers="ja mesmo mais a de",
    ),
}


def find_trouble(typed: Iterable[str], language: str = "") -> Trouble | None:
    """Return the acute trouble found in the texts that a user typed, or None. `language` is the texts' language, if
    known."""
    folded = _folded(_QUOTED.sub(" ", "\n".join(typed)))
    found = [(each == language, *_matches(folded, each)) for each in PHRASES]
    # Languages share phrases: prefer the given language, then the one with the most matches.
    return max(filter(itemgetter(2), found), key=itemgetter(0, 1), default=(False, 0, None))[2]


def _folded(text: str) -> str:
    """Return the text in lower case, without accents."""
    plain = unicodedata.normalize("NFKD", text.lower().replace("ß", "ss"))
    return "".join(filterfalse(unicodedata.combining, plain))


Words: TypeAlias = frozenset[str]


@dataclass(frozen=True)
class _Phrase:
    kind: str
    words: Sequence[Words]
    begins_with_first_person: bool
    has_no_place: bool


@dataclass(frozen=True)
class _Compiled:
    """The parsed lists of one language."""

    phrases: Sequence[_Phrase]
    long_ago: Sequence[_Phrase]
    first_person: Words
    others: Words
    reports: Words
    negations: Words
    places: Words
    topics: Words
    conjunctions: Words
    fillers: Words
    apostrophe: str


@cache
def _compiled(language: str) -> _Compiled:
    listed = asdict(PHRASES[language])
    read = {name: _phrases(name, listed.pop(name)) for name in ("self_harm", "violence", "long_ago")}
    return _Compiled(
        phrases=[*read["self_harm"], *read["violence"]],
        long_ago=read["long_ago"],
        apostrophe=listed.pop("apostrophe"),
        **{name: frozenset(words.split()) for name, words in listed.items()},
    )


def _phrases(kind: str, listed: str) -> Sequence[_Phrase]:
    return [_phrase(kind, each.split()) for each in listed.split(",")]


def _phrase(kind: str, written: Sequence[str]) -> _Phrase:
    words = tuple(frozenset(each.split("|")) for each in written if each not in (_FIRST_PERSON, _NO_PLACE))
    return _Phrase(kind, words, written[0] == _FIRST_PERSON, written[-1] == _NO_PLACE)


def _matches(folded: str, language: str) -> tuple[int, Trouble | None]:
    """Return the number of matching phrases, and the trouble they indicate."""
    lists = _compiled(language)
    text = _LONG.sub(r"\1", _APOSTROPHE.sub(lists.apostrophe, folded))
    all_words = frozenset(_OTHER.sub(" ", text).split())
    # Nearly every text lacks some word of each phrase; its sentences are then skipped.
    possible = [each for each in lists.phrases if not any(map(all_words.isdisjoint, each.words))]
    found: set[_Phrase] = set()
    for sentence in _SENTENCE.split(text) if possible else ():
        clauses = [*_clauses(sentence, lists)]
        is_past = bool(_YEAR.search(sentence)) or any(
            _stands_in(clause, each, lists) for clause in clauses for each in lists.long_ago
        )
        found |= {each for each in possible if any(_stands_in(clause, each, lists, is_past) for clause in clauses)}
    kinds = {each.kind for each in found}
    return len(found), Trouble("self_harm" if "self_harm" in kinds else "violence", language) if found else None


def _clauses(sentence: str, lists: _Compiled) -> Iterator[Sequence[str]]:
    """Yield the words of each clause, without fillers, without reported statements of other people, and without clauses
    about a topic."""
    before: list[str] = []
    for text in _CLAUSE.split(sentence):
        words: list[str] = []
        is_reported = False
        for word in (*_OTHER.sub(" ", text).split(), ""):
            if word in lists.fillers:
                continue
            is_reported = is_reported or (word in lists.first_person and _is_reported(before, lists))
            if word and word not in lists.conjunctions:
                words += () if is_reported else (word,)
            elif words:
                if lists.topics.isdisjoint(words):
                    yield words
                words = []
            before.append(word)


def _is_reported(before: Sequence[str], lists: _Compiled) -> bool:
    """True if these words, before a first person, introduce somebody else's statement."""
    words = [*filterfalse(_REPORTED_TO.__contains__, [each for each in before if each][-4:])]
    return bool(words) and words[-1] in lists.reports and lists.first_person.isdisjoint(words)


def _stands_in(clause: Sequence[str], phrase: _Phrase, lists: _Compiled, is_past: bool = False) -> bool:
    """True if the clause contains the words of the phrase in order and close together. With `is_past`, the phrase
    itself must also contain a first person."""
    if any(each.isdisjoint(clause) for each in phrase.words):
        return False
    blocking = lists.others | lists.negations

    def end_of(at: int, left: Sequence[Words], between: int) -> int | None:
        """Return the position after the remaining words, the first of which occurs at position `at` or later."""
        if not left:
            return at
        for place in range(at, min(at + between + 1, len(clause))):
            if clause[place] in left[0] and (end := end_of(place + 1, left[1:], MOST_BETWEEN)) is not None:
                return end
            if clause[place] in blocking:
                return None
        return None

    for at, word in enumerate(clause):
        is_first_person = word in lists.first_person
        end = None
        if not phrase.begins_with_first_person or is_first_person or not at:
            end = end_of(at, phrase.words, 0)
        if end is None and phrase.begins_with_first_person and is_first_person:
            end = end_of(at + 1, phrase.words, MOST_BETWEEN)
        if end is None:
            continue
        first = next((each for each in range(end - 1, -1, -1) if clause[each] in lists.first_person), 0)
        stands_inside = phrase.begins_with_first_person or first > at or is_first_person
        before = clause[at - 1 : at] if first >= at else clause[first:at]
        if phrase.begins_with_first_person and first == at and word not in phrase.words[0]:
            before = ()
        is_blocked = not lists.negations.isdisjoint(before[-MOST_BETWEEN:]) or (
            not stands_inside and not lists.others.isdisjoint(before)
        )
        around = clause[max(0, at - MOST_BETWEEN) : end + MOST_BETWEEN]
        moves = phrase.has_no_place and any(
            each in lists.places and not any(each in own for own in phrase.words) for each in around
        )
        if not is_blocked and not moves and (stands_inside or not is_past):
            return True
    return False
