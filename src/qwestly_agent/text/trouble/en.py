"""Phrases of people in trouble, in English."""

from qwestly_agent.text.trouble.en_harmless import HARMLESS, LONG_AGO
from qwestly_agent.text.trouble.en_words import WORDS
from qwestly_agent.text.trouble.patterns import Language

ENGLISH = Language(
    code="en",
    apostrophe="",
    first_person="i, im, ive, id, ill, imma, iam, me, my, myself",
    begins="""
        and, but, just, really, so, honestly, sometimes, still, now, kinda, literally, also, only, even, always, tbh,
        because, cause, cuz, bc, then, or, lol, idk, maybe, again, please, guys, hi, hey, sorry, feel like, yes
    """,
    others=r"""
        who, that they, theyre, they, people, persons?, patients?, clients?, callers?, residents?, he, she, hes, shes,
        someone, somebody, anyone, anybody, kids?, teens?, teenagers?, students?, children, you, youre, we,
        characters?,
        users?, women, men, veterans?, inmates?, prisoners?, colleagues?, coworkers?, friends?, writers?, victims?,
        experience\w*, treat\w*, assess\w*, manag\w*, prevent\w*, research\w*, stud(?:y|ied|ying), support\w*,
        counsel\w*, train(?:ed|ing|er)\w*, screen\w*, talk, talked, talking, wrote, write, writing, teach\w*, taught,
        interview\w*, rescu\w*, saved?, answer\w*, film\w*, book, novel, nurse, police\w*, therapist, volunteer\w*,
        work with, worked with, working with, help those, boss, project, company
    """,
    words=WORDS,
    self_harm=r"""
        I ~ burn(?:ed|t|ing)? (?:myself|my (?:arms?|legs?|skin)) with (?:a )?(?:cigarettes?|lighter|iron)
        (?:thinking|think|thoughts?|dreaming) (?:of|about) (?:jumping|throwing myself)
             (?:off|from|in front of) (?:a|the|my|this|that) (?:bridge|roof|balcony|building|cliff|train|platform)
        I ~ (?:put(?:ting)?|sav(?:ed|ing)|hoard(?:ed|ing)|collect(?:ed|ing)|stockpil(?:ed|ing))
             (?:\w+ ){0,3}?{pills}(?: aside| up)?(?: for| ,|$)
        i (?:\w+ )?(?:burn|burned|burnt|cut|scratch|scratched|slice|carve) my (?:own )?(?:arms?|legs?|thighs?|skin|
            wrists?|stomach)(?! (?:on|at work|cooking))
        (?:when|after|once|if|until|before) (?:im|i am|i was|i were) dead
        (?:suffer|suffers|hurt|bothered|burdened|have to worry) (?:\w+ )?(?:because of|about|by) me (?:anymore|
            any more|again|any longer)
        (?:wont|will not|dont|no longer) (?:be )?(?:need|needing) (?:\w+ ){0,4}?where im going
        (?:tonight|today|tomorrow|this weekend|this week) (?:it|everything) (?:all )?(?:ends|will end|is over|
            will be over) for me
        I {want} (?:{to} |of |for me to )?{die}
        I {want} (?:{to} |of )?{ending}
        I (?:could|should|might|may|will|ill|would|must|can|id|just|finally|tonight) (?:just |actually |
            really )?(?:kill {self}|end it all|end my life|hang {self}|shoot {self}|take my (?:own )?life|
            slit my wrists?|harm {self}|do it tonight|unalive {self}|kms)
        I (?:think|thinking|thinkin|thought|thoughts|consider|considering|contemplat\w+|fantasi\w+|dream|dreaming|
            daydream\w*|imagin\w+|obsess\w*|picture|picturing|googl\w+|planning|urge|urges|ideas?|voices?|afraid|
            scared|risk|closer?|resist\w*|stop {self}|idea) ~ (?:about|of|to|on|from|how to|
            me to)? ?(?:just )?(?:{ending}|how to die|ways to die|suicide|sucide|suicde|my own death|being dead|
            dying every|dying all|dying tonight|jumping|killing)
        I (?:keep |cant stop |always |constantly )?(?:thinking|think) (?:only )?about (?:how|when|
            where)(?: and (?:how|when|where))? (?:id|i would|ill|i will|i could|im going to|to) (?:do it|go|die|
            end it)(?= ,|$| and| but| all| at night)
        I (?:decided|know|planned|figured out|worked out) (?:\w+ ){0,2}?(?:how|when)(?: and (?:how|when|
            where))? (?:id|i would|ill|i will|im going to) (?:do it|go|die|end it)\.
        I (?:constantly |always |only |just |keep )*(?:think|thinking|dream|fantasi[sz]e) (?:\w+ )?(?:about|
            of) (?:death|dying)(?! (?:industry|languages?|art|trade|patients?|with dignity|and (?:grief|bereavement)))
        I ~ (?:suicidal|suicide|self harm) (?:thoughts?|ideations?|urges?|plans?|feelings?|tendencies|impulses|note|
            letter|attempt)
        (?:i am|im|iam|i feel|i have been|ive been|i was feeling|im getting|im becoming|^feeling|, feeling|
            i keep feeling) (?:so |very |really |actively |feeling |pretty |quite |kinda |kind of |a bit |extremely |
            super |again |deeply |depressed and |lonely and |desperate and |passively )*(?:suicidal|sucidal|suicidle|
            suicidial)
        (?:better|happier|easier|relieved|fine|nicer|good) (?:\w+ ){0,4}?(?:dead|without me|if i {gone})
        better off with (?:\w+ ){0,5}?than with me
        (?:wish|wishing|hope|hoping|pray|praying|rather|prefer|want) (?:to god |to |that |every \w+ |so much |really |
            just |sometimes |often |secretly )*(?:i|id|i would|id just|i could|i just|i would just|i simply|
            i can) ?(?:could |would |can |just |simply |had |never |not |wont |dont |do not |be |have |
            ever )*(?:{gone}|dead|die|not exist|wake up again|wake up(?! (?:at|early|before|earlier))|been born|born|
            exist|be here|alive|disappear|vanish|sleep forever|go to sleep|fall asleep|end it|stop existing|evaporate)
        (?:wish|hope|hoping|pray) ~ (?:would|will) (?:just |finally )?(?:kill|hit|take|end|finish|shoot|run over) me
        (?:dont|do not|don t|doesnt|didnt|no longer|never|dnt|duno|not sure|dunno|hard to find|cant find|cant see|
            can t see|cannot see|cant think of) (?:know |even |really |think |if |how |why |when |actually |honestly |
            just |seem to |ever |i |im |that |much |truly )*(?:want|wanna|wana|wish|care|see|have|feel like|find|got|
            deserve|can|should|will|need|believe|like|intend|plan|be able|could|how|why|any|a)? ?(?:i |if |whether |
            about |of |in |to |too |2 |me |for |my |am |im |any |a |the |more |real |good |single |much |point |
            reason |reasons |sense |purpose |future |will |desire |strength |meaning |energy |even |just |should |
            can |ill |keep |want |really |anything |worth |supposed |be able |left )*{live}
        (?:no|without any|without a|zero|lost my|lost the|lost all|lost any|ran out of|run out of|out of|losing my|
            losing the|losing all|hardly any|havent any|any|isnt any|not a|not one|not a single|whats the|what is the|
            wheres the|where is the|see the|is there any|is there a|what) (?:more |longer |real |single |good |other |
            damn |fucking )?(?:reasons?|points?|will|desire|purpose|strength|hope|motivation|wish|sense|meaning|
            energy|cause|use|left) (?:left |anymore |here |for me |there |is there |even |at all |really )*(?:to|in|
            of|for|why)? ?(?:even |keep |me |my |i |should |me to |go |be |continue )*{live}
        (?:nothing|no one|nobody|not much|little|noone) (?:left |more |is )?(?:to|worth) (?:live|living|keep living|
            stay alive|stay|staying|carry on)(?: for)?
        (?:cant|can t|cannot|dont|do not) (?:even )?see (?:a|any) (?:other )?way out(?! of (?:the|my) (?:contract|
            industry|sector|role))
        (?:see|sees|is|theres|there is|find|have|got|like|be|seeing|was|know|of|and|with|are|found|
            only) (?:absolutely |really |just |simply |literally |there is |theres |any |only )*(?:no|not any|one|
            zero|any) (?:other |more |real )?(?:way out|escape|exit)(?! of| plan| room| interview| clause| strategy|
             fee| package| option)
        (?:there is|theres|see|with|and) no (?:other )?way out\.
        (?:life|living|it|anything|existence|existing) (?:is|isnt|is not|isn t|aint|just|really|feels|no longer|
            doesnt|does not|not|even|simply|seem|seems|feel|its|anymore) (?:not |no longer |just |hardly |seem |feel |
            be |is |isnt |really |even |barely )*worth (?:it anymore|it any more|living|going on|continuing|waking|
            the pain|it to me|it\.)
        (?:not|isnt|never|hardly|aint|makes it|make it|no life) worth (?:living|being alive)
        (?:tired|sick|exhausted|done|fed up|weary|finished|through|over) (?:of|with|from|by) (?:just |always |even |
            all of |this |my |the )*(?:living(?! (?:in|at|near|with|out|off|on|away)\b)|being alive|
            life(?! (?:sciences?|insurance|in|at|as|on|coach\w*))|existing|existence|surviving|breathing|
            staying alive|fighting my)
        (?:cant|can t|cannot|can not|couldnt|cnat|cant even|unable to|dont think i can|wont be able to|not able to|
            no longer able to) (?:just |really |possibly |even |simply |do |seem to |keep |take |see myself |bear to |
            bare to |stand to |physically |honestly |fucking )*(?:go on(?! (?:holiday|vacation|leave|site|stage|
            camera|with|a|the|to)\b)|going on|{live}|keep going\.|keep going (?:anymore|any more|like this|on|,)|
            (?:take|bear|stand|handle|endure|deal with|do|fight|cope with) (?:it|this|this life|life|the pain|
            being alive|living|my life|existing|things) (?:anymore|any more|any longer)\.|stop (?:\w+ ){0,4}(?:cut\w*|
            killing|suicide|dying|death|die|hurting|harming)|cope anymore|see a future\.|see any future\.|
            see tomorrow)
        (?:want|need|wish|like|make|please|wanted|all i want is for|hoping for|begging for|wanting) (?:for )?(?:it|
            this|everything|it all|this all|all of it|all of this|the pain|my pain|the noise|the thoughts|my life|
            the suffering|life|all this|the voices|this pain|things|this life|this nightmare) (?:all |finally |just |
            to |really |fucking |would )*(?:end|stop|be over|be done|over|go away forever|go dark)\.
        (?:the |my |a |some |enough |loaded |these |full of )(?:sleeping )?{means} (?:is |are |right |all |already |
            sitting |lying |ready |tied |here |loaded |now )*(?:next to me|beside me|in front of me|in my hands?|
            on my lap|counted|by my bed|to my head|to my (?:wrist|temple)|in my mouth|under my (?:pillow|bed)|
            laid out|lined up|saved up|on the bed|on my bed|round my neck|around my neck|ready|in my drawer|
            on the table|on my nightstand|waiting|hidden)
        (?:got|have|bought|holding|hold|hoarding|hoarded|saving|saved|stockpil\w+|counting|counted|staring|looking|
            grabbed|stashed|tied|collected|collecting|sitting|sit|stocked|ordered|found|finally bought|with) (?:up |
            out |together |enough |all |my |the |a |some |at |sleeping |bottle |of |loaded |full |here |dads |
            fathers |husbands |these |those |already |with |in my car |here with )*(?:{means}) (?:next|beside|
            in front|in my hand|in my hands|ready|counted|and|to|tonight|now|right|so|hidden|here|for when|
            for tonight|just in case|by|on|up|upstairs|under)
        I ~ {took} (?:\w+ ){0,4}?{many} (?:\w+ ){0,4}?{pills}(?! of)
        I {took} (?:\w+ ){0,4}?{many} (?:\w+ ){0,4}?{pills}(?! of)
        (?:i|ive|i have|just|already|^) ?(?:just |already |have )?(?:took|taken|swallowed|drank|drunk|
            downed) (?:an overdose|all (?:of )?my|all the|all of (?:the|them|it)|bleach|drain cleaner|rat poison|
            antifreeze|the whole (?:bottle|box|pack|packet|lot|strip)|too many (?:pills|of))(?! (?:time|energy|
            courses|vacation|classes|leave|savings|holidays|trainings?|certifications?))
        (?:i overdosed|i have overdosed|ive overdosed|i just overdosed|just overdosed|overdosed on|i od ed|i oded|
            im overdosing|ive just overdosed)
        I (?:wrote|writing|written|write|have|finished|leaving|left|drafted|
            wrote out) (?:\w+ ){0,4}?(?:suicide (?:note|letter)s?|goodbye (?:letter|note|message|
            video)s? to my (?!team|colleagues|boss|manager|students|clients)\w+|goodbyes\.|goodbye (?:letter|
            note)s?\.|notes? for my (?:kids|parents|family|mom|mum|wife|husband|daughter|son)|will and)
        (?:standing|sitting|stood|stand|sit|here|am|im) (?:here |right now |alone |now )?(?:on|at|by|in|near) (?:the|
            a|my|this) (?:edge|ledge|roof|rooftop|bridge|railing|platform|tracks|balcony|train tracks|railway|cliff|
            window ledge|windowsill|overpass|parking garage|viaduct)(?! (?:business|engineer\w*|team|project|role|
            tender|program\w*))
        (?:this is|its) (?:my )?(?:goodbye|last (?:message|goodbye|night alive|day alive|day on earth|night on earth))
        (?:i|ill|i will|i wont|i probably wont|i might not|im not going to|i dont think ill|i doubt ill) (?:not |ll |
            probably |wont |even |still )*be (?:here|alive|around|dead|gone|alive to see) {here}
        (?:not|wont|wouldnt) be (?:here|alive) {here}
        I (?:cutting|cut|burning|burned|burn|hurting|hurt|harming|harm|harmed|scratching|starving|hitting|punching|
            slicing|sliced|carving|biting|cutted|bruising) (?:and \w+ )?{self} (?:again|every|when|whenever|because|
            since|to (?:feel|cope|get through|sleep|punish|calm|deal|numb|release|survive|stop)|on purpose|
            for (?:years|months|weeks|a while|the first)|at night|daily|lately|so|just to|and (?:i|cant|it|nobody|no|
            hide|hiding|im)|but|last night|tonight|until|badly|deliberately|intentionally|with (?:a|the|my) (?:blade|
            razor|knife|lighter|scissors)|after|most|almost|like|more)
        (?:i keep|ive been|i have been|been|keep|started|cant stop|im|i am|i started|back to|started to|went back to|
            i cope by|i only cope by|stop|urge to|into|by|again|i was|was) (?:on |been |just |still |
            secretly )*(?:cutting|burning|hurting|harming|slicing|scratching|punching|hitting) {self}(?! (?:off|short|
            some|out))
        (?:i keep|ive been|i have been|i started|started|im|i am|back to|relapsed and|into|been|again|i|keep) (?:on |
            back to |been |been secretly |secretly )*(?:cutting (?:again|my \w+|every|at night|since|to cope|lately|
            deeper)|self harming|selfharming|self harm|selfharm|self harmed|self injuring|
            self harm again)\b(?! (?:policy|risk|nurse|team|unit|assess\w*|prevent\w*|patients?|training))
        i (?:\w+ )?(?:slit|cut|slashed|sliced) my (?:wrists?|arms?|thighs?|legs?|veins?|skin)
        (?:relapsed|relapsing) (?:on |with |into )?(?:self harm|cutting)
        I (?:kms|unalive {self}|unaliving {self}|ctb|sewerslide)
        (?:going to|gonna|will|ill|finally) (?:kms|end it all|end it tonight|end my (?:own )?life|kill {self}|
            hang {self}|shoot {self}|take my own life)
        (?:ill|i will|going to|gonna|and) (?:driv(?:e|ing)|ram) (?:my car |it )?(?:into|off) (?:a|
            the) (?:\w+ )?(?:tree|wall|bridge|pillar|cliff|truck|river)
        killing {self} (?:tonight|today|tomorrow|soon|is|seems|would|feels|now|every|and|again|because|lately|since|
            \.)
        (?:end it all|end my (?:own )?life|end my suffering|end my misery|ending my (?:own )?life|ending it all|
            ending everything)
        (?:nobody|no one|noone|not a soul|nobody even|who|anyone|no body|hardly anyone|people) (?:would |will |d |
            wouldnt |wont |even |really |actually |ever )*(?:miss me|notice (?:if|when|that) i {gone}|care (?:if|
            whether|when) i (?:{gone}|live|die|lived)|(?:care|notice|mind) (?:when|if|that) im gone|cry (?:at my|
            if i)|come to my funeral|find me until|would miss me)
        (?:care|matter|matters|mind|cares|wonder|sure|know) (?:anymore |at all |even |much )?(?:if|whether) i (?:live|
            die|am alive|wake up|lived|died|want to live|will be alive|make it through)
        (?:a |such a |nothing but a |just a |only a )(?:huge |big )?burden (?:to|on|for) (?:everyone|everybody|my \w+|
            all|them|the people)(?! (?:team|company|budget|department|manager|employer|colleagues))
        life (?:has|holds|makes) no (?:more |longer )?(?:meaning|point|sense|value|purpose)
        (?:know|sure) how much longer i can (?:stay alive|live|go on|hold on|keep living|keep going\.|survive|
            take this\.)
        my life (?:is over|has no (?:meaning|point|value|worth|purpose|sense)|means nothing|is pointless|is worthless|
            is meaningless|isnt worth|should end|doesnt matter|does not matter|has to end|has no meaning for me|
            is not worth|makes no sense)
        (?:everything|it all|life|living|my existence|being alive|my life) (?:is|feels|seems|has become|just feels|
            just seems) (?:so |completely |totally |just |utterly |all )*(?:pointless|meaningless|unbearable|
            hopeless and|hopeless anymore|not worth it)
        there(?:s| is) nothing (?:left |more )?(?:for me here|for me anymore|for me\.|to live|worth living|
            left for me|keeping me (?:here|alive))
        i (?:have )?(?:decided|chosen|made up my mind|set a date|picked a date|have a plan|have a date|got a plan|
            have it planned|planned it|have planned) (?:\w+ ){0,2}?(?:to (?:die|end|kill|leave this)|for my (?:death|
            suicide)|how to (?:die|do it)|how ill do it|how i will do it|, (?:tonight|tomorrow))
        (?:easiest|painless|quickest|best|fastest|quick|easy|peaceful|how many \w+|how much \w+|least painful|
            less painful) (?:and \w+ )?(?:ways?|methods?|does it take|do i need|would it take|it takes|to take|
            would i need|it take) (?:for me )?(?:to|of|for) (?:die|kill(?:ing)? {self}|dying|end(?:ing)? (?:it all|
            my life|it|everything)|suicide|hang {self}|overdose|commit|go\.)
        why (?:am i|should i|do i|bother|would i|i am|im|i should|i) (?:even |still |keep |be |bother |just |on |to |
            even )*(?:alive|living\.|living anymore|live\.|exist|existing|breathing|stay alive|keep living|
            go on living|be alive|continue living|live anymore)
        i (?:hate|loathe|despise) (?:being alive|living|existing|my life and (?:want|wish|i)|waking up|
            myself and (?:want|wish|i))
        i (?:dont )?(?:deserve to (?:die|suffer|be dead|live|be alive)|shouldnt be alive|should not be alive|
            shouldnt exist|should be dead|should have died|shouldve died|shouldve never been born|
            should never have been born|belong dead|was never meant to)
        (?:before|until|unless|if|case|that|afraid|scared|worried) (?:i|ill|i will|i might|im going to|
            i would) (?:kill|hurt|harm|end|cut|do something to) (?:{self}|it all|my life)
        i (?:might|could|will|may|am going to|m going to|m scared ill|m afraid ill|am afraid i will|feel like ill|
            feel like i might|think i might|think ill) (?:do something (?:stupid|to myself|bad|terrible|final|
            permanent|to hurt|irreversible)|not survive|not make it (?:through|to|until)|hurt {self})
        (?:dont|do not|don t|cant|cannot|no longer) (?:\w+ )?trust myself (?:tonight|alone|to be alone|right now|
            around|anymore|not to|with (?:the|my) (?:pills|knife|knives|meds|gun|car))
        (?:not|dont feel|isnt|never|dont|dont really feel|am i) safe (?:with|from|around) (?:{self}|my own)
        im not safe (?:right now|tonight|alone|anymore|being alone)
        ^(?:please |just |somebody |someone )*(?:kill me|put me out of my misery|let me die)\.
        I ~ (?:life|living) (?:anymore|any more|any longer)\.
        my (?:own )?suicide(?! (?:squad|prevention|research|hotline|line))
    """,
    violence=r"""
        my (?:own |abusive |drunk |soon to be |violent |controlling |
            now )*{dear} (?:\w+ ){0,6}?{hits} (?:and \w+ )?(?:up |on |the hell out of )?(?:me(?! (?:up with|that|
            if i (?:want|need)|with questions))|my (?:face|arm|head|kids|children|throat|neck|hair|ribs|daughter|son|
            mom|mum|mother)|us(?! (?:up with|that)))
        (?:he|she|they|hes|shes|they re|theyre) (?:\w+ ){0,4}?(?:{hits}) (?:and \w+ )?(?:up )?me (?:every|when|
            whenever|again|up|almost|and|in front|until|because|while|most|each|so|daily|at home|at night|with (?:his|
            her|a (?:belt|stick|knife|bat|bottle|gun))|last night|yesterday|this morning|tonight|if|black|badly|hard|
            in the (?:face|stomach|head|ribs)|against|down|on the|down the|just|after|but|now|in bed|once|twice|
            to the (?:ground|floor)|over|like|for (?:years|burning|being|coming|talking|looking|the))
        (?:he|she|hes|shes) (?:\w+ ){0,4}?(?:hits|beats|slaps|punches|kicks|chokes|strangles|rapes|hit|slapped|
            punched|kicked|choked|strangled|raped|is hitting|is beating|keeps hitting) me\.
        {hits} me (?:every|whenever|black|half|unconscious|last night|this morning|senseless|bloody|at home|
            in front of (?:my|the|our) (?:kids|children|son|daughter)|with (?:his|her|a belt|a knife))
        I (?:am|being|getting|get|been|was|got|keep being|keep getting) (?:regularly |constantly |always |being |
            badly |physically |sexually |verbally |emotionally |and |often |still |repeatedly |nearly |almost |
            just )*(?:beaten|hit|raped|choked|strangled|abused|assaulted|slapped|punched|kicked|locked up|locked in|
            stalked|threatened|molested|trafficked|battered|hurt) (?:up )?(?:almost |nearly )?(?:every (?:day|night|
            week|time|weekend)|at home|again|in my own|against my will|by (?:him|her|my (?:own |ex |drunk |
            abusive )*{dear}|someone (?:at home|i live|in my)|the man i|a family)|when he|when she|when i come|daily|
            last night|here)
        (?:says|said|saying|swears|swore|threatens|threatened|threatening|threat|threats|told me|tells me|promised|
            texted|texts|vowed|warned|screams|screamed|yells|yelled|keeps saying|keeps telling me|message\w*) (?:me |
            to |that |of |at |he |she |they |hed |shed |hell |shell |theyll |will |would |is |going |gonna |was |s |
            d |ll |if i (?:\w+ ){1,3}|one day |again |repeatedly |literally |hes |shes )*(?:kill|killing|murder|
            murdering|shoot|stab|strangle|bury|burn|beat|beating|hurt|hurting|harm|destroy|find and kill|slit|cut|
            end) (?:me|us|my (?:kids|children|throat|face|family|mother|mom|parents))
        (?:threatens|threatened|threatening|threaten|came at|comes at|chased|chases|attacked|went for) (?:me|
            us) (?:\w+ ){0,2}?with (?:a|his|her|the|my|an) (?:\w+ )?(?:knife|gun|weapon|axe|hammer|belt|scissors|bat|
            bottle|machete|pistol)
        {scared} (?:of |that |to death of |for my life |for |to |he |she )*(?:go(?:ing)? (?:back )?home|com(?:e|
            ing) home|be(?:ing)? (?:at |alone )?(?:home|with him|with her)|return(?:ing)? home|
            sleep(?:ing)? at (?:home|night)|leave him|leave her|my (?:own |ex |drunk |abusive |
            violent )*{dear}(?! (?:will say|finds? out|who|and i are|will be (?:disappointed|mad)|s (?:business|
            company|reaction))|s )|my life|he will|he ll|hell (?:kill|hurt|find|beat)|hes going to|he might|
            what hell do|what he will do|what he might do|him|kill me)
        (?:not|isnt|dont feel|arent|never|no longer|dont|unsafe|never feel|not feeling|longer|feel) (?:feel |really |
            even |a |be |very )*(?:safe|unsafe) (?:at|in|with|around|living with) (?:my |this |our |the |
            own )*(?:home|house|flat|apartment|him|her|{dear})(?! (?:office|insurance|depot))
        home (?:is|isnt|is not) (?:not )?(?:safe|a safe place)(?: for me)?
        (?:locks|locked|wont let|keeps|traps|trapped|imprison\w*|doesnt let|does not let|refuses to let|forbids|
            never lets|not letting|chained) me (?:up |in |inside |leave |out |from |to |ever |locked )*(?:the |my |a |
            his |our |of the )*(?:house|room|home|bedroom|apartment|flat|bathroom|basement|cellar|leave)
        (?:i|im|ive) ~ (?:in|living with|live in|live with|live with|lives with|trapped|stuck|escape|escaping|leave|
            leaving|
            fleeing|flee|running from|run from|hiding from|married to|get away from|got out of|away from|home with|
            house with) (?:with |in |from |an? |my |this |the |very |physically |extremely |such an? )*(?:abusive|
            violent|dangerous|abuser|batterer) ?(?:husband|partner|boyfriend|relationship|marriage|home|father|wife|
            girlfriend|parents?|mother|family|household|house|man|ex|dad|stepdad|brother|son|situation)?(?= |
            $)(?! (?:patients?|clients?|offenders?|inmates?|families|prisoners?|goods|crime|history))
        (?:my abuser|my abusive|domestic violence (?:at home|myself|victim and i)|hurts me at home|hurting me at home|
            violence at home|abuse at home)
        (?:bruises|black eye|bruised|broken \w+|marks) (?:\w+ ){0,4}?(?:from|because of|by|after|where|since) (?:he |
            she |him|her |when )?(?:{hits}|my (?:own )?{dear}|him|last night|the beatings?)
        (?:hiding|hide|locked|im in|i am in|locked myself) (?:myself )?(?:in |inside |from )(?:the |my )*(?:bathroom|
            car|closet|bedroom|garage|room|basement|him|{dear})(?:\W|\s)(?:\w+ |, ){0,8}?(?:he|she|my {dear}|him)\b
        (?:hes|he is|shes|she is|he s|is he|husband is|boyfriend is|ex is|father is|dad is|
            partner is) (?:\w+ )?(?:going to|gonna|trying to) (?:kill|hurt|murder|beat|strangle) (?:me|us)
        (?:pulled|held|holds|hold|pointed|points|pulls|put|puts|waved|waves) (?:a|his|the|her) (?:\w+ )?(?:knife|gun|
            machete|blade|pistol) (?:to|on|at|against) (?:me|my|us)
        (?:put|puts|putting|has|had|wrapped|with|wraps|got|presses|squeezes) (?:both )?(?:of )?(?:his|
            her) hands? (?:\w+ )?(?:around|on|over|round|at) my (?:throat|neck|mouth)
        (?:forces|forced|forcing|makes|made) me to (?:have sex|sleep with him|do sexual|touch)
        (?:raised|raises|lifts|laid|lays) (?:his|her|a) hands? (?:\w+ )?(?:against|to|at|on) me
        (?:he|she|my {dear}) (?:\w+ ){0,3}?(?:violent|aggressive|physical|dangerous) (?:with|to|towards|toward|when|
            again|at home) ?(?:me|he|she|he s|hes|i)?
        (?:my {dear}|he) (?:has |just |recently |\w+ )?(?:broke|broken|fractured|busted|split) my (?:arm|nose|ribs?|
            jaw|wrist|fingers?|lip|cheekbone|collarbone)
    """,
    past=r"""
        I (?:tried|attempted|nearly|almost|wanted|planned|was going|came close|were close) (?:to |of )?(?:just |
            really )?(?:{ending}|killed {self}|ended (?:it|my life|it all)|hanged {self}|took my (?:own )?life|
            jumped (?:off|in front|from)|overdosed|drowned {self}|suicide|be dead|die(?! (?:of|laughing|from|when|
            on stage|in the|at|inside)))
        (?:my|another|a|made a|had a|recent|survived my|second|third|first|last|after my|after an?|
            after another) (?:own |recent |last |second |third |failed |own recent )*suicide attempt
        i (?:cut|burned|hurt|harmed) {self} (?:last night|again|yesterday|this morning|tonight|today)
        (?:keep|keep on|been|always|started|stop|just) wanting to (?:die|kill {self}|end|disappear)
    """,
    long_ago=LONG_AGO,
    harmless=HARMLESS,
)
