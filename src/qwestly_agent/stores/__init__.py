"""MongoDB, in the words of the domain. No method works without a user id, except those of documents about Qwestly."""
