"""The few words that make a memory sensitive whatever a model says, and the many that do not."""

import pytest

from qwestly_agent.memory.notes import is_sensitive

ORDINARY = """\
Ich bin Krankenpflegerin
Soy enfermera
I have an MS in Computer Science
I work in hospitality
Ich glaube, ich will Teamleiter werden
I raised the conversion rate
I know European Union law
I did equity research
I am a race engineer
I teach religion and politics
I advised pregnant women
I run payroll and compensation
Ich leite das Team Krebsforschung
I was a criminal lawyer
I moved to a labour-market agency
I led the trauma unit
Je gagne des clients
I built a bail-bond app
I cut costs by $400k a year
I joined the UN, as a member of the IT staff
I bought alcoholic beverages for a chain
Wir bauen enceintes connectées
"""
PLAIN = """\
I am pregnant
Ich bin schwanger
I\u2019m a lesbian
Ich bin vorbestraft
Soy una persona HIV-positiva
I had a miscarriage
I am an atheist
Estoy embarazada
Estou grávida
"""


@pytest.mark.parametrize("said", ORDINARY.splitlines())
def test_an_ordinary_statement_about_a_career_is_not_sensitive(said: str) -> None:
    assert not is_sensitive(said)


@pytest.mark.parametrize("said", PLAIN.splitlines())
def test_an_unambiguously_sensitive_word_is_sensitive(said: str) -> None:
    assert is_sensitive(said)
