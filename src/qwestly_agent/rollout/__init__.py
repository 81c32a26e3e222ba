"""Try variants of a design, prompt or model against the baseline, with a growing share of users."""
