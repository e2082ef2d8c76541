"""The Python library: the commands as functions that return tables. `pantrace` exports their names."""
