"""Rules in code for running a change without approval: the message must name the field and each value verbatim, and be
neither a question nor a denial.

Each list is closed. Anything else needs approval, or is left to the judge (`wish.py`); nothing here rejects a change.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence

from qwestly_agent.action import FieldValues
from qwestly_agent.base.patterns import pattern
from qwestly_agent.domain.candidate import WORK_MODE_LABELS
from qwestly_agent.text.clean import visible

_FIELDS = {
    # First, because "preferred location" and "Wunschort" are not `location`.
    "locations": r"locations|(?:preferred|target|desired) (?:location|city|place)|places|cities|wunschort\w*|orte|orten"
    r"|standorte\w*|städte\w*|ubicaciones|ciudades|lugares|lieux|villes|localizações|locais|cidades",
    "work_mode": r"work(?:ing)? ?mode|work(?:ing)? (?:style|arrangement)|way (?:of working|to work)|arbeitsmod\w+"
    r"|arbeitsweise|arbeitsform|modalidad\w* de trab\w+|modo de trab\w+|mode de travail",
    "company_sizes": r"compan\w+ sizes?|sizes?|\w+grösse\w*|tamaños?|tailles?|tamanhos?",
    "years_of_experience": r"(?:years of )?experience|yoe|\w*erfahrung|berufsjahre\w*|(?:años de )?experiencia"
    r"|(?:années d['’])?expérience|(?:anos de )?experiência",
    "headline": r"headline|tagline|title|überschrift|titel|titular|título|titre|accroche",
    "location": r"location|city|town|standort|wohnort|ort|stadt|ubicación|ciudad|localidad|localisation|ville|lieu"
    r"|localização|cidade",
    "summary": r"summary|bio|about (?:text|section)|zusammenfassung|kurzprofil|resumen|résumé|resumo",
    "skills": r"skills?|skill ?set|fähigkeit\w*|kenntnis\w*|kompetenz\w*|habilidad\w*|competencias?|compétences?"
    r"|competências?|habilidades?|aptitud\w*",
    "education": r"education|degrees?|studies|ausbildung\w*|studium|abschl[uü]ss\w*|educación|formación|estudios"
    r"|formation|études|diplômes?|educação|formação|estudos",
    "languages": r"languages?|sprachen?|idiomas?|lenguas?|langues?|línguas?",
    "roles": r"roles?|positions?|\w*rollen?|\w*stellen|puestos?|cargos?|postes?|rôles?|função|funções",
    "industries": r"industr(?:y|ies)|sectors?|branchen?|sektor\w*|sector(?:es)?|secteurs?|setor(?:es)?",
    "availability": r"availab\w+|start date|verfügbar\w*|disponib\w+",
}
"""Names of the fields in the product's five languages. Changes of other fields always need approval."""
_NAMED = pattern("|".join(rf"(?P<{field}>\b(?:{names})\b)" for field, names in _FIELDS.items()))
_CHANGES = (
    r"(?:add|put|set|mak|chang|updat|remov|delet|drop|includ|list|switch|fix|replac|tak|us|"
    r"setz|füg|hinzu|änder|ergänz|stell|trag|schreib|eintr|aufn|nimm|nehm|streich|lösch|entfern|mach|"
    r"pon|añad|agreg|cambi|actualiz|inclu|quit|elimin|borr|"
    r"mett|mets|ajout|rajout|modifi|pass|indiqu|enl[eè]v|supprim|retir|"
    r"p[õôo][er]|adicion|acrescent|coloc|coloqu|alter|mud|atualiz|tir|remov)"
)
"""First words of verbs that ask for a change."""
_OPENS = pattern(rf"{_CHANGES}|please|pls|bitte|also|kann|könnt|würd")
"""Capitalized words at the beginning of a sentence that are not part of an adjacent value."""
_REQUEST = pattern(
    r"\b(?:(?:can|could|will|would) (?:you|u)|(?:kann|könnte|würde|magst|mag)s?t? du|(?:können|könnten|würden) sie"
    r"|(?:puede|podría)s?|peux[- ]tu|tu peux|pourrais[- ]tu|tu pourrais|(?:pouvez|pourriez)[- ]vous"
    rf"|vous pouvez|pode[s]?|poderia[s]?|podia[s]?)\b(?=[\s\S]*\b{_CHANGES})"
)
"""Beginnings of questions that count as requests if a verb of change follows."""
_DOUBTS = pattern(
    # Denials, withdrawals and postponements.
    r"\b(?:not|never|none|nor|neither|nobody|nothing|anything|without|unless|except|instead of|rather than|cannot|nope"
    r"|nah|stop|cancel|undo|avoid|refuse|forget|hate|yet|\w+n['’]t|dont|doesnt|didnt|isnt|wont|cant|wouldnt"
    r"|shouldnt|nicht|nie|niemals|nichts|kein\w*|weder|nein|ohne|ausser|statt|bloss"
    r"|nunca|jamás|nada|ning[uú]n\w*|tampoco|sin|ni|ne|pas|jamais|rien|aucun\w*|sans|sauf|non"
    r"|n['’]\w+|arrêt\w*|hört? auf|aufhör\w*|de(?:ixa|ixe|ja|je|jes|jar) de|e[nm] vez|au lieu|não|nao|nenhum\w*|nem"
    r"|sem|no(?! (?:[mts]eu|perfil|campo)\b)"
    # Suppositions and reports.
    r"|if|whether|suppose|imagine|wonder\w*|think|maybe|perhaps|joking|(?<!at )once|used to|tell|told|says|said|explain"
    r"|ob|wenn|falls|vielleicht|sag\w*|erklär\w*|si|quizás?|dime|decir\w*|dicen?|dijo|dis|dit|dire|peut-être|se|caso"
    r"|talvez|diz\w*|disse"
    # Questions.
    r"|what\w*|which|why|how|when|where|who|whose|(?:should|shall|may|might|can|could|do|did|am|must) (?:i|we)"
    r"|do you|was|were|would (?:it|that|this)|wie|wieso|weshalb|wozu|wofür|wieviel\w*|warum|wer"
    r"|wo|wann|welche\w*|(?:soll|sollte|darf|kann|könnte|muss) ich|qué|cuál\w*|cómo|cuándo|cuánt\w*|dónde|quién|debería"
    r"|debo|puedo|est-ce|quel\w*|pourquoi|comment|combien|quand|où|quoi|dois-je|devrais-je|puis-je|qual|quais"
    r"|quant[oa]s?|porquê|quando|onde|quem|devo|deveria|posso"
    # Parts of a number.
    r"|half|halb\w*|point|komma|coma|virgule|vírgula|media|medio|demie?|meio|meia|hundred|thousand|million|tausend|mil"
    r"|mille|months?|monate?n?|meses|mois|weeks?|dozen|quarters?|viertel)\b"
    r"|^\W*(?:is|are|am|do|does|did|has|have|ist|sind|wäre|habe|steht|est|es|está|tengo|hay|é|tenho|há)\b"
    r"|^\W*(?:can|could|will|would|shall|should|may|might)\b(?! (?:you|u)\b)"
)
_REMOVES = pattern(
    r"\b(?:remov\w+|delet\w+|drop|erase|clear|off|out|lösch\w*|streich\w*|entfern\w*|raus|aus|weg|quit[ae]\w*|quíta\w*"
    r"|elim[ií]n\w+|borra\w*|saca\w*|enl[eè]v\w+|supprim\w+|retir\w+|tir[ae]\w*|apag\w+)\b"
)
_GAP = "\x00"
"""Replaces a value in a message."""
_JOINED_BEFORE = pattern(r"[\w\x00]['’,]$|[-+#@&$€£/_.]$")
_ELIDED = pattern(r"\b(?:[cdjlmnst]|qu)['’]$")
_JOINED_BEHIND = pattern(r"[-./:@#&+_'’,][\w\x00]|\s?[+#@$€£%°‰_]")
_PARTS = (
    r"(?:of|at|for|the|and|in|on|upon|with|de|do|da|dos|das|del|des|du|la|le|les|en|em|sur|chez|von|van|der|den|und"
    r"|am|an|im|bei|mit|y|e|et|&)"
)
_OF = pattern(r"(?:of|de|do|da|dos|das|del|des|du|von|van)\b")
_BEFORE = re.compile(rf"(\w[\w'’.-]*)(?:\s*[,(/|&–—-]\s*|\s+)((?:{_PARTS}\s+){{0,2}})$")
_BEHIND = re.compile(rf"(?:\s*[,(/|&–—-]\s*|\s+)((?:{_PARTS}\s+){{0,2}})(\w[\w'’.-]*)")
_BEGINS = re.compile(r"(?:^|[.!?…:;。]\s|\n)\s*$")


def is_plain_request(message: str, changes: Sequence[FieldValues]) -> bool:
    """True if `message` names the fields of these changes and no other, contains each added or removed value verbatim,
    except for the case of a word's first letter, and matches no list of doubts."""
    said = unicodedata.normalize("NFC", visible(message))
    values = [value for each in changes for value in (*each.new, *each.removed)]
    spans = [_spans_of(value, said) for value in values]
    if not values or not all(spans):
        return False
    rest = _without(said, [span for each in spans for span in each])
    folded = rest.casefold()
    lost = [each for each in changes if each.removed]
    return (
        {found.lastgroup for found in _NAMED.finditer(folded)} == {each.field for each in changes}
        and not _DOUBTS.search(folded)
        and (not any(mark in folded for mark in "?？؟") or bool(_REQUEST.search(folded)))
        # A message either removes or adds: replacing one entry of a list by another needs approval.
        and bool(_REMOVES.search(folded)) == bool(lost)
        and not any(each.new or any(_spans_of(value, rest) for value in each.kept) for each in lost)
        and not any(_is_number(value) for value in values if any(map(str.isnumeric, rest)))
        and not any(_is_a_part(said, rest, span) for each in spans for span in each)
    )


def _spans_of(value: str, said: str) -> list[tuple[int, int]]:
    """Return the spans where the value, or another label of it, stands as whole words."""
    labels = next((group for group in WORK_MODE_LABELS if value.casefold() in map(str.casefold, group)), (value,))
    found = (span for label in labels for span in _matches(unicodedata.normalize("NFC", label), said))
    return [(start, end) for start, end in found if not (_continues(said, start) or _continues(said, end))]


def _matches(value: str, said: str) -> Iterable[tuple[int, int]]:
    written = "".join(
        r"\s+" if each.isspace() else _either_case(each) if _begins_word(value, at) else re.escape(each)
        for at, each in enumerate(" ".join(value.split()))
    )
    return (found.span() for found in re.finditer(written, said))


def _begins_word(value: str, at: int) -> bool:
    return at == 0 or value[at - 1].isspace()


def _either_case(letter: str) -> str:
    return f"[{re.escape(letter.lower())}{re.escape(letter.upper())}]" if letter.isalpha() else re.escape(letter)


def _continues(text: str, at: int) -> bool:
    """True if this position is inside a word, or between a letter and its combining marks."""
    return 0 < at < len(text) and _is_of_word(text[at - 1]) and _is_of_word(text[at])


def _is_of_word(character: str) -> bool:
    return character.isalnum() or unicodedata.category(character).startswith("M")


def _is_number(value: str) -> bool:
    return value[:1].isnumeric() or value[-1:].isnumeric()


def _without(said: str, spans: Iterable[tuple[int, int]]) -> str:
    """Replace each value in the message by gaps of the same length, so that positions stay the same."""
    characters = list(said)
    for start, end in spans:
        characters[start:end] = _GAP * (end - start)
    return "".join(characters)


def _is_a_part(said: str, rest: str, span: tuple[int, int]) -> bool:
    """True if the value is joined to adjacent text, or is part of a longer capitalized phrase."""
    before, behind = rest[: span[0]], rest[span[1] :]
    if _JOINED_BEHIND.match(behind) or (_JOINED_BEFORE.search(before) and not _ELIDED.search(before.casefold())):
        return True
    if not any(map(str.isalpha, said[slice(*span)])):
        return False
    previous, following = _BEFORE.search(before), _BEHIND.match(behind)
    # "Rust in Skills" names a field, "Mexico City" does not.
    if following and _is_capital(following[2]) and not (following[1] and _NAMED.fullmatch(following[2].casefold())):
        return True
    if not previous or not _is_capital(previous[1]):
        return False
    word, begins = previous[1].casefold(), _BEGINS.search(before[: previous.start()]) is not None
    # "Skills: Rust" and "Titel in Rust" name a field, "Ciudad de Rust" does not.
    is_field = _NAMED.fullmatch(word) and (previous[2].strip() in ("in", "im", "bei", "en", "em") or begins)
    return not (is_field and not _OF.match(previous[2])) and not (begins and _OPENS.match(word))


def _is_capital(word: str) -> bool:
    return (word[0].isupper() or word[0].isnumeric()) and re.split("['’]", word)[0] != "I"
