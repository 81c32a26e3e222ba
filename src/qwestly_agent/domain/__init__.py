"""Pure models and tables that stores and workflows share."""
