"""How far the agent may go: levels, effects, and who decides."""
