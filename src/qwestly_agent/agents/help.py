"""Answer people in acute trouble, and abuse, with fixed texts: no tool is called, and no further model request is
made."""

from collections.abc import Mapping
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability, WrapToolValidateHandler
from pydantic_ai.exceptions import SkipModelRequest, ToolFailed
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import ToolDefinition

from qwestly_agent.agents.base import AgentDeps
from qwestly_agent.agents.tools.base import REPORT_TROUBLE
from qwestly_agent.text.trouble import Kind, Trouble
from qwestly_agent.text.user_text import trouble_in

# --- help words -------------------------------------------------------------------------------------------------------
# The fixed texts for people in acute trouble and for abuse, by kind and language.
#
# Only numbers that were checked in November 2026 against a page of their organization or government are listed: 988
# (US, Canada), Samaritans, Lifeline · TelefonSeelsorge of Germany and Austria, Hilfetelefon · 3114, 3919 · 024, 016 ·
# 1411, SNS 24, 800 202 148, CVV, Ligue 180 · the US and UK hotlines against violence. For everywhere else there is the
# directory findahelpline.com. A person checks all of them before each release.


DEFAULT_LANGUAGE = "en"

_SELF_HARM: Mapping[str, str] = {
    "en": """\
I'm glad you told me, and I take it seriously. You don't have to carry this alone: please talk to a person right now.

If you are in danger, or have already hurt yourself or taken something, call your local emergency number now: 911 in \
the US and Canada, 999 or 112 in the UK and Ireland, 000 in Australia, 112 in the EU.

- US and Canada: call or text 988, at any hour
- UK and Ireland: Samaritans, 116 123
- Australia: Lifeline, 13 11 14
- Anywhere else: findahelpline.com

If you can, tell someone near you, and stay with them. Everything else can wait. I'm here whenever you want to go on; \
if I misunderstood you, just tell me.""",
    "de": """\
Gut, dass du das schreibst. Ich nehme es ernst. Du musst damit nicht allein bleiben: Bitte sprich jetzt mit einem \
Menschen.

Wenn du in Gefahr bist, dich schon verletzt oder etwas eingenommen hast, ruf jetzt den Notruf: 112 (Schweiz: 144).

- Deutschland: TelefonSeelsorge, 0800 111 0 111, 0800 111 0 222 oder 116 123, rund um die Uhr
- Österreich: Telefonseelsorge, 142
- Anderswo: findahelpline.com

Wenn du kannst, sag es jemandem in deiner Nähe und bleib nicht allein. Alles andere kann warten. Ich bin da, wenn du \
weitermachen möchtest; wenn ich dich falsch verstanden habe, sag es mir einfach.""",
    "fr": """\
Merci de me l'avoir écrit. Je le prends au sérieux. Tu n'as pas à porter cela en restant sans aide : parle à \
quelqu'un maintenant, s'il te plaît.

En cas de danger, si tu t'es déjà fait du mal ou si tu as pris quelque chose, appelle tout de suite les urgences : \
15 ou 112 (Suisse : 144, Canada : 911).

- France : 3114, à toute heure
- Canada : 988
- Ailleurs : findahelpline.com

Si tu peux, préviens une personne proche et reste auprès d'elle. Tout le reste peut attendre. Je suis là quand tu \
voudras continuer ; si j'ai mal compris, dis-le-moi simplement.""",
    "es": """\
Gracias por contármelo. Me lo tomo en serio. No tienes que pasar por esto sin ayuda: por favor, habla ahora con una \
persona.

Si estás en peligro, si ya te has hecho daño o has tomado algo, llama ya a emergencias: 112 en España, 911 en México \
y Estados Unidos, o el número de emergencias de tu país.

- España: 024, a cualquier hora
- Estados Unidos: 988 (oprime 2 para español)
- En otro lugar: findahelpline.com

Si puedes, díselo a alguien cercano y quédate a su lado. Todo lo demás puede esperar. Aquí estoy cuando quieras \
seguir; si te entendí mal, dímelo sin más.""",
    "pt": """\
Obrigado por me contar. Levo isto a sério. Não tem de passar por isto sem ajuda: por favor, fale agora com uma pessoa.

Se está em perigo, se já se magoou ou tomou alguma coisa, ligue já para a emergência: 112 em Portugal, 192 no Brasil.

- Portugal: Linha Nacional de Prevenção do Suicídio, 1411, ou SNS 24, 808 24 24 24, a qualquer hora
- Brasil: CVV, 188, a qualquer hora
- Noutro lugar: findahelpline.com

Se puder, diga a alguém próximo e fique junto dessa pessoa. Tudo o resto pode esperar. Estou aqui quando quiser \
continuar; se entendi mal, é só dizer.""",
}

_VIOLENCE: Mapping[str, str] = {
    "en": """\
I'm glad you told me, and I take it seriously. Nobody may do this to you, and it is not your fault.

If you are in danger now, get to a safe place if you can and call your local emergency number: 911 in the US and \
Canada, 999 or 112 in the UK and Ireland, 000 in Australia, 112 in the EU.

- US: National Domestic Violence Hotline, 1-800-799-7233, or text START to 88788
- UK: National Domestic Abuse Helpline, 0808 2000 247
- Anywhere else: findahelpline.com

They listen at any hour, in confidence. Everything else can wait. I'm here whenever you want to go on; if I \
misunderstood you, just tell me.""",
    "de": """\
Gut, dass du das schreibst. Ich nehme es ernst. Niemand darf dir das antun, und du bist nicht schuld daran.

Wenn du jetzt in Gefahr bist, bring dich in Sicherheit, wenn du kannst, und ruf die Polizei: 110 in Deutschland, 133 \
in Österreich, 117 in der Schweiz, oder 112.

- Deutschland: Hilfetelefon Gewalt gegen Frauen, 116 016, rund um die Uhr
- Anderswo: findahelpline.com

Dort hört man dir vertraulich zu. Alles andere kann warten. Ich bin da, wenn du weitermachen möchtest; wenn ich dich \
falsch verstanden habe, sag es mir einfach.""",
    "fr": """\
Merci de me l'avoir écrit. Je le prends au sérieux. Personne n'a le droit de te faire cela, et ce n'est pas ta faute.

En cas de danger, mets-toi à l'abri si tu peux et appelle la police : 17 ou 112, ou le 114 par SMS en France ; 101 en \
Belgique, 117 en Suisse, 911 au Canada.

- France : 3919, anonyme et gratuit
- Ailleurs : findahelpline.com

On t'y écoute en toute confidentialité. Tout le reste peut attendre. Je suis là quand tu voudras continuer ; si j'ai \
mal compris, dis-le-moi simplement.""",
    "es": """\
Gracias por contármelo. Me lo tomo en serio. Nadie tiene derecho a hacerte esto, y no es culpa tuya.

Si estás en peligro ahora, ponte a salvo si puedes y llama a emergencias: 112 en España, 911 en México y Estados \
Unidos, o el número de emergencias de tu país.

- España: 016, a cualquier hora; no aparece en la factura, pero bórralo de tus llamadas
- Estados Unidos: 1-800-799-7233, también en español
- En otro lugar: findahelpline.com

Te escuchan de forma confidencial. Todo lo demás puede esperar. Aquí estoy cuando quieras seguir; si te entendí mal, \
dímelo sin más.""",
    "pt": """\
Obrigado por me contar. Levo isto a sério. Ninguém tem o direito de lhe fazer isto, e a culpa não é sua.

Se está em perigo agora, vá para um lugar seguro se puder e ligue já: 112 em Portugal, 190 no Brasil.

- Portugal: linha de apoio a vítimas de violência doméstica, 800 202 148, a qualquer hora
- Brasil: Ligue 180, a qualquer hora
- Noutro lugar: findahelpline.com

Ali escutam com sigilo. Tudo o resto pode esperar. Estou aqui quando quiser continuar; se entendi mal, é só dizer.""",
}

_ABUSE: Mapping[str, str] = {
    "en": "I'd like us to stay respectful; whenever you want to go on with your career, I'm here.",
    "de": "Ich möchte, dass wir respektvoll bleiben; wenn du mit deinem Beruf weitermachen willst, bin ich da.",
    "fr": "J'aimerais que nous restions respectueux ; quand tu voudras reparler de ta carrière, je suis là.",
    "es": "Me gustaría que nos tratemos con respeto; cuando quieras seguir con tu carrera, aquí estoy.",
    "pt": "Gostava que nos tratássemos com respeito; quando quiser voltar à sua carreira, estou aqui.",
}

_WORDS: Mapping[Kind, Mapping[str, str]] = {"self_harm": _SELF_HARM, "violence": _VIOLENCE, "abuse": _ABUSE}


def words_for(trouble: Trouble) -> str:
    """Return the text in the person's language, or in English if there is no translation."""
    words = _WORDS[trouble.kind]
    return words.get(trouble.language, words[DEFAULT_LANGUAGE])


# --- help -------------------------------------------------------------------------------------------------------------
# Answer people in acute trouble, and abuse, with fixed texts: no tool is called, and no further model request is made.
#
# Code detects trouble in typed text. With `report_trouble`, a model can report what the code misses.


FIXED_WORDS = "fixed-words"
"""Stored instead of a model's name for an answer with a fixed text."""

_KINDS: Mapping[str, Kind] = {"self_harm": "self_harm", "violence": "violence", "abuse": "abuse"}


class HelpInTrouble(AbstractCapability[AgentDeps]):
    async def before_run(self, ctx: RunContext[AgentDeps]) -> None:
        ctx.deps.turn.calls.trouble = ctx.deps.turn.calls.trouble or trouble_in(ctx.deps.turn.user_messages[-1])

    async def before_model_request(
        self, ctx: RunContext[AgentDeps], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        if trouble := ctx.deps.turn.calls.trouble:
            raise SkipModelRequest(ModelResponse(parts=[TextPart(words_for(trouble))], model_name=FIXED_WORDS))
        if words := ctx.deps.turn.calls.fixed_words:
            raise SkipModelRequest(ModelResponse(parts=[TextPart(words)], model_name=FIXED_WORDS))
        return request_context

    async def after_model_request(
        self,
        ctx: RunContext[AgentDeps],
        *,
        request_context: ModelRequestContext,  # noqa: ARG002
        response: ModelResponse,
    ) -> ModelResponse:
        reports = [call for call in response.tool_calls if call.tool_name == REPORT_TROUBLE.name]
        if reports:
            ctx.deps.turn.calls.trouble = _reported(reports[0])
        return response

    async def wrap_tool_validate(
        self,
        ctx: RunContext[AgentDeps],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: str | dict[str, Any],
        handler: WrapToolValidateHandler,
    ) -> dict[str, Any]:
        """Refuse the other calls that a model makes together with its report of trouble."""
        deps = ctx.deps
        if deps.turn.calls.trouble and tool_def.name != REPORT_TROUBLE.name:
            made, problem = deps.turn.calls.made[call.tool_call_id], "Nothing is looked up or proposed now."
            raise ToolFailed(made.problem or deps.turn.calls.record_refusal(made, problem, deps.turn.clock()))
        return await handler(args)


def _reported(call: ToolCallPart) -> Trouble:
    """Read the model's report of trouble. Assume the worst kind if its arguments are invalid."""
    try:
        arguments = call.args_as_dict()
    except ValueError:
        arguments = {}
    language = str(arguments.get("language", DEFAULT_LANGUAGE))[:2].lower()
    return Trouble(_KINDS.get(str(arguments.get("kind")), "self_harm"), language)
