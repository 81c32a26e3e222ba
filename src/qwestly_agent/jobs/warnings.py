"""Warnings about obvious scams and forbidden demands in adverts, each with the advert's own sentence.

Each rule is a closed form of a sentence in five languages; there is no warning about anything that the rules do not
cover.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Literal, NamedTuple, TypeAlias

from pydantic import BaseModel, ConfigDict

from qwestly_agent.base.patterns import pattern
from qwestly_agent.domain.job import Advert

WarningKind: TypeAlias = Literal["fee", "gift_cards", "bank_login", "money_transfer", "trait"]
LONGEST_QUOTE = 300
_SAYS: Mapping[WarningKind, str] = {
    "fee": "It asks you to pay before you start. Real employers take no money from applicants.",
    "gift_cards": "It asks for gift cards or their codes. That is how scammers take money.",
    "bank_login": "It asks for your bank login. Never share it with anyone.",
    "money_transfer": "It wants to pass money through your account. That can be money laundering.",
    "trait": "It asks for a sex, an age, a religion or a family status. In many countries employers may not do that.",
}


class JobWarning(BaseModel):
    model_config = ConfigDict(frozen=True)

    kind: WarningKind
    text: str
    quote: str
    """The sentence of the job posting, verbatim."""


class _Rule(NamedTuple):
    kind: WarningKind
    has: str
    """Names of forms that the sentence must all contain."""
    has_not: str


_SENTENCES = pattern(r"(?<=[.!?])\s+|\n+")
_FORMS: Mapping[str, str] = {
    "not": r"no|not|never|nobody|don't|we|wir|nicht|nie|keine?|nosotros|nunca|nous|jamais|não|sem|sin|without",
    "asks_not": r"nobody|never|not|don't|nie|nicht|nunca|jamais|não",
    "pays": r"pay|payable|paid|transfer|deposit|(?:be)?zahlen|überweisen|abonar|pagar|verser|payer|transferir",
    "must_pay": r"must pay|müssen zahlen|debes? abonar|devez (?:verser|payer)",
    "fee": r"fee|deposit|(?:training|starter) kit|\w*gebühr|kaution|(?:tasa|cuota|frais|taxa)(?: de \w+)?|caução",
    "amount": r"[€$£] ?\d[\d.,]*|\d[\d.,]* ?(?:€|\$|£|eur|euros?|usd|gbp|dollars?|pounds?|reais)",
    "first": r"to start|before|in advance|upfront|vor|vorab|antes|por adelantado|para reservar|avant|by gift card",
    "card": r"gift ?cards?|gutscheinkarten?|tarjetas? (?:de )?regalo|cartes? cadeaux?|cart(?:ão|ões) (?:de )?presente",
    "sends": r"send|give|share|tell|schick\w*|send(?:e|et|en)|nenn\w*|env[íi][ae]\w*|mand\w+|envoye[rz]|donne[rz]|"
    r"envi(?:e|ar)(?:-nos)?",
    "code": r"codes?|códigos?",
    "customer": r"customers?|clients?|kunden",
    "bank": r"(?:online[ -])?bank(?:ing)?(?: account)?|cuenta bancaria|compte bancaire|conta bancária|homebanking",
    "login": r"log-?in|passwords?|pin|credentials|zugangsdaten|passwort|contraseña|mot de passe|identifiants|senha",
    "own_account": r"(?:your|private|personal|own) (?:private |personal |own )?bank account|dein konto|ihr konto|"
    r"(?:tu|su) cuenta(?: bancaria)?|votre compte(?: bancaire)?|sua conta(?: bancária)?",
    "receives": r"receive|accept|empfäng\w*|empfangen|recib\w+|recev\w+|receb\w+|payments?|zahlungen|pagos|paiements",
    "passes_on": r"forward|transfer|pass on|weiterleite\w*|überweis\w*|reenví\w+|transfi\w+|transfér\w+|encaminh\w+",
    "trait": r"only (?:men|women|males?|females?)|looking for an? (?:young )?(?:female|male|woman|man|lady)(?: \w+)?|"
    r"must be (?:an? )?(?:male|female|christian|muslim|jewish|unmarried|single|married|childless)|"
    r"(?:must be|candidates|applicants) (?:under|younger than|below|up to) \d\d|(?:maximum|upper) age|höchstalter|"
    r"nur (?:männliche|weibliche|männer|frauen|christen)|suchen (?:eine junge frau|einen jungen mann)|"
    r"(?:buscamos|se (?:busca|necesita|requiere))(?: una?)? (?:chica|chico|mujer|hombre|señorita)(?! o )|edad máxima|"
    r"(?:sólo|solo|solamente|únicamente) (?:hombres|mujeres)|(?:uniquement|seulement) (?:des |les )?(?:hommes|femmes)|"
    r"(?:homme|femme)(?: [\w']+){0,5} (?:exigée?|uniquement)|recherchons une (?:jeune )?femme(?! ou)|âge maximum|"
    r"(?:procuramos|procura-se)(?: uma?)? (?:mulher|homem|rapariga)(?! ou)|(?:só|apenas|somente) (?:homens|mulheres)|"
    r"idade máxima",
    "of_all": r"regardless|irrespective|equally|equal|welcome|encouraged|unabhängig|sin importar|independentemente",
}
_RULES = (
    _Rule("fee", "pays fee amount first", "not"),
    _Rule("fee", "must_pay amount first", "not"),
    _Rule("gift_cards", "card sends code", "customer"),
    _Rule("bank_login", "sends bank login", "asks_not"),
    _Rule("money_transfer", "own_account receives passes_on", ""),
    _Rule("trait", "trait", "of_all"),
)


@cache
def _form(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{_FORMS[name]})(?!\w)", re.IGNORECASE)


def warnings_of(advert: Advert) -> tuple[JobWarning, ...]:
    """Return at most one warning of each kind."""
    found = {each.kind: each for each in reversed([*_warnings(f"{advert.title}\n{advert.text}")])}
    return tuple(each for kind in _SAYS if (each := found.get(kind)))


def _warnings(text: str) -> Iterator[JobWarning]:
    for sentence in _SENTENCES.split(text):
        for rule in _RULES:
            has, has_not = ([_form(each).search(sentence) for each in names.split()] for names in rule[1:])
            if all(has) and not any(has_not):
                yield JobWarning(kind=rule.kind, text=_SAYS[rule.kind], quote=sentence.strip()[:LONGEST_QUOTE])
