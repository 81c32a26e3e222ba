"""Phrases of people in trouble, in Spanish."""

from qwestly_agent.text.trouble.patterns import Language

SPANISH = Language(
    code="es",
    apostrophe=" ",
    first_person="yo, me, mi, mis, he, estoy, tengo, soy",
    begins="""
        y, pero, solo, de verdad, sinceramente, a veces, ahora, tambien, siempre, porque, entonces, o, quizas,
        otra vez,
        hola, perdon, si, ya, la verdad, es que, hoy, creo que, siento que, oye, por favor
    """,
    others=r"""
        pacientes?, clientes?, llamantes?, gente, personas?, jovenes, adolescentes?, ninos?, alumnos?, el, ella,
        ellos,
        ellas, alguien, usted, tu, nosotros, victimas?, companer\w+, mujeres, hombres, presos?, internos?, quien,
        quienes,
        personajes?, acompan\w+, atiend\w+, atend\w+, investig\w+, escrib\w+, prevenir, prevencion, voluntari\w+,
        enfermer\w+,
        psicolog\w+, policia\w*, jefe, jefa, empresa, proyecto, equipo, trabajo con, trabaje con
    """,
    words={
        "die": r"""
            morir(?! (?:de|por))(?:me)?(?! de (?:verguenza|risa|hambre|ganas|aburrimiento|sueno|nervios)),
            morirme(?! de (?:verguenza|risa|hambre|ganas|aburrimiento|sueno|nervios)), matarme, suicidarme,
            quitarme la vida, quitarme de en medio,
            quitarme del medio, acabar con todo, acabar con mi vida, acabar con esto, acabar conmigo,
            acabar de una vez con todo, terminar con todo, terminar con mi vida,
            terminar con esto, terminarlo todo, acabarlo todo, poner fin a (?:mi vida|todo|esto|mi sufrimiento),
            ponerle fin a (?:mi vida|todo|esto),
            desaparecer(?! de (?:linkedin|las redes))(?: para siempre)?,
            dejar de (?:existir|vivir|respirar|sufrir|estar aqui), no existir, no despertar(?:me)?(?: mas| nunca)?,
            no estar (?:aqui|viva|vivo), estar (?:muerta|muerto), ahorcarme, colgarme,
            tirarme (?:de|del|por|al|a|desde|debajo|a las) (?:\w+ ?){1,3},
            lanzarme (?:de|del|por|al|a|desde|a las) (?:\w+ ?){1,3},
            saltar (?:del|de la|desde|por (?:la ventana|el balcon)|al vacio|de un)(?: \w+)?,
            cortarme(?: las venas| los brazos| las munecas)?, cortarme otra vez, lastimarme, hacerme dano,
            autolesionarme, pegarme un tiro, darme un tiro,
            dormir(?:me)? y no (?:volver a )?despertar(?:me)?(?: nunca| mas)?, irme de este mundo, irme para siempre,
            tomarme (?:todas|un monton|todo|un frasco|las|una caja|un bote) (?:de )?(?:\w+ ){0,3}?(?:pastillas|
                pildoras|medicamentos|tranquilizantes|somniferos),
            cerrar los ojos y no \w+, envenenarme, quemarme viva, estrellar (?:el|mi) (?:coche|carro|auto),
            dormir para siempre, descansar para siempre, borrarme del mapa, borrarme de este mundo
        """,
        "dear": r"""
            marido, esposo, novio, pareja, padre, papa, ex, mujer, esposa, madre, mama, hermano, hijo, padrastro,
            madrastra, novia,
            ex marido, ex novio, exmarido, exnovio, ex pareja, expareja, tio, padres, companero de piso, suegro,
            cunado, viejo, ex esposo, abuelo, exesposo
        """,
        "hit": r"""
            pega, pegaba, golpea, golpeaba, maltrata, maltrataba, amenaza, abofetea, empuja, patea, viola, abusa,
            ahorca, estrangula, agrede,
            insulta y, encierra, acosa, escupe, grita y, levanta la mano, agarra del, tira del pelo, da palizas,
            da golpes, casca, asfixia, lastima, quema, persigue, zarandea
        """,
        "was_hit": r"""
            pego, golpeo, pegado, golpeado, golpeada, maltratado, maltratada, amenazado, amenazo, abofeteo,
            abofeteado, empujo, empujado, pateo, violo, violado, violada,
            ahorco, estrangulo, agredio, agredido, agredida, encerro, encerrado, ataco, atacado, intento matar,
            intento ahorcar, rompio (?:la|el|un), partio (?:la|el|un), dio una paliza, dado una paliza,
            tiro al suelo, lastimo, quemo, abuso
        """,
        "pills": r"""
            pastillas?, pildoras?, medicamentos?, medicinas?, somniferos?, tranquilizantes?, paracetamol(?:es)?,
            ibuprofenos?, ansioliticos?, antidepresivos?,
            lorazepam, diazepam, alprazolam, clonazepam, rivotril, valium, insulina, cloro, lejia, veneno, orfidal,
            trankimazin, lexatin
        """,
    },
    self_harm=r"""
        he comprado una cuerda(?: y (?:ya )?se (?:donde|como|cuando)(?: hacerlo)?)?\.
        me (?:tiro|lanzo) (?:por|del?|desde|al?|a las?) (?:el |la |las |un |una )?(?:
            balcon|ventana|puente|vias|tren|azotea)
        (?:cuando (?:la|lo|las|los) (?:lean|leas|lea)|para entonces|manana|yo) (?:\w+ |, ){0,2}?(?:ya )?no (?:estare|
            existire)(?: aqui| viv[ao])?\.
        (?:hoy|esta noche|manana|este finde|el \w+) se (?:acaba|termina) todo(?: para mi)?
        no (?:me )?(?:va a hacer|hara|necesitare|voy a necesitar|hace) (?:\w+ ){0,4}?donde voy
        (?:cuando|despues de que|si) (?:me muera|yo muera|este muert[ao]|me haya muerto)
        (?:sufrira|sufra|sufrir) (?:mas )?por mi culpa
        (?:quiero|queria|quisiera|voy a|pienso|pienso en|ganas|prefiero|preferiria|deseo|gustaria|necesito|planeo|
            decidi|decidido|pensando|pensado|pensamientos?|penso|pense|ansias|intencion|intente|idea|ideas|plan|
            planes|miedo|impulso|impulsos|a punto|dispuest[ao]|list[ao]|podria|puedo|deberia|tengo que|solo|intentar|
            imagino|sueno|suen[oa]|fantase\w+|busco|buscando|estoy por|toca|falta valor para|valor|forma|manera|
            ojala pudiera|ojala|mejor|k\w*ero|kiero|voi a|me falta) (?:\w+ ){0,2}?(?:en |con |de |a |por |que |solo |
            como |el |la |simplemente |para )*{die}
        (?:quiero|pienso|voy a|tengo|tuve|siento|ganas de|quitarme|de) ~ (?:suicidarme|matarme|quitarme la vida|
            ahorcarme|autolesionarme|cortarme las venas)
        (?:suicidarme|quitarme la vida|matarme) (?:hoy|esta noche|manana|ya|pronto|y)
        (?:me voy a|me quiero|me quisiera|me pienso|me gustaria|me dan ganas de|me voi a|me kiero|quiero|
            solo me quiero) (?:\w+ )?(?:morir|matar|suicidar|colgar|ahorcar|tirar (?:del|de|por|al|a las)|
            lanzar (?:del|al)|cortar (?:las|los)|quitar la vida|hacer dano|lastimar|pegar un tiro|
            ir de este mundo)(?! (?:de (?:risa|ganas|verguenza|hambre|aburrimiento|suenos?)|a estudiar|a (?:trabajar|
            buscar)))
        (?:no|ya no|nunca|tampoco) (?:me )?(?:quiero|queria|puedo|quisiera|deseo|tengo|encuentro|veo|siento|aguanto|
            soporto|merezco|hay|creo que (?:quiera|pueda)|se si quiero|quedan?|deberia|se para que|me quedan|
            me apetece|me dan|sirve) (?:ya |mas |ganas |ninguna |ningun |ni |un |una |razones |razon |motivos? |
            sentido |fuerzas |fuerza |de |para |por |que |a |en |la |el |las |valor |esperanza |los |solo |seguir |
            seguir con |mi |le |con |tantas )*(?:vivir(?! (?:en|con mis|cerca|lejos|fuera|aqui|de alquiler|del?|
            solo en|sola en)\b)|viviendo(?! (?:en|con|cerca|de)\b)|existir|existiendo|estar viv[ao]|estar aqui|
            despertar(?:me)?(?! (?:a las|temprano|tan))|despertarme manana|seguir asi|seguir adelante|seguir viv[ao]|
            la vida|esta vida|seguir\.|levantarme\.|estar en este mundo|aguantar esta vida|mi vida\.|continuar\.)
        (?:sin|perdi|perdido|no tengo|no me quedan|ninguna|ningun|que|cual|quedan|hay|pocas|cero|no hay|
            tengo) (?:\w+ )?(?:ganas|razon|razones|motivos?|sentido|fuerzas|proposito|ilusion|
            esperanza) (?:\w+ )?(?:de|para|por) (?:que |lo que |la que )?(?:vivir|seguir\.|seguir (?:viv\w+|adelante|
            aqui|con mi vida)|existir|levantarme\.|la vida|estar viv[ao]|vivo|continuar\.)
        (?:vida|vivir|seguir|todo|nada|existencia|esto) (?:ya |no |para mi |me |a mi )*(?:tiene|vale|merece|encuentro|
            hace|le veo|veo|importa|parece) (?:ya |ningun |mas |la |el |sentido |para nada |nada de )*(?:sentido|pena|
            la pena vivirla|la pena\.|nada\.|pena seguir|valor)(?! (?:invertir|aprender|cambiar))
        (?:para que|por que|de que (?:me )?sirve) (?:\w+ )?(?:seguir (?:viv\w+|aqui|adelante|asi|con vida)|
            vivir(?! en)|sigo viv\w+|sigo aqui|existo|estoy viv[ao]|despertar|levantarme\.|sigo vivo)
        (?:no (?:le )?(?:veo|encuentro)|sin|no hay|no tiene|no le hallo|perdi el) (?:\w+ ){0,2}?sentido (?:a |de |
            en )?(?:la vida|mi vida|vivir|seguir|nada|seguir viv\w+|existir|a nada|estar viv\w+|mi existencia)
        (?:no (?:le )?(?:veo|hay|encuentro|tengo|queda|hallo)|sin|ninguna|no veo) (?:otra |ninguna |mas |ya |la |una |
            ni )*(?:salida|escapatoria)(?! (?:laboral\w*|profesional\w*|de emergencia|del contrato|a bolsa|
            al mercado))
        (?:cansad[ao]|hart[ao]|agotad[ao]) (?:ya )?(?:de|con) (?:vivir|la vida|existir|mi vida|esta vida|
            estar viv[ao]|seguir viv\w+|respirar|tanto sufrir|luchar por vivir|sufrir)(?! (?:en|lejos)\b)
        (?:no (?:puedo|aguanto|soporto|doy)|ya no (?:puedo|aguanto|soporto|doy)) mas (?:con (?:mi vida|esta vida|
            la vida|el dolor|este dolor|tanto dolor)|vivir|esta vida|la vida|este dolor|el dolor|
            , (?:\w+ ){0,5}?(?:mor\w+|acab\w+|termin\w+|vivir|desaparecer|dormir|muert\w+))
        (?:no (?:puedo|aguanto)|ya no (?:puedo|aguanto)) mas\.
        (?:mejor|felices|tranquilos|facil|aliviados|bien|descansarian) (?:\w+ ){0,2}?(?:sin mi(?! (?:ayuda|equipo))|
            si (?:yo )?(?:no estuviera|no existiera|estuviera muert[ao]|me muriera|muriera|desapareciera|me muero|
            no hubiera nacido)|muert[ao](?! que)|muert[ao] que viv[ao])
        (?:ojala|quisiera|desearia|preferiria|prefiero|mejor|deberia|me gustaria|quiero|rezo|pido|deseo|
            espero) (?:que |yo |me |estar |haber |ya |no |a dios |para |nunca |simplemente |manana |hubiera |hubiese |
            volver a )*(?:muert[ao]|estuviera muert[ao]|morir(?:a|me)?|muriera|despertar(?:a|me)?|nacido|existiera|
            existir|desapareciera|me muera|nacer|llevara la muerte)(?! (?:de|por)\b)
        (?:nadie) (?:\w+ ){0,3}?(?:echaria de menos|extranaria|notaria|llorar\w*|importaria|extranara|echara de menos|
            daria cuenta|va a extranar|iba a extranar|se enteraria|importo)
        (?:pensamientos?|ideas?|ideacion|intenciones|impulsos) (?:suicidas?|de suicidio|de muerte|de matarme|de morir|
            de quitarme)(?! (?:en|entre|de (?:los|mis|sus|adolescentes|pacientes)|en (?:jovenes|adolescentes)))
        (?:pienso|pensando|pensado|penso|pense|piense|pensar|planeando|contemplando|considerando|considerado|
            fantase\w+) (?:\w+ ){0,3}?(?:en |el |sobre |con )*(?:el suicidio|suicidio|la muerte|mi muerte|
            mi propia muerte|morir|matarme|quitarme|acabar con|como morir)(?! (?:asistido|de (?:los|mi abuel\w+|un)|
            como tema))
        (?:soy|estoy|me siento|ando) (?:\w+ )?suicida
        me (?:\w+ ){0,2}?(?:corto(?! (?:el pelo|con la gente))|corte (?:los brazos|las munecas|las venas|otra vez|
            a proposito|anoche|de nuevo)|autolesiono|autolesione|autolesionado|he autolesionado|hago dano|hago cortes|
            hice cortes|lastimo|lastime a proposito|quemo a proposito|quemo con cigar\w+|rasguno hasta|
            he cortado (?:los|las|otra|de nuevo|a proposito)|(?:he )?(?:vuelto|volvi|vuelvo) a (?:cortar|autolesionar|
            lastimar|hacer dano))
        (?:volvi|vuelto|volviendo|empece|empezado|sigo|llevo|dejar de|parar de) (?:\w+ ){0,2}?(?:a |de )?(?:cortarme|
            autolesionarme|hacerme dano|lastimarme|cortandome|autolesionandome|haciendome dano|lastimandome|
            a las autolesiones)
        (?:tome|tomado|trague|tragado|tomarme|tragarme|tomando|ingeri|bebi|bebido) (?:\w+ ){0,3}?(?:todas?|todos|
            monton|frasco|caja|bote|blister|punado|muchas?|muchos|\d+|veinte|treinta|cuarenta|cincuenta|demasiad\w+|
            varias|sobredosis|entero|el bote) (?:\w+ ){0,3}?(?:{pills})(?! (?:a|para) (?:mis|los|las) pacientes?)
        (?:tome|trague|bebi|tomado|bebido) (?:\w+ ){0,2}?(?:lejia|cloro|veneno|una sobredosis|raticida)
        (?:tome|tomado|hice|tomarme|he tenido) (?:una )?sobredosis
        (?:tengo|compre|guard\w+|hay|estoy con|aqui|cogi|agarre|junt\w+|con) (?:\w+ ){0,3}?(?:soga|cuerda|pistola|
            arma|cuchilla|navaja|cuchillo|{pills}) (?:\w+ ){0,3}?(?:list[ao]s?|en la mano|en las manos|delante|
            preparad\w+|al lado|en la mesa|en el cajon|guardad\w+|enfrente|frente a mi|aqui|para esta noche|
            para hacerlo|cargada|en mi cuarto|contad\w+|en la mesilla)
        (?:estoy|parad[ao]|sentad[ao]|subid[ao]|de pie) (?:\w+ ){0,3}?(?:en|al|sobre|frente|junto|desde) (?:el|la|un|
            una|lo|borde|al)? ?(?:\w+ )?(?:puente|azotea|borde|cornisa|vias|viaducto|acantilado|tejado|barandilla|
            balcon|precipicio|anden|ventana)(?! (?:de (?:mi oficina|la obra)|reparando|trabajando|rodando))
        (?:carta|cartas|nota|notas|mensaje|video) de (?:despedida|suicidio)(?! (?:para|a|de) (?:mis companeros|
            mi equipo|la empresa|mi jefe|mi empresa))
        (?:esto es|es|este es) (?:un |mi |el |una )?(?:adios|despedida|ultimo (?:dia|mensaje|adios)|ultima (?:noche|
            vez que|despedida))(?=$| ,| para siempre| mundo)
        (?:manana|pronto|la semana que viene|en unas horas|despues de hoy) (?:ya )?(?:no (?:estare|voy a estar|estoy|
            existire)(?: aqui| viv[ao])?|estare muert[ao])(?! (?:disponible|en la oficina|conectad))
        (?:una|la|solo) carga para (?:todos|mi familia|mis (?:hijos|padres)|los demas|ellos|mi mujer|mi marido)
        (?:odio|detesto) (?:estar viv[ao]|vivir\.|mi vida y|existir|seguir viv\w+)
        (?:merezco|merezca) (?:morir|la muerte|vivir)
        (?:forma|manera|metodo|modo|cuantas? \w+|cuanto) (?:\w+ ){0,4}?(?:de |para |hacen falta para |
            hay que tomar para |necesito para )(?:morir|matarme|suicidarme|suicidarse|quitarme la vida|
            acabar con mi vida|morirme)
        (?:que|quiero que|solo quiero que|necesito que|ojala) (?:todo|esto|el dolor|este dolor|el sufrimiento|
            todo esto|la pesadilla) (?:se |ya |por fin )*(?:acabe|termine|pare|acabara|terminara|detenga)
        (?:que me mate|que me atropelle|que me muera|llevame ya|matenme|matadme)
    """,
    violence=r"""
        mis? {dear} (?:\w+ ){0,4}?(?:me|nos|ha|a mi) (?:\w+ ){0,3}?(?:{hit}|{was_hit}|pone la mano|puso la mano|
            tira cosas|va a matar|trata a golpes|dio|ha dado|puso un)(?! (?:en (?:el ajedrez|las cartas)|
            al (?:ajedrez|tenis|padel)|a (?:buscar|estudiar|trabajar|aplicar|postular|cambiar|seguir|ser|hacer)))
        (?:me|nos) (?:{hit}|{was_hit}) (?:\w+ ){0,3}?(?:mi {dear}|en (?:mi )?casa|delante de (?:mis|los|las)|cada|
            cuando|todas las noches|todos los dias|otra vez|anoche|ayer|si|por las noches|desde|con (?:el|un|
            una) (?:cinturon|cuchillo|palo|puno|pistola|arma))(?! (?:la noticia|la idea))
        me (?:volvio a|vuelve a|ha vuelto a) (?:pegar|golpear|maltratar|amenazar)
        (?:el|ella) (?:\w+ ){0,3}?me (?:\w+ ){0,2}?(?:pega|golpea|maltrata|ahorca|viola|estrangula|patea|pego|golpeo|
            pegado|golpeado|maltratado|violo|empujo contra|agrede|abofetea|abofeteo)(?! (?:la|el|un) (?:grito|idea|
            noticia))
        (?:amenaza\w*|amenazo|amenazado|dice|dijo|jura|juro|jurado|grita|prometio|repite|avisa\w*|asegura|
            escribe) (?:\w+ ){0,4}?(?:con |que |de |me |nos |va a |iba a |a |si lo dejo |si me voy )*(?:matarme|
            matar\.|matar si|me mata|me va a matar|me mataria|me matara|quemarme|pegarme|hacerme dano|de muerte|
            apunalarme|buscarme y|golpearme|matarnos|matar a (?:mis|mi)|me va a encontrar|encontrarme y)
        (?:miedo|terror|panico|asustada|aterrada|asustado|temo) (?:\w+ ){0,3}?(?:de |a |por |
            que )*(?:volver a (?:mi )?casa|volver a casa|llegar a (?:mi )?casa|mi {dear}|regresar a (?:mi )?casa|
            ir a casa|mi vida|el\.|lo que (?:me )?(?:haga|pueda hacer)|me mate|dormir en|estar en mi casa|
            entrar en casa|que (?:venga|llegue|vuelva))(?! (?:profesional|se entere de (?:la|mi) (?:nota|despido)))
        (?:no|nunca|tampoco) (?:\w+ ){0,2}?(?:segur[ao]|a salvo) (?:\w+ )?(?:en (?:mi )?(?:propia )?casa|con (?:el|
            mi {dear})|aqui)(?! (?:de\b))
        (?:me encierra|me tiene encerrad[ao]|no me deja salir|me encerro|me deja encerrad[ao]|me prohibe salir|
            no me dejan salir)(?! (?:a bolsa))
        (?:sufro|sufriendo|vivo|viviendo|soy victima de|vivo con|sufro de|recibo|
            victima de) (?:\w+ ){0,2}?(?:violencia|maltrato|malos tratos|golpes|palizas|abusos?|un maltratador|
            un hombre violento)(?! (?:laboral|obstetrica|en mi trabajo como))
        (?:violencia (?:de genero|domestica|en (?:mi )?casa|machista)|maltrato) (?:\w+ ){0,3}?(?:en mi casa|
            por parte de mi|de mi {dear}|desde hace|y (?:necesito|no se|tengo miedo))(?! (?:trabajo|investigo))
        (?:me|he sido|soy|siendo|fui|estoy siendo) (?:\w+ )?(?:golpeada|golpeado|maltratada|maltratado|violada|
            agredida|amenazada|abusada) (?:\w+ )?(?:por (?:mi|el)|en (?:mi )?casa|todos|cada|constantemente)
        mi {dear} (?:\w+ ){0,3}?(?:violento|violenta|agresivo|agresiva|peligroso|maltratador|un maltratador)
        (?:moretones|moratones|ojo morado|costilla rota|brazo roto|nariz rota|golpes|
            marcas) (?:\w+ ){0,5}?(?:por culpa|de mi {dear}|de el|que me|porque (?:el|me|mi)|de anoche|en (?:la cara|
            los brazos|el cuello|todo el))
        (?:escondid[ao]|encerrad[ao]) (?:\w+ ){0,4}?(?:en el bano|de mi {dear}|de el|en mi cuarto|en el coche)
        (?:manos?) (?:al|en el|en mi|alrededor del?|sobre mi) (?:mi )?(?:cuello|garganta|boca)
        (?:me (?:saco|puso|apunto con|persiguio con|amenazo con)) (?:un|una|el|la) (?:\w+ )?(?:cuchillo|pistola|arma|
            navaja|machete|martillo)
        (?:me obliga a|me forzo a|me fuerza a) (?:tener (?:sexo|relaciones)|acostarme)
    """,
    past=r"""
        (?:intente|intentado|trate de|quise|casi|he intentado) (?:\w+ )?(?:suicidarme|matarme|quitarme la vida|
            morir(?:me)?(?! de)|acabar con mi vida|ahorcarme|me mato|me suicido|tirarme del?|terminar con mi vida)
        (?:mi|un|ultimo|segundo|tercer|primer|otro) intento de suicidio
        queria (?:morir(?:me)?|matarme|desaparecer)(?! de)
    """,
    long_ago=r"""
        hace (?:\w+ )?(?:\w+ )?(?:anos|decadas|mucho tiempo)
        (?:en|desde) (?:19|20)\d\d
        (?:cuando (?:tenia|era)|de (?:joven|nin[oa]|adolescente)|a los (?:\d\d|quince|dieciseis|diecisiete|dieciocho|
            veinte)|en aquella epoca|en mi (?:juventud|adolescencia)|en el pasado|sobreviv\w+)
        (?:hoy|ahora|actualmente) (?:en dia )?(?:ayudo|trabajo (?:como|de|en|con)|acompano|doy charlas|
            soy (?:voluntari\w+|psicolog\w+)|dirijo)
    """,
    harmless=r"""
        prefiero morir(?:me)? (?:a|que|antes que) (?!vivir|seguir)\w+
        (?:prevencion|linea|telefono|asociacion|unidad|formacion|investigacion|estudio|tesis|tasas?|libro|articulo|
            pelicula|reportaje|charla|sensibilizacion|riesgo|crisis|situaciones|casos?|llamadas?|intentos?|manejo|
            atencion|escucha|documental|evaluacion|conducta\w*|protocolo\w*|campana|congreso|
            intervencion) (?:\w+ ){0,4}?(?:del |de |al |sobre |contra |el |la |en )*(?:suicidios?|suicidas?|
            violencia (?:de genero|domestica|machista)|autolesiones|maltrato)(?: \w+)?
        (?:pacientes?|personas?|gente|jovenes|adolescentes?|llamantes|alumnos|presos|quienes?|mujeres|hombres|
            victimas|ninos|estudiantes|clientes|usuarios|chicos|chicas|chavales|alguien) (?:\w+ ){0,5}?(?:suicid\w*|
            morir\w*|acabar|vivir|cortarse|matarse|muerte|autolesion\w*|maltrat\w*|quitarse|golpead\w+|matar\w*)
        (?:suicidas?|suicidios?) (?:en|entre|de|asistido)(?: \w+)?
        (?:evite|evitado|impedi|impedido|atendi|atendido|vi|visto|gestione|gestionado|frustr\w+|evitar|prevenir|
            preveni\w*|estudio|investigo) (?:\w+ ){0,2}?(?:un|los|el|varios|dos|tres|
            algun) (?:intentos? de )?suicidios?
        (?:el|ella|paciente|llamante|alguien|hombre|mujer|chico|chica|alumn[oa]|clienta?|joven|
            usuari[oa]) (?:\w+ ){0,3}?(?:dijo|dice|decia|dicen|escribio|conto|conto|confeso|susurro|
            ha dicho) (?:\w+ )?(?:que )?(?:, )?(?:no |ya no |se |me |quiero|queria|quiere|yo) ?(?:\w+ ?){1,10}
        (?:libro|pelicula|novela|cancion|serie|juego|podcast|obra|titulo|titulad[ao]|llamad[ao]|articulo|documental|
            frase|cuento|poema) (?:\w+ )?(?:, )?(?:no|yo|mi|por que|antes de|si|quiero|ya) (?:\w+ ?){1,8}
        (?:trayecto|trayectos|proyecto|trabajo|jefe|jefa|plazo|deadline|metro|reuniones|estres|ritmo|excel|cliente|
            tesis|pies|espalda|horarios?|trafico|turnos?|calor|curro|madre|mujer|marido|novia|
            esposa) (?:\w+ ){0,3}?(?:me |va a |van a |nos |esta |estan )*(?:mata|matan|matar|matando|matara|matandome|
            mataria|matarme)(?! (?:y me|a golpes|si (?:lo|me)))
        (?:morir|morirme|muero|muerto|muerta|muriendo|matar|mataria) (?:de|por|del) (?:risa|la risa|verguenza|hambre|
            sed|aburrimiento|curiosidad|calor|sueno|nervios|ganas|envidia|amor|un|una|ese|este|entrar|trabajar|
            conseguir|miedo|cansancio|frio|trabajar|estres)(?: \w+)?
        (?:me mato|matarme|me mate|matandome) (?:a|de) (?:trabajar|estudiar|currar|explicar\w*|horas)(?: \w+)?
        (?:me mato|matarme|matandome) (?:trabajando|estudiando|por (?:este|esta|un|una|la|el|llegar|cumplir))
        (?:acabar|terminar) (?:con|de) (?:este|esta|mi (?:contrato|trabajo|carrera|master|relacion|jefe)|el|la|
            un)(?! vida)(?: \w+)?
        (?:no soy|no estoy|nada de|nunca he sido) suicida
        (?:gana|gano|ganado|pega|golpeo) (?:al|en el|en la) (?:ajedrez|tenis|padel|final|concurso)
        (?:me pego|pego|pega|golpeo|golpea|golpeado) (?:un (?:grito|susto|repaso)|la (?:crisis|pandemia|inflacion|
            realidad)|duro (?:el|la)|fuerte (?:el|la))
        (?:tragame tierra|que me trague la tierra)
        (?:quiero|gustaria) (?:morirme|desaparecer) (?:cada vez que|cuando (?:me equivoco|tengo que hablar))
        (?:no (?:puedo|aguanto|soporto)|ya no (?:puedo|aguanto|soporto)) mas (?:en|a|con|el|este|esta|mi) (?!vida|
            dolor|la vida)(?:\w+)(?: \w+)?
    """,
)
