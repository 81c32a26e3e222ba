"""Clients for language models and embeddings, and the models of each provider."""
