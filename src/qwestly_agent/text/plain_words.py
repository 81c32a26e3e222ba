"""Parse a message that is nothing but a yes, a no, a wish to stop or an order to change one field: one closed grammar
over the whole message, based on a single table of words. Orders are recognized in five languages, the others in seven.

A greeting and polite words at either end are ignored. Anything else is not a decision: the grammar only accepts what it
lists, and never guesses what a message may mean.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from typing import Literal, TypeAlias

Answer: TypeAlias = Literal["yes", "no"]
Change: TypeAlias = Literal["set", "add", "remove"]


@dataclass(frozen=True, eq=False)
class Language:
    """The words of a language: alternatives separated by `|`, in regular expressions."""

    greetings: str
    please: str
    yes: str
    yes_too: str
    """May follow a yes, but is not a yes on its own."""
    no: str
    stop: str
    asks: str = ""
    """Polite beginnings of an order: "could you"."""
    my: str = ""
    """Precedes the name of a field; `mine` is another way to name one."""
    mine: str = ""
    fields: Mapping[str, str] = field(default_factory=dict[str, str])
    """Names of the fields. If empty, orders are not recognized in this language."""
    orders: Mapping[Change, Sequence[str]] = field(default_factory=dict[Change, Sequence[str]])
    """Whole clauses, in which `F` is the field and `V` the value."""
    articles: str = ""
    """May precede a value."""


LISTS = frozenset({"skills", "languages", "education", "roles", "locations", "industries", "company_sizes"})
"""Fields to which a value can be added."""
_SHARED = {"headline": "headline", "skills": "skills", "summary": "bio"}
"""Names of fields in all languages."""
_SMILES = "🙏|🙂|😊"
_THUMBS: Mapping[Answer, str] = {"yes": "👍|✅", "no": "👎|❌"}

LANGUAGES = (
    Language(  # English
        greetings="hi|hello|hey|hi there|hello there|hey there|good (?:morning|afternoon|evening)",
        please="please|pls|thanks|thx|thank you|many thanks|thanks a lot|thank you very much",
        yes="yes+|yeah|yep|yup|sure|of course|absolutely|definitely|certainly|ok|okay|all right|alright|agreed"
        "|i agree|please do|(?:please )?do (?:it|that)|go ahead|go for it|sounds (?:good|great)|perfect|(?:fine"
        "|great),? (?:go ahead|do it)|approved?|i approve|accept|i accept|confirm(?:ed)?|i confirm",
        yes_too="i do|exactly|correct|right|change it|change that|make (?:the|that) change|save it|approve it"
        "|that(?:'s| is) (?:fine|good|right)|that works|(?:i want|i'd like|i would like) that|you (?:can"
        "|may)(?: do (?:it|that))?",
        no="no|nope|nah|rather not|better not|i(?:'d| would) rather not|(?:please )?(?:don't|do not)(?: (?:do"
        "|change) (?:it|that))?|(?:absolutely|certainly|definitely|of course) not|reject(?:ed)?|declined?|i decline"
        "|(?:reject|decline|leave|cancel) (?:it|that)|no need|not needed|keep (?:the|my) (?:old|current) one|(?:leave"
        "|keep) it (?:as it is|as is|like that|that way)|i (?:don't|do not) want (?:it|that|this)",
        stop=r"stop(?: (?:it|now|here))?|(?:stop|end|finish) (?:the|this) interview(?: now| here)?|(?:let's"
        r"|let us) (?:stop|end it|finish)(?: here| now| for today)?|(?:that's |that is )?enough(?: for (?:now|today))?"
        r"|(?:i want|i'd like|i would like) to (?:stop|finish|end)(?: here| now)?|(?:can|could) we stop(?: here"
        r"| now)?\??|no more questions",
        asks="(?:can|could|would|will) (?:you|u)|(?:i want|i'd like|i would like|i need) (?:you )?to",
        my="my(?: profile(?:'s)?)?",
        mine="the {} (?:on|in|of) my profile",
        fields={
            "locations": "locations|(?:preferred|target|desired) (?:work )?(?:locations?|city|cities|places?)",
            "work_mode": "work(?:ing)? (?:mode|style|arrangement)|preferred work(?:ing)? mode",
            "company_sizes": "(?:preferred )?company sizes?",
            "years_of_experience": "(?:years of )?experience",
            "headline": "tagline|(?:job )?title",
            "location": "(?:current )?location|(?:home )?(?:city|town)|place of residence",
            "summary": "summary|about(?: text| section)?|profile text",
            "skills": "skills? ?(?:set|list)?|list of skills",
            "education": "education",
            "languages": "languages?|list of languages",
            "roles": "(?:(?:preferred|target|desired) )?(?:roles?|positions?)|(?:preferred|target|desired) jobs?",
            "industries": "(?:(?:preferred|target) )?(?:industr(?:y|ies)|sectors?)",
            "availability": "availability|start date",
        },
        orders={
            "set": (
                "(?:change|update|set|switch|edit|correct|rename|move|put|make|adjust) F(?: to(?: be| say| read)?| into"
                "| as)?:? V",
                "(?:use|set|put|make|take|enter|save) V as F",
                "replace F (?:with|by) V",
                "make V F",
            ),
            "add": (
                "(?:add|include|put|append) V (?:to|in|into|on|onto|under) F(?: too| as well)?",
                "(?:add|append) to F:? V",
                "list V (?:in|under|on) F",
            ),
            "remove": ("(?:remove|delete|drop|take|strike|erase|cut) V (?:from|off|out of) F",),
        },
    ),
    Language(  # German
        greetings="hallo|hi|hey|moin|servus|guten (?:morgen|tag|abend)",
        please="bitte|bitte schön|danke|danke schön|danke sehr|vielen dank|besten dank",
        yes="ja|jep|jup|jo|klar|na klar|gerne?|sehr gerne?|natürlich|selbstverständlich|einverstanden|in ordnung|ok"
        "|okay|jawoh?ll?|jawoll|perfekt|passt|geht klar|auf jeden fall|unbedingt|nur zu|leg los|mach (?:das|es)"
        "|tu das|ich (?:stimme zu|bin einverstanden)|genehmigt|bestätigt",
        yes_too="genau|(?:das )?ist (?:gut|ok|okay|in ordnung)(?: so)?|gut so|mach(?: mal| ruhig)?|(?:so )?übernehmen"
        "|übernimm (?:das|es)|ändern|ändere? (?:das|es|sie|ihn)|(?:das )?kannst du(?: machen| tun)?"
        "|(?:das )?passt(?: so)?|so machen(?: wir(?: es)?)?|machen wir(?: das)?(?: so)?|das (?:möchte|will) ich"
        "|ich (?:möchte|will) das",
        no="nein|nö|lieber nicht|besser nicht|bitte nicht|mach (?:das|es)(?: bitte)? nicht|tu das(?: bitte)? nicht"
        "|auf keinen fall|bloß nicht|keinesfalls|natürlich nicht|nicht ändern|abgelehnt|ablehnen"
        "|ich lehne(?: das)? ab|nee?,? (?:danke|lieber nicht|lass (?:mal|es|das))|nicht nötig|brauche? ich nicht"
        "|muss nicht sein|(?:so|alles) lassen|bleibt so|lass (?:es|das|mal)(?: bitte)?(?: so)?"
        "|lass es(?: so)?,? wie es ist|das (?:möchte|will) ich nicht|ich (?:möchte|will) das nicht|ändere?(?: das"
        "| es)? nichts?",
        stop=r"stopp?|schluss(?: jetzt| für heute)?|genug(?: für heute)?|(?:(?:es|das) )?(?:reicht|genügt)(?: jetzt"
        r"| für heute)?|abbrechen|ich (?:mag|will) nicht mehr|aufhören|hör auf|hören sie auf|hören wir auf"
        r"|lass uns (?:hier )?aufhören|(?:ich (?:möchte|will)|wir können)(?: jetzt| hier)? aufhören|(?:beende"
        r"|beenden sie) (?:das|dieses) (?:interview|gespräch)|(?:das )?(?:interview|gespräch) beenden"
        r"|machen wir schluss|können wir(?: hier| jetzt)? aufhören\??|keine fragen mehr",
        asks="(?:kannst|könntest|würdest|magst) du|(?:können|könnten|würden) sie|ich (?:möchte|will|würde gerne?)",
        my="mein(?:e[nmrs]?)?(?: berufliche[nrs]?)?",
        mine="(?:die|den|das|der) {} (?:in|auf) meinem profil",
        fields={
            "locations": "wunschorte?n?|(?:bevorzugten )?(?:orten?|standorten?|städten?)",
            "work_mode": r"arbeitsmod(?:us|ell)|arbeitsweise|arbeitsform",
            "company_sizes": r"(?:unternehmens|firmen)größen?",
            "years_of_experience": "(?:berufs)?erfahrung|berufsjahre|jahre berufserfahrung",
            "headline": "überschrift|titel|kopfzeile|profilzeile|jobtitel|berufsbezeichnung|profil(?:titel"
            "|überschrift)",
            "location": "standort|wohnort|wohnsitz|ort|stadt",
            "summary": "zusammenfassung|kurzprofil|profiltext|beschreibung|profilbeschreibung",
            "skills": "fähigkeiten|kenntnissen?|kompetenzen|skill-liste",
            "education": "ausbildung|studium",
            "languages": "sprachen|sprachkenntnissen?",
            "roles": "(?:wunsch|ziel)?(?:rollen?|position(?:en)?|stellen?)|(?:wunsch|ziel)(?:beruf|job)e?s?",
            "industries": "(?:wunsch|ziel)?branchen?",
            "availability": "verfügbarkeit",
        },
        orders={
            "set": (
                "(?:ändere?|setze?|stelle?|aktualisiere|mache?|passe?|(?:ändern|setzen|stellen"
                "|aktualisieren) sie)(?: bitte)? F(?: bitte)?(?: (?:in|auf|zu|nach))?:? V(?: (?:um|ab|ein|an))?",
                "(?:ersetze?|ersetzen sie)(?: bitte)? F(?: bitte)? durch V",
                "(?:nimm|nutze|verwende|mache?|setze?|trage?|schreibe?|speichere|(?:nehmen|verwenden|tragen"
                "|setzen) sie)(?: bitte)? V(?: bitte)? als F(?: ein)?",
                "mache?(?: bitte)? V zu F",
                "F(?: bitte)? (?:in|auf|zu|nach) V (?:(?:ab|um)?ändern|(?:um)?stellen|setzen|aktualisieren)",
                "V(?: bitte)? als F (?:eintragen|setzen|verwenden|nehmen|speichern)",
                "F(?: bitte)? durch V ersetzen",
            ),
            "add": (
                "(?:füge?|fügen sie)(?: bitte)? V(?: bitte)? (?:zu )?F(?: bitte)? hinzu",
                "(?:füge?|fügen sie)(?: bitte)?(?: zu)? F(?: bitte)? V hinzu",
                "(?:ergänze?|ergänzen sie)(?: bitte)? F(?: bitte)? um V",
                "(?:ergänze?|ergänzen sie|schreibe?|setze?|pack)(?: bitte)? V(?: bitte)? (?:in|bei|zu|auf|unter) F",
                "(?:nimm|nehmen sie)(?: bitte)? V(?: bitte)? in F auf",
                "(?:trage?|tragen sie)(?: bitte)? V(?: bitte)? (?:in|bei|zu|unter) F ein",
                "V(?: bitte)? (?:zu |in |bei )?F (?:hinzufügen|aufnehmen|ergänzen|eintragen)",
                "F(?: bitte)? um V (?:ergänzen|erweitern)",
            ),
            "remove": (
                "(?:entferne?|lösche?|streiche?|nimm|(?:entfernen|löschen|streichen"
                "|nehmen) sie)(?: bitte)? V(?: bitte)? (?:aus|von) F(?: (?:raus|heraus|weg))?",
                "V(?: bitte)? (?:aus|von) F (?:entfernen|löschen|streichen|(?:raus|heraus)?nehmen)",
            ),
        },
    ),
    Language(  # Spanish
        greetings="hola|buenas|buenos días|buenas (?:tardes|noches)",
        please="por favor|porfa|gracias|muchas gracias|mil gracias",
        yes="sí|claro(?: que sí)?|por supuesto|desde luego|s[ií]i+|perfecto|está bien|vale|ok|okay|de acuerdo"
        "|estoy de acuerdo|adelante|hazlo|hágalo|dale|acepto|(?:lo )?apruebo|(?:lo )?confirmo|me parece bien"
        "|si,? (?:por favor|claro|hazlo|adelante|gracias)",
        yes_too="exacto|eso es|venga|quiero|c[aá]mbi[ae]l[oa]|haz(?:lo)? as[ií]|eso quiero|quiero eso"
        "|puedes(?: hacerlo)?|guárdalo",
        no="no|mejor no|para nada|de ninguna manera|en absoluto|(?:claro|por supuesto) que no"
        "|(?:no,? )?no l[oa] (?:hagas|haga|cambies|cambie)|(?:lo )?rechazo|rechazar|ni hablar|no es necesario"
        "|déjal[oa]|déjalo estar|prefiero (?:que )?no|no(?: lo)? quiero|déj[ae]l[oa] (?:as[ií]|como est[aá])"
        "|no hace falta|no cambies nada",
        stop=r"stop|alto|para(?: ya| aquí)?|detente|basta(?: ya)?|ya basta|(?:ya )?es suficiente|suficiente"
        r"|con eso basta|paremos(?: aquí| ya)?|terminemos(?: aquí| ya)?|quiero (?:parar|terminar)(?: aquí| ya)?"
        r"|(?:para|termina|terminemos|paremos) la entrevista|dejémoslo aquí|lo dejamos aquí|¿?podemos (?:parar"
        r"|terminar)(?: aquí| ya)?\??|no más preguntas|no quiero (?:seguir|continuar)|hasta aquí",
        asks="(?:me )?(?:puedes|podrías|puede|podría)|quiero|quisiera|me gustaría|necesito",
        my="mis?(?: perfil)?",
        mine="(?:el|la|los|las) {} de mi perfil",
        fields={
            "locations": "(?:ubicaciones|ciudades|lugares)(?: preferid[oa]s| deseadas)?",
            "work_mode": "(?:modalidad|modo) de trabajo",
            "company_sizes": "tamaños? de empresa",
            "years_of_experience": "(?:años de )?experiencia",
            "headline": "(?:titular|título)(?: profesional)?|encabezado",
            "location": "ubicación|ciudad|localidad|(?:lugar de )?residencia",
            "summary": "resumen(?: profesional)?|biografía|presentación",
            "skills": "habilidades|competencias|aptitudes",
            "education": "educación|formación|estudios",
            "languages": "idiomas?|lenguas",
            "roles": "(?:puestos?|roles?|cargos?)(?: objetivo| desead[oa]s?| preferid[oa]s?)?",
            "industries": "sector(?:es)?|industrias?",
            "availability": "disponibilidad",
        },
        orders={
            "set": (
                "(?:cámbi(?:a|e|ar|ame)|actuali(?:za|ce|zar)|modifi(?:ca|que|car)|pon|ponga|poner|ponme|ajusta"
                "|establece|establecer|corrige|edita) F(?: (?:a|por|en|como|para))?:? V",
                "(?:pon|ponga|poner|ponme|usa|use|usar|establece|guarda|guardar) V como F",
                "(?:reempla(?:za|ce|zar)|sustitu(?:ye|ya|ir)) F (?:por|con) V",
            ),
            "add": (
                "(?:añad(?:e|a|ir)|agreg(?:a|ue|ar)|inclu(?:ye|ya|ir)|pon|ponga|poner|suma|mete) V (?:a|en|entre) F",
                "(?:añad(?:e|a|ir)|agreg(?:a|ue|ar)|inclu(?:ye|ya|ir)) (?:a|en) F:? V",
            ),
            "remove": (
                "(?:quit(?:a|e|ar)|elimin(?:a|e|ar)|borr(?:a|e|ar)|sac(?:a|ar)|saque|retir(?:a|e|ar)) V (?:de|entre) F",
                "(?:quit(?:a|e|ar)|elimin(?:a|e|ar)|borr(?:a|e|ar)) de F:? V",
            ),
        },
        articles="el |la |los |las ",
    ),
    Language(  # French
        greetings="bonjour|salut|bonsoir|coucou",
        please="s'il te plaît|s'il te plait|s'il vous plaît|s'il vous plait|stp|svp|merci|merci beaucoup|merci bien",
        yes="oui|ouais|bien s[uû]r|d'accord|ok|okay|vas[- ]y|allez[- ]y|volontiers|avec plaisir|absolument"
        "|tout à fait|certainement|entendu|parfait|(?:ok|c'est (?:bon|ok)) pour moi|c'est d'accord|je suis d'accord"
        "|j'accepte|j'approuve|je confirme|je valide|je veux bien|(?:fais|faites)[- ]le|ça (?:marche|me va)",
        yes_too="exactement|(?:fais|faites|change|changez|modifie|modifiez|valide|validez)(?:[- ]l[ea]| ça)?"
        "|tu peux(?: y aller)?|vous pouvez(?: y aller)?|c'est (?:bon|parfait)|je le veux",
        no="non|nan,? merci|pas la peine|pas besoin|pas nécessaire|ce n'est pas (?:la peine|nécessaire)|surtout pas"
        "|pas du tout|plutôt pas|pas question|certainement pas|bien sûr que non|ne l[ea] (?:fais|faites|change"
        "|changez) pas|ne (?:fais|faites) pas ça|je refuse|refus[eé]r?|je préfère (?:pas|que non)|je (?:n'en"
        "|ne le) veux pas|je ne veux pas|je préfère ne pas|laisse(?:z)?(?: comme ça|[- ]l[ea] comme ça| tomber)"
        "|ne change(?:z)? (?:rien|pas)",
        stop=r"stop|arrête|arrêtez|arrêtons(?:-nous)?(?: là| ici)?|on (?:s')?arrête(?: là| ici)?|(?:arrête|arrêtez"
        r"|arrêtons|terminons) l'entretien|ça suffit(?: pour aujourd'hui)?|c'est assez|assez|(?:je veux|je voudrais"
        r"|j'aimerais|je souhaite) (?:m')?arrêter(?: là| ici| maintenant)?|terminons(?: là| ici)?|(?:je veux"
        r"|je voudrais|j'aimerais|je souhaite) (?:terminer|finir)(?: l'entretien)?(?: là| ici)?|(?:mets"
        r"|mettez) fin à l'entretien|restons-en là|fin de l'entretien|(?:peut-on|on peut) (?:s')?arrêter(?: là"
        r"| ici)? ?\??|plus de questions",
        asks="peux[- ]tu|tu peux|pourrais[- ]tu|tu pourrais|pouvez[- ]vous|pourriez[- ]vous|vous pouvez"
        "|est-ce que (?:tu peux|vous pouvez)|je veux|je voudrais|j'aimerais|je souhaite|merci de",
        my="(?:mon|ma|mes)(?: profil)?",
        mine="(?:le |la |les |l'){} (?:de|sur) mon profil",
        fields={
            "locations": "(?:lieux|villes)(?: préféré[e]?s| souhaité[e]?s)?",
            "work_mode": "mode de travail",
            "company_sizes": "tailles? d'entreprise",
            "years_of_experience": "(?:années d')?expérience",
            "headline": "titre(?: professionnel| de profil)?|intitulé|accroche",
            "location": "localisation|(?:ville|lieu)(?: de résidence)?",
            "summary": "résumé(?: de profil)?|présentation",
            "skills": "compétences?",
            "education": "formations?|études|diplômes?",
            "languages": "langues?",
            "roles": "(?:postes?|rôles?)(?: souhaités?| visés?| recherchés?| cibles?)?",
            "industries": "secteurs?",
            "availability": "disponibilités?",
        },
        orders={
            "set": (
                "(?:chang(?:e|ez|er)|modifi(?:e|ez|er)|mets|mettez|mettre|pass(?:e|ez|er)|actualis(?:e|ez|er)"
                "|corrig(?:e|ez|er)|(?:mets|mettez|mettre) à jour|règle|défini[rs]) F(?: (?:en|à|par|pour|sur|avec"
                "|comme))? ?:? V",
                "(?:mets|mettez|mettre|utilis(?:e|ez|er)|prends|prenez|indiqu(?:e|ez|er)) V comme F",
                "remplac(?:e|ez|er) F par V",
            ),
            "add": (
                "(?:r?ajout(?:e|ez|er)|inclus|incluez|inclure|mets|mettez|mettre) V (?:à|dans|en|parmi) F",
                "r?ajout(?:e|ez|er) (?:à|dans) F ?:? V",
            ),
            "remove": (
                "(?:retir(?:e|ez|er)|supprim(?:e|ez|er)|enlèv(?:e|ez|er)|effac(?:e|ez|er)|ôte) V de F",
                "(?:retir(?:e|ez|er)|supprim(?:e|ez|er)|enlèv(?:e|ez|er)) de F ?:? V",
            ),
        },
        articles="l'|le |la |les ",
    ),
    Language(  # Portuguese
        greetings="olá|oi|bom dia|boa (?:tarde|noite)",
        please="por favor|se faz favor|obrigad[oa]|muito obrigad[oa]",
        yes="sim|tá bom|está (?:bom|bem)|perfeito|claro(?: que sim)?|com certeza|certamente|ok|okay|de acordo"
        "|concordo|(?:eu )?aceito|aprovo|confirmo|combinado|podes?(?: fazer| mudar| alterar| avançar)?|vai em frente"
        "|vá em frente|avança|avance|(?:faz|faça) isso",
        yes_too="exato|isso mesmo|quero(?: isso| sim)?|faz|faça|mud[ae](?: isso)?|alter[ae](?: isso)?|pode ser",
        no="n[ãa]o|melhor não|não (?:faças|faça)(?: isso)?|não (?:mudes|mude|alteres|altere)(?: nada)?|de (?:maneira"
        "|forma) nenhuma|de modo nenhum|de jeito nenhum|não (?:é preciso|precisa|é necessário)|nem pensar"
        "|claro que não|prefiro (?:que )?não|(?:eu )?recuso|rejeito|recusar|rejeitar|não quero(?: isso)?"
        "|deix[ae] (?:estar|assim|como está)",
        stop=r"stop|para|pare|parar|basta|(?:já )?chega(?: por hoje)?|(?:já )?é suficiente|suficiente|(?:quero"
        r"|gostaria de|queria) (?:parar|terminar)(?: aqui| agora| por aqui)?|vamos (?:parar|terminar)(?: aqui| agora"
        r"| por aqui)?|paramos por aqui|(?:podes? )?(?:para|pare|parar|termina|termine|terminar|encerra|encerre"
        r"|encerrar) (?:a|esta) entrevista|podemos (?:parar|terminar)(?: aqui| agora| por aqui)?\??|fim da entrevista"
        r"|chega de perguntas",
        asks="(?:você )?(?:podes?|poderias?|podias?)|consegues|quero|queria|gostaria de|gostava de|preciso(?: de)?",
        my="(?:[oa]s? )?(?:meus?|minhas?)(?: perfil)?",
        mine="[oa]s? {} do meu perfil",
        fields={
            "locations": "(?:localizações|cidades|locais)(?: preferid[oa]s| desejad[oa]s)?",
            "work_mode": "(?:modo|regime|modelo|modalidade) de trabalho",
            "company_sizes": "tamanhos? d[ae] empresa",
            "years_of_experience": "(?:anos de )?experiência",
            "headline": "título(?: profissional)?",
            "location": "localização|(?:cidade|local)(?: de residência)?",
            "summary": "resumo(?: profissional)?|biografia|apresentação",
            "skills": "competências?|habilidades?|aptidões",
            "education": "educação|formação|estudos",
            "languages": "idiomas?|línguas?",
            "roles": "(?:cargos?|função|funções|vagas?)(?: alvo| desejad[oa]s?| pretendid[oa]s?)?",
            "industries": "set(?:or|ores)|indústrias?",
            "availability": "disponibilidade",
        },
        orders={
            "set": (
                "(?:mud(?:a|e|ar)|alter(?:a|e|ar)|tro(?:ca|que|car)|atuali(?:za|ze|zar)|põe|ponha|pôr|colo(?:ca|que"
                "|car)|defin(?:a|e|ir)|modifi(?:ca|que|car)|corri(?:ge|ja|gir)|ajust(?:a|e|ar)|pass(?:a|e|ar)"
                "|edit(?:a|e|ar)) F(?: (?:para|pra|pro|por|em|como|a))?:? V",
                "(?:põe|ponha|pôr|colo(?:ca|que|car)|us(?:a|e|ar)|defin(?:a|e|ir)) V como F",
                "substitu(?:i|a|ir) F por V",
            ),
            "add": (
                "(?:adicion(?:a|e|ar)|acrescent(?:a|e|ar)|inclu(?:i|a|ir)|junt(?:a|e|ar)|inser(?:e|ir)|insira|põe"
                "|ponha|colo(?:ca|que|car)) V (?:às?|aos?|n[oa]s?|em|a) F",
                "(?:adicion(?:a|e|ar)|acrescent(?:a|e|ar)|inclu(?:i|a|ir)) (?:às?|aos?|n[oa]s?) F:? V",
            ),
            "remove": (
                "(?:remov(?:e|a|er)|tir(?:a|e|ar)|retir(?:a|e|ar)|elimin(?:a|e|ar)|apag(?:a|ue|ar)|exclu(?:i|a"
                "|ir)) V d(?:[oa]s?|e) F",
                "(?:remov(?:e|a|er)|tir(?:a|e|ar)|retir(?:a|e|ar)|elimin(?:a|e|ar)) d(?:[oa]s?|e) F:? V",
            ),
        },
        articles="o |a |os |as ",
    ),
    Language(  # Italian
        greetings="ciao|salve|buongiorno|buonasera",
        please="per favore|per piacere|grazie|grazie mille|molte grazie",
        yes="sì|certo|certamente|va bene|d'accordo|volentieri|assolutamente|ok|okay|perfetto|procedi|confermo|accetto"
        "|sono d'accordo|si,? (?:grazie|per favore|certo|va bene)",
        yes_too="vai(?: pure)?|fallo|fai pure|fai così|cambialo|cambiala|esatto",
        no="no|meglio di no|preferisco di no|assolutamente no|per niente|non (?:farlo|cambiarlo|cambiarla)|rifiuto"
        "|lascia (?:stare|perdere|così)|non serve|non è necessario|non voglio",
        stop="stop|basta(?: così| per oggi)?|fermati|fermiamoci(?: qui)?|finiamo(?:la)? qui|(?:voglio"
        "|vorrei) (?:smettere|fermarmi|finire)(?: qui)?|può bastare",
    ),
    Language(  # Dutch
        greetings="hoi|hallo|hey|goedemorgen|goedemiddag|goedenavond",
        please="alsjeblieft|alstublieft|aub|graag|dank je(?: wel)?|dankjewel|dank u(?: wel)?|bedankt",
        yes="ja|jep|jazeker|zeker|natuurlijk|akkoord|prima|is goed|ok|oké|okay|doe maar|ga je gang|ik ga akkoord"
        "|perfect",
        yes_too="doe dat(?: maar)?|dat is goed|dat mag|pas (?:het|dat) (?:maar )?aan|verander (?:het|dat)(?: maar)?"
        "|precies",
        no="nee|liever niet|beter niet|nee hoor|doe (?:dat |het )?(?:maar )?niet|absoluut niet|zeker niet"
        "|laat (?:maar|zo)|hoeft niet|niet nodig|ik wil (?:dat|het) niet",
        stop=r"stop(?: maar)?|genoeg(?: voor (?:vandaag|nu))?|zo is het genoeg|(?:ik wil|laten we)(?: nu"
        r"| hier)? stoppen|kunnen we(?: nu| hier)? stoppen\??",
    ),
)


# --- yes, no, stop ----------------------------------------------------------------------------------------------------

LONGEST_CHARACTERS = 60
_TINTS = re.compile("[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]")
_END = r"(?: ?(?:\.|!{1,3}))?"


def answer_in(text: str) -> Answer | None:
    """Return the answer if the message is nothing but an answer."""
    words = _folded(text)
    if len(words) > LONGEST_CHARACTERS:
        return None
    return next(
        (answer for answer, wholes in _answers().items() if any(each.fullmatch(words) for each in wholes)), None
    )


def is_stop(text: str) -> bool:
    """True if the message only asks to stop."""
    words = _folded(text)
    return len(words) <= LONGEST_CHARACTERS and any(each.fullmatch(words) for each in _stops())


@cache
def _answers() -> Mapping[Answer, Sequence[re.Pattern[str]]]:
    return {
        "yes": [_whole(each, _joined(each, f"{each.yes}|{_THUMBS['yes']}", each.yes_too)) for each in LANGUAGES],
        "no": [_whole(each, _joined(each, f"{each.no}|{_THUMBS['no']}")) for each in LANGUAGES],
    }


@cache
def _stops() -> Sequence[re.Pattern[str]]:
    return [_whole(each, f"(?:{each.stop})") for each in LANGUAGES]


def _joined(language: Language, first: str, more: str = "(?!)") -> str:
    """Return the pattern for one answer, or for two that are not the same word twice."""
    again = rf"(?P=said)(?:,? (?:{language.please}))?[.! ]*$"
    then = rf"(?:(?:{language.please}),? )?(?!{again})(?:{first}|{more})"
    return rf"(?P<said>{first})(?:(?:[,.!] ?| ){then})?"


def _whole(language: Language, core: str) -> re.Pattern[str]:
    return re.compile(
        rf"[¡¿]?(?:(?:{language.greetings})(?:[,!.] ?| ))?(?:(?:{language.please}),? )?[¡¿]?{core}"
        rf"(?:(?:[,.!] ?| )(?:{language.please}))?{_END}(?: (?:{_SMILES}))?"
    )


def _folded(text: str) -> str:
    """Normalize case and Unicode form. A line break is kept, and matches no rule."""
    return _TINTS.sub("", unicodedata.normalize("NFC", text)).lower().replace("’", "'").strip()


# --- orders -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Order:
    """An order to change one of the person's own fields."""

    change: Change
    field: str
    value: str
    """The value as typed."""
    language: Language


_GAP = "\ue000"
"""Placeholder for the field; a private-use character, so that it means nothing in typed text."""
_QUOTES = ("“”", "„“", "„”", '""', "''", "‘’", "«»", "‹›", "»«")
_AND = r"(?:\s*,\s*(?:(?:and|und|y|e|et)\s+)?|\s+(?:and|und|y|e|et)\s+|\s*&\s*)"
_PLAIN = {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"} | dict(zip("áàâãçéèêíîñóôõú", "aaaaceeeiinooou", strict=True))
_YEARS = r"(?:\s+(?:years?|jahre?n?|años?|ans?|anos?))?"


def orders_in(text: str) -> Iterator[Order]:
    """Yield the readings of a message that is a single order and nothing else; usually none or one."""
    said = unicodedata.normalize("NFC", text).replace("’", "'").strip().lstrip("¡¿").strip()
    if "\n" in said or _GAP in said:
        return
    for language in filter(lambda each: each.fields, LANGUAGES):
        mine = list(_fields(language, language.my).finditer(said))
        if len(mine) > 1:  # a second field would be a second order
            continue
        for found in mine or _fields(language).finditer(said):
            clause = said[: found.start()] + _GAP + said[found.end() :]
            yield from _orders(language, _field_of(language, next(filter(None, found.groups()))), clause)


def _orders(language: Language, field_name: str, clause: str) -> Iterator[Order]:
    for change, clauses in language.orders.items():
        if change == "set" or field_name in LISTS:
            for found in filter(None, (_order(language, each).fullmatch(clause) for each in clauses)):
                value, end = found["value"], found.end("value")
                if value[-1] not in "?…":
                    yield Order(change, field_name, value, language)
                    yield from [Order(change, field_name, f"{value}.", language)] if clause[end:] == "." else []


def names_exactly(order: Order, values: Sequence[Sequence[str]]) -> bool:
    """True if the order's value consists of exactly these items, each in one of its spellings: verbatim, except for the
    case of a word's first letter, quotation marks around the item and an article before it."""
    return _consists_of(order, order.value, list(values))


def _consists_of(order: Order, text: str, items: list[Sequence[str]]) -> bool:
    if not items:
        return not text
    years = _YEARS if order.field == "years_of_experience" else ""
    article = rf"(?i:{order.language.articles})?" if order.language.articles else ""
    for at, spellings in enumerate(items):
        rest = items[:at] + items[at + 1 :]
        for written in chain.from_iterable(map(_written, spellings)):
            found = re.match(rf"{article}{written}(?i:{years})(?:{_AND if rest else '$'})", text)
            if found and _consists_of(order, text[found.end() :], rest):
                return True
    return False


def _written(value: str) -> Iterator[str]:
    """Yield patterns for the value as people write it."""
    words = unicodedata.normalize("NFC", value).replace("’", "'").split()
    plain = r"\s+".join(f"[{re.escape(each[0].lower() + each[0].upper())}]{re.escape(each[1:])}" for each in words)
    yield plain
    yield from (f"{re.escape(first)}{plain}{re.escape(last)}" for first, last in _QUOTES)


@cache
def _fields(language: Language, my: str = "") -> re.Pattern[str]:
    """Return the pattern for a field; with `my`, only for the person's own."""
    names = "|".join(map(_loose, (*language.fields.values(), *_SHARED.values())))
    mine = f"{my} ({names})|{language.mine.format(f'({names})')}" if my else f"({names})"
    return re.compile(rf"(?<!\w)(?:{mine})(?!\w)", re.IGNORECASE)


def _field_of(language: Language, name: str) -> str:
    return next(
        field
        for field, names in chain(language.fields.items(), _SHARED.items())
        if re.fullmatch(_loose(names), name, re.IGNORECASE)
    )


@cache
def _order(language: Language, clause: str) -> re.Pattern[str]:
    clause, please, asks = map(_loose, (clause, language.please, language.asks))
    core = re.sub(r"\bV\b", r"(?P<value>\\S.*?)", re.sub(r"\bF\b", _GAP, clause))
    return re.compile(
        rf"(?:(?:{language.greetings})(?:[,!.] ?| ))?(?:(?:{please}),? )?(?P<asks>(?:{asks}) )?(?:(?:{please}),? )?"
        rf"{core}(?:,? (?:{please}))?(?(asks) ?[.!?]?|[.!]?)(?: (?:{please})[.!]?)?(?: (?:{_SMILES}))?",
        re.IGNORECASE,
    )


def _loose(pattern: str) -> str:
    """Extend the pattern to also match the words without accents, as people type in a hurry."""
    return re.sub("[^\x00-\x7f]", lambda found: f"(?:{found[0]}|{_PLAIN.get(found[0], found[0])})", pattern)
