"""Vocabularies and mechanics that several formats share."""
