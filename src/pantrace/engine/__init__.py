"""Runs the stages: read, measure, judge, decide, store, compare, write. No other layer combines them."""
