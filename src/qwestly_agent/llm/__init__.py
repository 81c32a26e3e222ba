"""Clients and models of the providers of language models and embeddings."""
