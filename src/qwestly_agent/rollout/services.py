"""Protocols of the rollout's stores."""
