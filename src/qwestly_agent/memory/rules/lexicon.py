"""The word lists of the gate, written for it by hand. To teach it a word, add it here.

Each entry is lower case and without accents. Lists are kept as text: one word or phrase between blanks or commas.
"""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _list(text: str) -> list[str]:
    return text.split()


def _groups(text: str) -> dict[str, str]:
    """Each word of a line stands for the first word of that line."""
    lines = [[word.strip() for word in line.split(",")] for line in text.strip().splitlines()]
    return {word: line[0] for line in lines for word in line}


# --- words that carry nothing ----------------------------------------------------------------------------

STOP = _words("""
a an the and or but nor so yet if then than as at by for from in into of off on onto out over per to up upon via with
within without is am are was were be been being do does did done doing have has had having will would can could should
may might must shall i me my mine myself we us our ours you your he him his she her hers they them their it its this
that these those who whom whose which what where when while how why all any both each every few more most other some
such own same too very just also not no there here about above across after again against along among around because
before behind below between beyond down during except inside like near since through throughout toward towards under
until using including etc ca vs plus
""")

MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan januar janvier",
            "february feb februar fevrier", "march mar marz maerz mars", "april apr avril",
            "may mai", "june jun juni juin", "july jul juli juillet", "august aug aout", "september sept sep septembre",
            "october oct oktober octobre", "november nov novembre", "december dec dezember decembre",
        ),
        1,
    )
    for name in names.split()
}  # fmt: skip

# Capitalised although no name: words that begin claims, sections and headlines. Endings do the rest (names.py).
COMMON = _words("""
a about above ability able across active added after ahead all along also always am among an and any applied approach
area as at available award aware background balanced base based be bears best big both bridge brief bright bring
brings broad budget business but by calm can care career cares certificate change chief class clear client close coach
coached code come comfortable commit complex consult core craft cross current curious custom customer cut daily data
day days deep degree degrees depth design detail did digital direct do does doctor down draw drew drive drives drove
each early earn easy eight eleven end english every expert expertise fast few field fifteen fifty first five fluent
focus for former forty found four fresh from front full gave get gets give gives global go goal goals good got grade
great green grew ground group grow grows hand hands has have he head heart held her here high his holds home honest
how i if impact in inside into is it its job joined just keen keeps key kept kind knows known language languages last
late later latest lead leads learn led less level life like line lives long look looks loves made main maintains makes
many master mentor mid mind more most moved much my native near needs network new next night nine no not now of off
often on once one only open or other our out over own owns part past path patient people per person plan plans play
product profile proof proud proven quick quiet quite raised ran range rapid reach read ready real results role roles
rose run runs safe sales same saw school scope sector sees self sells senior sense served serves set sets seven shaped
share she shift shifts short since six sixteen skill skills small so sold solid some speaks spent staff start state
stays steady step still strength strengths strong studies study style such summary support sure take takes taught
teach teaches team teams ten than that the their them then these they thirteen thirty this those three through thus
time title to today together took tools top track twelve twenty two under until up used uses using value versed vision
volunteer want wants was we well went were what when where which while who whole whose why wide will with within
without won word work works world would write writes wrote year years yet you young zero spoke brought stood met paid
put hit beat sent dealt felt fought fed left lost told understood wore flew rode slept hired born fit fond hard heavy
huge large lean lots low major men mum dad none numbers nurses odd old pace pay peers plus pupils python-free rare
rates rich right rule seeks shop shops side site sites size skilled spare speed sports stock store stores sum talks
task tasks tech test tests thanks think trade trips trust types ups users vast visits voice warm ways wise women
yearly zeal zone adept adult advice agile alert alone ambitious anchor apart art aspires assets attends audits author
backs backed began behind beyond boost boosts builds calls cause cell chair charge child city civil classes clients
coaches college comes commits complete co community company completed concept confident control cook cooks copes
couples course courses covers crews customers deals dealer decade decades defines delivers dependable depot desk
develops diploma directs distinct dozen drafts eager earns ensures enjoys entire event events expands fair family farm
fellow files fixes floor fluently food force form formed founder fund guided guides guests halved half handle handles
health heads helps hires history hotel hour hours improves includes individual inspires instructs interim invests
issues items joins judge juggles junior kitchen lab law leaders leadership learns lectures liaised lifts lists local
logs market math maths mentors method modern month months motivates music nearly negotiates non nurse nursing
occupational offer offers office opens operates optimises optimizes organises organizes orders oversees oversaw
partner passes performs physics picks pilot plant plays post practical praised prepares presents press price prize
produces programme programs project projects proposes protects provides public publishes puts quality ranked record
recruits reduces relied reports rescue research responds retail returns reviews rising routes saves scales schools
score secures seeing service services shapes shares ships shows simple simplifies social software solves sought sound
source spans speaker spend splits sport spreads stands starts steers studied supplies supports surgical sustains
switch system systems tackles talent targets tenth thrives total tours trades trains translates travels treats triage
tripled turns tutors twice type understands unit units values video wards web week weeks wins woman year-round youth
youngest hopes dreams hope versatile resilient hands-on friendly humble sincere devoted tireless warm-hearted
inventive nimble savvy clever gentle fierce prolific specialised self-taught people-first data-driven customer-first
born-and-raised second third fourth fifth sixth seventh eighth ninth
achievements highlights interests education experience employment certifications awards contact
overview story journey selected additional
""")
COMMON_ENDINGS = tuple(
    _list(
        "ed ing ly tion sion ment ments ive ful able ible ous ness ity ship ical ist ists er ers or"
        " ors ian ent ant ence "
        "ance "
        "al ary ory less ise ize ative ward wards tions sions ities ships ness ical ism ionate atic etic egic istic"
    )
)
LEGAL_FORMS = _words(
    "gmbh inc ltd llc ag se corp corporation co kg ug plc sa sarl sas bv nv oy ab limited mbh ev company"
    " the group holding"
)

INSTITUTIONS = _words(
    "hotel restaurant hospital university universitat universite college school bank clinic institute academy st "
    "saint city "
    "studio agency services group international uk us europe london berlin paris munich"
)

# Kinds of places and bodies, which a name may have with it or not: the Avon, the River Avon.
GENERIC = _words("river lake mount sea valley county city state department island coast")

# --- equal words -----------------------------------------------------------------------------------------

ALIASES = _groups("""
javascript, js, ecmascript
typescript, ts
kubernetes, k8s
postgresql, postgres, psql
golang, go
nodejs, node.js, node
react, reactjs, react.js
vue, vuejs, vue.js
angular, angularjs
csharp, c#
dotnet, .net
cpp, c++
mongodb, mongo
elasticsearch, elastic
sklearn, scikit
terraform, tf
maths, math, mathematics, mathe
ml, machinelearning
aws, amazonwebservices
gcp, googlecloud
powerpoint, ppt
excel, msexcel
munich, munchen, muenchen
cologne, koln, koeln
vienna, wien
zurich, zuerich
geneva, geneve, genf
lisbon, lisboa
brussels, bruxelles, brussel
prague, praha
warsaw, warszawa
rome, roma
milan, milano
nuremberg, nurnberg, nuernberg
hanover, hannover
basel, bale, basle
germany, german, germans, deutschland, deutsch, allemagne, allemand
france, french, francais, franzosisch, frankreich
spain, spanish, espanol, spanisch, espagnol
italy, italian, italiano, italienisch, italien
england, english, englisch, anglais
austria, austrian, osterreich
switzerland, swiss, schweiz, suisse
portugal, portuguese, portugues
netherlands, dutch, holland, nederlands
poland, polish, polski
turkey, turkish, turkiye
russia, russian
china, chinese, mandarin
japan, japanese
uk, britain, british
usa, us, america, american
europe, european, eu
norway, norwegian, norge, norwegisch
sweden, swedish, sverige, schwedisch
denmark, danish, danmark, danisch
finland, finnish, suomi, finnisch
greece, greek, griechisch
ireland, irish
scotland, scottish
wales, welsh
croatia, croatian
romania, romanian
hungary, hungarian
ukraine, ukrainian
bulgaria, bulgarian
serbia, serbian
czechia, czech
thailand, thai
vietnam, vietnamese
korea, korean
israel, israeli
iceland, icelandic
afghanistan, afghan
argentina, argentine, argentinian
brazil, brazilian
canada, canadian
mexico, mexican
peru, peruvian
philippines, filipino
pakistan, pakistani
iraq, iraqi
cyprus, cypriot
kazakhstan, kazakh
newzealand, zealand
alps, alpine
baltic, baltics
nordic, nordics
flanders, flemish
estonia, estonian
latvia, latvian
lithuania, lithuanian
slovakia, slovak
slovenia, slovenian
albania, albanian
armenia, armenian
catalonia, catalan
basque, basques
bavaria, bavarian, bayern
saxony, saxon, sachsen
university, universitat, universite, universidade, universita, universiteit, universidad, uni
technical, technische, technique
hospital, klinikum, krankenhaus, clinic, klinik
engineer, developer, programmer, dev
teacher, educator, instructor, lehrer, lehrerin
nurse, rn, krankenpfleger, krankenschwester
rep, representative
doctor, physician, medic
cofounder, founder
cs, computerscience
ui, userinterface
ux, userexperience
qa, qualityassurance
hr, humanresources
pr, publicrelations
it, informationtechnology
department, dept
institute, inst
association, assn
national, natl
international, intl
""")

# --- skills that are skills in lower case too ------------------------------------------------------------

SKILLS = _words("""
python java javascript typescript js ts sql nosql mysql postgresql postgres mongodb redis kafka rabbitmq kubernetes
k8s docker terraform ansible jenkins github gitlab linux unix bash powershell golang csharp kotlin scala ruby php perl
haskell erlang elixir clojure matlab fortran cobol html css sass react.js reactjs vue vuejs nextjs next.js angular
svelte node.js nodejs django flask fastapi laravel symfony graphql grpc tensorflow pytorch pandas numpy sklearn hadoop
snowflake databricks dbt airflow tableau looker powerbi figma photoshop illustrator indesign invision framer autocad
solidworks catia revit blender aws azure gcp cloudformation salesforce hubspot zendesk jira confluence sap datev
quickbooks netsuite workday shopify magento wordpress excel powerpoint scrum kanban agile kaizen prince2 itil seo sem
crm erp wms oracle flutter jupyter hibernate blockchain solidity devops forklift triage phlebotomy cannulation
intubation dialysis chemotherapy ultrasound radiology oncology paediatrics pediatrics cardiology midwifery palliative
physiotherapy anaesthesia welding carpentry plumbing bookkeeping accounting payroll taxation copywriting photography
videography prototyping wireframing typography animation robotics statistics econometrics physics chemistry biology
maths mathematics geography economics philosophy astronomy sociology psychology theology cybersecurity cryptography
pharmacology nutrition montessori telemarketing procurement
""")
AMBIGUOUS_SKILLS = _words(
    "excel oracle agile angular react vue"
)  # words of the language as well; capitalised they count

# Words of the language that are skills where somebody teaches them.
SCHOOL_SUBJECTS = _words(
    "history music art drama religion literature science sport civics law politics computing design"
)

LANGUAGES = _words("""
english german french spanish italian portuguese dutch polish turkish russian mandarin chinese japanese korean arabic
hindi swedish norwegian danish finnish greek czech hungarian romanian ukrainian hebrew persian farsi urdu bengali
tamil vietnamese thai croatian serbian bulgarian catalan swahili yoruba igbo latin welsh icelandic flemish basque
estonian latvian lithuanian slovak slovenian albanian armenian tagalog punjabi
""")
# Countries that share their entry above with a language: to have lived there is not to speak it.
COUNTRIES = _words("""
germany germans deutschland allemagne france frankreich spain spanien espagne italy italien england portugal poland
turkey turkiye russia china japan norway norge sweden sverige denmark danmark finland suomi greece croatia romania
hungary ukraine bulgaria serbia czechia thailand vietnam korea catalonia netherlands holland wales iceland
flanders basques estonia latvia lithuania slovakia slovenia albania armenia
""")
# After the name of a language, these still mean the language: Spanish teacher, but not Spanish wine.
LANGUAGE_NOUNS = _words("""
speaker speakers language languages skills teacher translator interpreter lessons classes course courses speaking
exam certificate translation translations native fluent basic
""")
# What a level asks for in a claim, and what it gives as evidence, on the steps A1 = 1 … C2 = 6, mother tongue = 7.
LEVELS = {
    "a1": (1, 1), "a2": (2, 2), "b1": (3, 3), "b2": (4, 4), "c1": (5, 5), "c2": (6, 6),
    "basic": (1, 2), "beginner": (1, 2), "elementary": (1, 2), "conversational": (3, 4), "intermediate": (3, 4),
    "working": (4, 5), "professional": (4, 5), "business": (4, 5), "advanced": (5, 5), "proficient": (5, 6),
    "fluent": (5, 6), "fluently": (5, 6), "fliessend": (5, 6), "courant": (5, 6), "bilingual": (7, 7),
    "good": (3, 4), "excellent": (5, 5), "native": (7, 7), "mother": (7, 7), "muttersprache": (7, 7),
}  # fmt: skip

# --- people, units ---------------------------------------------------------------------------------------

# Staff by whatever name; and others who are "people" too.
PEOPLE = _words("""
person people staff employee colleague member report engineer developer designer nurse teacher carer worker operative
picker packer driver student pupil child kid youngster learner trainee apprentice intern junior rep representative
salesperson
seller agent analyst consultant specialist scientist researcher manager teammate team crew headcount fte man woman men
women volunteer assistant technician clerk operator supervisor lead class group direct squad personnel graduate tutor
mentee caregiver attorney adviser advisor soldier
""")
LEARNERS = _words("student pupil child kid youngster learner")
"""Who is none of the staff, but may be counted as a class."""
CLASSES = _words("class group graduate trainee apprentice intern mentee junior person")
OTHER_PEOPLE = _words(
    "user customer client patient guest visitor attendee audience spectator capacity seat participant listener reader"
    " subscriber resident viewer caller"
)
NOUNS = _groups("""
truck, trucks, lorry, lorries
client, clients, customer, customers
shop, shops, store, stores, branch, branches
talk, talks, presentation, presentations
site, sites, location, locations
article, articles, paper, papers
country, countries, nation, nations
application, applications, app, apps
employee, employees, staff, headcount, fte
order, orders, delivery, deliveries, shipment, shipments
house, houses, home, homes
document, documents, doc, docs
vaccination, vaccinations, vaccine, vaccines, jab, jabs, immunisation, immunization, immunisations, immunizations
""")
UNITS = {
    **dict.fromkeys(_words("% percent pct prozent"), ("percent", 1.0)),
    **dict.fromkeys(_words("ms millisecond milliseconds"), ("time", 0.001)),
    **dict.fromkeys(_words("second seconds sec secs s"), ("time", 1.0)),
    **dict.fromkeys(_words("minute minutes min mins"), ("time", 60.0)),
    **dict.fromkeys(_words("hour hours hr hrs h"), ("time", 3600.0)),
    **dict.fromkeys(_words("day days"), ("time", 86400.0)),
    **dict.fromkeys(_words("week weeks"), ("time", 604800.0)),
    **dict.fromkeys(_words("month months monate monaten mois"), ("months", 1.0)),
    **dict.fromkeys(_words("year years yr yrs jahre jahren ans"), ("months", 12.0)),
    **dict.fromkeys(_words("decade decades"), ("months", 120.0)),
    **dict.fromkeys(_words("percentage point points pts pp"), ("points", 1.0)),
    **dict.fromkeys(_words("x times fold mal"), ("times", 1.0)),
    **dict.fromkeys(_words("km kilometre kilometres kilometer kilometers"), ("length", 1000.0)),
    **dict.fromkeys(_words("mile miles"), ("length", 1609.344)),
    **dict.fromkeys(_words("m metre metres meter meters"), ("length", 1.0)),
    **dict.fromkeys(_words("kg kilo kilos kilogram kilograms"), ("weight", 1.0)),
    **dict.fromkeys(_words("tonne tonnes tonner tonners ton tons"), ("weight", 1000.0)),
    **dict.fromkeys(_words("lb lbs pound-weight"), ("weight", 0.4536)),
    **dict.fromkeys(_words("sqm m2 m²"), ("area", 1.0)),
    **dict.fromkeys(_words("amp amps ampere amperes"), ("current", 1.0)),
    **dict.fromkeys(_words("volt volts"), ("voltage", 1.0)),
    **dict.fromkeys(_words("kv kilovolt kilovolts"), ("voltage", 1e3)),
    **dict.fromkeys(_words("watt watts"), ("power", 1.0)),
    **dict.fromkeys(_words("kw kilowatt kilowatts"), ("power", 1e3)),
    **dict.fromkeys(_words("mw megawatt megawatts"), ("power", 1e6)),
    **dict.fromkeys(_words("mb"), ("data", 1.0)),
    **dict.fromkeys(_words("gb"), ("data", 1e3)),
    **dict.fromkeys(_words("tb"), ("data", 1e6)),
    **dict.fromkeys(_words("pb"), ("data", 1e9)),
}
ATTACHED_UNITS = {"A": "amp", "V": "volt", "W": "watt"}
"""Units by a capital right after the digits: 400A."""
# Words that name a number instead of being counted by it: grade 4, Class 1, Station 14.
LABELS = _words("""
grade class level stage tier band year part phase step type category station room route version chapter volume module
zone gate division form iso
""")
# After a number, but not what is counted.
ADVERBS = _words("""
now today currently yesterday already still together overall altogether later ago again annually daily weekly monthly
hourly yearly quarterly directly successfully recently
""")
# Counts of these say how many times something was done.
OCCASIONS = _words("edition season round instalment occasion time run staging")
# What is measured in percent, so that a number without a unit beside it may be one.
SHARES = _words("""
accuracy rate share percentage uptime availability margin attendance retention turnover utilisation utilization
occupancy satisfaction compliance yield coverage completion conversion
""")
NOUNS_IN_ED = _words("bed seed feed speed breed shed")
CURRENCIES = _groups("""
EUR, €, eur, euro, euros
USD, $, usd, dollar, dollars
GBP, £, gbp, pounds, sterling
CHF, chf, francs, franken
""")
MAGNITUDES = {
    "k": 1e3, "thousand": 1e3, "thousands": 1e3, "tsd": 1e3, "tausend": 1e3, "hundred": 1e2, "dozen": 12.0,
    "m": 1e6, "mn": 1e6, "mio": 1e6, "mln": 1e6, "million": 1e6, "millions": 1e6, "millionen": 1e6,
    "b": 1e9, "bn": 1e9, "billion": 1e9, "mrd": 1e9, "milliarden": 1e9,
}  # fmt: skip
NUMBER_WORDS = {
    word: float(value)
    for value, word in enumerate(
        _list(
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
            "seventeen eighteen nineteen"
        )
    )
} | {word: 10.0 * tens for tens, word in enumerate(_list("twenty thirty forty fifty sixty seventy eighty ninety"), 2)}
FRACTIONS = {
    "half": 1 / 2, "halves": 1 / 2, "third": 1 / 3, "thirds": 1 / 3, "quarter": 1 / 4, "quarters": 1 / 4,
    "fifth": 1 / 5, "fifths": 1 / 5, "sixth": 1 / 6, "eighth": 1 / 8, "eighths": 1 / 8,
    "tenth": 1 / 10, "tenths": 1 / 10,
}  # fmt: skip
ORDINALS = dict(enumerate(_list("first second third fourth fifth sixth seventh eighth ninth tenth"), 1))
MULTIPLES = {
    **dict.fromkeys(_words("doubled doubling twofold"), 2.0),
    **dict.fromkeys(_words("tripled tripling trebled threefold"), 3.0),
    **dict.fromkeys(_words("quadrupled quadrupling fourfold"), 4.0),
    "fivefold": 5.0,
    "sixfold": 6.0,
    "tenfold": 10.0,
    **dict.fromkeys(_words("halved halving"), 0.5),
}
RATES = _groups("""
day, daily, days, day's
week, weekly, weeks
month, monthly, months
year, annual, annually, yearly, annum, years
hour, hourly, hours
minute, minutes
second, seconds
shift, shifts
""")

# --- titles and degrees ----------------------------------------------------------------------------------

GRADES = {
    **dict.fromkeys(_words("intern trainee apprentice student"), 0),
    **dict.fromkeys(_words("junior assistant associate deputy jr"), 1),
    **dict.fromkeys(_words("senior sr"), 3),
    **dict.fromkeys(_words("lead principal staff distinguished"), 4),
}
RANKS = {
    **dict.fromkeys(_words("manager supervisor leader coordinator foreman matron leiter leiterin teamleiter"), 1),
    **dict.fromkeys(_words("head director headteacher headmaster headmistress"), 2),
    **dict.fromkeys(_words("vp svp evp"), 3),
    **dict.fromkeys(_words("chief ceo cto cfo coo cmo cpo cio president partner"), 4),
}
OCCUPATIONS = _words("""
engineer developer programmer architect designer analyst scientist researcher nurse midwife doctor physician surgeon
paramedic pharmacist therapist teacher lecturer professor tutor librarian consultant accountant auditor lawyer
solicitor barrister paralegal recruiter marketer copywriter journalist editor photographer electrician plumber
carpenter welder mechanic technician driver picker packer operative chef cook waiter barista receptionist secretary
administrator clerk salesperson rep representative cashier buyer merchandiser planner controller economist
statistician psychologist operator trainer coach firefighter guard baker hairdresser gardener farmer florist optician
dentist vet bookkeeper broker agent actuary biologist chemist physicist illustrator producer animator fundraiser
counsellor counselor caregiver nanny cleaner porter courier machinist fitter roofer joiner bricklayer caretaker carer
educator instructor dispatcher pilot translator interpreter strategist executive officer
""")
# Each degree by its names; where capitals alone tell it from a word, only with them. A lawyer's JD is by itself.
_MS_IS_NONE = r"(?! (?:Office|Excel|Word|Access|Project|Teams|SQL|Dynamics|Azure|Windows|Visio|PowerPoint|Exchange)\b)"
DEGREES = {
    "doctor": r"ph\.?\s?d\b\.?|d\.?phil\b|ed\.?d\b|psy\.?d\b|doctorate|doctoral degree"
    r"|dr\. ?(?:rer|phil|ing|med)\b|promotion zum dr|doctor of philosophy",
    "jd": r"(?-i:J\.D\.|\bJD\b)|juris doctor|doctor of jurisprudence|law doctorate",
    "md": r"(?-i:M\.D\.|\bMD\b)|doctor of medicine",
    "mba": r"m\.?b\.?a\b\.?|masters? of business administration|master in business administration",
    "master": r"m\.?\s?sc\b\.?|m\.a\.|\bMA\b|m\.s\.|(?-i:\bMS\b" + _MS_IS_NONE + r"(?= in\b|,| \(?[A-Z]))"
    r"|m\.?eng\b\.?|m\.?ed\b\.?|m\.?phil\b|ll\.?m\b"
    r"|(?-i:\b(?:MSW|MFA|MPH|MPA|MPP|MSN|MLIS|MLS|MRes|MSci|MArch|MPharm|MChem|MPhys|MMath|MBiol|MTech|MCom|MMus|MLitt|MPhil)\b)"
    r"|master(?:['’]s|s)?(?= (?:of|in|degree|thesis|from|at)\b|['’])"
    r"|master['’]s|master\b(?= *[,(:–-])|magister|diplom\b|diplom-\w+|staatsexamen",
    "bachelor": r"b\.?\s?sc\b\.?|b\.a\.|\bBA\b|b\.s\.|(?-i:\bBS\b(?= in\b|,| \(?[A-Z]))"
    r"|b\.?eng\b\.?|b\.?ed\b\.?|ll\.?b\b|bachelor(?:['’]?s)?"
    r"|(?-i:\b(?:BSN|BFA|BBA|BTech|BArch|BCom|BMus|BSW)\b)|licence\b(?= (?:de|en)\b)",
    "associate": r"associate(?:['’]?s)? degree|associate of (?:arts|science|applied science)"
    r"|(?-i:\bA\.?A\.?S\b|\bA\.[AS]\.)",
}  # fmt: skip
DEGREE_KINDS = {
    "science": r"[abm]\.?\s?sc\b\.?|[abm]\.s\.|(?-i:\b[BM]S\b)|of science",
    "arts": r"[abm]\.a\.|\b[BM]A\b|of arts",
    "engineering": r"[bm]\.?eng\b\.?|of engineering",
    "education": r"[bm]\.?ed\b\.?|ed\.?d\b|of education",
    "laws": r"ll\.?[bm]\b|of laws?\b",
}
# What the letters of a degree say of its field.
DEGREE_FIELDS = {
    "beng": "engineering", "meng": "engineering", "bed": "education", "med": "education", "edd": "education",
    "llb": "law", "llm": "law", "jd": "law", "md": "medicine", "mba": "business administration",
    "bba": "business administration", "msw": "social work", "bsw": "social work", "mfa": "fine arts",
    "bfa": "fine arts",
    "mph": "public health", "mpa": "public administration", "mpp": "public policy", "msn": "nursing", "bsn": "nursing",
    "march": "architecture", "barch": "architecture", "mpharm": "pharmacy", "mchem": "chemistry", "mphys": "physics",
    "mmath": "mathematics", "mbiol": "biology", "mtech": "technology", "btech": "technology", "mcom": "commerce",
    "bcom": "commerce", "mmus": "music", "bmus": "music", "psyd": "psychology",
    "mlis": "library science", "mls": "library science",
}  # fmt: skip

# Who may call themselves so with a degree in the field and a registration, whatever the employer calls them.
QUALIFIED = {
    "pharmacist": "pharmacy", "nurse": "nursing", "midwife": "midwifery", "architect": "architecture",
    "psychologist": "psychology", "dentist": "dentistry", "vet": "veterinary", "solicitor": "law", "barrister": "law",
    "physiotherapist": "physiotherapy",
}  # fmt: skip
# Managers of things, who may have no people under them.
THINGS_MANAGED = _words("account product project programme program relationship community content case category brand")

# --- how strong a verb is: 1 took part, 2 did, 3 managed, 4 led ------------------------------------------
# Where a word is used both ways, what it asks for in a claim is less than what it gives as evidence.

VERBS = {
    (1, 1): "participate contribute help assist support collaborate cooperate shadow observe attend join involve",
    (
        2,
        2,
    ): """build write develop create design implement make deliver ship teach train treat sell close negotiate migrate
        improve reduce cut increase grow raise introduce launch automate optimise optimize plan mentor coach translate
        research
        test deploy maintain redesign rebuild rewrite refactor prepare present publish produce code program draft invent
        recruit hire install repair operate serve win achieve save simplify modernise modernize document analyse analyze
        administer answer handle process pick pack load tutor advise care""",
    (2, 3): "run drive organise organize initiate start establish steer facilitate arrange",
    (3, 3): "manage coordinate supervise oversee orchestrate",
    (4, 4): "lead head found cofound own direct spearhead chair captain",
}
IRREGULAR_VERBS = _groups("""
lead, led
build, built
write, wrote, written
teach, taught
run, ran
sell, sold
grow, grew, grown
make, made
drive, drove, driven
take, took, taken
cut, cutting
win, won, winning
oversee, oversaw, overseen
rebuild, rebuilt
rewrite, rewrote, rewritten
hold, held
give, gave, given
speak, spoke, spoken
bring, brought
begin, began, begun
rise, rose, risen
become, became
fall, fell, fallen
keep, kept
send, sent
spend, spent
""")
IRREGULAR_PAST = frozenset(IRREGULAR_VERBS) - frozenset(IRREGULAR_VERBS.values())
# Nouns and verbs of one stem whose endings hide it, British and American spellings, plurals. No occupations: who
# studied economics is no economist.
IRREGULAR = IRREGULAR_VERBS | _groups("""
child, children
person, people, persons
man, men
woman, women
sell, sale, sales
grow, growth
speak, speech, speeches
analyse, analysis, analyses, analytic, analytical, analytics, analyze, analyzed, analyzing, analyzes
license, licence, licences, licenced
practise, practice, practices, practised, practising, practitioner
defend, defence, defense
advise, advice, adviser, advisor, advisory
centre, center, centers
theatre, theater
fibre, fiber
programme, program, programs
science, scientific
pharmacy, pharmaceutical
history, historical
economy, economics, economic
strategy, strategic
succeed, success, successful
choose, choice, chose, chosen
prove, proof, proven
""")

# --- words that a claim may use only where its evidence does: each line is one group ---------------------

GUARDED = [
    [word.strip() for word in line.split(",")]
    for line in """
first, 1st, pioneer, pioneered, erste
best, number one, no 1, #1, ranked first
top, best, number one, no 1, ranked first
largest, biggest
smallest
highest
lowest
fastest, quickest
youngest
oldest
the only, sole
the most
leading provider, market leader, market leading, industry leading, leading, leader
world class
award winning, award, awards, awarded, prize, won, winner, medal
award, awards, awarded, prize, won, winner, medal, honour, honor
prize, award, won, winner, medal
won, win, wins, winner, award, awarded, prize, medal, secured, closed, gained
patent, patents, patented
published, publication, publications, paper, papers, article, articles, book, author
certified, certificate, certificates, certification, certifications, licensed, licence, license, accredited, cpa
licensed, licence, license, certified, registered
chartered, ceng, cphys, cchem, csci, cenv, cpsychol, mice, aca, fca, mrics, frics, acma, cgma, cfa
promoted, promotion, promote, rose, became, stepped up
renowned
expert, expertise, specialist, mastery
single handedly, alone, by myself, on my own
solely, alone, by myself, on my own, sole
from scratch, from nothing, from zero, from the ground up, greenfield
record, highest ever
global, globally, worldwide, international, internationally
worldwide, global, globally
nationwide, national, nationally
scholarship, scholarships
distinction, honours, honors, cum laude, with honours
summa cum laude
cum laude, honours, honors
founded, founder, founding, gegrundet, started my own, set up my own
founder, founded, founding, started my own, set up my own
valedictorian
director, directors, direktor, direktorin, managing director, vp, ceo
owner, owned, own, owns, founded, founder
author, authored, wrote, written, published
winner, won, prize, award, first place, medal
headmaster, headteacher, headmistress, principal, schulleiter
headteacher, headmaster, headmistress, principal, schulleiter
""".strip().splitlines()
]
