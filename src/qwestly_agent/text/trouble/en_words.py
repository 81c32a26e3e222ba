"""Words that the English phrases of people in trouble are made of."""

from collections.abc import Mapping

WORDS: Mapping[str, str] = {
    "self": "myself, my self, meself, myslef, mysef, miself, myselfe",
    "to": "to, too, 2, ta, to just, to fucking, to really, to honestly, just to, to actually",
    "want": """
            want, wants, wanna, wana, wan, wantt, wnat, wanting, wished?, wishing, need, desire, long, hope, hoping,
            plan,
            planning, planned, intend, intending, intention, decided, deciding, about, going, gonna, gunna, gona,
            ready,
            prepared, determined, tempted, trying, try, urge, urges, impulse, rather, prefer, love, like, close,
            deserve,
            choose, chose, begging, beg, pray, praying, time, dream, dreaming
        """,
    "die": r"""
            die, be dead, dissapp?ear forever, disapp?ear, vanish, cease to exist, not exist, stop existing,
            stop living, stop being alive, stop breathing, not be alive, not be here, not be around, not wake up,
            never wake up, never be born, be gone forever, be gone, leave this (?:world|earth|life|planet)(?! of),
            sleep forever,
            fall asleep forever, go to sleep forever, (?:go to|fall a?)\s?sleep and (?:never|not) wake up, fade away
        """,
    "ending": r"""
            end(?:ing)? it all, end(?:ing)? (?:my|this) (?:own )?(?:life|suffering|misery|existence|pain),
            end(?:ing)? everything, end(?:ing)? all of (?:it|this), end(?:ing)? {self}, end(?:ing)? it,
            end(?:ing)? things, kill(?:ing)? {self}, tak(?:e|ing) my (?:own )?life, commit+(?:ing)? suicide,
            comit suicide, hang(?:ing)? {self}, shoot(?:ing)? {self}, drown(?:ing)? {self}, stab(?:bing)? {self},
            poison(?:ing)? {self}, starv(?:e|ing) {self}, cut+(?:ting)? {self}, hurt(?:ing)? {self},
            harm(?:ing)? {self},
            burn(?:ing)? {self}, off(?:ing)? {self}, eras(?:e|ing) {self}, unaliv(?:e|ing)(?: {self})?, kms, ctb,
            jump(?:ing)?(?= ,|$), throw(?:ing)? {self} (?:off|in front|under|from|out|into|down),
            jump(?:ing)? (?:off|from|in front|under|out the window),
            jump(?:ing)? out (?:of )?(?:the|my|a) window, slit(?:ting)? my \w+, slash(?:ing)? my \w+,
            cut(?:ting)? my (?:wrists?|arms?|veins?|throat|legs?|thighs?), open(?:ing)? my (?:wrists?|veins?),
            overdos(?:e|ing), od, od on \w+,
            tak(?:e|ing) (?:all|every|a bunch|too many|a lot|the rest)(?: of)?(?: \w+)? (?:pills|meds|tablets|
                medication),
            swallow(?:ing)? (?:\w+ ){0,4}(?:pills|meds|tablets|medication), blow(?:ing)? my (?:head|brains?) \w+,
            driv(?:e|ing) (?:my car |the car )?(?:off|into (?:a|the|an|oncoming)) (?:\w+ )?(?:tree|wall|bridge|cliff|
                river|lake|traffic|truck|lorry|road|lane),
            crash(?:ing)? (?:my|the) car,
            walk(?:ing)? (?:into|in front of) (?:\w+ )?(?:traffic|train|sea|ocean|river|car|bus|truck|motorway|road|
                lake|water),
            step(?:ping)? (?:in front of|off) (?:\w+ )?(?:train|platform|ledge|bus|truck|roof|bridge|kerb|curb)
        """,
    "suicide": "suicide, sucide, suicde, suiside, my own death, being dead, dying, not being (?:here|alive|around)",
    "live": r"""
            live like this, live with (?:this|the) (?:pain|shame|grief|guilt|fear|depression), live with myself,
            live (?:in|on) this (?:world|planet|earth|body), live anymore, live any more, live any longer,
            live another \w+,
            live(?! (?:in|at|near|far|abroad|with|on|off|outside|by|out|there|that|close|within|here|alone|next|from|
                under|up|to|like a|for|without|off)\b),
            living(?! (?:in|at|near|far|abroad|with|on|off|outside|by|out|there|within|here|alone|room|wage|space)\b),
            be alive,
            being alive, stay alive, staying alive, exist, existing, existence, keep living, keep existing,
            continue living,
            continue like this, go on living, going on living, go on anymore, go on any more, go on any longer,
            go on like this, go on, going on, keep going, carry on, carrying on, be here anymore, be here any more,
            be here tomorrow, be here, being here, be around, wake up anymore, wake up tomorrow, wake up again,
            wake up,
            waking up, life, survive, breathe, breathing, face another day, be on this (?:earth|planet), see tomorrow,
            be in this world, make it (?:through the night|to tomorrow|until tomorrow)
        """,
    "here": """
            anymore, any more, any longer, much longer, tomorrow, tonight, next week, by morning, after tonight, soon
        """,
    "gone": r"""
            was dead, were dead, was gone, were gone, wasnt here, werent here, wasnt around, werent around,
            wasnt alive,
            werent alive, died, disappeared, didnt exist, just died, had never been born, was never born,
            killed {self},
            just disappeared, were no longer \w+, was no longer \w+, vanished, dont wake up, didnt wake up, am gone,
            am dead
        """,
    "pills": """
            pills?, tablets?, paracetamols?, tylenol, ibuprofen, aspirins?, xanax, valium, benzos?, meds, medication,
            medicine, antidepressants, painkillers?, sleeping pills, oxy, codeine, morphine, insulin, bleach, ambien,
            zopiclone, diazepam, lithium, fentanyl
        """,
    "took": """
            took, taken, swallowed, downed, ate, eaten, drank, drunk, taking, popped, necked, swallowing, injected,
            washed down, mixed
        """,
    "many": r"""
            all, every, bunch, bottle, box, packet, pack, handful, whole, entire, lots, too many, so many, lot, full,
            rest,
            double, \d+, twenty, thirty, forty, fifty, sixty, ten, fifteen, a hundred, dozens?, couple, several
        """,
    "means": """
            rope, noose, gun, pistol, rifle, revolver, pills, tablets, meds, blade, blades, razor, razors,
            razorblades?,
            razor blades?, poison, bottle of pills, bottle of bleach, belt
        """,
    "dear": """
            husband, hubby, wife, boyfriend, bf, girlfriend, gf, partner, fiance, fiancee, spouse, ex, ex husband,
            ex wife,
            ex boyfriend, ex girlfriend, ex partner, exhusband, exboyfriend, dad, father, mum, mom, mother, stepdad,
            stepfather, stepmom, stepmother, step dad, brother, sister, son, uncle, roommate, flatmate, housemate,
            parents, family, old man, inlaws, in laws, man, grandfather, grandpa, cousin
        """,
    "hits": """
            hits?, beats?, beating, beaten, hitting, slaps?, slapped, slapping, punch(?:es|ed|ing)?,
            kick(?:s|ed|ing)?,
            chok(?:es?|ed|ing), strangl(?:es?|ed|ing), rap(?:es?|ed|ing), abus(?:es?|ed|ing), hurt(?:s|ing)?,
            attack(?:s|ed|ing)?, assault(?:s|ed|ing)?, batter(?:s|ed|ing)?, shov(?:es?|ed|ing), push(?:es|ed|ing)?,
            throttl(?:es?|ed|ing), smack(?:s|ed|ing)?, bash(?:es|ed|ing)?, whip(?:s|ped|ping)?, molest(?:s|ed|ing)?,
            thrash(?:es|ed|ing)?, stab(?:s|bed|bing)?, burn(?:s|ed|ing)?, grab(?:s|bed)?, threaten(?:s|ed|ing)?,
            terrori[sz](?:es?|ed|ing), stalk(?:s|ed|ing), threw things at, throws things at, spits? (?:at|on),
            drag(?:s|ged|ging), pins?, pinned
        """,
    "scared": "afraid, scared, terrified, frightened, fear, fearing, in fear",
}
