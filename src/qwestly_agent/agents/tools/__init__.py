"""The tools that an agent may call, one module per subject. A tool's docstring is a prompt."""
