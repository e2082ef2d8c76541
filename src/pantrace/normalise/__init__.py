"""Pure functions from sample to sample."""
