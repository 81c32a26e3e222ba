"""The orchestrator: one agent that answers from the three tiers."""
