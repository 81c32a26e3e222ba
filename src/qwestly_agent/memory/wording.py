"""The word lists of what may be remembered, written for it by hand. To teach it a word, add it here.

English first; the commonest of German, French, Spanish and Portuguese beside it.
"""

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _any_of(text: str, more: str = "") -> re.Pattern[str]:
    """Each line a word or phrase; one that ends in `*` goes on as it likes."""
    lines = [line.strip() for line in text.replace(",", "\n").splitlines() if line.strip()]
    alternatives = [re.escape(line.removesuffix("*")) + (r"\w*" if line.endswith("*") else "") for line in lines]
    return re.compile(rf"\b(?:{'|'.join(alternatives)})\b{more}", re.IGNORECASE)


LIGHT = _words("""
a an the and or but so yet as at by for from in into of off on onto out over per to up upon via with within is am are
was were be been being do does did done have has had will would can could shall should may might must i me my mine
myself we us our you your he him his she her they them their it its this that these those who which what where when
very really quite just also too now currently nowadays today presently mainly mostly much a lot actually definitely
person user someone somebody candidate own
ich bin ist der die das ein eine und im am zu mit je suis le la les un une et en de du soy el los las y eu sou o os um
uma e em
""")
"""Words that carry nothing when two statements about one person are compared."""

EQUAL = (
    ("live", "based", "reside", "living", "home", "located"),
    ("work", "employed", "job", "working"),
    ("want", "wish", "hope", "aim", "like to", "goal", "aspires", "plans"),
    ("like", "enjoy", "love", "fond"),
    ("dislike", "hate", "loathe", "detest"),
    ("prefer", "rather"),
    ("know", "skilled", "proficient", "experienced", "versed"),
    ("speak", "fluent"),
    ("lead", "head", "manage", "run"),
    ("study", "studied", "learn", "learning"),
    ("child", "children", "kid", "kids", "son", "daughter"),
    ("decide", "decided", "decision"),
    ("begin", "start", "join", "joined"),
    ("leave", "quit", "left"),
)
"""Words that mean the same here; the first stands for all."""

OPPOSITE = (
    ("like", "dislike"),
    ("like", "hate"),
    ("prefer", "avoid"),
    ("start", "stop"),
    ("begin", "leave"),
    ("remote", "office"),
    ("remote", "onsite"),
    ("junior", "senior"),
    ("before", "after"),
    ("more", "less"),
    ("most", "least"),
    ("big", "small"),
    ("large", "small"),
    ("full", "part"),
    ("always", "sometimes"),
    ("married", "divorced"),
    ("open", "closed"),
    ("day", "night"),
    ("morning", "evening"),
)

BETWEEN_TWO = _words("""
over than instead rather from to into before after against versus vs under above unlike not no never without but
wants nicht kein keine nie ohne aber als statt anstatt lieber von nach zu vor bevor nachdem gegen sin pero sans mais sem
""")
"""Words on whose two sides different things stand: "prefers Berlin over Lisbon" is not "prefers Lisbon over Berlin"."""

FIRST_VERBS = _words("""
dislikes dislike hates loathes detests enjoys avoids considers dreams hopes intends expects fears resides mentored
mentors retired married divorced volunteers volunteered prefers relocated commutes freelances freelanced
""")
"""What a statement about a person may begin with: capitalised there, and no name."""

NEGATIVE = re.compile(
    r"\W*(?:no|nope|nah|not|never|none|neither|nothing|don['’]?t|i don['’]?t"
    r"|nein|nicht|kein\w*|non|pas|ningun\w*|nunca|não|nao)\b",
    re.IGNORECASE,
)
"""An answer that says no, or nothing."""

REFUSES = re.compile(
    r"\b(?:rather not|prefer not to (?:say|answer|tell|share)|(?:don['’]t|do not|won['’]t) (?:want to |like to )?"
    r"(?:say|tell|answer|share|talk about|discuss)\b|none of your|no comment|not (?:telling|saying)"
    r"|skip (?:this|that|it)|keine angabe"
    r"|m[öo]chte ich nicht sagen|je pr[ée]f[èe]re ne pas|prefiero no|prefiro n[ãa]o)",
    re.IGNORECASE,
)

SUPPOSES = re.compile(
    r"\W*(?:if|suppose|supposing|imagine|assume|assuming|let['’]?s say|let us say|pretend|say,? i|what if"
    r"|hypothetically|for example|e\.g\.|wenn|falls|angenommen|si|supongamos|se)\b",
    re.IGNORECASE,
)

REPORTS = re.compile(
    r"\b(?:it|he|she|they|advert|ad|posting|document|page|article|e-?mail|letter|text|file|book|report|profile|r[ée]sum[ée]"
    r"|cv|listing|description|boss|manager|recruiter|friend|colleague|wife|husband|mother|father|somebody|someone"
    r"|people|doctor)\s+(?:who\s+|that\s+)?(?:\w+\s+)?(?:says?|said|states?|stated|reads?|claims?|claimed|writes?|wrote"
    r"|tells?|told|thinks?|thought|asks?|asked|means|mentions?|mentioned)\b",
    re.IGNORECASE,
)
"""Somebody else's words, told."""

OF_OTHERS = re.compile(
    r"\W*(?:(?:the|this|that|our|a|an)\s+)?(?:user|candidate|applicant|client|customer|patient|reader|holder|author"
    r"|undersigned|he|she|they|der nutzer|die nutzerin|l['’]utilisateur|el usuario)\b(?!\s+(?:and i|who)\b)",
    re.IGNORECASE,
)
"""A sentence about somebody: a person says "I" of themselves."""

SENSITIVE = _any_of(
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
    court case, lawsuit*, restraining order, gefängnis*, vorbestraft, condamn*, cárcel
    """
)
"""Health, religion, origin, politics, sexuality, union, pay, convictions. It errs on the side of asking."""
