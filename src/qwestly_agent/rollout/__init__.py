"""Try variants of a design, prompt or model against the base, with a growing share of users."""
