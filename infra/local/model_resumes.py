"""Parse résumés for the scripted model: usual headings in English, German and Spanish, positions by their dates.

Lines that fit no field are left out, and the page shows them as unread.
"""

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Object: TypeAlias = dict[str, Any]

_RESUME = re.compile(r"<resume>\n?(?P<text>.*?)\n?</resume>", re.DOTALL)
_HEADINGS: Mapping[str, str] = {
    "work": r"(?:work|professional|relevant|job|employment)? ?(?:experience|history)|employment|career(?: history)?"
    r"|work|positions|beruf(?:serfahrung|licher werdegang|spraxis)|werdegang|praxis"
    r"|experiencia(?: laboral| profesional)?",
    "education": r"education(?: and training)?|academic background|studies|training|(?:schul|aus|weiter)?bildung"
    r"|studium|formación(?: académica)?|educación|estudios",
    "skills": r"(?:key |core |technical |professional )?(?:skills|competencies)|technologies|tools|(?:edv-)?kenntnisse"
    r"|fähigkeiten|kompetenzen|competencias|habilidades|conocimientos",
    "languages": r"languages?(?: spoken| skills)?|sprach(?:en|kenntnisse)|idiomas",
    "basics": r"(?:professional |personal |career )?(?:summary|profile|statement)|about(?: me)?|profil|über mich|perfil"
    r"|sobre mí",
    "certificates": r"certificat(?:es|ions?)|licen[cs]es|zertifikate|certificados",
    "projects": r"(?:selected |personal )?projects|projekte|proyectos",
    "publications": r"publications|speaking|talks|publikationen|vorträge|publicaciones",
    "unread": r"(?:hobbies|interests|references|hobbys|interessen|referenzen|aficiones|intereses|contact|kontakt"
    r"|personal (?:details|data)|persönliche daten|volunteering|awards)(?: and \w+)?",
}
_MONTH = (
    r"(?:jan|feb|mar|mär|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez|ene|abr|ago|dic)[^\W\d_]*\.?,? (?:de )?"
    r"|\d\d?[./]"
)
_DAY = rf"(?:{_MONTH})?(?:19|20)\d\d"
_NOW = r"present|now|today|current(?:ly)?|ongoing|heute|jetzt|laufend|actualidad|hoy|presente"
_DATES = re.compile(
    rf"(?P<start>{_DAY}) ?(?:[-–—]+|\bto\b|\buntil\b|\bbis\b|\ba\b|\bhasta\b) ?(?P<end>{_DAY}|(?:{_NOW})\b)"
    rf"|\b(?:since|seit|from|desde) (?P<since>{_DAY})",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_BULLET = re.compile(r"^(?:[•·–▪◦●➤>]\s*|[-*]\s+)")
_CONTACT = re.compile(r"\[(?:email|phone|url|street|postcode|birth date)\]")
_MARKUP = re.compile(r"^\s*(?:#+ |\*+(?! ))(.*?)[#*]*\s*$")
"""Headings and bold lines of Markdown."""
_BETWEEN = re.compile(r"\s+(?:\||·|•|—|–|-|@)\s+|\s+(?:at|bei|beim)\s+|\s*[|·•]\s*|\t+|\s{3,}|,\s+")
_EDGE = " \t|,;:·•–—-()"
_ROLE = re.compile(
    r"\b(?:manager|engineer|developer|nurse|lead|head|director|officer|analyst|designer|consultant|assistant|teacher|clerk|"
    r"owner|architect|scientist|specialist|coordinator|supervisor|intern|trainee|secretary|accountant|chef|cook|driver|picker|"
    r"technician|administrator|president|founder|representative|agent|editor|writer|researcher|associate|apprentice|auxiliar|"
    r"\w*(?:leiter|entwickler|ingenieur|berater|kraft|pfleger|lehrer|verkäufer|kaufmann|kauffrau|meister|fahrer|referent)(?:in)?|"
    r"gerente|ingenier[oa]|enfermer[oa]|profesora?|desarrolladora?|diseñadora?|analista|jef[ea]|directora?|camarer[oa])\b",
    re.IGNORECASE,
)
_EMPLOYER = re.compile(
    r"\b(?:ltd|gmbh|inc|llc|plc|ag|kg|sa|group|bank|hospital|clinic|cl[ií]nica|klinik\w*|university|school|council|company|co)\b",
    re.IGNORECASE,
)
_SCHOOL = re.compile(
    r"univers\w*|college|school|\w*schule|\w*gymnasium|institut\w*|academ\w*|akademie|escola|escuela|facult\w*|polytechnic|"
    r"lyc[eé]e|\bETH\b|\bMIT\b",
    re.IGNORECASE,
)
_LONGEST_HEADER = 110


def parse_resume(texts: Sequence[str]) -> Object:
    """Return the fields, each with the line that contains it."""
    found = _RESUME.search(texts[0])
    lines = html.unescape(found["text"]).split("\n") if found else []
    sections = _sections([_MARKUP.sub(r"\1", line) for line in lines])
    if not any(each.strip() for each in sections["work"]):
        _find_work(sections)
    return {
        "basics": _basics(sections),
        "work": [each.shown() for each in _jobs(sections["work"])][:30],
        "education": list(_schools(sections["education"]))[:15],
        "skills": [_field(each) for each in _names(sections["skills"])][:60],
        "languages": [_field(each) for each in _names(sections["languages"])][:20],
        "certificates": [_field(each) for each in _items(sections["certificates"])][:20],
        "projects": [_field(each) for each in _items(sections["projects"])][:20],
        "publications": [_field(each) for each in _items(sections["publications"])][:40],
    }


def _sections(lines: Sequence[str]) -> dict[str, list[str]]:
    """Return the lines grouped by their heading; a heading may share a line with its content."""
    found: dict[str, list[str]] = {"top": [], **{name: [] for name in _HEADINGS}}
    section = "top"
    for line in (part for each in lines for part in _paragraphs(each)):
        whole = next((n for n, words in _HEADINGS.items() if re.fullmatch(words, line.strip(" :.").lower())), None)
        head, mark, rest = line.partition(":")
        inline = next((n for n, words in _HEADINGS.items() if mark and re.fullmatch(words, head.strip().lower())), None)
        if whole or inline:
            section = whole or inline or section
            if inline and not whole and rest.strip():
                found[section].append(rest.strip())
        else:
            found[section].append(line.rstrip())
    return found


_CAPITALS = re.compile(r"^(?P<head>[A-ZÀ-Ý][A-ZÀ-Ý &'’-]{3,})\. (?P<rest>.+)$")
_DENSE = re.compile(
    rf"^(?P<name>[A-ZÀ-Ý][A-ZÀ-Ý0-9 &.'’-]+), (?P<place>[^.,]+)\. (?P<title>[^.,]+), (?P<dates>{_DATES.pattern})\.",
    re.I,
)


def _paragraphs(line: str) -> Iterator[str]:
    """Yield a heading in capitals at the start of a paragraph separately from the text that follows."""
    found = _CAPITALS.match(line)
    heads = found and any(re.fullmatch(words, found["head"].lower()) for words in _HEADINGS.values())
    yield from (found["head"], found["rest"]) if found and heads else (line,)


def _find_work(sections: dict[str, list[str]]) -> None:
    """Without a heading, return the lines from the first position on as work."""
    top = sections["top"]
    start = next((n for n, line in enumerate(top) if n and _DATES.search(line)), None)
    if start is not None:
        start -= 0 if _DENSE.match(top[start]) or not top[start - 1].strip() or start == 1 else 1
        sections["top"], sections["work"] = top[:start], top[start:]


def _basics(sections: Mapping[str, Sequence[str]]) -> Object:
    """Return label, place and summary from the lines below the name."""
    [_, *rest] = [each for each in sections["top"] if each.strip()] or [""]
    first = next((each for each in sections["top"] if each.strip()), "")
    if ". " in first and not rest:  # all in one line
        rest = first.split(". ")[1:]
    basics: Object = {}
    told: list[str] = []
    for line in rest:
        pieces = [each.strip(_EDGE) for each in re.split(r"\s+[|·•]\s+|\s{3,}", line) if not _CONTACT.search(each)]
        for piece in filter(None, pieces):
            is_short = (len(piece) <= 80 and not piece.endswith(".")) or (". " not in piece and len(piece.split()) <= 6)
            if "label" not in basics and is_short and _ROLE.search(piece):
                basics["label"] = _field(piece.rstrip("."), line if piece in line else piece)
            elif (
                "location" not in basics
                and is_short
                and (len(piece.split()) <= 2 or "," in piece)
                and piece[:1].isupper()
                and not _YEAR.search(piece)
            ):
                basics["location"] = _field(piece.rstrip("."))
            elif "label" not in basics and is_short and not told:
                basics["label"] = _field(piece)
            else:
                told.append(piece)
    if summary := " ".join([*told, *filter(None, (each.strip() for each in sections["basics"]))]).strip():
        basics["summary"] = _field(summary)
    return basics


# --- positions --------------------------------------------------------------------------------------------------------


@dataclass
class _Job:
    header: list[str] = field(default_factory=list)
    """The lines with title and employer, without dates."""
    quoted: list[str] = field(default_factory=list)
    start: str = ""
    end: str = ""
    dates: str = ""
    highlights: list[str] = field(default_factory=list)

    def shown(self) -> Object:
        title, name, place = _title_and_name(self.header)
        return {
            **({"position": _field(title, self._line(title))} if title else {}),
            **({"name": _field(name, self._line(name))} if name else {}),
            **({"location": _field(place, self._line(place))} if place else {}),
            **({"startDate": _field(self.start, self.dates)} if self.start else {}),
            **({"endDate": _field(self.end, self.dates)} if self.end else {}),
            "highlights": [_field(each) for each in self.highlights[:20]],
        }

    def _line(self, value: str) -> str:
        return next((each for each in self.quoted if value in each), value)


def _jobs(lines: Sequence[str]) -> Iterator[_Job]:
    """Yield the positions: each line with dates starts one, and adjacent lines have its title and employer."""
    jobs: list[_Job] = []
    loose: list[str] = []
    """Lines since the last position or blank line that may be the next one's header."""
    awaits = False
    text_lines = [each.strip() for each in lines]
    if 2 * text_lines.count("") >= len(text_lines) - 2:  # blank lines after every line mean nothing
        text_lines = [each for each in text_lines if each]
    for line in [*text_lines, ""]:
        dates = _DATES.search(line)
        if dense := _DENSE.match(line):
            text = line[dense.end() :].strip()
            job = _Job(
                [f"{dense['title']} | {dense['name']} | {dense['place']}"], [line], *_span(dense), dense["dates"]
            )
            job.highlights = [each for each in re.split(r"(?<=[.!])\s+", text) if each]
            jobs.append(job)
            loose, awaits = [], False
        elif dates and not _BULLET.match(line) and len(line) <= _LONGEST_HEADER:
            rest = f"{line[: dates.start()].strip(_EDGE)} | {line[dates.end() :].strip(_EDGE)}".strip(_EDGE)
            before = _header_before(loose, jobs, has_both=len(_BETWEEN.split(rest)) > 1 if rest else False)
            job = _Job([*before, *([rest] if rest else [])], [*before, line], *_span(dates), dates[0])
            _without(jobs, before)
            jobs.append(job)
            loose, awaits = [], len([part for each in job.header for part in _BETWEEN.split(each)]) < 2
        elif not line:
            loose = []
        elif (
            awaits
            and jobs
            and not jobs[-1].highlights
            and not _BULLET.match(line)
            and len(line) <= 80
            and not line.endswith(".")
        ):
            jobs[-1].header.append(line)
            jobs[-1].quoted.append(line)
            awaits = len(jobs[-1].header) < 2 and len(_BETWEEN.split(line)) < 2
        else:
            awaits = False
            text = _BULLET.sub("", line)
            if jobs:
                jobs[-1].highlights.append(text)
            loose.append(line)
    yield from (each for each in jobs if each.header)


def _header_before(loose: Sequence[str], jobs: Sequence[_Job], *, has_both: bool) -> list[str]:
    """Return the one or two lines above a line with dates that can be a header: no bullets, no sentences."""
    if has_both:
        return []
    found: list[str] = []
    for line in reversed(loose):
        if _BULLET.match(line) or len(line) > _LONGEST_HEADER or line.endswith(".") or len(found) == 2:
            break
        found.insert(0, line)
        if len(_BETWEEN.split(line)) > 1 or (_ROLE.search(line) and len(found) == 2):
            break
    # Of lines that follow another position without a blank, only those that look like a title are a header.
    if len(found) == 2 and jobs and len(loose) > 2 and not _ROLE.search(found[0]) and not _ROLE.search(found[1]):
        found = found[1:]
    return found


def _without(jobs: Sequence[_Job], header: Sequence[str]) -> None:
    if jobs:
        plain = {_BULLET.sub("", each) for each in header}
        jobs[-1].highlights = [each for each in jobs[-1].highlights if each not in plain]


def _span(dates: re.Match[str]) -> tuple[str, str]:
    return (dates["since"], "") if dates["since"] else (dates["start"], dates["end"])


def _title_and_name(header: Sequence[str]) -> tuple[str, str, str]:
    """Return title, employer and place. The part with a word for a role is the title, otherwise the first part."""
    parts = [part.strip(_EDGE) for line in header for part in _BETWEEN.split(line) if part.strip(_EDGE)]
    if not parts:
        return "", "", ""
    other = next((part for part in parts if not _EMPLOYER.search(part)), parts[0]) if len(parts) > 1 else ""
    title = next((part for part in parts if _ROLE.search(part) and not _EMPLOYER.search(part)), other)
    rest = [part for part in parts if part != title]
    return title, rest[0] if rest else "", rest[1] if len(rest) > 1 else ""


# --- the rest ---------------------------------------------------------------------------------------------------------


def _schools(lines: Sequence[str]) -> Iterator[Object]:
    """Yield the schools. If a degree has its own line, the school is in the line before or after it."""
    schools: list[Object] = []
    degree_before = ""
    for line in (
        part for each in lines for part in re.split(r"(?<=\d{4})\.\s+", _BULLET.sub("", each.strip())) if part
    ):
        parts = [
            part for each in _BETWEEN.split(_DATES.sub("", line)) if (part := _YEAR.sub("", each).strip(f"{_EDGE}."))
        ]
        years = _YEAR.findall(line)
        school = next((part for part in parts if _SCHOOL.search(part)), "")
        degree = next((part for part in parts if part != school), "")
        if school:
            schools.append({"institution": _field(school, line)})
            degree, degree_before = degree or degree_before, ""
        elif not parts or not schools or "studyType" in schools[-1]:
            degree_before = degree
            continue
        if degree:
            schools[-1].setdefault("studyType", _field(degree, line if degree in line else degree))
        if years:
            schools[-1].setdefault("endDate", _field(years[-1], line))
    yield from schools


def _names(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        told = re.sub(r"^[\w &/]+: ", "", _BULLET.sub("", line.strip()))
        yield from (each.strip(" .") for each in re.split(r"[,;|•·]\s*", told) if each.strip(" ."))


def _items(lines: Sequence[str]) -> Iterator[str]:
    yield from (_BULLET.sub("", each.strip()) for each in lines if each.strip())


def _field(value: str, quote: str = "") -> dict[str, str]:
    return {"value": value[:400], "quote": (quote or value)[:600]}
