"""The words of `families`, in Spanish, French and Portuguese."""

from collections.abc import Mapping

SPANISH: Mapping[str, str] = {
    "gone_soon": r"""
            no pienso despertar, hoy me mato(?= ,|$| posta), me quite de en medio, de este mes no paso,
            (?:abri|abierto) la llave del gas
    """,
    "lethal": r"""
            arma reglamentaria, soga, cuerda, escopeta, pistola, rifle, revolver, cuchilla, veneno, raticida,
            pastillas, manguera
    """,
    "at_hand": r"""
            encima de las rodillas, a mi lado, al lado mio, delante de mi, enfrente de mi, en mis? manos?,
            en la mano, en la cama, bajo mi almohada,
            para esta noche, tomandome eso, tomarme eso, me lo tomo
    """,
    "cannot_stop": r"no (?:puedo|paro|dejo) (?:dejar )?(?:de )?(?:pensar|mirar)\w*, sigo (?:pensando|mirando)",
    "tied": "amarre, ate, colgue, puse, pase, he atado, anude",
    "rope": "soga, cuerda, cinturon, lazo, cable",
    "beam": "viga, techo, arbol, gancho, rama, cuello",
    "will_be": "voy a, estare, ya estare, habre, me habre, no voy a, no llego",
    "dead": r"estar muert[ao], muert[ao], bajo tierra, matado, estar viv[ao], viv[ao] a",
    "injure_self": r"""
            me (?:he )?(?:quem[eo]|quemado|cort[eo]|cortado|clav[eo]|pinch[eo]|golpe[eo]) (?!una mano si),
            clavarme, quemarme, cortarme, pincharme
    """,
    "on_purpose": r"a proposito, adrede, aposta, queriendo, hasta sangrar, hasta que sangr\w+",
    "blade": r"cuter, cutter, cuchilla, navaja, cigarr\w+, mechero, encendedor, compas",
    "head": "la cabeza",
    "wall": "pared, muro, puerta, suelo",
    "bleeds": r"sangr\w+",
    "slit": "me (?:he )?(?:cort[eo]|cortado|abri|abierto|raj[eo]|rajado)",
    "wrists": "(?:las|mis) (?:munecas|venas)",
    "how": "como, formas de, maneras de",
    "kill_self": r"matarme, ahogarme, ahorcarme, colgarme, suicidarme, quitarme la vida, envenenarme",
    "tried": "intente, he intentado, trate de, casi, estuve a punto de",
    "high_place": "azotea, puente, tejado, balcon, cornisa",
    "looked_down": r"para abajo, hacia abajo, lado de afuera, por fuera, otro lado de la barand\w+",
    "step_over": r"un paso (?:mas )?y (?:se acab\w+|ya esta|todo se)",
    "touches": r"me (?:toco|toca|tocaba|manose\w+|agarro|metio mano|mete mano), me ha tocado",
    "where": r"""
            por debajo, debajo de, entre las piernas, los pechos, las tetas, el culo, por todas partes, todo el cuerpo,
            a la fuerza, sin mi, por la noche, el cuerpo
    """,
    "into_my_room": "(?:entra|se mete) (?:en|a) mi (?:cuarto|habitacion|cama)",
    "raped": "me (?:violo|violaron|han violado|ha violado), (?:fui|he sido) violad[ao]",
    "attacker": r"""
            (?:mi|el|un) (?:\w+ )?(?:papa|padre|jefe|encargado|capataz|
                companero|entrenador|vecino|casero|ex|tio|padrastro)
    """,
    "strikes_me": r"""
            me (?:\w+ )?(?:a golpes|a empujones|a patadas|a punetazos),
            me (?:dio|da|ha dado|pego|mete) (?:una? |de |\w+ )?(?:punetazos|bofetad\w+|patadas|cachetad\w+|golpes|
                paliza|
                correazos)
    """,
    "ex": r"mi ex\w*(?: \w+)?",
    "waits_for_me": r"me (?:espera|sigue|persigue|vigila|acosa), esperandome, siguiendome",
    "says": r"dic\w+, dijo, escrib\w+, jur\w+, amenaz\w+",
    "threat": r"""
            me va a (?:matar|enterrar|rajar|quemar), me mata, no salgo viv[ao], bajo tierra, cortarme el cuello,
            acaba\w* conmigo, si no (?:soy|eres) (?:suya|de el|mia)
    """,
}
FRENCH: Mapping[str, str] = {
    "gone_soon": r"""
            de ne plus etre la, je vais me foutre en l air, mets fin a mes jours,
            en esperant ne pas me reveiller, en sorte de ne pas me reveiller
    """,
    "lethal": r"fusil, carabine, pistolet, revolver, corde, lame de rasoir, poison, cachets, medicaments",
    "at_hand": r"""
            a cote de moi, devant moi, sur mes genoux, dans (?:ma|la) main, sur le lit, sous mon oreiller,
            pour ce soir, a mes pieds
    """,
    "cannot_stop": "(?:arrete|arrive) pas (?:a arreter )?(?:d y|de) penser, tourne en boucle",
    "tied": "passe, attache, accroche, noue, pendu, mis",
    "rope": "corde, ceinture, cable",
    "beam": "poutre, plafond, arbre, crochet, branche, cou",
    "will_be": "je serai, je vais, je me serai, je serais",
    "dead": "morte?, etre morte?, tuee?, plus de ce monde, plus en vie",
    "injure_self": r"""
            je me (?:suis )?(?:\w+ )?(?:brule|coupe|plante|tape|pique|entaille)e?, me (?:bruler|couper|piquer)
    """,
    "on_purpose": "expres, volontairement, jusqu au sang, jusqu a saigner",
    "blade": "cutter, lame, rasoir, cigarette, briquet, compas",
    "head": "la tete",
    "wall": "mur, porte, sol",
    "bleeds": r"sang, saign\w+",
    "slit": "me suis (?:ouvert|coupe|taillade|taille)",
    "wrists": "(?:les|mes) (?:veines|poignets)",
    "how": "comment, facons? de, moyens? de",
    "kill_self": "me tuer, me pendre, me noyer, me jeter, me suicider, en finir",
    "tried": "j ai (?:failli|essaye de|tente de), je vais, retenir de",
    "high_place": "toit, pont, balcon, rebord",
    "looked_down": "vers le bas, regarde en bas, du mauvais cote, autre cote de la (?:rambarde|barriere)",
    "step_over": "un pas (?:de plus )?et (?:c est|tout est|ce serait) fini",
    "touches": r"m (?:a |avait )?(?:\w+ )?(?:touchee?|tripotee?|coincee?|pelotee?), me (?:touche|tripote|pelote)",
    "where": r"""
            partout, sous (?:mon|ma|mes|le|la), entre les (?:jambes|cuisses), les (?:seins|fesses), la nuit,
            dans (?:la chambre|les vestiaires|la reserve|mon lit), sans mon
    """,
    "into_my_room": "(?:vient|entre|rentre) dans (?:ma chambre|mon lit)",
    "raped": r"m a violee?, (?:j ai ete|me suis fait\w*) viole[er]?e?",
    "attacker": r"""
            (?:mon|le|un|ma) (?:\w+ )?(?:chef|patron|contremaitre|collegue|coach|entraineur|voisin|ex|oncle|mec|copain|
                beau pere|pere|mari)
    """,
    "strikes_me": r"""
            m (?:a|avait) (?:\w+ )?(?:cogne|frappe|gifle|projete|plaque|pousse|etrangle|tabasse|attrape)e? (?!par),
            me (?:cogne|tabasse|frappe|gifle|etrangle)
    """,
    "ex": r"mon ex(?: \w+)?",
    "waits_for_me": "m attend, me suit, me harcele, me guette",
    "says": r"di(?:t|sant|sait), jur\w+, ecri\w+, menac\w+",
    "threat": r"""
            me (?:fait|faire|fera) la peau, m achever, me tue\w*, me buter, m enterrer, m egorger, me crever,
            sortirai pas vivante?
    """,
}
PORTUGUESE: Mapping[str, str] = {
    "gone_soon": r"ja ca nao estou, por minha propria mao, pra morrer mesmo, nao confio em mim(?= ,|$)",
    "lethal": r"corda, espingarda, pistola, revolver, cacadeira, lamina, veneno, chumbinho, comprimidos, remedios",
    "at_hand": r"""
            ao meu lado, do meu lado, a minha frente, na minha frente, na minha mao, no meu colo, na cama, na mao,
            para esta noite, pra hoje a noite, debaixo do travesseiro
    """,
    "cannot_stop": r"nao (?:consigo|paro) (?:parar )?(?:de )?(?:pensar|olhar), fico (?:pensando|olhando)",
    "tied": "amarrei, atei, pendurei, pus, passei, prendi",
    "rope": "corda, cinto, cabo, fio",
    "beam": "viga, trave, teto, tecto, arvore, gancho, galho, pescoco",
    "will_be": "vou, ja vou, estarei, ja estarei, nao vou, terei",
    "dead": r"estar mort[ao], mort[ao], ter me matado, me matado, estar viv[ao], debaixo da terra",
    "injure_self": r"me (?:queimei|queimo|cortei|corto|furei|furo|bati|furar|queimar), (?:queimei|cortei|furei) me",
    "on_purpose": "de proposito, por querer, ate sangrar, por vontade",
    "blade": "estilete, x ato, lamina, gilete, cigarro, isqueiro, compasso",
    "head": "a cabeca",
    "wall": "parede, porta, chao, muro",
    "bleeds": r"sangr\w+",
    "slit": "(?:cortei|abri|rasguei)",
    "wrists": "(?:os|meus|os meus) (?:pulsos)|as veias",
    "how": "como, jeitos? de, formas? de, maneiras? de",
    "kill_self": "me matar, matar me, me enforcar, enforcar me, me afogar, afogar me, me suicidar, suicidar me",
    "tried": "tentei, quase, estive quase a",
    "high_place": "ponte, telhado, terraco, viaduto, varanda, predio",
    "looked_down": "para baixo, pra baixo, lado de fora, do lado errado",
    "step_over": r"um passo (?:a mais )?e (?:acab\w+|tudo acab\w+)",
    "touches": r"""
            passa a mao, passou a mao, me (?:toca|tocou|apalpa|apalpou|agarrou|agarra), (?:tocou|apalpou|agarrou) me,
            mete a mao
    """,
    "where": r"""
            em mim, por baixo, debaixo da, entre as pernas, nos? (?:seios|peito), a forca, sem (?:eu|minha), a noite,
            no vestiario, nas minhas
    """,
    "into_my_room": "(?:entra|vem|vai) (?:no|ao|para o|pro) meu (?:quarto)",
    "raped": "(?:fui|me) (?:estuprad[ao]|violad[ao]|estuprou|violou|estupraram|violaram), violou me",
    "attacker": r"""
            (?:meu|o meu|o|um) (?:\w+ )?(?:chefe|patrao|encarregado|colega|treinador|vizinho|ex|tio|padrasto|gerente)
    """,
    "strikes_me": r"""
            me apertou o pescoco,
            me (?:bateu|socou|esmurrou|empurrou|esganou|agrediu|chutou|deu (?:um |uma |\w+ )?(?:soco|murro|
                tapa|chute|surra)),
            (?:bateu|esmurrou|empurrou|agrediu) me,
            encostou (?:um|uma|o|a) (?:revolver|arma|faca|pistola)
    """,
    "ex": r"(?:o )?meu ex(?: \w+)?",
    "waits_for_me": r"""
            me (?:espera|segue|persegue|vigia|esperando|perseguindo), (?:espera|segue|persegue) me, esperando me
    """,
    "says": r"avis\w+, diss\w+, diz\w*, escrev\w+, jur\w+, amea\w+",
    "threat": r"""
            acab\w+ comigo, me mata\w*, mata me, me enterra\w*, nao saio viv[ao], me cortar a garganta, dar cabo de mim
    """,
}
