"""The user's own information at Qwestly: profile fields, preferences, job wishes, LinkedIn."""
