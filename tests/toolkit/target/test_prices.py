"""Prices from the price list, against replies of its form; and the dated ones where it does not tell."""

import json
from pathlib import Path
from typing import Any

import pytest
from botocore.stub import Stubber

from semif.aws.clients import Aws
from semif.environment.cost import Prices, instance_cost
from semif.environment.environment import load_environment
from semif.lock.lock_file import lock_path
from semif.target.prices import current_prices
from semif.target.target import Target

POOL = ("ml.g6.xlarge", "ml.g6e.xlarge", "ml.g5.xlarge")
"""prod's."""


def product(*dimensions: dict[str, Any]) -> str:
    """An entry of the list: JSON in text."""
    priced = {f"SKU.T.{number}": one for number, one in enumerate(dimensions)}
    on_demand = {"SKU.T": {"offerTermCode": "T", "priceDimensions": priced}}
    return json.dumps(
        {"product": {"productFamily": "ML Instance", "sku": "SKU"}, "terms": {"OnDemand": on_demand}}
    )


def hourly(usd: str, unit: str = "Hrs") -> dict[str, Any]:
    return {"unit": unit, "pricePerUnit": {"USD": usd}}


def target_in(region: str, *, local: bool = False) -> Target:
    aws = Aws(region=region, endpoint_url="http://127.0.0.1:9")
    environment = load_environment("prod")
    return Target(Path(), environment, aws, "111122223333", lock_path("prod"), local=local, poll_seconds=0)


@pytest.fixture(scope="module")
def target() -> Target:
    """One for all tests here: its client takes a second to make."""
    return target_in("eu-west-1")


def prices(target: Target, *replies: list[str] | str) -> Prices:
    with Stubber(target.aws.pricing) as stub:
        for reply, name in zip(replies, POOL, strict=False):
            if isinstance(reply, str):
                stub.add_client_error("get_products", reply, "no")
                continue
            wanted = {"regionCode": target.aws.region, "instanceName": name, "component": "Hosting"}
            filters = [{"Type": "TERM_MATCH", "Field": key, "Value": value} for key, value in wanted.items()]
            asked = {"ServiceCode": "AmazonSageMaker", "Filters": filters}
            stub.add_response("get_products", {"PriceList": reply}, asked)
        found = current_prices(target)
        stub.assert_no_pending_responses()
    return found


def test_the_regions_prices_of_today_are_told_as_such(target: Target) -> None:
    replies = [[product(hourly(usd))] for usd in ("1.2", "2.6", "1.6")]
    found = prices(target, *replies)
    assert found.usd_per_hour == dict(zip(POOL, (1.2, 2.6, 1.6), strict=True))
    cost = instance_cost(target.environment, found)
    assert cost.lines[0].startswith("ml.g6.xlarge $1.20 an hour, ml.g6e.xlarge $2.60 an hour, ")
    assert "(eu-west-1, AWS's price list of 20" in cost.lines[0]
    assert "look yours up" not in cost.lines[0]
    assert cost.month_least == 2 * 1.2 * 730


@pytest.mark.parametrize(
    "replies",
    [
        ["AccessDeniedException"],
        [[product(hourly("1.2"))], []],
        [[product(hourly("1.2"), hourly("1.3"))]],
        [[product(hourly("0"), hourly("9", unit="GB"))]],
    ],
    ids=["denied", "one-is-not-listed", "two-prices", "no-price-of-an-hour"],
)
def test_where_the_list_does_not_tell_all_the_dated_prices_are_told(
    target: Target, replies: list[Any]
) -> None:
    wanted = [
        *replies,
        *[[product(hourly("2"))]] * (0 if replies == ["AccessDeniedException"] else 3 - len(replies)),
    ]
    found = prices(target_in("eu-west-1"), *wanted)
    assert (found.of, found.advice) == ("us-east-1, September 2026", "; look yours up")


def test_the_nearest_of_its_three_regions_is_asked_and_none_for_this_machine(target: Target) -> None:
    others = [target_in(region).aws for region in ("ap-southeast-2", "us-west-2")]
    asked = [aws.pricing.meta.region_name for aws in (target.aws, *others)]
    assert asked == ["eu-central-1", "ap-south-1", "us-east-1"]
    assert "September 2026" in current_prices(target_in("eu-west-1", local=True)).of
