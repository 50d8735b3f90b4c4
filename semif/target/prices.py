"""Prices of instances from AWS's price list, where the credentials may read it."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from semif.aws.clients import aws_errors
from semif.environment.cost import Prices, dated_prices
from semif.errors import SemifError
from semif.target.target import Target


def current_prices(target: Target) -> Prices:
    """The region's of today where the price list tells them all, else the dated ones."""
    dated = dated_prices(target.environment)
    if target.local:
        return dated
    try:
        found = {name: _price(target, name) for name in dated.usd_per_hour}
    except SemifError:  # no right, or no way there: what is told is only less exact
        return dated
    if None in found.values():
        return dated
    return Prices(found, f"{target.aws.region}, AWS's price list of {datetime.now(UTC):%Y-%m-%d}")


def _price(target: Target, instance_type: str) -> float | None:
    """US dollars of an hour of hosting on demand; None where the list has not exactly one price.

    The names of the attributes and their values are from public programs that read the same list
    (`instanceName`, `component` Hosting, `regionCode`; read 2026-11-30, not seen).
    """
    wanted = {"regionCode": target.aws.region, "instanceName": instance_type, "component": "Hosting"}
    with aws_errors():
        reply = target.aws.pricing.get_products(
            ServiceCode="AmazonSageMaker",
            Filters=[
                {"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in wanted.items()
            ],
        )
    prices = {price for product in reply["PriceList"] for price in _hourly(json.loads(product))}
    return prices.pop() if len(prices) == 1 else None


def _hourly(product: Mapping[str, Any]) -> Iterator[float]:
    for term in product.get("terms", {}).get("OnDemand", {}).values():
        for dimension in term.get("priceDimensions", {}).values():
            usd = float(dimension.get("pricePerUnit", {}).get("USD", 0))
            if usd > 0 and str(dimension.get("unit", "")).lower() in {"hrs", "hours", "hour"}:
                yield usd
