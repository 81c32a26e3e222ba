"""Try variants of a design, prompt or model beside the base, with a growing share of users."""
