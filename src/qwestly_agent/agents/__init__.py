"""Designs: each a folder that turns models into an agent. `registry` knows them by name."""
