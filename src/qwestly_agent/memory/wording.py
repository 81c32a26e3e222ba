"""The word lists of what may be remembered, written for it by hand. To teach it a word, add it here.

English first; the commonest of German, French, Spanish and Portuguese beside it.
"""

import re
import unicodedata


def folded(text: str) -> str:
    """Without accents: a word list is matched however somebody's keyboard writes."""
    plain = unicodedata.normalize("NFKD", text)
    return "".join(letter for letter in plain if not unicodedata.combining(letter))


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _any_of(text: str) -> re.Pattern[str]:
    """Each line a word or phrase; one that ends in `*` goes on as it likes. For text that is `folded`."""
    lines = [line.strip() for line in folded(text).replace(",", "\n").splitlines() if line.strip()]
    alternatives = [re.escape(line.removesuffix("*")) + (r"\w*" if line.endswith("*") else "") for line in lines]
    return re.compile(rf"\b(?:{'|'.join(alternatives)})\b", re.IGNORECASE)


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

CREDENTIAL = re.compile(
    r"\b(?:pass ?words?|pass ?code|pass ?phrase|passwort|kennwort|mot de passe|contrase[ñn]a|senha|log-?in code"
    r"|security code|secret (?:key|word|answer)|api key|access key|pin(?: code| number)?|cvv|cvc|iban|account number"
    r"|card number|social security(?: number)?|ssn|passport number|id number|(?:phone|mobile) number|handynummer"
    r"|telefonnummer)\b[^.!?]{0,40}?(?:\b(?:is|are|ist|lautet|est|es)\b|:|=|\d)"
    r"|\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,}|\+?\d(?:[ /()-]{0,2}\d){9,}",
    re.IGNORECASE,
)
"""Passwords, PINs, numbers of accounts, cards and telephones."""

FIRST_VERBS = _words("""
dislikes dislike hates loathes detests enjoys avoids considers dreams hopes intends expects fears resides mentored
mentors retired married divorced volunteers volunteered prefers relocated commutes freelances freelanced
""")
"""What a statement about a person may begin with: capitalised there, and no name."""

FRAMES: dict[str, str] = {
    "live": r"\b(?:moved|relocated|settled|home)\b",
    "work": r"\b(?:am|['’]m|was|my job|joined)\b(?: an? \w+|.*\bas an? )",
    "want": r"\b(?:would like|['’]d like|hop(?:e|ing)|plan(?:s|ning)?|goal|looking|dream|aim|intend|my wish)\b",
    "begin": r"\b(?:notice|earliest|available|from)\b",
    "apply": r"\b(?:no|not|don['’]t|never|any) ?more\b|\bno\b",
    "decide": r"\b(?:decided|decision|settled)\b",
    "well": r"\bgood\b",
    "use": r"\b(?:used|using)\b",
    "more": r"\bmore\b|\bno longer\b",
}
"""Words of a statement that need not have been said where the sentence says as much otherwise."""

NEGATIONS = _words("""
not no never none neither nor any anymore longer without cannot nicht kein keine keinen nie ohne jamais sans pas nunca
sin sem nao
""")
"""What denies carries nothing but that: whose denial it is, is compared apart."""

ENDINGS = _words("e t st o a en ir er ar es os as te")
"""Of German, French, Spanish and Portuguese words: "wohne" and "wohnt" are one."""

DIVIDES = _words("""
from until till before after over than against without instead since versus vs under above unlike except von bis vor
nach seit gegen ohne als desde hasta sin depuis sans ate desde sem
""")
"""What stands right after one of these is not what stands without it: "from Berlin" is not "in Berlin"."""

ORDERS = _words("""
over than instead rather from before after against versus vs under above unlike but aber als statt anstatt lieber von
vor bevor nachdem gegen pero mais
""")
"""With one of these in a sentence, it matters what comes first."""

NOT_QUITE = re.compile(
    r"\b(?:refus\w*|stop|stopp\w*|quit\w*|almost|nearly|no more|any ?more|no longer|declin\w*|reject\w*"
    r"|turn(?:ed)? down|fail\w*|out of|away from|(?:but|except) (?:me|for me|myself)|supposed to|about to|used to"
    r"|avoid\w*|pretend\w*|fake\w*|nicht mehr|fast|beinahe|presque|casi|quase)\b",
    re.IGNORECASE,
)
"""What says that something is not so without denying it."""

MAY_BE = re.compile(
    r"\b(?:should|could(?! you)|might|(?-i:may)|would(?! you| like| love| prefer| want)|offered|near)\b", re.IGNORECASE
)
"""What says that something is not so yet, or not there."""

AM = re.compile(r"\b(?:i am|i['’]?m|i was|i['’]ve been|i have been|we are|we['’]re|as)\b", re.IGNORECASE)
"""After it stands what somebody is."""

KEEPS = re.compile(
    r"^\W*(?:(?:please|and|bitte)\W+)*(?:don['’]?t|do not|never|vergiss)\s+(?:ever )?(?:forget|nicht)\b\W*(?:that\b"
    r"|dass\b)?",
    re.IGNORECASE,
)
"""No denial: it asks to remember."""

WITHDRAWS = re.compile(
    r"\b(?:wrong|incorrect|untrue|false|(?:not|isn['’]t|wasn['’]t) (?:true|so|right|correct|the case)|(?:a|was|is) lie"
    r"|lied|lying|joking|kidding|just a joke|gelogen|falsch|stimmt nicht|mentira|faux)\b",
    re.IGNORECASE,
)
"""What is said up to it, in its clause, is taken back."""

FIRST_PERSON = (
    r"(?:i|i['’]\w+|we|we['’]\w+|my|our|mine|ich|wir|mein\w*|je|j['’]\w*|nous|mon|ma|mes|yo|mi|mis|eu|meu|minha)"
)

PEOPLE = (
    r"(?:wife|husband|spouse|partner|boss|manager|chef|chefin|mentor|friend|colleague|co-?worker|brother|sister|sibling"
    r"|mother|father|mom|mum|dad|parents?|sons?|daughters?|child|children|kids?|uncle|aunt|cousin|neighbou?r|boyfriend"
    r"|girlfriend|fianc\w+|team|teammate|employee|recruiter|doctor|teacher|professor|client|customer|landlord|roommate"
    r"|flatmate|grand\w+|niece|nephew|ex|frau|mann|freund\w*|bruder|schwester|mutter|vater|kollege|kollegin|jefe"
    r"|jefa|esposa"
    r"|esposo|marido|mujer|hermano|hermana|amigo|amiga|padre|madre|patron|femme|mari|fr[èe]re|s[œo]eur|ami|amie)"
)

OTHERS = re.compile(
    rf"\W*(?:(?:and|but|so|well|now|today|actually|also|then|because|that|remember|note|please)\W+)*"
    rf"(?:(?:my|our|the|a|an|his|her|their|your|mein\w*|unser\w*|mi|mis|mon|ma|mes|notre|meu"
    rf"|minha)\s+(?:\w+\s+)?{PEOPLE}\b(?!\s+(?:role|job|position|title)\b)"
    rf"(?!['’]?s?\s+(?:and|und|et|y|e)\s+(?:i|me|ich|moi|yo|eu)\b)"
    r"|(?:every|some|any|no)(?:body|one)\b|all of|most of|many|people|others?\b|both of them|he\b|she\b|they\b|you\b"
    r"|it['’]s said"
    r"|jeder|alle|er\b|sie\b|il\b|elle\b|[ée]l\b|ella\b|ele\b|ela\b)",
    re.IGNORECASE,
)
"""A statement that begins with somebody else."""

ANOTHER = re.compile(
    rf"\b(?:[Mm]y|[Oo]ur|[Tt]he|[Aa]n?)\s+(?:\w+\s+)?{PEOPLE}\s+(?:is|was|has|to|works?|lives?|[a-z]{{3,}}ed)\b"
    r"|(?<!\b[Mm]y )\b[A-Z][\w’'-]+\s+(?:is|was|has|works?|worked|lives?|lived)\b|\b(?:he|she|who|whose|they)\b"
)
"""Somebody else, inside a statement, of whom the rest of it may speak."""

SOMEBODY = re.compile(
    r"\W*(?:(?:And|But|So|Also|Well)\s+)?[A-Z][\w’'-]+(?:,? (?:and |& )?[A-Z][\w’'-]+){0,3}\s+(?:also\s+|now\s+"
    r"|still\s+|never\s+)?"
    r"(?:is|was|has|had|does|did|lives?|lived|works?|worked|wants?|likes?|loves?|hates?|speaks?|knows?|leads?|led"
    r"|moved|studied"
    r"|manages?|managed|runs|ran|earns?|[a-z]{3,}s|wohnt|arbeitet|ist|hat|vive|trabaja|es|est|habite|travaille)\b"
)
"""A statement that begins with a name and what its bearer does."""

HEARSAY = re.compile(
    rf"\b(?:if|whether|unless|when|once|as soon as|wish|as if|as though|wenn|falls|ob|sobald|si|cuando|quand"
    rf"|quando)\s+{FIRST_PERSON}\b"
    r"|\bhad i\b"
    r"|\bi\s+(?:wonder|doubt|dreamt|dreamed|imagin\w+|guess)\b"
    r"|\bi\s+(?:will|would|used to|might|could|should|may|shall|always|['’]ll|['’]d)\s+(?:say|tell|claim|write"
    r"|answer)\b"
    r"|\bi['’](?:ll|d)\s+(?:say|tell|claim|write|answer)\b"
    r"|\bi\s+(?:told|claimed|pretended|lied to|wrote to)\s+(?!you\b)"
    r"|\b(?:nobody|no one|everybody|everyone|somebody|someone|people|they|he|she|who)\s+(?:\w+\s+)?"
    r"(?:believes?|thinks?|knows?|doubts?|says?|claims?|heard)\b"
    r"|\b(?:do|does|did|don['’]t|would|can|could) (?:you|they|he|she|we|people) (?:really )?(?:think|believe|mean"
    r"|say|find|know|suppose)\b"
    r"|\b(?:it|that) (?:would|could|might) be\b"
    r"|\b(?:forget|delete|erase|unlearn)\s+(?:\w+\s+)?(?:that|where|how"
    r"|about)\b(?<!n['’]t forget that)(?<!not forget that)"
    r"|\b(?:don['’]?t|do not|never|not)\s+(?:\w+\s+)?(?:remember|save|note|store|keep)\b",
    re.IGNORECASE,
)
"""What follows is supposed, doubted, told of somebody, or shall not be known."""

ASKS = re.compile(
    r"\W*(?:(?:do|does|did|am|are|is|was|were|should|shall|may|have|has|don['’]t|didn['’]t|aren['’]t|isn['’]t)"
    r"\s+(?:you|i|we|he|she|they|it|my|the|this|that)\b"
    r"|(?:would|could|can|will)\s+(?:i|we|he|she|they|it|my|this|you(?!\s+(?:please\s+|kindly\s+)?"
    r"(?:remember|note|keep|save|memori[sz]e)))\b"
    r"|(?:what|where|why|how|who|which)\s+(?:do|does|did|am|are|is|was|should|would|could|can|if)\b)",
    re.IGNORECASE,
)
"""A question, whether or not it ends in its mark."""

INTRODUCES = re.compile(
    r"(?:(?!\b(?:said|says?|wrote|writes?|words|told (?!you))\b).)*\b(?:i|you|me|myself|clear|remember|note|know"
    r"|correct\w*|wrong|fact|facts|fyi|btw|ps"
    r"|update|answer|short|honest|summary|experience|skills?|languages?|location|goals?|yes|no|actually|also|so)\b"
    r"(?:(?!\b(?:said|says?|wrote|writes?|words)\b).)*",
    re.IGNORECASE | re.DOTALL,
)
"""What may stand before a colon when what follows is one's own: "As I told you: …"."""

TASKS = re.compile(
    r"(?:^|[.!?:;\n])\W*(?:(?:please|can you|could you|would you|now|kindly|bitte|let['’]?s|let us)\s+)*"
    r"(?:translat\w+|rewrit\w+|rephras\w+|reword\w*|paraphras\w+|proof-?read\w*|summari[sz]e|shorten|polish|pretend"
    r"|act as"
    r"|imagine|suppose|repeat after|correct (?:this|the|my) (?:text|sentence|letter|english|german|grammar|paragraph"
    r"|e-?mail)"
    r"|(?:is|does) this (?:\w+ )?(?:english|german|french|sentence|sound)|[üu]bersetz\w*|korrigier\w* (?:diese|den"
    r"|das|meinen)"
    r"|fasse?\b|tradui\w+|traduc\w+|traduza|resum\w+|r[ée]sum(?:e|er|ez)\b)\b"
    r"|\brole-?play\w*|\bmock interview\b|\bin (?:the|this|my|a) (?:novel|story|screenplay|play|game|role)\b"
    r"|\bi answer as\b",
    re.IGNORECASE,
)
"""A message that hands over text to work on, or plays somebody: nothing in it is told."""

ADDRESSED = re.compile(
    r"\b(?:(?:the|this|that|any|your|my|an?|ai) (?:agent|assistant|ai|chat ?bot|bot|llm)(?:s|['’]s)?"
    r"|approv\w+ (?:everything|all|any\w*|automatically"
    r"|each|every|without|it|them)|auto-?approv\w*|always (?:call|approve|allow|answer|use|run|say|reply|respond)"
    r"|ignor\w+"
    r"|disregard\w*|instructions?|system prompt|prompts?|jailbreak\w*|tool calls?|https?:|www\.|must (?:approve|call"
    r"|obey|not be asked)"
    r"|no (?:approval|confirmation)|without (?:asking|approval|confirmation)|l['’]agent|el agente|der agent)",
    re.IGNORECASE,
)
"""What is no fact about a person but an order to whoever reads it."""

AGREES = re.compile(
    r"\W*(?:yes|yep|yeah|yup|ya|aye|sure|sure thing|correct|right|exactly|precisely|indeed|absolutely|definitely"
    r"|certainly|of course|true"
    r"|affirmative|that['’]?s (?:right|correct|true|me|it)|that is (?:right|correct|true)|you['’]?re right|i (?:am"
    r"|do|have|did|can|would"
    r"|was|will|could)|we (?:are|do|have)|ja|jawohl|jep|genau|stimmt|richtig|klar|nat[üu]rlich|oui|exact|exactement"
    r"|bien s[ûu]r|d['’]accord"
    r"|s[ií]|claro|cierto|correcto|exacto|sim|certo|isso|yes please|indeed)(?![\w'’])",
    re.IGNORECASE,
)
"""The whole of what agrees; what else stands in an answer must be remembered with it."""

POLITE = re.compile(r"\W*\b(?:please|thanks|thank you|danke|bitte|merci|gracias|obrigad[oa])\b", re.IGNORECASE)

REFUTES = re.compile(
    r"\b(?:no|nope|nah|not|never|none|neither|nothing|\w+n['’]t|dont|wrong|incorrect|false|untrue|negative|pass|stop"
    r"|skip|hardly|barely"
    r"|nein|n[öo]|nee|ne|nicht|kein\w*|falsch|non|pas|faux|ning[úu]n\w*|nunca|n[ãa]o|errado|but|except|only|maybe"
    r"|perhaps|almost)\b"
    r"|👎|❌|🙅",
    re.IGNORECASE,
)
"""An answer that says no, or not quite."""

ASKED_OF_THEM = re.compile(
    r"\W*(?:(?:(?:and|so|but|then|well|good|great|ok|okay|thanks|tell me|und|also|et|y|e)\b[\s,.:–—]*)*)"
    r"(?:(?P<whether>are|do|did|have|were|was|can|could|would|will|is|does|has|am|bist|sind|hast|haben|wohnst|wohnen"
    r"|arbeitest|arbeiten"
    r"|m[öo]chtest|m[öo]chten|kannst|k[öo]nnen|willst|es-tu|[êe]tes|avez|as-tu|est-ce|eres|tienes|vives|trabajas"
    r"|quieres|voc[êe]|tem|mora)"
    r"|(?P<what>how|what|where|when|which|who|why|since when|in which|at which|for how|wo|was|wann|wie|welche\w*"
    r"|seit|o[ùu]|quand"
    r"|quel\w*|combien|comment|d[óo]nde|cu[áa]ndo|cu[áa]nt\w*|qu[ée]|onde|quando|quantos|qual))\b",
    re.IGNORECASE,
)

TO_THEM = re.compile(
    r"\b(?:you|your|yours|you['’]\w+|du|dein\w*|dir|dich|sie|ihr\w*|ihnen|tu|ton|ta|tes|vous|votre|vos|usted|tus?"
    r"|voc[êe]|seus?|sua"
    r"|eres|tienes|vives|trabajas|quieres|mora|tem)\b",
    re.IGNORECASE,
)

OF_OURS = re.compile(r"\b(?:i|me|we|us|ich|mir|je|yo|eu)\b", re.IGNORECASE)
"""A question about what the assistant shall do: a yes to it says nothing of whoever says it."""

EITHER = re.compile(r"\b(?:or|oder|ou|o|u)\b|/", re.IGNORECASE)

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
    r"\b(?:it|he|she|they|advert|ad|posting|document|page|article|e-?mail|letter|text|file|book|report|profile"
    r"|r[ée]sum[ée]"
    r"|cv|listing|description|boss|manager|recruiter|friend|colleague|wife|husband|mother|father|somebody|someone"
    r"|people|doctor)\s+(?:who\s+|that\s+)?(?:\w+\s+)?(?:says?|said|states?|stated|reads?|claims?|claimed|writes?|wrote"
    r"|tells?|told|thinks?|thought|asks?|asked|means|mentions?|mentioned)\b"
    r"|\b(?:says|claims|believes|writes|sagt|sagte|meint|meinte|behauptet|schreibt|dice|dijo|cree|dit|disait|pense"
    r"|diz|disse)\b"
    r"|(?<!\bi )(?<!\bwe )(?<!\byou )(?<!['’]ve )\b(?:said|claimed|wrote|told (?!you\b))\b",
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

MEMBER = re.compile(r"\b(?:[Mm]ember of|[Vv]ote[ds]? for|[Jj]oined) the [A-Z]{2,}\b")

AMOUNT = re.compile(
    r"[€$£]\s?\d|\b\d[\d.,]*\s?(?:k|m|€|\$|£|euros?|eur|usd|dollars?|pounds?|gbp|chf|francs?|franken|thousand|grand"
    r"|mil)(?!\w)",
    re.IGNORECASE,
)
PAY = re.compile(
    r"\b(?:make|made|makes|making|gets?|getting|got|earn\w*|want\w*|expect\w*|ask\w*|rates?|package|paid|pays?"
    r"|costs?|charge|have|has)\b",
    re.IGNORECASE,
)
"""Together with an amount of money."""
PER_TIME = re.compile(
    r"\b\d[\d.,]*\d\s?(?:k|euros?|dollars?|pounds?|€|\$|£)?\s(?:a|an|per|pro|par|al|por|im)\s"
    r"(?:year|month|day|hour|annum|jahr|monat|tag|stunde|an|mois|jour|heure|a[ñn]o|mes|d[íi]a|hora|ano)\b"
    r"|\b\d{1,3}[.,]\d{3} (?:a|per) year\b",
    re.IGNORECASE,
)
