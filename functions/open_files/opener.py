"""The states that open untrusted files. They have no keys, and can reach only uploaded files."""

from qwestly_agent import container

handler = container.serve(container.states_of("generate", "opener"))
