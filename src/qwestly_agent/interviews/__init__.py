"""Interviews that end by themselves: code keeps topics and phases, models propose, and each statement has quotes."""
