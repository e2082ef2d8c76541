"""The only room that puts the stages in a row."""
