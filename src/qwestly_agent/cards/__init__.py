"""Career cards and texts for a profile: what they are made of, and how they are written."""
