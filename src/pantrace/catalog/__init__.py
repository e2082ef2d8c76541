"""What is known about models, as dated data: prices and context windows. An unknown model has neither."""

from __future__ import annotations

from .models import Catalog, Model, Rates, catalog, cost_usd, list_cost_usd

__all__ = ["Catalog", "Model", "Rates", "catalog", "cost_usd", "list_cost_usd"]
