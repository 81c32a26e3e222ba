"""Word lists for sensitive content, which needs approval, and for credentials, which are never remembered.

They err on the side of asking. Content is sensitive if either these lists or the model's flag say so.
"""

import re
import unicodedata

from qwestly_agent.base.patterns import pattern
from qwestly_agent.text.clean import masked


def is_credential(text: str) -> bool:
    """True if it contains credentials, account or phone numbers: never remembered, even on request."""
    return masked(text) != text or bool(_CREDENTIAL.search(text))


def is_sensitive(*texts: str) -> bool:
    """True if it may concern health, religion, origin, politics, sexuality, union, pay or convictions."""
    text = _folded(" ".join(texts))
    pay = _AMOUNT.search(text) and _PAY.search(text)
    return bool(_SENSITIVE.search(text) or pay or _PER_TIME.search(text) or _MEMBER.search(text))


def _folded(text: str) -> str:
    """Remove accents, so that the word lists match text typed without them."""
    plain = unicodedata.normalize("NFKD", text)
    return "".join(letter for letter in plain if not unicodedata.combining(letter))


def _any_of(text: str) -> re.Pattern[str]:
    """Pattern of a list with one word or phrase a line; `*` at the end matches any continuation. For `_folded` text."""
    lines = [line.strip() for line in _folded(text).replace(",", "\n").splitlines() if line.strip()]
    alternatives = [re.escape(line.removesuffix("*")) + (r"\w*" if line.endswith("*") else "") for line in lines]
    return pattern(rf"\b(?:{'|'.join(alternatives)})\b", re.IGNORECASE)


_CREDENTIAL = pattern(
    r"\b(?:pass ?words?|pass ?code|pass ?phrase|passwort|kennwort|mot de passe|contrase[ñn]a|senha|log-?in code"
    r"|security code|secret (?:key|word|answer)|api key|access key|pin(?: code| number)?|cvv|cvc|iban|account number"
    r"|card number|social security(?: number)?|ssn|passport number|id number|(?:phone|mobile) number|handynummer"
    r"|telefonnummer)\b[^.!?]{0,40}?(?:\b(?:is|are|ist|lautet|est|es)\b|:|=|\d)"
    r"|\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,}|\+?\d(?:[ /()-]{0,2}\d){9,}",
    re.IGNORECASE,
)
"""Passwords, PINs, and numbers of accounts, cards and phones."""

_SENSITIVE = _any_of(
    """
    ill, illness*, sick, sickness*, disease*, disorder*, diagnos*, cancer*, tumor*, tumour*, diabet*, epilep*,
    asthma*, hiv, aids, covid*, depress*, anxiety, burnout, burned out, burnt out, bipolar, schizophren*, autis*,
    adhd, dyslex*, ptsd, trauma*, therap*, psycholog*, psychiatr*, medicat*, medicine for, surgery, hospitali*,
    disab*, wheelchair, pregnan*, miscarriage*, abortion*, ivf, infertil*, menopaus*, addict*, alcoholi*, rehab,
    sober, overdos*, chronic*, migraine*, heart attack, stroke, sick leave, medical leave, health condition,
    mental health, impair*, deaf, blind, krank*, behinder*, schwanger*, malad*, enceinte, handicap*, enferm*,
    embaraz*, discapac*, doen*, grávid*, religio*, christian*, catholic*, protestant*, muslim*, islam*,
    jewish, jew, judais*, hindu*, buddhis*, sikh*, atheis*, agnostic*, church, mosque, synagogue, pray*, ramadan,
    baptis*, mormon*, jehovah*, glaub*, kirche, ethnic*, race, racial*, black woman, black man, white man,
    white woman, asian american, african american, latino, latina, hispanic, indigenous, refugee*, asylum,
    undocumented, immigrant status, visa status, immigration status, politic*, vote for, voted, republican*,
    democrat*, socialist*, communist*, conservative party, labour party, labor party, green party, party member*,
    afd, activis*, far right, far left, gay, lesbian*, bisexual*, queer, lgbt*, transgender, trans woman,
    trans man, nonbinary, non-binary, sexual orientation, homosexual*, heterosexual*, sexual*,
    my husband and i are both men, came out, coming out, schwul, lesbisch, union, trade union*, labor union*,
    labour union*, works council, betriebsrat, gewerkschaft*, shop steward, syndicat*, sindicat*, salary, salaries,
    wage*, my pay, paid me, pays me, income, earn*, bonus, compensation, gehalt*, lohn*, salaire*, salario*,
    salário*, euros a year, dollars a year, a year before tax, net worth, debt, debts, bankrupt*, convict*,
    criminal*, arrest*, prison*, jail*, probation, felony, felon*, misdemeanor*, misdemeanour*, parole, sentenced,
    court case, lawsuit*, restraining order, gefängnis*, vorbestraft, condamn*, cárcel,
    insulin, ms, multiple sclerosis, parkinson*, lupus, dialysis, panic attack*, panic disorder, panic, heart condition,
    heart disease, heart failure, ocd, crohn*, colitis, dyscalcul*, tinnitus, down syndrome, aa, insomnia*, allerg*,
    hear voices, nervous breakdown, breakdown, one kidney, kidney*, transplant*, walking stick, crutches, prosthe*, hip,
    suffer*, suffering, leide, leidet, on antidepressants, antidepressant*, prozac, lithium, ritalin, methadone,
    opioid*, statin*, chemo*, pills, injections, blood pressure, arthritis, alzheimer*, dementia, c-section, fertility,
    diabetic*, krebs, sida, hiv-positive, depressi*, incinta, zwanger, w ciąży, ciąż*, expecting a baby,
    expecting a child,     maternity, болен, больн*,
    kosher, halal, sabbath, shabbat, mass, hijab, headscarf, turban, quaker*, priest, pastor, imam, rabbi, monk,
    scientolog*, evangelisch*, katholisch*, evangel*, orthodox*, juif, juive, judí*, judio, judia, jüdisch*,
    musulm*, muçulm*, católic*, catholique*, protestante*, baptist*, methodist*, lutheran*, anglican*, bahai*, pagan*,
    am black, i'm black, am roma, am romani, sinti, kurdish, kurd, am asian, i'm asian, am white, i'm white, am arab,
    mixed-race, mixed race, biracial, person of colour, person of color, people of colour, bipoc, descent, ancestry,
    immigrant*, migrant*, h1b, h-1b, green card, aboriginal, native american, jewish*, gypsy, foreigner*,
    labour, tory, tories, cdu, spd, csu, fdp, die linke, marxis*, anarchis*, brexit, campaigned for, protested,
    protest*, demonstrat* against, obama, trump, biden, nationalis*, feminis*, libertarian*, fascis*,
    trans, transsexual*, asexual*, pansexual*, polyamor*, intersex, boyfriend and i, girlfriend and i, closeted,
    ig metall, ver.di, verdi, went on strike, on strike, strike, striker, picket*, unionis*, unioniz*, cgt, ccoo, tuc,
    pay rise, rate, day rate, package, paid, severance, stock options, equity, verdien*, einkommen*, honorar*, gagne*,
    gano, ganho, revenu*, sueldo*, ordenado, mortgage*, insolven*, unemployment benefit*, welfare,
    dui, dwi, bail, fraud*, theft, charged with, pleaded guilty, plead guilty, did time, was inside, a record for,
    criminal record, knast, inhaft*, haft, straf*, embezzl*, assault*, cárceles, prisión, prisao, polícia
    """
)
"""Health, religion, origin, politics, sexuality, union, pay, convictions. It errs on the side of asking."""

_MEMBER = pattern(r"\b(?:[Mm]ember of|[Vv]ote[ds]? for|[Jj]oined) the [A-Z]{2,}\b")

_AMOUNT = pattern(
    r"[€$£]\s?\d|\b\d[\d.,]*\s?(?:k|m|€|\$|£|euros?|eur|usd|dollars?|pounds?|gbp|chf|francs?|franken|thousand|grand"
    r"|mil)(?!\w)",
    re.IGNORECASE,
)
_PAY = pattern(
    r"\b(?:make|made|makes|making|gets?|getting|got|earn\w*|want\w*|expect\w*|ask\w*|rates?|package|paid|pays?"
    r"|costs?|charge|have|has)\b",
    re.IGNORECASE,
)
"""Counts only together with an amount of money."""
_PER_TIME = pattern(
    r"\b\d[\d.,]*\d\s?(?:k|euros?|dollars?|pounds?|€|\$|£)?\s(?:a|an|per|pro|par|al|por|im)\s"
    r"(?:year|month|day|hour|annum|jahr|monat|tag|stunde|an|mois|jour|heure|a[ñn]o|mes|d[íi]a|hora|ano)\b"
    r"|\b\d{1,3}[.,]\d{3} (?:a|per) year\b",
    re.IGNORECASE,
)
