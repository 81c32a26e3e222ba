"""The providers of language models and embeddings."""
