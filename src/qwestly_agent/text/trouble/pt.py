"""Phrases of people in trouble, in Portuguese."""

from qwestly_agent.text.trouble.patterns import Language

PORTUGUESE = Language(
    code="pt",
    apostrophe=" ",
    first_person="eu, me, meu, minha, estou, to, tou, tenho, sou",
    begins="""
        e, mas, so, de verdade, sinceramente, as vezes, agora, tambem, sempre, porque, entao, ou, talvez, de novo,
        ola, oi, desculpa, sim, ja, a verdade, e que, hoje, acho que, sinto que, por favor, cara, mano
    """,
    others=r"""
        pacientes?, clientes?, gente, pessoas?, jovens, adolescentes?, criancas?, alunos?, ele, ela, eles, elas,
        alguem,
        voce, voces, tu, nos, vitimas?, colegas?, mulheres, homens, presos?, quem, personagens?, acompanh\w+,
        atend\w+,
        investig\w+, pesquis\w+, escrev\w+, prevenir, prevencao, voluntari\w+, enfermeir\w+, psicolog\w+,
        policia\w*, chefe,
        empresa, projeto, projecto, equipe, equipa, trabalho com, trabalhei com
    """,
    words={
        "die": r"""
            morrer(?! (?:de|por)), me matar, matar me, me suicidar, suicidar me,
            tirar a (?:minha )?(?:propria )?vida, tirar minha (?:propria )?vida, acabar com tudo,
            acabar com (?:a )?minha vida, acabar com a vida, acabar com isto, acabar com isso(?! tudo de)(?: tudo)?,
            acabar comigo, por fim a (?:tudo|minha vida|isto|isso|vida|este sofrimento),
            por um fim (?:a|em|na|nisto|nisso|nessa|em tudo)(?: minha)?(?: \w+)?,
            dar fim (?:a|em|na|nessa)(?: minha)?(?: \w+)?,
            terminar com (?:tudo|minha vida|a minha vida|isto|isso), desaparecer(?! do)(?: para sempre)?,
            sumir(?! do mapa profissional)(?: para sempre| do mundo| de vez)?,
            deixar de (?:existir|viver|respirar|sofrer), nao existir(?: mais)?, nao acordar(?: mais| nunca mais)?,
            nunca mais acordar,
            nao estar (?:mais )?(?:aqui|viv[ao]), estar mort[ao], me enforcar, enforcar me, atirar me (?:\w+ ?){1,4},
            me atirar (?:\w+ ?){1,4}, me jogar (?:\w+ ?){1,4}, jogar me (?:\w+ ?){1,4},
            saltar (?:da|do|de um|de uma|para a linha|pela janela)(?: \w+)?,
            pular (?:da|do|de um|de uma|pela janela|na frente)(?: \w+)?,
            me cortar(?: de novo| outra vez)?, cortar me(?: de novo| outra vez)?, cortar os pulsos,
            cortar meus pulsos, me machucar, magoar me, me ferir, ferir me, fazer mal a mim(?: mesm[ao])?,
            me fazer mal, dar um tiro (?:na|em)(?: \w+)*, dormir e (?:nunca mais|nao) (?:mais )?acordar(?: mais)?,
            ir embora deste mundo, partir deste mundo,
            tomar (?:todos|todas|um monte|uma caixa|uma cartela|um frasco) (?:\w+ ){0,3}?(?:remedios|comprimidos|
                pilulas|medicamentos),
            me envenenar, bater (?:o|com o) carro, descansar para sempre, dormir para sempre, me autolesionar,
            partir para sempre, acabar de vez com tudo, me mutilar
        """,
        "dear": r"""
            marido, esposo, namorado, companheiro, pai, ex, mulher, esposa, mae, irmao, filho, padrasto, madrasta,
            namorada,
            ex marido, ex namorado, ex companheiro, tio, pais, parceiro, sogro, cunhado, colega de casa, noivo,
            velho, avo, parceira, companheira
        """,
        "hit": r"""
            bate, batia, agride, agredia, espanca, espancava, ameaca, ameacava, empurra, chuta, estupra, viola,
            abusa, enforca, estrangula, sufoca, maltrata, da murros,
            da socos, da tapas, soca, esmurra, pontapeia, esbofeteia, tranca, persegue, machuca, xinga e, humilha e,
            puxa o cabelo, puxa os cabelos, aperta o pescoco, atira coisas, queima, violenta
        """,
        "was_hit": r"""
            bateu, agrediu, espancou, ameacou, empurrou, chutou, estuprou, violou, enforcou, estrangulou, batido,
            agredido, agredida, espancado, espancada, ameacado, ameacada,
            trancou, atacou, deu um soco, deu um murro, deu um tapa, deu socos, deu uma surra, deu uma chapada,
            partiu (?:o|a|um), quebrou (?:o|a|um|meu|minha), tentou (?:me )?matar, sufocou, maltratou, machucou,
            esfaqueou, tentou estrangular, queimou
        """,
        "pills": r"""
            comprimidos?, remedios?, pilulas?, medicamentos?, medicacao, soniferos?, calmantes?, paracetamol,
            ben u rons?, antidepressivos?, ansioliticos?, rivotril, xanax, valium,
            diazepam, clonazepam, dipirona, insulina, veneno, lixivia, agua sanitaria, victan, chumbinho
        """,
    },
    self_harm=r"""
        comprei uma corda(?: ontem| hoje)?\.
        (?:penso|pensar|pensando|pensado) (?:muito |sempre )?em (?:saltar|atirar me|jogar me|me jogar) d(?:a|e|o) \w+
        nao vejo (?:mais |qualquer |nenhuma )*(?:razao|motivo) para continuar(?: ca| aqui| a viver)?\.
        (?:quando (?:a|o|as|os) (?:lerem|ler|leres)|amanha|eu) (?:\w+ |, ){0,2}?(?:ja )?nao (?:estarei|vou estar|
            existirei)(?: mais)?(?: aqui| ca| viv[ao])?\.
        (?:hoje|esta noite|hoje a noite|amanha) (?:tudo acaba|acaba tudo|termina tudo|tudo termina)(?: para mim|
             pra mim)?
        (?:para|pra) onde (?:eu )?vou nao (?:vou )?precis\w+
        (?:quando|depois que|se) eu (?:morrer|estiver mort[ao])
        (?:sofrera|sofre|sofrer|sofrem) (?:mais )?por minha (?:culpa|causa)
        (?:quero|queria|quiser|vou|penso|penso em|vontade|vontades|prefiro|preferia|preferiria|desejo|gostaria|
            gostava|preciso|planejo|planeio|decidi|decidid[ao]|pensando|pensado|a pensar|pensamentos?|pensei|ideia|
            ideias|plano|planos|medo|impulsos?|prestes|pront[ao]|podia|poderia|posso|devia|deveria|tenho que|so|
            tentar|tentei|imagino|sonho|coragem|forma|maneira|oxala|tomara|melhor|apetece|apetecia|intencao|desejos?|
            estou a|estou quase|tentad[ao]|keru|qro|jeito|cogit\w+|fantasi\w+) (?:\w+ ){0,2}?(?:em |com |de |a |por |
            que |so |como |o |mesmo |simplesmente |para |me de )*{die}
        (?:quero|penso|vou|tenho|tive|sinto|vontade de|tirar|de|em) ~ (?:me suicidar|suicidar me|me matar|matar me|
            me enforcar|enforcar me|cortar os pulsos|tirar a minha (?:propria )?vida|tirar minha (?:propria )?vida|
            acabar com a minha vida|acabar com minha vida)
        (?:me matar|matar me|me suicidar|me mato|mato me|suicidar me|me enforco) (?:hoje|esta noite|amanha|ja|logo|e|
            agora)
        (?:nao|ja nao|nunca|nem) (?:me )?(?:quero|queria|consigo|aguento|suporto|desejo|tenho|vejo|sinto|encontro|
            mereco|ha|acho que|sei se quero|resta|restam|devia|vale|aguentar|ha mais|apetece|faz|vou) (?:mais |ja |
            vontade |nenhuma |nenhum |nem |um |uma |razao |razoes |motivos? |sentido |forcas? |de |para |pra |por |
            que |a |em |na |o |as |coragem |esperanca |continuar |continuar a |pena |minha |com |de estar |se |
            seguir |no |isto e )*(?:viver(?! (?:em|no|na|com (?:os|meus|minha)|perto|longe|aqui|fora|de|do|la|
            sozinh[ao] em)\b)|vivendo|existir|existindo|estar viv[ao]|estar aqui|acordar(?! (?:cedo|as|tao))|
            continuar assim|seguir em frente|ficar viv[ao]|viv[ao]\.|a vida|esta vida|essa vida|continuar\.|
            levantar me\.|levantar\.|nesta vida|neste mundo|nesse mundo|continuar aqui|vida)(?! (?:profissional|
            academica|em|no|na)\b)
        (?:sem|perdi|perdid[ao]|nao tenho|nenhuma|nenhum|que|qual|restam|ha|zero|nao ha|tenho|
            qualquer) (?:\w+ )?(?:vontade|razao|razoes|motivos?|sentido|forcas?|proposito|esperanca) (?:\w+ )?(?:de|
            para|pra|em) (?:que )?(?:viver|continuar\.|continuar (?:viv[ao]|a viver|aqui|vivendo)|existir|levantar\.|
            a vida|estar viv[ao]|seguir (?:em frente|vivendo))(?! (?:em|no|na)\b)
        (?:vida|viver|continuar|tudo|nada|existencia|isto|isso) (?:ja |nao |para mim |pra mim |me )*(?:tem|vale|faz|
            merece|encontro|vejo|parece|presta|faz mais) (?:mais |ja |nenhum |qualquer |a |o |para mim )*(?:sentido|
            pena|a pena viver|a pena\.|nada\.|valor|sentido algum)(?! (?:investir|aprender|mudar|para a empresa))
        (?:para que|pra que|por que|porque|de que (?:me )?(?:serve|adianta)) (?:\w+ )?(?:continuar (?:viv\w+|aqui|
            a viver|assim|vivendo)|viver(?! em)|continuo viv\w+|ainda (?:estou|to) (?:aqui|viv[ao])|existo|
            estou viv[ao]|acordar|ainda vivo|vivo\.)
        (?:nao (?:vejo|encontro|ha|tem|acho)|sem|perdi o|perdeu o) (?:\w+ ){0,2}?sentido (?:a |de |em |na |da |
            para )?(?:vida|a vida|minha vida|viver|continuar|nada|mais nada|existir|estar viv\w+|continuar viv\w+)
        (?:nao (?:vejo|ha|encontro|tenho|tem|existe|resta|enxergo)|sem|nenhuma) (?:outra |nenhuma |mais |ja |a |uma |
            qualquer |ter )*(?:saida|escapatoria|safa)(?! (?:profissional|de emergencia|do contrato|laboral))
        (?:cansad[ao]|fart[ao]|esgotad[ao]|exaust[ao]) (?:ja )?(?:de|da|desta|dessa) (?:viver|vida|minha vida|existir|
            esta vida|estar viv[ao]|respirar|tanto sofrer|sofrer|lutar para viver|mim)(?! (?:em|profissional|
            academica|longe|corrida)\b)
        (?:nao|ja nao) (?:aguento|suporto|consigo|posso|da) (?:mais )?(?:viver|esta vida|essa vida|a vida|esta dor|
            essa dor|a dor|tanta dor|esse sofrimento|este sofrimento|a minha vida|minha vida|existir|
            mais , (?:\w+ ){0,5}?(?:morr\w+|acab\w+|desaparec\w+|sumir|dormir|viver|mort\w+|matar))(?! (?:em|no|na|
            profissional)\b)
        (?:nao|ja nao) (?:aguento|posso|consigo|suporto) mais\.
        (?:melhor|felizes|tranquilos|facil|aliviad\w+|bem|descansad\w+) (?:\w+ ){0,2}?(?:sem mim(?! na equipa)|
            se eu (?:nao (?:estivesse|existisse|tivesse nascido)|morresse|estivesse mort[ao]|desaparecesse|sumisse|
            morrer|nao existir)|mort[ao](?! que)|mort[ao] (?:do )?que viv[ao])
        (?:oxala|tomara|queria|quero|gostava|gostaria|preferia|prefiro|melhor|devia|rezo|peco|desejo|espero|
            quem me dera) (?:que |eu |me |estar |ter |ja |nao |a deus |para |nunca |simplesmente |amanha |tivesse |
            ter |voltar a |mais |so )*(?:mort[ao]|estivesse mort[ao]|morrer|morresse|acordar|acordasse|nascido|
            existisse|existir|desaparecesse|ter nascido|morrido)(?! (?:de|por|cedo)\b)
        (?:ninguem) (?:\w+ ){0,3}?(?:sentiria (?:a )?(?:minha )?falta|sentir (?:a )?(?:minha )?falta|
            sente (?:a )?(?:minha )?falta|notaria|notar|choraria|chorar|importa|ia notar|dar pela minha falta|
            daria pela minha falta|perceberia|se importa\w*|repararia)(?! (?:no relatorio|com o cv))
        (?:pensamentos?|ideias?|ideacao|intencoes|impulsos|desejos?) (?:suicidas?|de suicidio|de morte|de me matar|
            de morrer)(?! (?:em|entre|dos?|das?|de (?:pacientes|adolescentes|jovens)))
        (?:penso|pensando|pensado|pensei|pensar|planejando|planeando|cogitando|cogito|considerando|considerado|
            fantasi\w+) (?:\w+ ){0,3}?(?:em |no |na |o |sobre |com |a )*(?:suicidio|morte|minha morte|
            minha propria morte|morrer|me matar|matar me|acabar com tudo|como morrer|tirar a vida|
            tirar minha vida)(?! (?:assistid[ao]|dos|do meu|da minha (?:mae|avo)|como tema))
        (?:sou|estou|sinto me|me sinto|to|ando) (?:\w+ )?suicida
        (?:me (?:\w+ ){0,2}?(?:corto|cortei|cortado|mutilo|automutilo|machuco|magoo|mutilei|mutilado|arranho ate|
            queimo com)|(?:corto|cortei|mutilo|magoo|automutilo|firo) me|faco cortes|fiz cortes|faco mal a mim|
            corto os (?:bracos|pulsos)|cortei os (?:bracos|pulsos))(?! (?:o cabelo|a cozinhar|na cozinha|o dedo))
        (?:voltei|comecei|continuo|ando|parar de|deixar de|tenho|volto|estou) (?:\w+ ){0,2}?(?:a |de |
            me )*(?:me cortar|cortar me|me machucar|me mutilar|mutilar me|automutilar\w*|magoar me|me ferir|cortado|
            mutilado|cortando|machucando|mutilando|automutilacao|fazer cortes|a cortar|autolesionar)(?! (?:custos|
            despesas|pessoal|gastos))
        (?:tomei|engoli|ingeri|tomado|bebi|tomar|engolir|tomo) (?:\w+ ){0,3}?(?:todos|todas|monte|frasco|caixa|
            cartela|punhado|muitos|muitas|\d+|vinte|trinta|quarenta|cinquenta|demasiad\w+|varios|varias|overdose|
            inteir[ao]|mao cheia) (?:\w+ ){0,3}?(?:{pills})(?! (?:aos|para) (?:meus|os) pacientes?)
        (?:tomei|bebi|engoli|tomado) (?:\w+ ){0,2}?(?:lixivia|veneno|uma overdose|agua sanitaria|chumbinho|raticida|
            os comprimidos todos|os remedios todos)
        (?:tomei|tive|fiz|tomar|tomando) (?:uma )?overdose
        (?:tenho|comprei|guard\w+|ha|estou com|aqui|peguei|junt\w+|com) (?:\w+ ){0,3}?(?:corda|pistola|arma|lamina|
            gilete|faca|{pills}) (?:\w+ ){0,3}?(?:pront[ao]s?|na mao|nas maos|a minha frente|preparad\w+|ao lado|
            ao meu lado|na mesa|em cima da|na gaveta|guardad\w+|aqui|na minha frente|para hoje|para esta noite|
            carregad[ao]|no quarto|contad\w+|na mesinha)
        (?:estou|parad[ao]|sentad[ao]|de pe|to|em pe) (?:\w+ ){0,3}?(?:em cima|na|no|numa|num|a beira|na beira|perto|
            junto|sobre|em) (?:\w+ )?(?:\w+ )?(?:ponte|telhado|terraco|beira|beirada|linha do (?:comboio|trem)|
            trilhos|viaduto|penhasco|parapeito|varanda|precipicio|janela|falesia)(?! (?:a trabalhar|da (?:obra|
            empresa)|a filmar))
        (?:comprei|tenho|arranjei|peguei) (?:\w+ )?(?:uma |a |minha )?(?:corda|arma) (?:\w+ |, ){0,5}?(?:e hoje|
            e agora|esta noite|hoje|amanha|pront[ao])
        (?:carta|cartas|bilhete|mensagem|video) de (?:despedida|suicidio|adeus)(?! (?:para|a|aos|dos) (?:meus colegas|
            minha equipa|a empresa|equipe))
        (?:isto e|isso e|e|este e|esse e) (?:um |meu |o |o meu |uma |a |a minha )*(?:adeus|despedida|ultimo (?:dia|
            adeus)|ultima (?:noite|mensagem))(?=$| ,| para sempre)
        (?:amanha|em breve|semana que vem|daqui a pouco|depois de hoje) (?:ja )?(?:nao (?:estarei|vou estar|estou|
            existirei)(?: mais)?(?: aqui| ca| viv[ao])?|estarei mort[ao])(?! (?:disponivel|no escritorio))
        (?:um|so um|um grande) (?:fardo|peso) (?:para|pra|na vida) (?:todos|todo mundo|toda a gente|minha familia|
            a minha familia|os meus|meus (?:filhos|pais)|os outros|eles)
        (?:odeio|detesto) (?:estar viv[ao]|viver\.|a minha vida e|minha vida e|existir)
        (?:mereco) (?:morrer|a morte|viver)
        (?:forma|maneira|metodo|jeito|modo|quant[ao]s? \w+) (?:\w+ ){0,4}?(?:de |para |pra |preciso para )(?:morrer|
            me matar|me suicidar|se matar|suicidar|acabar com a vida)
        (?:que|quero que|so quero que|queria que|tomara que) (?:tudo|isto|isso|a dor|esta dor|essa dor|o sofrimento|
            tudo isto|tudo isso) (?:\w+ )?(?:acabe|termine|pare|acabasse|terminasse|parasse)
    """,
    violence=r"""
        meu {dear} (?:\w+ ){0,4}?(?:me|nos|em mim|comigo)? ?(?:\w+ ){0,2}?(?:{hit}|{was_hit}|vai me matar|
            levanta a mao|levantou a mao)(?: me| em mim| comigo| na minha cara)?(?! (?:no (?:xadrez|tenis|jogo)|
            a meta|as metas|a porta|papo|palmas|ponto))
        minha {dear} (?:\w+ ){0,4}?(?:me |em mim )?(?:{hit}|{was_hit})(?: me| em mim)?(?! (?:no (?:xadrez|tenis)|
            a meta|papo|palmas))
        (?:voltou a|volta a) (?:me bater|bater me|me agredir|agredir me|me ameacar)
        (?:ele|ela) (?:\w+ ){0,3}?(?:me (?:\w+ ){0,2}?(?:{hit}|{was_hit})|(?:bate|agride|ameaca|espanca|bateu|agrediu|
            estrangula|maltrata|viola|empurra|ameacou) me|(?:bate|bateu) em mim)(?! (?:no (?:xadrez|tenis|jogo)))
        (?:bate|agride|espanca|bateu|agrediu|espancou|apanho|apanhei) (?:me|em mim|do meu {dear}|dele|em casa|
            do meu)(?! (?:o autocarro|onibus|no (?:xadrez|tenis)))
        (?:ameaca\w*|ameacou|diz|disse|jura|jurou|grita|prometeu|repete|avisa\w*|falou|fala|
            escreve) (?:\w+ ){0,4}?(?:que |de |me |nos |vai |ia |a |se eu sair |matar )*(?:me matar|matar me|me mata|
            matar nos|me queimar|me bater|bater me|de morte|me esfaquear|nos matar|me encontra e|acabar comigo|
            vai matar|matar a mim|me bate)
        (?:medo|terror|panico|pavor|assustad[ao]|apavorad[ao]|temo) (?:\w+ ){0,3}?(?:de |a |por |que |do |da |pela |
            em )*(?:voltar (?:para|pra|a) (?:minha )?casa|voltar para casa|chegar (?:a|em) casa|meu {dear}|ir (?:para|
            pra) casa|minha vida|dele|do que ele|me mate|estar em casa|entrar em casa|que ele|dormir em casa|
            ficar em casa com)(?! (?:profissional|descubra a (?:nota|demissao)))
        (?:nao|nunca|nem) (?:\w+ ){0,3}?(?:segur[ao]|a salvo|em seguranca) (?:\w+ )?(?:em (?:minha |propria )?casa|
            na minha (?:propria )?casa|com (?:ele|o meu {dear}|meu {dear})|aqui)
        (?:me tranca|tranca me|nao me deixa sair|me trancou|fecha me em casa|me prende em casa|me proibe de sair|
            proibe me de sair|me mantem trancad[ao])
        (?:sofro|sofrendo|vivo|vivendo|a sofrer|sou vitima de|vivo com|vitima de|a viver) (?:\w+ ){0,2}?(?:violencia|
            maus tratos|agressoes|abusos?|um agressor|um homem violento|violencia domestica)(?! (?:no trabalho como|
            obstetrica))
        violencia domestica (?:\w+ ){0,3}?(?:em (?:minha )?casa|por parte do meu|do meu {dear}|ha (?:anos|meses)|
            e (?:preciso|nao sei|tenho medo))(?! (?:trabalho|investigo))
        (?:fui|sou|sendo|estou a ser|a ser) (?:\w+ )?(?:espancad[ao]|agredid[ao]|violad[ao]|ameacad[ao]|estuprad[ao]|
            batid[ao]|abusad[ao]) (?:\w+ )?(?:pelo|por (?:ele|meu|um)|em casa|todos|todas|cada|constantemente)
        meu {dear} (?:\w+ ){0,3}?(?:violento|agressivo|perigoso|abusivo|agressor)
        (?:nodoas negras|hematomas|olho roxo|roxos|costela partida|braco partido|nariz partido|olho negro|marcas|
            hematoma) (?:\w+ ){0,5}?(?:por causa|do meu {dear}|dele|que ele|porque (?:ele|meu|o meu)|de ontem|
            no (?:rosto|pescoco|corpo|braco)|nos bracos|na cara)
        (?:escondid[ao]|trancad[ao]|fechad[ao]) (?:\w+ ){0,4}?(?:no banheiro|na casa de banho|do meu {dear}|dele|
            no quarto|no carro)
        (?:maos?) (?:no|ao|a volta do|em volta do|na) (?:meu )?(?:pescoco|garganta|minha garganta|minha boca)
        (?:me (?:apontou|ameacou com|perseguiu com|pos|colocou)|apontou me|ameacou me com|encostou) (?:um|uma|o|
            a) (?:\w+ )?(?:faca|pistola|arma|navalha|martelo)
        (?:me obriga a|me forca a|obriga me a|me forcou a) (?:ter (?:sexo|relacoes)|dormir com)
    """,
    past=r"""
        (?:tentei|tentado|tentar|quis|quase|ja tentei) (?:\w+ )?(?:me suicidar|suicidar me|me matar|matar me|
            tirar a minha vida|tirar minha vida|morrer(?! de)|acabar com a (?:minha )?vida|acabar com minha vida|
            me enforcar|enforcar me|me matei)
        (?:minha|uma|ultima|segunda|terceira|primeira|outra) tentativa de suicidio
    """,
    long_ago=r"""
        (?:ha|faz|fazem) (?:\w+ )?(?:\w+ )?(?:anos|decadas|muito tempo)
        (?:em|desde) (?:19|20)\d\d
        (?:quando (?:tinha|era|eu tinha|eu era)|aos (?:\d\d|quinze|dezesseis|dezasseis|dezessete|dezassete|dezoito|
            vinte)|naquela epoca|na (?:minha )?(?:juventude|adolescencia)|no passado|sobreviv\w+|na altura)
        (?:hoje|agora|atualmente) (?:em dia )?(?:ajudo|trabalho (?:como|de|em|com)|acompanho|dou palestras|
            sou (?:voluntari\w+|psicolog\w+)|lidero)
    """,
    harmless=r"""
        (?:e|foi|era) de cortar os pulsos
        prefiro morrer (?:a|do que|que) (?!viver|continuar)\w+
        (?:prevencao|linha|telefone|associacao|unidade|formacao|pesquisa|investigacao|estudo|tese|taxas?|livro|artigo|
            filme|reportagem|palestra|sensibilizacao|risco|crises?|situacoes|casos?|chamadas?|ligacoes|tentativas?|
            gestao|atendimento|escuta|documentario|avaliacao|comportamentos?|protocolos?|campanha|congresso|
            intervencao|valorizacao da vida) (?:\w+ ){0,4}?(?:do |de |ao |sobre |contra |o |a |em |da |
            com )*(?:suicidios?|suicidas?|violencia (?:domestica|de genero)|automutilacao|autolesao|
            maus tratos)(?: \w+)?
        (?:pacientes?|pessoas?|gente|jovens|adolescentes?|utentes?|alunos|presos|reclusos|quem|mulheres|homens|
            vitimas|criancas|estudantes|clientes|usuarios|alguem|idosos) (?:\w+ ){0,5}?(?:suicid\w*|morrer\w*|acabar|
            viver|se (?:cortar|matar|cortam|matam)|cortar se|matar se|morte|automutil\w*|maltrat\w*|agredid\w+|
            espancad\w+|matar\w*|apanham)
        (?:suicidas?|suicidios?) (?:em|entre|de|dos?|assistido|na|nas|no)(?: \w+)?
        (?:evitei|evitado|impedi|impedido|atendi|atendido|vi|visto|geri|gerido|evitar|prevenir|previno|estudo|
            investigo|pesquiso) (?:\w+ ){0,2}?(?:um|os|o|varios|dois|tres|algum) (?:tentativas? de )?suicidios?
        (?:ele|ela|paciente|utente|alguem|homem|mulher|rapaz|rapariga|menina|menino|alun[ao]|cliente|jovem|
            usuari[oa]) (?:\w+ ){0,3}?(?:disse|diz|dizia|dizem|escreveu|contou|confessou|sussurrou|
            falou) (?:\w+ )?(?:que )?(?:, )?(?:nao |ja nao |se |me |quero|queria|quer|eu) ?(?:\w+ ?){1,10}
        (?:livro|filme|romance|cancao|musica|serie|jogo|podcast|peca|titulo|intitulad[ao]|chamad[ao]|artigo|
            documentario|frase|conto|poema) (?:\w+ )?(?:, )?(?:nao|eu|meu|por que|porque|antes de|se|quero|ja|
            hoje) (?:\w+ ?){1,8}
        (?:transito|trajeto|projeto|projecto|trabalho|chefe|prazo|deadline|metro|reunioes|stress|ritmo|excel|cliente|
            tese|pes|costas|horarios?|turnos?|calor|mae|mulher|marido|namorada|esposa|saudade|estresse|onibus|comboio|
            planilha) (?:\w+ ){0,3}?(?:me |vai |vao |nos |esta |estao |a |ta )*(?:mata|matam|matar|matando|matar me|
            matam me|mata me|matando me|matar nos)(?! (?:a pancada|se eu sair))
        (?:morrer|morro|morta|morto|morrendo|a morrer|matar|mataria) (?:de|por|do) (?:rir|riso|vergonha|fome|sede|
            tedio|curiosidade|calor|sono|nervos|nervoso|vontade|inveja|amor|um|uma|esse|este|entrar|trabalhar|
            conseguir|medo|cansaco|frio|saudades?|ansiedade)(?: \w+)?
        (?:me mato|mato me|me matar|matar me|me matando|me matei|a matar me) (?:a|de) (?:trabalhar|estudar|tanto|
            explicar)(?: \w+)?
        (?:me mato|mato me|me matar|matar me|me matando) (?:trabalhando|estudando|por (?:este|esta|esse|essa|um|uma|
            causa)|para (?:entregar|cumprir|terminar|acabar))
        (?:acabar|terminar) (?:com|de) (?:este|esta|esse|essa|o meu (?:contrato|trabalho|curso)|meu (?:contrato|
            trabalho|curso|namoro)|o|um|uma)(?! vida)(?: \w+)?
        (?:nao sou|nao estou|nunca fui) suicida
        (?:bateu|bate|batemos|bati|bater) (?:a meta|as metas|metas?|recordes|o record\w*|palmas|papo|ponto|a porta|
            me saudade|no xadrez|a concorrencia|cabeca)
        (?:desaparecer|sumir|enfiar me) (?:de vergonha|num buraco|do mapa|no chao|de linkedin)
        (?:me jogar|jogar me|atirar me|me atirar|saltar|pular) (?:de cabeca|no (?:projeto|trabalho|mercado|
            empreendedorismo)|para (?:uma|um|outra|outro) \w+|de paraquedas|etapas|a cerca|fora do)(?: \w+)?
        (?:nao|ja nao) (?:aguento|suporto|consigo|posso) mais (?:o|a|este|esta|esse|essa|meu|minha|trabalhar|ficar|
            estar|com|no|na|fazer) (?!vida|dor)(?:\w+)(?: \w+)?
    """,
)
