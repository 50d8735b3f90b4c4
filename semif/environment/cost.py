"""What the instances of an environment cost, by dated prices or by those that were looked up.

Instances are nearly all of a deployment's cost; storage, logs and builds are left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from semif.environment.environment import Environment
from semif.sagemaker.instances import PRICES_OF, instance_type

HOURS_A_MONTH = 730


@dataclass(frozen=True)
class Prices:
    """US dollars of an hour on demand, by instance type; None where none is known."""

    usd_per_hour: Mapping[str, float | None]
    of: str
    """Where and when they hold."""
    advice: str = ""
    """What is told besides, where they are not the region's of today."""


def dated_prices(environment: Environment) -> Prices:
    """Those of `semif/sagemaker/instance_types.csv`, which are of us-east-1."""
    types = environment.endpoint.instance_types
    prices = {name: instance_type(name).usd_per_hour for name in types}
    return Prices(prices, PRICES_OF, "; look yours up")


@dataclass(frozen=True)
class InstanceCost:
    """US dollars, on demand."""

    per_hour: dict[str, float | None]
    """Of one instance of each type; None where no price is known."""
    month_least: float | None
    """Of the fewest instances, all month, on the cheapest of the types; None where no price is known."""
    month_most: float | None
    """Of the most instances on the dearest."""
    lines: tuple[str, ...]
    """For people."""


def instance_cost(environment: Environment, prices_of: Prices | None = None) -> InstanceCost:
    """The cost of `environment` where nobody asks it, and where it is as large as it may become.

    By `prices_of` all its instance types, else by the dated prices.
    """
    found = prices_of or dated_prices(environment)
    prices = dict(found.usd_per_hour)
    known = [price for price in prices.values() if price is not None]
    each = ", ".join(
        f"{name} {'has no known price' if price is None else f'${price:,.2f} an hour'}"
        for name, price in prices.items()
    )
    lines = [f"{each} ({found.of}{found.advice})"]
    if not environment.inference_mode.has_endpoint:
        return InstanceCost(prices, 0.0, None, (*lines, "only while a job runs"))
    if len(known) < len(prices):
        return InstanceCost(prices, None, None, tuple(lines))
    fewest, most = environment.min_instance_count, environment.max_instance_count
    least = fewest * min(known) * HOURS_A_MONTH
    largest = most * max(known) * HOURS_A_MONTH
    if least:
        lines.append(f"${least:,.0f} a month at least, asked or not: {fewest} of the cheapest all the time")
    else:
        lines.append("nothing while there is no instance; each wake-up bills its start too")
    if largest > least:
        lines.append(f"${largest:,.0f} a month at most: {most} of the dearest all the time")
    return InstanceCost(prices, least, largest, tuple(lines))
