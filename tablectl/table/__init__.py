"""Decisions: what moves when, and what the table tells its players. Pure."""
