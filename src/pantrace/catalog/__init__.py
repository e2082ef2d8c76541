"""Facts about models and producers, as dated data: prices, context windows, what token counts mean. An unknown model
has neither a price nor a window."""

from __future__ import annotations

from .conventions import Convention, convention, conventions
from .models import Catalog, Model, Rates, catalog, cost_usd, costs_usd, list_cost_usd

__all__ = [
    "Catalog",
    "Convention",
    "Model",
    "Rates",
    "catalog",
    "convention",
    "conventions",
    "cost_usd",
    "costs_usd",
    "list_cost_usd",
]
