"""Designs: each is a folder that turns models into an agent. `registry` finds them by name."""
