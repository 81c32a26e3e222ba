"""Phrases of people in trouble, in German."""

from qwestly_agent.text.trouble.patterns import Language

GERMAN = Language(
    code="de",
    apostrophe="",
    first_person="ich, hab, mich, mir, mein, meine, meinem, meinen",
    begins="""
        und, aber, nur, wirklich, ehrlich, manchmal, jetzt, auch, immer, weil, dann, oder, vielleicht, wieder, bitte,
        sorry, hallo, hi, hey, ja, ganz ehrlich, ehrlich gesagt, am liebsten
    """,
    others=r"""
        patient\w*, klient\w*, anrufer\w*, menschen, leute\w*, personen?, jugendliche\w*, kinder\w*, schuler\w*,
        er, sie, man, jemand\w*, du, wir, ihr, betroffene\w*, angehorige\w*, kolleg\w+, kund\w+, frauen, manner\w*,
        gefangene\w*,
        figur\w*, betreu\w+, berat\w+, begleit\w+, behandel\w+, forsch\w+, arbeite mit, schreib\w*, geschrieben,
        verhinder\w*, pfleg\w+, seelsorge\w*, therapeut\w*, polizist\w*, chef\w*, firma, projekt\w*, mitarbeiter\w*
    """,
    words={
        "die": r"""
            sterben(?! (?:fur|vor))(?!begleit), tot sein, nicht mehr leben, nicht mehr weiterleben,
            nicht mehr aufwachen,
            nie wieder aufwachen, nie mehr aufwachen, nicht mehr da sein, nicht mehr hier sein, nicht mehr existieren,
            mich umbringen, mich toten, mich selbst umbringen, mich erhangen, mich aufhangen, mich erschiessen,
            mich ertranken, mich verbrennen, mich vergiften, mich selbst toten, mir das leben nehmen,
            mein leben beenden,
            dem ein ende (?:setzen|machen), allem ein ende (?:setzen|machen), ein ende (?:setzen|machen),
            allem ein ende,
            meinem leben ein ende (?:setzen|machen), dem leben ein ende (?:setzen|machen), es beenden, alles beenden,
            das alles beenden, schluss machen, einschlafen und (?:nie|nicht) (?:wieder|mehr) aufwachen,
            (?:aus dem fenster|von der? \w+|von einer? \w+|vom \w+|vor (?:den|die|einen) \w+) (?:springen|sturzen|
                werfen),
            mich (?:vor|von|unter|aus) (?:\w+ ){1,3}(?:werfen|sturzen|schmeissen|legen),
            mir die (?:pulsadern|adern) \w+,
            mir was antun, mir etwas antun, mir weh tun, mir wehtun, mich verletzen, mich selbst verletzen,
            mich ritzen, mich schneiden, verschwinden und nie\w* \w+, einfach verschwinden,
            fur immer (?:schlafen|weg sein|verschwinden),
            selbstmord begehen, suizid begehen, gegen (?:einen?|den|die) (?:baum|wand|mauer|brucke) (?:fahren|rasen)
        """,
        "dear": r"""
            mann, ehemann, freund, freundin, frau, partner, partnerin, ex, exmann, exfreund, ex mann, ex freund,
            vater, mutter, stiefvater, stiefmutter, bruder, sohn, onkel, verlobter?, mitbewohner, eltern, papa, mama,
            lebensgefahrte, lebensgefahrtin, exfrau, ex frau, familie, schwiegervater, alter
        """,
        "hit": r"""
            schlagt, schlug, haut, pruglet, prugelt, verprugelt, wurgt, tritt, boxt, misshandelt, vergewaltigt,
            schubst,
            bedroht, bedrohte, stosst, ohrfeigt, prugelte, verprugelte, wurgte, trat, stalkt, bespuckt, missbraucht,
            verletzt, zusammenschlagt, qualt, packt, verfolgt, schlagen
        """,
        "was_hit": r"""
            geschlagen, verprugelt, gewurgt, getreten, misshandelt, vergewaltigt, bedroht, gestossen, geohrfeigt,
            zusammengeschlagen, geschubst, missbraucht, eingesperrt, verletzt, gehauen, gepackt, gestalkt, angegriffen
        """,
        "pills": r"""
            tabletten, schlaftabletten, pillen, paracetamol, ibuprofen, medikamente\w*, antidepressiva, schmerzmittel,
            schmerztabletten, ibus?, tilidin, insulin, beruhigungsmittel, valium, benzos, xanax, tavor, schlafmittel
        """,
        "now": "jetzt, heute, heute nacht, heute abend, gerade, vorhin, eben, gestern, letzte nacht",
    },
    self_harm=r"""
        (?:kein\w*|keinerlei) grund mehr weiterzumachen
        (?:wenn|nachdem|sobald) ich tot (?:bin|ware)
        (?:niemand|keiner) (?:\w+ )?(?:mehr )?(?:wegen mir|meinetwegen) (?:mehr )?(?:leiden|leidet|sorgen)
        wo ich hingehe(?:,| ,)? brauch\w*
        (?:heute|heute nacht|heute abend|morgen|am \w+) (?:ist|hat|endet) (?:fur mich )?(?:alles|es|
            mein leben) (?:fur mich )?(?:endgultig |dann )?(?:vorbei|zu ende|ein ende)
        ich (?:will|mochte|wollte|wurd|wurde|werd|werde|muss|sollte|konnte|kann|hab\w*|denk\w*|uberleg\w*|plane|
            trau\w*|versuch\w*|bin|hoff\w*|wunsch\w*|mocht|mag) ~~ {die}
        (?:will|mochte|wurde|werde|mocht|wurd) (?:einfach |nur |noch |am liebsten |auch |so |ich |mich |gern\w* |
            jetzt |heute |nicht |eigentlich |wirklich |echt )*{die}
        I ~~ (?:lust|wunsch|gedanken?|drang|entschluss|entschlossen|plan|idee|kraft|versucht|vor|bereit|entschieden|
            angst) ~ (?:zu sterben|mich (?:selbst )?umzubringen|mir das leben zu nehmen|schluss zu machen|
            mich (?:selbst )?zu (?:toten|verletzen|erhangen|ritzen|schneiden)|mein leben zu beenden|es zu beenden|
            alles zu beenden|zu springen|mir (?:etwas|was) anzutun|nicht mehr (?:da|hier) zu sein|
            allem ein ende zu (?:setzen|machen))
        (?:zu sterben|mich (?:\w+ )?umzubringen|mir (?:\w+ ){0,3}?das leben zu nehmen|mich zu erhangen|
            nicht mehr leben zu wollen|mir (?:etwas|was) anzutun)
        I ~ (?:lieber|besser|am liebsten|bald|ware|sei|schon|langst) (?:lieber |besser |einfach |schon |langst |
            nur )*(?:tot|nie geboren|gestorben|nicht mehr da|nicht mehr am leben|weg)\b(?! (?:von|aus|sein als))
        (?:ware|war|sei|bin) ~ (?:tot|nie geboren|gestorben|nicht geboren)(?: worden)?\.
        (?:uberlegt|geplant|entschieden|weiss|plan|beschlossen) (?:\w+ )?, (?:wie|wann|wo)(?: und (?:wie|wann|
            wo))? ich (?:es|s|das) (?:\w+ )?(?:mache|tue|mach|beende|tun werde)
        I ~~ (?:suizid|selbstmord|freitod)(?! (?:in|bei|von|unter|als)\b)
        (?:denk\w*|gedanken?|gedacht|uberleg\w*|nachgedacht|vorstell\w*) ~ (?:an|uber|ans|an den|an meinen|
            daran) (?:, )?(?:\w+ )?(?:selbstmord|suizid|den tod|das sterben|sterben|eigenen tod|tod|mich umzubringen|
            schluss zu machen|zu sterben)(?! (?:als|in|bei|von|eines|eurer|der)\b)
        (?:hab\w*|habe|bekomm\w*|krieg\w*|wieder|standig|immer|starke|qualende|mit|meine|unter) ~ (?:suizid|
            selbstmord|suizidale) ?(?:gedanken|fantasien|absichten|plane)?(?= |$)(?! (?:von|bei|in|prav\w+|bei meinen|
            und krisen|anderer|meiner (?:patient|klient)\w*))
        (?:suizidgedanken|selbstmordgedanken|suizidal|lebensmude|suizidgefahrdet|selbstmordgefahrdet)
        I ~~ (?:kein\w*|null|gar kein\w*|nicht|nirgends|ohne|weder|ubrig|uberhaupt kein\w*) ~ (?:grund|grunde|sinn|
            kraft|lebenswillen|lebenslust|lebensmut|hoffnung|lust|willen|wert|bock|zweck) (?:mehr |mehr im |im |am |
            darin |zu |zum |mehr zu |mehr zum |mehr darin |weiter zu |mehr , |, |noch |mehr weiter\w* ?zu ?|auf |
            auf dieses |mehr auf )*(?:leben|weiterzuleben|weiterleben|zu leben|weiterzumachen|aufzustehen|aufzuwachen|
            weiter zu leben|weiter zu machen|da zu sein|existieren|hier zu sein|dieses leben)
        (?:kein\w*|keinerlei|null) (?:einzigen |richtigen )?(?:lebenswillen|lebensmut|lebenslust|lebenswille|
            lebenssinn)
        (?:sehe|seh|hab\w*|finde) (?:ich )?(?:einfach |fur mich |da |echt |wirklich |in (?:allem|nichts|
            meinem leben) )*(?:kein\w*|keinerlei) (?:sinn|ausweg|hoffnung|zukunft) mehr(?:
             fur mich| im leben| in meinem leben)?\.
        (?:kein\w*|keinerlei|nirgends einen) (?:anderen |richtigen |einzigen )?ausweg(?: mehr| sehe| gibt| aus|
             ausser| als)?
        (?:ausweglos|weiss keinen ausweg|finde keinen ausweg|sehe keinen ausweg|seh keinen ausweg)
        (?:will|mag|kann|mochte|schaff\w*|halt\w*|ertrag\w*|pack\w*|kannn|kanns) (?:ich |das |es |einfach |wirklich |
            echt |so |dieses |dieses leben |das leben |alles |hier |mein leben |ich das |schon lange |langst |auch |
            eigentlich |gar |diese )*nicht (?:mehr|langer|weiter) ?(?:leben|weiterleben|weiter leben|weitermachen|
            da sein|hier sein|aufwachen|existieren|aus|ertragen|aushalten|so weiterleben|so leben|atmen|
            auf dieser welt sein|am leben sein|bleiben|so|weiter)?\.
        (?:ich )?(?:kann|will|mag|mochte) (?:ich |einfach |so |echt |wirklich |auch |das |schon |dieses leben |
            alles )*nicht mehr (?:leben|weiterleben|aufwachen|existieren|weiter leben|da sein|weitermachen\.|
            auf dieser welt|so leben|so weiterleben|hier sein\.|, |und |ich |weil ich)(?! (?:in|bei|auf (?:baustelle|
            dem land)|ohne)\b)
        nicht mehr leben (?:will|mochte|kann|wollen|mag|willst|zu wollen)
        alles (?:hat|macht|ist) (?:doch |eh |einfach |nur |so )*(?:kein\w* sinn mehr|sinnlos geworden)
        (?:kein\w*|keinerlei) grund (?:mehr )?(?:zu leben|weiterzuleben|am leben zu \w+|weiter zu leben|aufzuwachen|
            hier zu sein)
        (?:leben|dasein) (?:hat|macht|ist|lohnt|hat doch|ergibt|scheint) (?:fur mich |alles |doch |eh |einfach |sich |
            mir |ja |so |keinerlei |uberhaupt )*(?:kein\w* sinn(?: mehr)?|nicht mehr (?:lebenswert|wert|sinn)|sinnlos|
            nicht lebenswert|nichts mehr wert|keinen wert|unertraglich|nicht mehr|vorbei)\.
        (?:mein|das|dieses|am) leben (?:ist |hat |hangt |macht |
            lohnt )?(?:sich )?(?:nicht(?:s)? (?:mehr )?(?:lebenswert|wert)|sinnlos|vorbei|keinen sinn|nicht mehr)
        (?:besser|einfacher|leichter|glucklicher|besser dran|froh\w*|erleichtert|gut|
            schoner) (?:\w+ ){0,3}?(?:ohne mich|wenn ich (?:\w+ ){0,2}?(?:tot|weg|nicht mehr|sterbe|nie geboren|
            gestorben|nicht))
        (?:besser|gut|schon|schoner|erleichtert|leichter|einfacher|froh) ,? ?wenn (?:es mich|
            ich) (?:\w+ ){0,3}?(?:tot|nicht mehr|sterbe|weg ware|gestorben|nicht gabe|nie geboren)
        ohne mich (?:\w+ ){0,3}?(?:besser|leichter|einfacher|glucklicher|schoner)
        (?:niemand|keiner|kein mensch|keinem|niemandem|wer) (?:\w+ ){0,3}?(?:vermiss\w*|merk\w*|auffallen|auffiele|
            interessier\w*|fehlen|kummer\w*|weint|weinen)(?: mich)?(?: , wenn ich (?:\w+ ){0,3}?(?:weg|tot|nicht|
            sterbe|stirb|weg ware|nicht mehr da))?(?= ,|$| wurde| wenn ich)(?! wenn ich (?:kundige|wechsle|gehe|
            fehle))
        (?:ich|mich|hab) (?:\w+ ){0,4}?(?:ritze?|geritzt|ritzen)(?! (?:stein|holz|glas|metall|in (?:holz|stein|
            metall)))
        (?:ich|mich|hab\w*|wieder|selber|selbst|habe) (?:\w+ ){0,4}?(?:mich|mir) (?:\w+ ){0,4}?(?:ritzen|geritzt|
            selbst verletzt|selbst verletzen|selbst verletze|absichtlich (?:geschnitten|verletzt|verbrannt|weh)|
            die arme (?:auf|zer|ge|wieder )?\w*|die (?:pulsadern|adern|unterarme|oberschenkel) \w+|weh getan mit|
            mit (?:der|einer) (?:klinge|rasierklinge|schere) \w+)
        (?:verletze|schneide|schneid|verletz|verbrenne|kratze) (?:ich )?mich (?:selbst|selber|wieder|jeden|immer|
            damit|um|absichtlich|seit|nachts|heimlich|standig|mit|weil|wenn|abends)(?! (?:im urlaub|beim (?:kochen|
            rasieren)))
        I ~~ {pills} (?:\w+ ){0,3}?(?:genommen|geschluckt|eingeworfen|gefuttert|nehmen|schlucken|intus|runtergespult|
            gegessen|in der hand|vor mir|neben mir|gesammelt|gehortet|liegen|bereit|hier|da)(?! (?:fur (?:die|
            meine) patient\w*))
        (?:alle|alles|viele|zu viele|eine packung|die ganze packung|eine handvoll|ganze \w+|eine schachtel|haufen|\d+|
            dreissig|vierzig|zwanzig|funfzig|hand voll|packung|schachtel|flasche) (?:meine |von meinen |die |der |
            dieser |meiner |von den )?(?:\w+ )?{pills} (?:\w+ ){0,2}?(?:genommen|geschluckt|eingeworfen|vor mir|intus|
            hier|hab|nehm\w*|schluck\w*|gekauft|gehortet|gesammelt)
        (?:uberdosis|uberdosiert)(?: \w+)? (?:genommen|geschluckt|tabletten|schlaftabletten|nehmen|intus|hab\w*)
        (?:habe|hab|nehme|will|plane|nahm) (?:\w+ ){0,4}?(?:eine )?uberdosis
        (?:stehe|steh|sitze|sitz|bin) (?:\w+ ){0,4}?(?:auf|an|am|vor|oben) (?:der|dem|einer|einem|
            den)? ?(?:\w+ )?(?:brucke|dach|bahngleis\w*|gleise\w*|bahnsteig|gelander|abgrund|klippe|hochhaus|parkhaus|
            balkon|schienen|rand)(?! (?:und (?:arbeite|messe|kontrolliere)|als))
        (?:strick|seil|waffe|pistole|rasierklinge|klinge|messer|tabletten|pillen) (?:\w+ ){0,3}?(?:liegt|liegen|
            gekauft|bereit|vor mir|neben mir|in der hand|schon da|am hals|besorgt|hangt|geladen)(?! (?:fur|beim))
        (?:abschiedsbrief\w*|testament und|abschiedsworte)(?! (?:an die kollegen|an mein team|ans team|an kunden|von|
            in))
        (?:das ist|dies ist|ist) mein (?:abschied|letzter tag|letzte nachricht|letzter abend)(?:$| auf dieser|
             im leben| hier auf)
        (?:morgen|bald|nachste woche|nicht mehr lange|ab morgen) (?:\w+ )?(?:bin ich |werde ich )?(?:nicht mehr (?:da|
            hier|am leben)|tot|nicht mehr (?:da|hier) sein)(?! (?:im buro|bei der firma))
        ich (?:springe?|werfe mich|lege mich) (?:\w+ ){0,2}?(?:von|vor|aus|auf) (?:der|die|den|einer|dem|
            einen) (?:brucke|zug|dach|fenster|balkon|gleise|schienen|hochhaus|u bahn|s bahn|klippe|lkw|
            auto)(?! (?:ins wasser bei))
        (?:bringe|bring|brachte|erhange|erhang|erschiess|erschiesse|tote|vergifte) (?:ich )?mich (?:\w+ )?(?:um|auf|
            selbst|heute|einfach|\.)
        (?:mich|selbst) umbring\w*(?! (?:fur|wegen (?:der|dem|des) (?:deadline|abgabe|projekt\w*)))
        (?:mir|selbst) das leben (?:zu )?(?:nehm\w*|genommen)
        (?:schluss mit (?:allem|mir|dem leben|meinem leben)|allem ein ende|meinem leben ein ende)
        (?:nur|einfach|endlich|will|mochte) (?:noch |nur |dass |, |ich |, dass |das |will )*(?:es|das|alles|das alles|
            der schmerz|die schmerzen|die gedanken|das leid|diese qual|dieser schmerz) (?:endlich |alles |einfach |
            nur )*(?:aufhort|vorbei ist|zu ende ist|ein ende hat|aufhoren|vorbei|endet|ruhe ist)
        (?:will|mochte|nur noch|nur|wurde) (?:\w+ ){0,3}?(?:schlafen|einschlafen) (?:\w+ ){0,2}?(?:und )?(?:nie|nicht|
            nimmer) (?:\w+ )?(?:wieder |mehr )?aufwach\w*
        (?:nie|nicht) (?:wieder|mehr) aufwach\w*(?! (?:um|vor|so))
        (?:lebe|leb|leben|existier\w*|am leben|bin ich noch|lohnt|warum|wozu|wofur) (?:\w+ ){0,3}?(?:noch leben|
            uberhaupt noch (?:leben|weiter|lebe|hier|da)|noch am leben|noch weiterleben|noch weiter leben|
            ich noch lebe|ich noch leben|eigentlich noch\.|weiterleben|noch lebe\.)
        (?:bin|falle|nur|allen|als|fuhle mich|bin nur|bin allen) (?:\w+ ){0,3}?(?:eine |nur |zur )?last(?= ,|$| fur|
             und)(?! (?:fur das (?:team|budget)))
        (?:hasse|ertrage|verabscheue) (?:ich )?(?:mein leben|es zu leben|mich und mein leben|das leben)
        (?:schnellste|schmerzlos\w*|einfachste|beste|sicherste|schmerzfrei\w*|wie viele|
            wieviele) (?:\w+ ){0,3}?(?:art|weg|methode|tabletten|pillen)? ?(?:\w+ )?(?:zu sterben|sich umzubringen|
            mich umzubringen|braucht man|um zu sterben|sterben)
        dass ich mir (?:\w+ ){0,3}?(?:was|etwas) (?:antue|antu|antun konnte)
        (?:verdiene|verdient) (?:es )?(?:nicht )?(?:zu (?:leben|sterben)|den tod)
    """,
    violence=r"""
        mein\w* {dear} (?:\w+ ){0,5}?{hit} (?:\w+ )?(?:mich|uns|mir|die kinder|auf mich)(?! (?:\w+ ){0,4}?(?:vor|
            im schach|beim (?:schach|tennis))\.)
        mein\w* {dear} (?:\w+ ){0,4}?(?:mich|mir|uns) (?:\w+ ){0,6}?(?:{was_hit}|{hit}|ins gesicht|umbringen|droht|
            drohte|weh tut|wehtut)
        (?:er|sie) (?:\w+ ){0,3}?(?:{hit}) (?:mich|uns|mir ins)(?! (?:\w+ ){0,4}?(?:vor|im schach|beim (?:schach|
            tennis)|nach vorne|bei der wahl)\b)
        (?:er|sie|die) (?:hat|haben|hatte) (?:\w+ )?mich (?:\w+ ){0,6}?{was_hit}(?! (?:im schach|beim|um langen|
            worden als))
        (?:werde|wurde|bin|werd) (?:\w+ ){0,5}?(?:von (?:meinem|meiner|ihm|ihr|meinen)|zu ?hause|daheim|regelmassig|
            jeden tag|taglich) (?:\w+ ){0,3}?{was_hit}
        (?:schlagt|prugelt|verprugelt|wurgt|tritt|bedroht|misshandelt|vergewaltigt) mich(?: \w+)?\.
        {hit} (?:er |sie |mein\w* {dear} )?mich (?:\w+ ){0,3}?(?:immer|wieder|wenn|jeden|standig|fast|sobald|weil|
            vor den kindern|regelmassig|taglich|zu hause|nachts|grun|bis)
        (?:droht|drohte|gedroht|sagt|sagte|schreit|gesagt|schrieb|schreibt|schwort|behauptet|drohen) (?:\w+ |
            , ){0,7}?(?:mich|uns) (?:\w+ ){0,2}?(?:umbringt|umzubringen|umbringen|toten|totet|zu toten|umbringt|
            tot(?:zu)?(?:schlagen|schlagt)|abstechen|absticht|fertig|umlegt|findet und|zu schlagen|zu verprugeln|
            umbringe)
        (?:er|sie) bringt mich um , wenn ich (?:ihn|sie|gehe|ihm|ihr|mich|weg)
        (?:bringt|bringe|brachte) (?:er |sie )?mich um (?:wenn ich gehe|, wenn ich|eines tages|irgendwann|
            wenn ich (?:ihn|sie))(?! (?:nicht fertig|das nicht))
        (?:mit (?:einem|dem|seinem) (?:messer|gurtel|hammer|pistole|stock)|mit (?:einer|der) (?:waffe|pistole|flasche|
            faust)|mit der faust) (?:\w+ ){0,3}?(?:bedroht|geschlagen|auf mich|auf uns|gedroht|angegriffen|verfolgt|
            schlagt)
        (?:angst|furchte\w*|panik|trau\w*) (?:\w+ ){0,3}?(?:vor|mich|um|davor|nach|heim) (?:\w+ )?(?:mein\w* {dear}|
            nach hause|heim|mein leben|ihm|heimzugehen|nach hause zu (?:gehen|kommen)|nicht nach hause|
            hause)(?! (?:was|uber|wegen der (?:kundigung|note)))
        (?:nicht|nirgends|nie|kaum|nicht mehr) sicher (?:zu ?hause|daheim|in meiner (?:eigenen )?wohnung|vor (?:ihm|
            mein\w* {dear}))
        (?:zu ?hause|daheim|in meiner (?:eigenen )?wohnung) (?:\w+ ){0,4}?(?:nicht (?:mehr )?sicher|{was_hit}|
            gewalt)(?! (?:betroffene\w*|betroffenen))
        (?:sperrt|schliesst|lasst|sperrte) (?:er |sie |mein {dear} )?mich (?:\w+ ){0,3}?(?:ein|
            nicht (?:mehr )?(?:raus|aus|weg|gehen|aus dem haus)|nicht \w+ gehen)
        (?:hausliche gewalt|gewalt (?:zu ?hause|in der (?:ehe|beziehung|familie))|gewalttatig\w*|
            gewalttatige\w* (?:mann|partner|ex|freund|vater)) (?:\w+ ){0,4}?(?:erlebe|erfahre|ausgesetzt|bei mir|
            gegen mich|mir gegenuber|mein\w* {dear}|ich|und ich)(?! (?:arbeite|berate|betreue|war|helfe))
        mein\w* {dear} (?:\w+ ){0,4}?(?:gewalttatig|handgreiflich|aggressiv|brutal)(?: \w+)?
        (?:blaue\w* flecken?|blaues auge|blutergusse?|gebrochene \w+) (?:\w+ ){0,5}?(?:von|weil|durch|seit|
            wegen) (?:\w+ ){0,2}?(?:ihm|er|mein\w* {dear}|letzte|gestern|schlage\w*)
        (?:verstecke|versteck|eingeschlossen|eingesperrt) (?:\w+ ){0,5}?(?:vor (?:ihm|mein\w* {dear})|im bad|
            im badezimmer|im keller|im auto)
        (?:hande?|finger) (?:um|an|auf) (?:meinen|mein|meinem) (?:hals|kehle|mund)
        (?:zwingt|gezwungen) (?:\w+ ){0,3}?(?:zum sex|mit ihm zu schlafen)
    """,
    past=r"""
        ich (?:wollte|hab\w*|habe|war|hatte|bin) ~~ (?:mich (?:\w+ ){0,3}?umbringen|mir das leben nehmen|sterben|
            mich (?:versucht )?umzubringen|versucht mich umzubringen|versucht mir das leben zu nehmen|suizidversuch|
            selbstmordversuch)
    """,
    long_ago=r"""
        vor (?:\w+ )?(?:vielen |mehreren |einigen |zehn |\d+ |funf |zwei |drei |vier |acht |zwanzig |
            funfzehn )*(?:jahren|jahrzehnten)
        (?:seit|in|im jahr|anno) (?:19|20)\d\d
        (?:damals|fruher|als jugendliche\w*|als kind|als teenager|in meiner jugend|mit (?:\d\d|sechzehn|siebzehn|
            achtzehn|neunzehn|zwanzig)|uberlebt)
        (?:heute|inzwischen|mittlerweile) (?:arbeite|helfe|berate|begleite|leite|bin ich|engagiere)
    """,
    harmless=r"""
        (?:lieber|eher) (?:sterben|sterbe ich|sterb ich|tot) als (?!zu leben|leben|weiterleben)\w+
        (?:suizid|selbstmord|selbstverletzung\w*|suizidalitat) ?(?:pravention\w*|praventions\w*|forschung|beratung\w*|
            hotline|rate\w*|falle?|versuche? (?:von|bei|anderer)|zahlen|hilfe|kommando|attentat\w*|drohung\w*|
            nachsorge|bei|von|unter|in (?:der|haft|den))
        (?:suizidal\w*|suizidgefahrdet\w*|selbstmordgefahrdet\w*|lebensmude\w*) (?:patient\w*|menschen|jugendliche\w*|
            klient\w*|anrufer\w*|personen?|schuler\w*|kinder\w*|krisen?|gefangene\w*|haftling\w*)
        (?:mit|von|fur|bei|betreue|berate|begleite|behandle|pflege|spreche mit|rede mit) (?:\w+ ){0,3}?(?:suizidal\w*|
            suizidgefahrdet\w*|selbstmordgefahrdet\w*|lebensmude\w*)(?: \w+)?
        (?:suizid|selbstmord|suizide|suizidversuche?|selbstmorde?|uberdosis|uberdosen) (?:\w+ ){0,3}?(?:verhinder\w*|
            verhutet|gesehen|erlebt|begleitet|abgewendet|vereitelt|dokumentiert|untersuch\w*|reanimiert|behandelt|
            versorgt|zu verhindern)
        (?:verhinder\w*|verhute\w*|erforsche\w*|forsche|schreibe|arbeite|artikel|buch|film|reportage|seminar|vortrag|
            thema|studie|doktorarbeit|bericht\w*|ausbildung|weiterbildung|beim|nach|uber|zum|
            zu) (?:\w+ ){0,4}?(?:suizid|suizide|suiziden|selbstmord|selbstmorde|selbstmorden|suizidalitat|
            selbstverletzung\w*|suizidgedanken)(?! (?:nach|denke|zu begehen|begehen))(?= ,|$| (?:bei|von|unter|in|und|
            im|am|als|an|gearbeitet|geschrieben|geforscht|gehalten|spezialisiert))
        (?:menschen|leute|patient\w*|klient\w*|anrufer\w*|personen|jugendliche\w*|wer|die|jemand\w*|leuten|
            betroffene\w*|kinder\w*|manner\w*|frauen|schuler\w*|haftlinge\w*) (?:, )?(?:die |der |
            , die )?(?:\w+ ){0,4}?(?:sterben|sich umbringen|nicht mehr leben|suizidgedanken|sich das leben nehmen|
            sich (?:selbst )?(?:ritzen|verletzen)|selbstmordgedanken|suizidal\w*|suizid\w*)(?: wollen| wollten|
             mochten| haben| hatten| sind| waren)?
        (?:er|sie|patient\w*|klient\w*|anrufer\w*|jemand|jugendliche\w*|mann|frau|schuler\w*|
            kind) (?:\w+ ){0,3}?(?:sagt\w*|sagen|meinte|schrieb|schreibt|rief|schrie|erzahlt\w*|gesagt) (?:mir |uns |
            , |dass )*ich (?:\w+ ?){1,10}
        (?:buch|film|roman|song|lied|serie|spiel|podcast|theaterstuck|titel|stuck|artikel|heisst|namens|titeln?|
            genannt|satz|spruch) (?:, |heisst |namens |mit dem titel |wie )*(?:ich|mein|warum ich|
            bevor ich) (?:\w+ ?){1,8}
        (?:pendeln|pendelei|job|chef|deadline|projekt|stress|excel|arbeit|arbeitsweg|schichten?|meetings?|kollege|
            kollegen|frau|mann|mutter|abgabe|thesis|doktorarbeit) (?:\w+ ){0,3}?(?:bringt|bringen|brachte|killt|
            killen|toten|totet|umbringen) (?:mich|uns)(?: \w+)? ?(?:um|noch|irgendwann|wenn ich das (?:nicht|
            vergesse))?
        (?:bringt|bringen|brachte) mich (?:noch |fast |echt |irgendwann )?(?:um den (?:verstand|schlaf)|weiter|auf|
            um meinen|zum (?:lachen|weinen))
        (?:schlagt|schlug|geschlagen) (?:er |sie |mein \w+ )?(?:mich|mir|uns) (?:\w+ ){0,6}?(?:vor|fur (?:die|den|das|
            eine) \w+|im schach|beim \w+)(?= ,|$| (?:und|weil|als|zu))
        (?:hat|haben|hatte) (?:mich|uns) (?:im|beim|in der|bei der) (?:auswahl|bewerbung|wettbewerb|finale|schach|
            spiel|rennen|ausschreibung|tennis|wahl)\w* \w+
        (?:sterben|sterbe|gestorben) (?:fur|vor (?:lachen|scham|langeweile|neugier|hunger|durst|peinlichkeit|angst|
            aufregung)|um zu)
        (?:vor|aus) (?:lachen|scham|langeweile|neugier|hunger|peinlichkeit|aufregung) (?:\w+ ){0,2}?(?:sterben|
            gestorben|umgekommen|tot)
        (?:nicht|nie|keineswegs|kein bisschen) (?:suizidal|lebensmude|selbstmordgefahrdet|suizidgefahrdet)
        (?:im boden versinken|am liebsten im boden|mit (?:dem|meinem|der|meiner|diesem) (?:\w+ ){0,2}?(?:job|
            ausbildung|studium|vertrag|projekt|firma|beziehung|rauchen|freund\w*|chef|nachtdienst\w*|
            schicht\w*|pendeln|warten) (?:endlich )?schluss(?: zu)? ?mach\w*|
            schluss mit (?:dem|der|meinem|meiner|diesem) (?:job|projekt|rauchen|
            studium|stress|firma|ausbildung|schichtdienst)|feierabend machen)
        (?:nicht mehr (?:leben|sein|bleiben|da sein|weitermachen)) (?:in|als|bei|auf|ohne|mit|wo)
        (?:kann|will|mag|mochte) (?:\w+ ){0,4}?nicht mehr (?:im|in|als|bei|auf|am|mit|fur|so (?:viel|lange|weit)|
            langer|pendeln|arbeiten|stehen|nachts|jeden)(?: \w+)*
        sterben (?:lassen|liess\w*)|abschiedsbriefe (?:\w+ ){0,2}?(?:ausgewertet|untersucht|gelesen|analysiert)
        sterbebegleit\w*|palliativ\w*|todlangweilig|totgelacht|todmude|lebensgefahr\w*
    """,
)
