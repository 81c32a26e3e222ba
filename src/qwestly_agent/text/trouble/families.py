"""What people in trouble say in the same way in every language: its structure once, its words by language.

`#` is up to ten words, whoever they speak of. The rest is as in `patterns`.
"""

from collections.abc import Mapping

from qwestly_agent.text.trouble import family_words, family_words_romance

SELF_HARM = r"""
        {lethal} # {at_hand}
        {at_hand} (?:\w+ |, ){0,5}?{lethal}
        {lethal} # {cannot_stop}
        {tied} (?:\w+ ){0,5}?{rope} (?:\w+ ){0,5}?{beam}
        {will_be} (?:\w+ ){0,3}?{dead}
        {injure_self} # {on_purpose}
        {on_purpose} (?:\w+ ){0,3}?{injure_self}
        {injure_self} (?:\w+ ){0,6}?{blade}
        {head} # {wall} # {bleeds}
        {slit} (?:\w+ ){0,2}?{wrists}
        {how} (?:\w+ ){0,1}?{kill_self}
        {high_place} # {looked_down}
        {step_over}
        {gone_soon}
"""
PAST = r"""
        {tried} (?:\w+ ){0,3}?{kill_self}
"""
VIOLENCE = r"""
        {touches} (?:\w+ ){0,3}?{where}
        {into_my_room} # {touches}
        {attacker} # {into_my_room}
        {raped}
        {attacker} # {strikes_me}
        {ex} # {waits_for_me}
        {says} # {threat}
"""
WORDS: Mapping[str, Mapping[str, str]] = {
    "en": family_words.ENGLISH,
    "de": family_words.GERMAN,
    "es": family_words_romance.SPANISH,
    "fr": family_words_romance.FRENCH,
    "pt": family_words_romance.PORTUGUESE,
}
