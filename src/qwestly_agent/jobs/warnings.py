"""Warnings about the plainest scams and forbidden demands of adverts, each with the advert's own sentence.

Every rule is a closed form of a sentence in five languages: what it does not know is not warned of.
"""

import re
from collections.abc import Iterator, Mapping
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
    has: tuple[re.Pattern[str], ...]
    """All of them are in the sentence."""
    has_not: re.Pattern[str] | None


def _words(source: str) -> re.Pattern[str]:
    return pattern(rf"(?<!\w)(?:{source})(?!\w)", re.IGNORECASE)


_SENTENCES = pattern(r"(?<=[.!?])\s+|\n+")
_NOT = _words(r"no|not|never|nobody|don't|we|wir|nicht|nie|keine?|nosotros|nunca|nous|jamais|não|sem|sin|without")
_PAYS = _words(
    r"pay|payable|paid|transfer|deposit|zahlen|bezahlen|überweisen|abonar|pagar|verser|payer|régler|depositar|transferir"
)
_FEE = _words(
    r"fee|deposit|(?:training|starter|equipment) kit|\w*gebühr|kaution|tasa(?: de \w+)?|cuota(?: de \w+)?|"
    r"frais de \w+|taxa(?: de \w+)?|caução"
)
_AMOUNT = pattern(r"[€$£]\s?\d|\d\s?(?:[€$£]|eur\b|euros?\b|usd\b|gbp\b|dollars?\b|pounds?\b|reais\b)", re.IGNORECASE)
_FIRST = _words(
    r"to start|before|in advance|upfront|vor|vorab|im voraus|antes|por adelantado|para reservar|avant|d'avance|"
    r"adiantado|by gift card"
)
_CARD = _words(
    r"gift ?cards?|gutscheinkarten?|tarjetas? (?:de )?regalo|cartes? cadeaux?|cart(?:ão|ões) (?:de )?presente"
)
_SENDS = _words(
    r"send|give|share|tell|email|schick\w*|send(?:e|et|en)|nenn\w*|mitteilen|env[íi]a\w*|env[íi]e\w*|manda\w*|"
    r"envoye[rz]|donne[rz]|transmet\w*|envi(?:e|ar)\w*(?:-nos)?"
)
_CODE = _words(r"codes?|códigos?")
_BANK = _words(
    r"(?:online[ -])?bank(?:ing)?(?: account)?|online-banking|cuenta bancaria|banca en línea|compte bancaire|"
    r"conta bancária|homebanking"
)
_LOGIN = _words(
    r"login|log-in|passwords?|pin|credentials|zugangsdaten|passwort|contraseña|clave|mot de passe|identifiants|senha|"
    r"palavra-passe"
)
_OWN_ACCOUNT = _words(
    r"(?:your|private|personal|own) (?:private |personal |own )?bank account|(?:dein|ihr)\w* (?:privat\w* )?konto|"
    r"(?:tu|su) cuenta(?: bancaria| personal)?|votre compte(?: bancaire| personnel)?|(?:a )?sua conta(?: bancária)?"
)
_RECEIVES = _words(
    r"receive|accept|empfäng\w*|empfangen|recib\w+|recev\w+|receb\w+|payments?|zahlungen|pagos|paiements"
)
_PASSES_ON = _words(r"forward|transfer|pass on|weiterleite\w*|überweis\w*|reenví\w+|transfi\w+|transfér\w+|encaminh\w+")
_TRAIT = _words(
    r"only (?:men|women|males?|females?)|looking for an? (?:young )?(?:female|male|woman|man|lady)(?: \w+)?|"
    r"must be (?:an? )?(?:male|female|christian|muslim|jewish|unmarried|single|married|childless|under \d\d|"
    r"younger than \d\d)|(?:candidates|applicants) (?:under|below|up to) \d\d|(?:maximum|max\.?|upper) age|"
    r"nur (?:männliche|weibliche|männer|frauen|christen)|höchstalter|"
    r"suchen (?:eine junge frau|einen jungen mann|eine weibliche|einen männlichen)|"
    r"(?:buscamos|se busca|se necesita|se requiere)(?: una?)? (?:chica|chico|mujer|hombre|señorita)(?! o )|"
    r"(?:sólo|solo|solamente|únicamente) (?:hombres|mujeres)|edad máxima|"
    r"(?:uniquement|seulement) (?:des |les )?(?:hommes|femmes)|(?:homme|femme)(?: [\w']+){0,5} (?:exigée?|uniquement)|"
    r"recherchons une (?:jeune )?femme(?! ou)|âge maximum|"
    r"(?:procuramos|procura-se)(?: uma?)? (?:mulher|homem|rapariga)(?! ou)|(?:só|apenas|somente) (?:homens|mulheres)|"
    r"idade máxima"
)
_OF_ALL = _words(
    r"regardless|irrespective|equally|equal|welcome|encouraged|unabhängig|egal|sin importar|indistintamente|"
    r"quel que soit|independentemente"
)
_RULES = (
    _Rule("fee", (_PAYS, _FEE, _AMOUNT, _FIRST), _NOT),
    _Rule("fee", (_words(r"must pay|müssen zahlen|debes? abonar|devez (?:verser|payer)"), _AMOUNT, _FIRST), _NOT),
    _Rule("gift_cards", (_CARD, _SENDS, _CODE), _words("customers?|clients?|kunden")),
    _Rule("bank_login", (_SENDS, _BANK, _LOGIN), _words("nobody|never|not|don't|nie|nicht|nunca|jamais|não")),
    _Rule("money_transfer", (_OWN_ACCOUNT, _RECEIVES, _PASSES_ON), None),
    _Rule("trait", (_TRAIT,), _OF_ALL),
)


def warnings_of(advert: Advert) -> tuple[JobWarning, ...]:
    """Return at most one warning of each kind."""
    found = {each.kind: each for each in reversed([*_warnings(f"{advert.title}\n{advert.text}")])}
    return tuple(each for kind in _SAYS if (each := found.get(kind)))


def _warnings(text: str) -> Iterator[JobWarning]:
    for sentence in _SENTENCES.split(text):
        for rule in _RULES:
            if all(each.search(sentence) for each in rule.has) and not (rule.has_not and rule.has_not.search(sentence)):
                yield JobWarning(kind=rule.kind, text=_SAYS[rule.kind], quote=sentence.strip()[:LONGEST_QUOTE])
