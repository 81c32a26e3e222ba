"""Answers of a person in an onboarding, from an empty profile to a full one."""

ANSWERS = (
    "I am a nurse at Mercy Hospital.",
    "I have 12 years of experience.",
    "I live in Lisbon.",
    "I am proud of my team of six.",
    "I am good at triage, planning and teaching.",
    "I speak English and Portuguese.",
    "I studied nursing at the University of Porto.",
    "I would like to work as a head nurse.",
    "I would like to work in Porto.",
    "In the office, please.",
    "I could start in May.",
    "I do not want night shifts.",
)
