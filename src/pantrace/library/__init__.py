"""The Python library: what the commands do, as functions whose results are tables. `pantrace` hands their names out."""
