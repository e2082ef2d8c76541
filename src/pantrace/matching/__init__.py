"""Aligning two lists of calls or actions, and deciding whether two arguments agree."""
