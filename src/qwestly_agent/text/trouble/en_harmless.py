"""What is no trouble of one's own, in English: the past, idioms and what belongs to professions."""

LONG_AGO = r"""
        (?:years|yrs|decades|decade) (?:ago|back|clean|later|since|on|sober|in recovery)
        (?:in|since|of|from|until) (?:19|20)\d\d
        when i was (?:\d+|a|an|in|at|younger|young|little|still|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|
            fourteen|thirteen)
        as an? (?:teen\w*|kid|child|student|adolescent|young)
        (?:at|aged|age|at age) (?:\d\d|fifteen|sixteen|seventeen|eighteen|nineteen|twenty)
        (?:back then|back in|used to|survivor|ive recovered|i recovered|in recovery|since recovered|my twenties|
            my teens|in my past|in college|in high school|in my youth)
        (?:today|now|nowadays) (?:i|im|i am) ~ (?:help|work|volunteer|counsel|support|advocate|campaign|speak|train|
            run|lead|coach|teach)\w*
    """

HARMLESS = r"""
        (?:id|i would|i d) (?:rather|sooner) jump off (?:a|the) \w+ than
        (?:about|on) (?:overdoses?|self harm)
        (?:suicide|suicidal|suicides|self harm|selfharm|overdose) (?:prevention|preventions|hotlines?|helplines?|
            lines?|awareness|research|risk\w*|rates?|watch|squad|survivors?|postvention|bomb\w*|statistics|data|
            calls?|cases?|interventions?|policy|policies|training|crisis|screenings?|assessments?|doors?|genes?|
            patients?|people|clients?|teens?|teenagers?|students?|youths?|callers?|veterans?|adolescents?|
            individuals?|prisoners?|inmates?|behaviou?rs?|wing|reversals?|response|studies|literature|hot line|
            help line|among|in (?:young|adolescents|prisons?|teens|older|men|women|farmers|police|the)|ideation (?:in|
            among)|ward|unit|pact|loop)
        (?:prevent\w*|stop\w*|reduc\w*|treat\w*|study\w*|studied|research\w*|assess\w*|screen\w*|discuss\w*|report\w*|
            cover\w*|handl\w*|manag\w*|respond\w*|attend\w*|witness\w*|investigat\w*|involving|
            regarding|intervened in|thwarted|averted|document\w*|analy\w*) (?:a |an |the |teen |youth |farmer |
            veteran |police |attempted |completed |several |many |two |three |multiple |suspected |of )*(?:suicides?|
            suicide attempts?|overdoses?|self harm|suicidal \w+)(?= ,|$| (?:as|for|in|at|with|on|is|was|and|by|among|
            every|per|calls|that|since)\b)
        (?:assisted|physician assisted|career|commercial|political|financial|corporate|professional|digital|
            social) suicide
        (?:kill|killing|killed|kills) {self} (?:laughing|with laughter|working|to (?:meet|get|finish|make|deliver|hit|
            reach|please|keep|impress|earn|pay|pass)|for (?:this|that|the|a|my) (?:job|company|project|boss|deadline|
            client|career|promotion|team)|over (?:this|that|a|the|these|my) (?:\w+ )?\w+|with (?:work|overtime|
            deadlines|12|long)|at (?:the gym|work|this job)|trying to (?:find|get|park|fix|meet|learn|finish|please|
            keep)|doing|studying|preparing)
        (?:kill|hang|shoot) {self} (?:if|when) (?:i (?:have to (?!live|go on|wake|stay)|see|hear|get|must|need)|they|
            another|one more|this|my boss|my manager)
        (?:id|i would|would|rather|sooner|rather just|id rather) (?:die|kill {self}|shoot {self}) than (?:work|
            go back|wear|do|take|use|write|give|sell|return|quit|ask|present|code|sit|commute|manage|move|admit|apply|
            accept|cold|have to|be a|attend|join|learn|fill)
        (?:not|never|isnt|im not|i am not|no|wasnt|arent) (?:at all |actually |really |even |a bit |feeling |
            in any way )*(?:suicidal|depressed or suicidal|in danger|going to (?:hurt|kill|harm) {self})
        (?:he|she|they|callers?|patients?|clients?|someone|people|who|kids?|teens?|students?|woman|man|girl|boy|
            friend|lady|guy|teenager|soldier|veteran|inmate|prisoner|resident|stranger|colleague|customers?|users?|
            character|protagonist|victims?) (?:\w+ ){0,3}?(?:says?|said|tells?|told|saying|telling|wrote|writes|
            texted|texts|screamed|shouts?|whispered|cried|types?|typed|admits?|admitted|think|thinks|sings?|asked?|
            asks?|reported?) (?:to )?(?:me |us |that |you |things |stuff |like |the \w+ |him |her |it , |, )*(?:i|im|
            i am|id|ive|ill|my|theres|there is|nobody|no) (?:\w+ ?){1,12}
        (?:called|titled|book|film|novel|movie|song|podcast|memoir|play|album|article|thesis|poem|series|episode|
            title|story|game|track|documentary|show|essay|screenplay|exhibition|campaign|phrase|sentence|line|words|
            phrases|sentences|named|tagline|chapter|lyrics?|slogan|headline) (?:is |was |are |like |such as |of |, |
            about |on |called )*(?:i|im|why i|how i|if i|the day i|dont|i dont|my|before i|when i|a reason|
            no) (?:\w+ ?){1,8}
        (?:people|patients?|clients?|callers?|those|someone|teenagers?|teens?|veterans?|anyone|kids|students|persons?|
            men|women|children|everyone|who|they|whoever|residents?|prisoners|inmates|he|she|adolescents|farmers|
            members) (?:\w+ ){0,5}?(?:want\w*|wish\w*|going|ready|about|decid\w+|choos\w*|choose|hop\w+|wait\w*|
            prefer\w*|plan\w*|tr\w+|begg\w*|threaten\w*|urge) to (?:die|end|kill|disappear|jump|live|stop|
            take)(?: \w+)?
        (?:how|where|when|whether|if) (?:people|patients?|they|someone) (?:die|live|want to die)
        (?:dead|die|dying|died|death|dies) (?:lines?|of (?:boredom|embarrassment|laughter|shame|curiosity|thirst|
            hunger|cringe|old age|envy|jealousy|happiness|stress|anticipation|nerves|heat|cold)|laughing|for (?:a|
            that|this|your|the|my|some)|hard|on (?:this|that|the) (?:hill|inside)|inside|to (?:work|know|try|get|join|
            hear|see|learn|meet|go|find|start|tell|leave|switch|move|visit|be (?:part|a|hired|considered|picked|on)|
            land|break|use|build|apply|lead|make|have|ask|share|show|escape)|trying|end|wood|weight|zone|lifts?|rows|
            in (?:an?|the|front|my) (?:interview|meeting|call|exam|dream)|a thousand deaths|with dignity|at home)
        (?:want|wanted|wish|going|like|love|about|plan|planning|prefer|how|looking|decided|hope|trying|try) (?:to |
            i could |of )?(?:just |finally )?(?:end it|end things|ending it|ending things|
            end everything) (?:with (?:my|the|this|a|an)|on (?:good|a)|in|at|there|by|here|professionally|amicably|
            well|gracefully|properly|formally|now with|early|before|after)
        (?:want|wanted|wish|going|like) to (?:die|disappear|vanish|disapear) (?:of|from|into|inside|when i|every time|
            on the spot|in (?:shame|the|a hole)|behind|laughing|at the|during|after (?:my|the|that))
        jump(?:ing)? (?:into|in(?! front)|ship|at|on|to|through|over|out of (?:bed|my (?:comfort|chair|seat|skin)|
            planes?|aircraft|helicopters?|a (?:plane|helicopter))|from (?:one|job|marketing|sales|finance|academia|
            consulting|project|role|planes?|retail|hospitality|teaching|nursing|banking|law|backend|frontend|agency|
            industry|\w+ to)|off (?:this|the) (?:call|bandwagon|meeting|zoom)|off point)
        (?:beat|beats|beaten|beating) (?:me|us|him|by \w+) ?(?:to (?:it|the)|at|in|by|out|every time (?:we|at)|
            with (?:a|more|fewer|better))(?! (?:home|night|front|my (?:own )?(?:home|house|face|room)|bed|the (?:face|
            head|stomach|ribs|street|kitchen|bathroom|house)|least))
        (?:my|our|the) (?:\w+ )?(?:boss|manager|team|editor|client|mentor|coach|professor|director|wife|husband|
            partner|mother|mom|mum|dad|girlfriend|boyfriend|trainer|supervisor|agent|roommate|flatmate|commute|job|
            project|deadline|deadlines|workload|shifts?|feet|back|thesis|spreadsheet|schedule|inbox|
            meetings) (?:is going to|will|would|ll|is gonna|gonna|is|are|keeps|keep|was|were|s|has been|have been|
            nearly|almost)* ?(?:kill|killing|killed) me(?! (?:if i (?:leave|go to|tell|call|talk)|tonight|when he|
            one day|, he))
        (?:hits?|hitting|kicked|kicks|slapped|punched|hurts?|attacked|pushes|pushed|burn(?:ed|s|t)|grab(?:s|
            bed)) me (?:that|hard that|how|up (?:on|for|with|about)|with (?:a|an|the) (?:question|offer|deadline|task|
            request|bill|idea|feedback|lowball|bombshell|fee|surprise|contract)|like a|out of (?:the (?:group|team|
            project|chat|meeting|company)|bed)|off (?:the|a) (?:project|team|course)|to (?:become|be|do|apply|grow|
            learn|go|try|finish|study|start|improve|work|succeed|take|get|keep)|out$|into (?:management|a|the|sales|
            leadership|tech)|in a good way|professionally|financially|forward|up the)
        (?:cant|cannot|can t) (?:go on|carry on|keep going|do this anymore|do it anymore|take (?:it|this) (?:anymore|
            any more)) (?:with (?:this|the|my)|at (?:this|my|work)|in (?:this|my)|as (?:a|an))
        (?:end of life|life ending|end of my rope|death row|death metal|dead sea|dead end|near death|sudden death|
            life and death|proof of life|life or death|dead on arrival)
        (?:took|take|taken|taking|have|had) (?:care|charge|over|part|time|notes?|pictures|photos|all (?:my|
            the) (?:vacation|courses|leave|classes|exams|notes|photos|calls)|a lot of (?:shit|time|flak|notes|calls|
            courses|photos))
        so \w+ (?:that )?i (?:wanted|could have wanted) to (?:die|disappear|vanish|jump)
        push(?:es|ed|ing)? me (?:into (?!the wall|a wall|the street|the door)|to |hard to |through )\w+
        cut myself (?:some slack|short|off|out|shaving|a (?:slice|deal))
        (?:no|any) (?:way out|escape|exit) (?:of (?:the|this|my) (?:contract|industry|notice|lease|sector|role|clause|
            agreement|department|loop|building|maze|room|level|non compete))
    """
