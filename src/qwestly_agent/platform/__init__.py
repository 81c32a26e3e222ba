"""The building blocks of all stores and workflows: collections, records with their events, and the work that a workflow
processes."""
