"""The HTTP routes of the chat function. Each parses, calls one function of the package and answers."""
