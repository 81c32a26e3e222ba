"""Find sensitive content, which is stored only after approval, and credentials, which are never stored.

The model that makes a note flags sensitive ones. In addition, a few words that are unambiguous in a sentence about a
career make it sensitive.
"""

import re
import unicodedata

from qwestly_agent.base.patterns import pattern
from qwestly_agent.text.clean import mask_secrets


def is_credential(text: str) -> bool:
    """True if the text contains credentials, account or phone numbers, which are never stored, even on request."""
    return mask_secrets(text) != text or bool(_CREDENTIAL.search(text))


def is_sensitive(*texts: str) -> bool:
    """True if one of these words shows that the text concerns health, religion, sexuality or convictions."""
    plain = unicodedata.normalize("NFKD", " ".join(texts).replace("’", "'"))
    return bool(_SENSITIVE.search("".join(letter for letter in plain if not unicodedata.combining(letter))))


_CREDENTIAL = pattern(
    r"\b(?:pass ?words?|pass ?code|pass ?phrase|passwort|kennwort|mot de passe|contrase[ñn]a|senha|log-?in code"
    r"|security code|secret (?:key|word|answer)|api key|access key|pin(?: code| number)?|cvv|cvc|iban|account number"
    r"|card number|social security(?: number)?|ssn|passport number|id number|(?:phone|mobile) number|handynummer"
    r"|telefonnummer)\b[^.!?]{0,40}?(?:\b(?:is|are|ist|lautet|est|es)\b|:|=|\d)"
    r"|\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,}|\+?\d(?:[ /()-]{0,2}\d){9,}",
    re.IGNORECASE,
)
"""Passwords, PINs, and account, card and phone numbers."""

_SENSITIVE = pattern(
    r"\b(?:(?:am|is|i'm) pregnant|schwanger|embarazada|gravida|incinta|miscarriage|hiv[- ]?positiv[eoa]?"
    r"|on antidepressants|alcoholics anonymous|lesbian|lesbisch|lesbiana|lesbienne|bisexual|homosexual|homosexuell"
    r"|schwul|trans (?:wo)?man|atheist|jehovah's witness|vorbestraft|ex-convict)\b",
    re.IGNORECASE,
)
"""Matched without accents."""
