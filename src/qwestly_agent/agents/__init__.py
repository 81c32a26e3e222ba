"""Designs: each folder here is a design, which builds agents from models. `registry` finds them by name."""
