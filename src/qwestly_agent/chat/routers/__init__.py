"""The HTTP routes of the chat function. Each parses the request, calls one function of the package and returns a
response."""
