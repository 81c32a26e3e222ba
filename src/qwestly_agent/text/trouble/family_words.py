"""The words of `families`, in English and German."""

from collections.abc import Mapping

ENGLISH: Mapping[str, str] = {
    "gone_soon": r"""
            (?:not|never) going to wake up tomorrow, use it on myself, til they bled, dont trust myself to drive
    """,
    "lethal": "rope, noose, gun, shotgun, rifle, pistol, revolver, razor blades?, poison, hose, pills, tablets",
    "at_hand": r"""
            next to me, beside me, on my lap, in my lap, in my hands?, in front of me, to my head, under my pillow,
            on the bed, by my bed, for tonight, reason not to
    """,
    "cannot_stop": "(?:cannot|cant|can not) stop (?:thinking|looking|staring), keep (?:thinking|looking|staring)",
    "tied": "tied, tying, hung, put, looped, threw",
    "rope": "rope, noose, belt, cord, cable",
    "beam": "beam, rafters?, ceiling, (?:a|the) tree, hook, banister, door handle, my neck",
    "will_be": "ill, i will, im going to, im gonna, i plan to, ima, imma",
    "dead": "be dead, be six feet under, finish (?:with )?my life, be in the ground, have killed myself, be a corpse",
    "injure_self": r"(?:i|ive) (?:\w+ )?(?:cut|burn\w*|stab\w*|scald\w*|hit|punch\w*|slam\w*) my\w*",
    "on_purpose": "on purpose, deliberately, intentionally, until (?:it|i) bleeds?",
    "blade": "razor, blade, cigarettes?, lighter, compass, box cutter",
    "head": "my head, my face",
    "wall": "wall, floor, door, tiles",
    "bleeds": "bleeds?, blood, bleeding, black out, pass out",
    "slit": "slit, slitted, slashed, opened, sliced",
    "wrists": "(?:my|both) (?:wrists?|veins?|throat)",
    "how": "how to, how i can, how i could, ways to",
    "kill_self": "kill myself, hang myself, drown myself, gas myself, end my life",
    "tried": "i tried to, i nearly, i almost",
    "high_place": "on (?:the|a|my) (?:roof|bridge|balcony|ledge|car park)",
    "looked_down": "looking down, looked down, wrong side, other side of the (?:rail|railing|fence)",
    "step_over": "one (?:more )?step and (?:its|it is|it would be|id be) (?:all )?(?:over|done|gone)",
    "touches": r"touch(?:es|ed|ing)? me, grop(?:es?|ed|ing) me, felt me up, feels me up, puts? his hands?",
    "where": r"""
            under my, up my, down my, between my, everywhere, all over, down there, at night, there, without,
            inappropriately, when (?:im|nobody|no one|everyone),
            in (?:my (?:bed|room)|the (?:storeroom|freezer|car|lift)),
            and (?:wont|wouldnt) stop
    """,
    "into_my_room": r"(?:comes|came|gets|climbs) (?:in|into|to) (?:to )?my (?:room|bed)(?:room)?",
    "raped": r"""
            (?:i was|i got|i have been|ive been|he|they|he has) raped(?: me)?, forced himself on me,
            (?:raped|sexually assaulted) me
    """,
    "attacker": r"""
            my (?:\w+ )?(?:boss|manager|foreman|supervisor|coworker|colleague|coach|landlord|neighbou?r|ex|uncle|chef)
    """,
    "strikes_me": r"""
            (?:slaps?|slapped|punch(?:es|ed)|kick(?:s|ed)|chok(?:es|ed)|strangl(?:es|ed)|shov(?:es|ed)|beats?|headbutt\w*|
                hits?|grabbed|threw \w+ at) me(?: (?:in|against|with|until|every|again|and|when|by|today|yesterday|to))
    """,
    "ex": r"my (?:ex|ex \w+|exhusband|exboyfriend|stalker|abuser)",
    "waits_for_me": r"""
            waiting for me, waits for me, waited for me, follow(?:s|ed|ing) me, outside my (?:work|house|door)
    """,
    "says": r"says?, said, texted, texts, wrote, swears?, swore, told me, threaten\w*, messag\w*",
    "threat": r"""
            put me in (?:the|a) (?:ground|grave|hospital|coffin|box|wheelchair), wont leave (?:\w+ )?alive, kill me,
            bury me, finish me off, if he cant have me, cut my throat, break my (?:legs|neck|jaw)
    """,
}
GERMAN: Mapping[str, str] = {
    "gone_soon": r"""
            gibt es mich nicht mehr, danach bin ich nicht mehr da, mich toten will,
            ich mache dem (?:\w+ )?ein ende, die pulsadern? auf\w+
    """,
    "lethal": r"strick, seil, gewehr, jagdgewehr, flinte, pistole, waffe, rasierklingen?, gift, tabletten, schlauch",
    "at_hand": r"""
            neben mir, vor mir, auf meinem schoss, in der hand, in meiner hand, unter meinem kissen, auf dem bett,
            am bett, fur heute (?:nacht|abend), was mich noch halt
    """,
    "cannot_stop": "nicht (?:aufhoren|mehr aus dem kopf), immer daran denken, aus dem kopf",
    "tied": "hangt, gehangt, gebunden, geknotet, hab, habe",
    "rope": "strick, seil, gurtel, kabel",
    "beam": "balken, dachbalken, decke, haken, ast, baum, hals",
    "will_be": r"(?:ich )?(?:leb|lebe) (?:eh |sowieso |ja )?nur noch, bin ich, werde ich, ich werde",
    "dead": r"""
            bis (?:zum|morgen|sonntag|freitag)(?= wochenende| ,|$), tot(?! (?:um|mude)), nicht mehr am leben,
            unter der erde
    """,
    "injure_self": r"""
            (?:mir|mich) (?:\w+ ){0,6}?(?:verbrannt|geschnitten|verbruht|gestochen|geschlagen|aufgeschlitzt),
            (?:verbrenne|schneide|schlage?|schlag|steche) (?:ich )?(?:mir|mich)
    """,
    "on_purpose": "extra, absichtlich, mit absicht, bis es blutet, bis ich blute",
    "blade": "rasierklinge, klinge, zigarette, feuerzeug, cutter, zirkel",
    "head": "(?:meinen|mein|den) (?:kopf|schadel)",
    "wall": "wand, mauer, tur, boden",
    "bleeds": "blutet, blute, blut",
    "slit": r"mir (?:\w+ )?(?:die|meine)",
    "wrists": r"(?:pulsadern|adern|handgelenke) (?:auf|zer|ge)\w*",
    "how": r"wie ich (?:mich|mir), wie man sich",
    "kill_self": r"""
            umbring\w*, umzubringen, erhang\w*, zu ertranken, das leben (?:nehme|zu nehmen), was an(?:tun|tue)?,
            etwas an(?:tun|tue)?
    """,
    "tried": r"""
            (?:versucht|tue ich mir|ich tue mir|tu ich mir|ich tu mir|tue mir|spring ich vom|springe ich vom|
                spring ich von|hang ich|hange ich)
    """,
    "high_place": "auf (?:dem|der|einem) (?:dach|brucke|balkon|hochhaus), dach, oben",
    "looked_down": r"nach unten gesehen, runter ?geschaut, hinunter ?geschaut, falsche\w* seite des gelanders",
    "step_over": r"""
            (?:ein|nur ein) schritt (?:\w+ )?(?:und|dann|, und|,
            dann) (?:es )?(?:\w+ )?(?:ist )?(?:\w+ )?(?:vorbei|aus|ruhe),
            (?:spring|springe|spring i) (?:ich )?(?:vom (?:dach|balkon|hochhaus)|von der brucke|vor den zug)
    """,
    "touches": r"""
            fasst (?:er )?mich, begrapscht (?:er )?mich, betatscht mich, grapscht mich,
            hat mich (?:\w+ ){0,4}?angefasst,
            hat mich (?:\w+ ){0,4}?begrapscht
    """,
    "where": r"an, uberall, unter, zwischen, nachts, am (?:po|hintern|busen), heute, gestern",
    "into_my_room": r"kommt (?:\w+ ){0,3}?in mein (?:zimmer|bett)",
    "raped": r"""
            (?:wurde|bin|worden) (?:\w+ ){0,4}?vergewaltigt, mich (?:\w+ ){0,6}?vergewaltigt, mir in die hose gefasst
    """,
    "attacker": r"""
            (?:mein|der|meine|unser) (?:\w+ )?(?:chef|vorarbeiter|meister|kollege|trainer|nachbar|ex\w*|onkel|koch)
    """,
    "strikes_me": r"""
            (?:haut|schlagt|tritt|prugelt|ohrfeigt|wurgt|schubst) (?:mich|uns|mir),
            (?:mich|mir|uns) (?:\w+ ){0,6}?(?:blau geschlagen|ins gesicht geschlagen|geohrfeigt|gewurgt|verprugelt)
    """,
    "ex": r"mein\w* ex\w*",
    "waits_for_me": r"""
            lauert mir, passt mich (?:\w+ ){0,6}?ab, verfolgt mich, wartet (?:\w+ ){0,5}?auf mich, stalkt mich
    """,
    "says": r"sagt\w*, schreibt, geschrieben, schrieb, droht\w*, gedroht, gesagt, schwort",
    "threat": r"""
            nicht lebend, bin ich dran(?= ,|$), unter die erde, ins grab, krankenhausreif, ich (?:\w+ )?nicht uberlebe,
            mich (?:\w+ ){0,3}?(?:kaltmacht|umbringt|absticht|totschlagt)
    """,
}
