"""The first hour with a key: one command measures what only a real model can show, and writes one page about it."""
