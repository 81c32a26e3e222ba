"""Résumés: open the file, read the text, ground what was read, propose the profile."""
