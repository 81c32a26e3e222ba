"""What a person says of themselves at Qwestly: profile fields, preferences, job wishes, LinkedIn."""
