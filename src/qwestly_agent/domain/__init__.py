"""Pure models and tables shared by stores and workflows."""
