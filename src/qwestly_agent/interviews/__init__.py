"""Interviews that know when to stop: code holds the topics and phases, models propose, and each sentence is quoted."""
