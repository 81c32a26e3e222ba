"""Résumés: open the file, read the text, ground the fields, propose changes to the profile."""
