"""The HTTP routes of the chat function. Each parses, calls one thing of the package and answers."""
