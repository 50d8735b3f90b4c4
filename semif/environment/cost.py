"""What the instances of an environment cost, from the dated prices of `semif/sagemaker/instance_types.csv`.

Instances are nearly all of a deployment's cost; storage, logs and builds are left out.
"""

from dataclasses import dataclass

from semif.environment.environment import Environment
from semif.sagemaker.instances import PRICES_OF, instance_type

HOURS_A_MONTH = 730


@dataclass(frozen=True)
class InstanceCost:
    """US dollars, on demand, in us-east-1; other regions have other prices."""

    per_hour: dict[str, float | None]
    """Of one instance of each type; None where no price is known."""
    month_least: float | None
    """Of the fewest instances, all month, on the cheapest of the types; None where no price is known."""
    month_most: float | None
    """Of the most instances on the dearest."""
    lines: tuple[str, ...]
    """For people."""


def instance_cost(environment: Environment) -> InstanceCost:
    """The cost of `environment` where nobody asks it, and where it is as large as it may become."""
    prices = {name: instance_type(name).usd_per_hour for name in environment.endpoint.instance_types}
    known = [price for price in prices.values() if price is not None]
    each = ", ".join(
        f"{name} {'has no known price' if price is None else f'${price:,.2f} an hour'}"
        for name, price in prices.items()
    )
    lines = [f"{each} ({PRICES_OF}; look yours up)"]
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
