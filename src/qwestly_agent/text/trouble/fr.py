"""Phrases of people in trouble, in French."""

from qwestly_agent.text.trouble.patterns import Language

FRENCH = Language(
    code="fr",
    apostrophe=" ",
    first_person="je, j, me, m, moi, mon, ma, mes",
    begins="""
        et, mais, juste, vraiment, franchement, parfois, maintenant, aussi, toujours, parce que, alors, ou, peut etre,
        encore, bonjour, salut, desolee?, oui, honnetement, en fait, des fois, la
    """,
    others=r"""
        patient\w*, client\w*, appelant\w*, gens, personnes?, jeunes?, ados?, adolescent\w*, enfants?, eleves?, il,
        elle,
        ils, elles, on, quelqu un, tu, vous, nous, ceux, celles, victimes?, collegues?, femmes?, hommes?, detenu\w*,
        personnages?, accompagn\w+, ecoute, soign\w+, travaille avec, etudi\w+, recherch\w+, ecri\w+, prevenir,
        prevention,
        benevole, infirmi\w+, psychologue, policier\w*, chef, patron\w*, entreprise, projet, equipe
    """,
    words={
        "die": r"""
            mourir(?! (?:de (?!froid)|pour)), me tuer, me suicider,
            en finir(?! avec (?:ce|cette|mon (?:contrat|stage|travail|job|poste)|le|les|ma (?:these|mission)|
                la (?!vie))),
            mettre fin a (?:mes jours|ma vie|tout|mon existence|tout ca),
            mettre un terme a (?:mes jours|ma vie|tout), me pendre, me noyer,
            me jeter (?:sous|du|dans|par|de la|devant|d un),
            sauter (?:du|de la|d un|par|sous|dans le vide), me foutre en l air, me flinguer, me tirer une balle,
            me buter, disparaitre(?! de), ne plus exister, ne plus vivre, ne plus etre la, ne plus me reveiller,
            ne jamais me reveiller, etre morte?,
            me faire du mal, me couper, me scarifier, me mutiler, m ouvrir les veines, me tailler les veines,
            avaler (?:\w+ ){0,4}(?:cachets|comprimes|medicaments|somniferes|pilules),
            prendre tous (?:mes|les) \w+, tout arreter et \w+,
            m endormir et ne (?:plus|jamais) (?:jamais )?me reveiller, passer a l acte,
            dormir et ne (?:plus|jamais) (?:jamais )?me reveiller, quitter ce monde, quitter cette vie,
            partir pour toujours, m empoisonner,
            m immoler, dormir pour toujours, en terminer, tout finir, foncer dans (?:un|le) \w+, m eteindre,
            me laisser mourir, crever
        """,
        "dear": r"""
            mari, copain, compagnon, conjoint, pere, ex, femme, mere, frere, fils, beau pere, belle mere, petit ami,
            mec,
            fiance, ex mari, ex copain, ex compagnon, oncle, parents, homme, coloc, colocataire, epoux, copine,
            compagne, ex conjoint, papa
        """,
        "hit": r"""
            frappe, frappait, bat, battait, tape, cogne, gifle, etrangle, menace, menacait, viole, maltraite,
            insulte et, brutalise, tabasse,
            pousse, secoue, roue de coups, agresse, sequestre, enferme, terrorise, harcele, violente, brule,
            attrape par, jette contre
        """,
        "was_hit": r"""
            frappee?, battue?, tapee?, cognee?, giflee?, etranglee?, menacee?, violee?, maltraitee?, tabassee?,
            poussee?, secouee?,
            agressee?, sequestree?, enfermee?, rouee? de coups, brulee?, plaquee?, jetee? (?:contre|par|a terre),
            violentee?
        """,
        "pills": r"""
            cachets?, comprimes?, medicaments?, medocs?, somniferes?, paracetamol, doliprane, xanax,
            antidepresseurs?, anxiolytiques?, pilules?,
            lexomil, valium, ibuprofene, insuline, morphine, codeine, calmants
        """,
    },
    self_harm=r"""
        j ai achete (?:une|la) corde\.
        (?:souffrir\w*|souffrira|souffre) (?:plus )?a cause de moi
        (?:quand|apres que|lorsque|si) je (?:serai|suis|serais) morte?
        la ou je vais (?:\w+ ){0,3}?(?:besoin|servir\w*)
        (?:cette nuit|ce soir|demain|dimanche|aujourd hui) (?:\w+ )?tout (?:s arrete|est fini|sera fini|
            se termine)(?: pour moi)?
        (?:je|j) (?:ne )?(?:veux|voudrais|vais|souhaite|souhaiterais|aimerais|prefere|prefererais|compte|pense|songe|
            reve|pensais|desire|pourrais|peux|dois|devrais|ai|suis|cherche|essaie|essaye|envisage|reflechis|hesite|vx|
            veu) ~~ {die}
        (?:veux|envie|envies|voudrais|idees?|pensees?|besoin|vais|pense|songe|plan|tentee?|decidee?|prete?|point|peur|
            intention|pulsions?|moyen|courage|facon) (?:\w+ ){0,2}?(?:de |d |a |que |plus que |juste |juste de |
            a l idee de |qu a |seulement |plus qu a |simplement )*{die}
        (?:de|a|pour|d) (?:me suicider|me tuer|mettre fin a mes jours|mettre fin a ma vie|me pendre|
            me foutre en l air|m ouvrir les veines|me flinguer)
        (?:veux|voudrais|vx|peux|ai|aime|supporte|souhaite|envie de|arrive|arrive a|desire|sens) (?:vraiment |juste |
            meme |meme plus |plus |pas |jamais |me |de |a |envie |la force |le courage |envie de |la force de |
            le courage de |gout a |aucune |aucune envie |aucune raison |aucune force |l envie )*(?:plus|pas|aucune|
            aucun) ?(?:envie |raison |force |la force |le courage |gout |l envie |l energie |motif |espoir |
            but )?(?:de |d |a |pour )*(?:vivre(?! (?:a|en|dans|chez|avec|ici|loin|de|du|au|la bas|seul|sur)\b)|
            exister|etre la|etre ici|etre en vie|etre vivante?|me reveiller|me lever le matin|rester en vie|
            continuer(?! (?:a (?!vivre)|dans|mon|ma|le|la|ce|cette|avec|mes|en|chez))|la vie|cette vie|
            continuer a vivre|me battre)
        (?:aucune|plus aucune|plus de|pas de|sans|aucun|plus la moindre|pas la moindre|quelle|perdu toute|
            plus) (?:vraie |bonne |seule |d )?(?:raison|envie|force|sens|gout|but|courage|espoir|motif|
            raisons) (?:de |a |d |pour |dans |en )*(?:vivre|continuer\.|continuer a vivre|exister|etre la|rester|
            la vie|ma vie|me lever\.|me reveiller|rester en vie|etre en vie|continuer et)
        (?:a quoi (?:bon|ca sert|sert)|pourquoi|a quoi ca sert|ca sert a quoi|ca sert a rien|sert a rien) (?:de |d |
            je |encore |a |continuer a |me )*(?:vivre|vis encore|exister|continuer\.|continuer a vivre|
            continuer comme ca|etre en vie|suis encore (?:la|en vie|vivante?)|rester en vie|me lever encore|vis)
        (?:vie|existence|tout|rien|ca) (?:n |ne |n a |ne vaut )?(?:a |vaut |est |vaut plus |sert |fait |vaut pas |
            a plus |me semble |semble )*(?:plus aucun sens|plus de sens|aucun sens|pas la peine d etre vecue|
            plus la peine|plus le coup|plus la peine d etre vecue|pas d etre vecue|pas de sens|insupportable|finie\.|
            foutue)\.
        (?:la vie|ma vie|vivre) (?:\w+ ){0,3}?(?:vaut (?:plus|pas|rien)|a plus (?:de|aucun) sens|n a (?:plus|pas|
            aucun) (?:de |aucun )?sens|plus la peine|est finie|est foutue|me pese|est insupportable|est un enfer et)
        (?:fatiguee?|marre|lassee?|epuisee?|ras le bol|assez|degoutee?) (?:de |d )(?:vivre|la vie|cette vie|exister|
            etre en vie|ma vie|tout , je|me battre pour vivre)
        (?:pensees?|idees?|envies?|pulsions?|crises?) (?:suicidaires?|noires|de suicide|de mort|morbides)(?! (?:chez|
            de mes|des|dans|parmi|d autrui|et (?:de )?(?:crise|detresse) chez|au (?:travail|telephone)))
        (?:je suis|me sens|suis|je deviens) (?:\w+ ){0,2}?suicidaire
        I ~~ (?:pens\w*|songe\w*|reflechi\w*|envisag\w*|parle|reve\w*|tent\w*|obsed\w*) (?:\w+ ){0,3}?(?:au suicide|
            le suicide|a la mort|a en finir|a mourir|a ma mort|a me tuer|de suicide|mon suicide|a me suicider|
            a mettre fin|a sauter|a disparaitre)(?! (?:assiste|chez|des|au travail))
        (?:mieux|plus heureux|plus heureuse|soulages?|tranquilles?|plus simple|plus facile) (?:\w+ ){0,3}?(?:sans moi|
            si (?:je|j) (?:n |ne )?(?:etais|existais|mourais|disparaissais|etais plus)|morte?|si j etais morte?)
        (?:sans moi|ma mort|si je (?:meurs|mourais|disparais|disparaissais)|si j etais morte?|
            si j etais plus la) (?:\w+ |, ){0,6}?(?:mieux|soulag\w+|plus (?:facile|simple|heureux)|manque\w*|rendrait|
            personne|s en (?:fiche|fout)|triste|remarquer\w*|pleur\w*)
        (?:prefer\w*|voudrais|aimerais|voulais|vaut mieux|mieux vaut|aurais du|autant|vaudrait mieux|devrais|
            si seulement j|serais mieux) (?:\w+ ){0,2}?(?:etre |que je sois |que je meure|etais |je sois )?(?:mort|
            morte|jamais nee?|pas nee?|plus la|meure|mourir|ne jamais etre nee?|n etre jamais nee?|ne pas (?:exister|
            me reveiller)|jamais (?:exister|existe))\b
        personne (?:\w+ ){0,3}?(?:manqu\w+|regrett\w+|remarqu\w+|pleur\w+|apercev\w*|verra) ?(?:\w+ ){0,5}?(?:si je|
            moi|ma mort|mon absence|si j|que je|rai|rait)?(?= |$)(?! (?:a la reunion|ma demission))
        (?:pas|aucune|plus d|plus aucune|pas d|sans|vois plus d|vois pas d|vois plus aucune|aucun|n y a pas d|
            n y a plus d) ?(?:autre |d |vraie )?(?:issue|echappatoire|porte de sortie|solution que (?:mourir|la mort|
            d en finir|de)|autre solution que)(?! (?:de secours|juridique|technique|du contrat))
        (?:en peux plus|n en peux plus|en peut plus) (?:de (?:vivre|la vie|cette vie|souffrir|tout ca)|, (?:je|
            j) (?:\w+ ){0,4}?(?:veux|mourir|finir|arrete|disparaitre)|\.$)
        (?:tiens|tiendrai|supporte|resiste|y arrive|peux) (?:plus|pas) (?:vivre|cette vie|la vie|d etre en vie|
            continuer comme ca|continuer a vivre|la douleur|vivre comme ca|de vivre|jusqu a demain|cette souffrance|
            continuer\.)
        (?:veux|voudrais|juste|faudrait|aimerais|prie pour) (?:\w+ ){0,3}?que (?:ca|tout|tout ca|la douleur|ca s|
            cette souffrance|tout s|la souffrance|cette vie|ces voix|tout cela) ?(?:s |se )?(?:arrete|termine|finisse|
            soit fini|cesse|prenne fin)
        (?:m automutil\w+|m entaille)
        (?:me|m|moi) (?:\w+ ){0,2}?(?:scarifie\w*|mutile\w*|taillade\w*|ouvert les veines|fais du mal|faire du mal|
            fait du mal expres|coupe (?:les (?:bras|veines|cuisses|poignets|avant bras)|expres|volontairement|la peau|
            le soir|encore|pour (?:me|ne|sentir|soulager)|quand|a nouveau|tous|avec)|brule (?:expres|volontairement|
            avec (?:une|ma) cigarette)|recommence a me couper|griffe jusqu)
        (?:recommence\w*|continue\w*|arrete pas|pu m empecher|envie|remise?|commence) (?:\w+ ){0,2}?(?:de |a |
            d )(?:me (?:couper|scarifier|mutiler|faire du mal|taillader|bruler)|m automutiler|m entailler)
        (?:avale\w*|pris|prise|prendre|gobe|ingere|bu|absorbe|prends|mange) (?:\w+ ){0,5}?(?:tous|toute|toutes|boite|
            plaquette|trop|plein|tas|poignee|\d+|vingt|trente|quarante|cinquante|dizaine|tout|tube|flacon|plusieurs|
            surdose|beaucoup|stock|les) (?:\w+ ){0,4}?{pills}(?! (?:a|aux|pour) (?:mes|les|des) patient\w*)
        (?:fait|faire|pris|fais|prendre) (?:une )?(?:overdose|surdose|tentative de suicide|ts)(?! (?:de cafe|chez))
        (?:corde|arme|fusil|pistolet|rasoir|lame|couteau|cachets|comprimes|somniferes|medicaments|boite de \w+|
            flacon) (?:\w+ ){0,4}?(?:devant moi|a cote de moi|dans la main|prete?s?|sous la main|dans mon tiroir|
            sur la table|achetee?|sous mon lit|sur la tempe|au cou|dans les mains|charge|a portee de main|
            sur ma table)
        (?:j ai|achete|pris|prepare) (?:\w+ )?(?:une |la |ma )?corde (?:\w+ |, ){0,6}?(?:pret|prete|ce soir|attend|
            poutre|demain|pour (?:en finir|me pendre))
        (?:suis|assise?|debout|me tiens|la) (?:\w+ ){0,3}?(?:sur|au|au bord|devant) (?:le|la|du|d un|les|un|une|de la|
            l)? ?(?:\w+ )?(?:pont|toit|rebord|rails?|voie ferree|quai du|balcon|falaise|parapet|fenetre|precipice|
            vide|voies)(?! (?:pour (?:filmer|reparer|mon travail)|de chargement))
        (?:lettre|lettres|mot|message|mots) d adieux?(?! (?:a (?:mes collegues|l equipe|mon equipe)))
        (?:ecrit|laisse|prepare|redige) (?:\w+ ){0,3}?(?:adieux|mes adieux|ma lettre|lettre d adieu|mot d adieu)
        (?:c est|ceci est) (?:mon |la |ma )?(?:adieu|derniere (?:nuit|fois que vous me lisez|journee en vie)|
            dernier (?:jour|message|soir))\.
        (?:serai|serais|suis|sera) (?:\w+ )?(?:plus la|plus en vie|morte?|plus de ce monde) (?:demain|ce soir|bientot|
            la semaine prochaine|dans|d ici|quand)?(?= |$)
        (?:fardeau|poids|charge|boulet) (?:pour (?:tout le monde|ma famille|mes (?:enfants|parents|proches)|tous|eux|
            les autres|mon (?:mari|entourage)))
        (?:deteste|hais|supporte plus) (?:d etre en vie|vivre|d exister|ma vie et|la vie)
        (?:merite) (?:de mourir|pas de vivre|la mort|de crever)
        (?:moyen|facon|methode|combien de \w+|maniere) (?:\w+ ){0,4}?(?:pour |de |d )(?:mourir|me tuer|en finir|
            me suicider|se suicider|mettre fin)
        (?:je|j) (?:\w+ ){0,3}?(?:me (?:tue|suicide|pends|jette|flingue|bute|fous en l air)|m ouvre les veines|
            me tire une balle)(?! (?:au travail|a la tache|a (?:expliquer|dire|le dire)|pour (?:ce|cette|mon|un)|
            a l eau|dans (?:le|la|un|une)|sur))
        (?:me|vais me|moi) (?:tuer|suicider|pendre) (?:ce soir|demain|maintenant|cette nuit|bientot)
        (?:nuit|soir|demain|aujourd hui|cette fois) (?:\w+ |, ){0,3}?(?:j en finis|je me tue|j en finirai|
            je pars pour toujours)
    """,
    violence=r"""
        (?:mon|ma|mes) {dear} (?:\w+ ){0,4}?(?:me|m|nous) (?:\w+ ){0,3}?(?:{hit}|{was_hit}|met des coups|
            donne des coups|fait du mal|mets des claques|leve la main)(?! (?:aux (?:echecs|cartes)|au (?:tennis|
            scrabble|poker)|a (?:postuler|changer|me|reussir|reprendre|aller|faire|plate couture)))
        (?:il|elle|ils) (?:\w+ ){0,3}?(?:me|m) (?:\w+ ){0,3}?(?:frappe|tape dessus|cogne|etrangle|viole|gifle|tabasse|
            maltraite|bat|roue de coups|a frappee?|a battue?|a etranglee?|a giflee?|a violee?|a tabassee?|a cognee?|
            a tapee?|a poussee?|donne des coups|met des coups|sequestre|a menacee? (?:avec|de)|terrorise|enferme|
            fait peur et)(?! (?:aux|au (?:tennis|scrabble|poker)|a plate|que|a chaque (?:partie|course)|l esprit))
        (?:suis|me fais|etre|fais|ete|etais|me sens) (?:\w+ ){0,3}?(?:{was_hit}|frapper|battre|tabasser|taper dessus|
            violer|etrangler|maltraiter|agresser) (?:\w+ ){0,3}?(?:par (?:mon|ma|lui|mes|elle)|a la maison|chez moi|
            tous les|chaque|presque|par un)
        (?:battue?|frappee?|maltraitee?|violentee?) (?:a la maison|chez moi|par (?:mon|ma|lui)|tous les (?:jours|
            soirs))
        (?:menace\w*|dit|jure|promis|repete|hurle|a dit|promet|ecrit|crie|jurer) (?:\w+ ){0,5}?(?:de |qu il |qu elle |
            va |que |il |vouloir |m |me |t |a |allait )*(?:me tuer|tuera|nous tuer|me tuerait|me tuera|
            me faire la peau|me planter|me bruler|me buter|me retrouver|me frapper|m etrangler|me defigurer|me crever|
            de mort)
        (?:peur|terrifiee?|terrorisee?|trouille) (?:\w+ ){0,2}?(?:de |d |pour |a l idee de |a )*(?:rentrer|
            rentrer chez moi|rentrer a la maison|lui|mon (?:propre )?{dear}|ma vie|retourner chez moi|etre chez moi|
            mon ex|qu il (?:me|rentre)|dormir chez moi)(?! (?:de ma vie\.|de ma vie professionnelle|dans (?:le|la|une|
            mes)))
        (?:pas|plus|jamais|nulle part) (?:\w+ )?(?:en securite|a l abri) (?:\w+ ){0,2}?(?:chez moi|a la maison|
            avec (?:lui|mon)|dans ma (?:propre )?maison)
        (?:m enferme|me sequestre|m empeche de sortir|me laisse pas sortir|m interdit de sortir|me retient)
        (?:violences? (?:conjugales?|a la maison|domestiques?|de mon {dear}|familiales?)) (?:\w+ ){0,4}?(?:chez moi|
            que je (?:vis|subis)|et je|depuis|je|mon)(?! (?:travaille|suis (?:avocate|policier|assistante|benevole|
            formee)|forme|accompagne|anime|milite))
        (?:je (?:subis|vis)|subis|victime) (?:\w+ ){0,3}?(?:des |de |les )*(?:violences?|coups|
            maltraitances?)(?: conjugales?)?(?! (?:au service|en milieu|comme))
        (?:mon|ma) {dear} (?:\w+ ){0,4}?(?:violente?|agressif|brutal|dangereux)(?! (?:a la guerre|dans son film))
        (?:bleus|oeil au beurre noir|cocard|ecchymoses|cote cassee|bras casse|nez casse) (?:\w+ ){0,5}?(?:a cause|
            de (?:lui|mon)|par|depuis|parce|qu il|partout|sur (?:le|les|mon|mes|tout))
        (?:cachee?|me cache|enfermee?) (?:\w+ ){0,4}?(?:dans la salle de bain|dans les toilettes|de lui|de mon {dear}|
            dans ma chambre|dans la voiture)
        (?:mains?) (?:autour|sur) (?:de )?(?:mon|ma|la) (?:cou|gorge|bouche)
        (?:leve|porte|levee) la main sur (?:moi|nous)
        (?:sous la menace d un|m a menacee? avec un|avec un) (?:couteau|fusil|arme|marteau|
            pistolet) (?:\w+ )?(?:sous la gorge|a la main et|et il|chez moi|hier|a la maison)
    """,
    past=r"""
        (?:j ai|je) (?:\w+ ){0,3}?(?:essaye|tente|voulu|failli|voulais) (?:\w+ )?(?:de |d )?(?:me suicider|me tuer|
            mettre fin a mes jours|mourir(?! de)|en finir|me pendre|sauter)
        (?:ma|une|derniere|premiere|deuxieme|apres ma|nouvelle) tentative de suicide
    """,
    long_ago=r"""
        il y a (?:\w+ )?(?:\w+ )?(?:ans|annees)
        (?:en|depuis) (?:19|20)\d\d
        (?:a l epoque|autrefois|quand j (?:etais|avais)|a (?:\d\d|seize|dix sept|dix huit|vingt) ans|adolescente?|
            dans ma jeunesse|par le passe|survivante?)
        (?:aujourd hui|maintenant) (?:je (?:suis|travaille|aide|forme|accompagne)|j (?:aide|accompagne|interviens|
            anime))
    """,
    harmless=r"""
        (?:prefere|prefererais|plutot) (?:\w+ )?(?:mourir|crever) (?:que|plutot que) (?:de |d )?(?!vivre|continuer)\w+
        (?:prevention|ligne|numero|association|cellule|formation|recherche|etude|these|taux|livre|article|film|
            enquete|reportage|conference|sensibilisation|risque|crises?|situations?|cas|appels?|tentatives?|gestion|
            prise en charge|ecoute|documentaire|evaluation|mon memoire|colloque) (?:\w+ ){0,4}?(?:du |de |au |des |
            le |les |sur le |sur les |contre le |suicidaires? )*(?:suicides?|suicidaires?|violences? conjugales?|
            suicide assiste)(?: \w+)?
        (?:patients?|personnes?|gens|jeunes|ados?|adolescents?|appelants?|eleves?|detenus?|ceux|celles|quelqu un|
            femmes?|hommes?|victimes?|enfants?|etudiants?|agriculteurs|clients?) (?:\w+ ){0,5}?(?:suicid\w*|mourir|
            mort|finir|vivre|se (?:tuer|couper|scarifier|pendre)|tuer|battues?|noires)
        (?:suicidaires?|suicides?) (?:chez|des|dans|en (?:prison|entreprise|milieu)|parmi|au travail|assiste)(?: \w+)?
        (?:empeche|evite|desamorce|traite|gere|pris en charge|vu|eu|annonce|suivi|dejoue) (?:\w+ ){0,2}?(?:un|des|le|
            plusieurs|deux|trois|une) (?:tentatives? de )?suicides?
        (?:il|elle|patient\w*|appelant\w*|quelqu un|homme|femme|jeune|ado|eleve|client\w*) (?:\w+ ){0,3}?(?:dit|
            disait|disent|a dit|ecrit|raconte|avoue|murmure) (?:\w+ )?(?:que )?(?:je|j|, je|, j) (?:\w+ ?){1,10}
        (?:livre|film|roman|chanson|serie|jeu|podcast|piece|titre|intitulee?|appelle|titree?|article|documentaire|
            spectacle|phrase) (?:\w+ )?(?:, )?(?:je|j|mon|pourquoi|avant que|si je) (?:\w+ ?){1,8}
        (?:trajet|trajets|projet|boulot|travail|chef|patron|deadline|metro|reunions?|stress|rythme|excel|tableur|
            client|manager|femme|mari|mere|these|pieds|dos|horaires) (?:\w+ ){0,3}?(?:me |m |va |vont |a |
            nous )*(?:tue|tuent|tuer|tuera|achever|achevent|acheve|tuee?)
        (?:mourir|meurs|mort|morte|crever|creve) (?:de (?:rire|honte|faim|soif|ennui|curiosite|chaud|trouille|stress|
            fatigue|peur|jalousie|trac|envie)|d (?:ennui|impatience|envie)|d envie de|pour (?:ce|cette|un|une|
            travailler|y|cet))(?: \w+)?
        (?:me tuer|me tue|tuer|tue|tuee?) (?:a la tache|au travail|au boulot|a (?:expliquer|repeter|dire|finir)|
            pour (?:ce|cette|un|une|mon|le|finir|boucler))
        (?:en finir|finir|mettre fin) (?:avec|a) (?:ce|cette|mon (?:contrat|stage|travail|job|poste|preavis|cdi|cdd)|
            ma (?:mission|periode|these|recherche)|le|la(?! vie)|les|cet|notre)(?: \w+)?
        (?:pas|jamais|nullement|absolument pas) (?:\w+ )?suicidaire
        (?:bat|battue?|battu) (?:\w+ ){0,2}?(?:aux (?:echecs|cartes|elections|points)|au (?:tennis|scrabble|poker|
            score|concours|finish)|d une|en finale)
        m (?:a |avait |ont )?menacee? de (?:ne|me (?:virer|licencier)|licenciement|couper|poursuites)(?: \w+)?
        (?:disparaitre|rentrer) (?:sous terre|dans un trou|de honte|de la circulation|dans le sol)
        (?:sauter|jeter|jette|saute) (?:sur|a l eau|le pas|dans (?:le (?:grand bain|bain|metier|train)|l (?:aventure|
            inconnu|entrepreneuriat))|en parachute|du coq|une etape|le repas)
    """,
)
