"""Imports that measuring a part needs and no module has at its top; for the server that workers are forked from."""

from __future__ import annotations

from pantrace.catalog import catalog
from pantrace.metrics import NAMES, by_name

for _name in NAMES:
    by_name(_name)
catalog()
