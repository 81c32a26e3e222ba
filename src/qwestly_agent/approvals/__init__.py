"""Approvals: actions, the gate that checks autonomy levels, decisions, execution, and the brake."""
