"""Pure models and tables, in the words that stores and workflows share."""
