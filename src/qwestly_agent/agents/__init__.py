"""Designs: each folder here is a design, which builds agents from models. `design.py` finds them by name."""
