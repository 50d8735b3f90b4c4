"""What an environment's instances cost, before they are there."""

from pathlib import Path

from click.testing import CliRunner

from semif.cli import main
from semif.environment.cost import HOURS_A_MONTH, instance_cost
from semif.environment.environment import load_environment, read_environment
from semif.project.root import project_root
from semif.sagemaker.instances import instance_type


def price(name: str) -> float:
    found = instance_type(name).usd_per_hour
    assert found is not None
    return found


def test_a_pool_between_its_bounds() -> None:
    cost = instance_cost(load_environment("prod"))
    cheapest, dearest = price("ml.g6.xlarge"), price("ml.g6e.xlarge")
    assert (cost.month_least, cost.month_most) == (
        2 * cheapest * HOURS_A_MONTH,
        6 * dearest * HOURS_A_MONTH,
    )
    assert cost.lines[1].startswith("$1,645 a month at least, asked or not: 2 of the cheapest")


def test_modes_that_may_have_no_instance() -> None:
    queue, jobs = (instance_cost(load_environment(name)) for name in ("demo-async", "demo-batch"))
    assert queue.month_least == 0
    assert queue.lines[1].startswith("nothing while there is no instance")
    assert jobs.lines[1] == "only while a job runs"


def test_a_type_without_a_known_price_makes_no_sum(tmp_path: Path) -> None:
    file = tmp_path / "dev.toml"
    text = (project_root() / "environments" / "dev.toml").read_text()
    file.write_text(text.replace("ml.c6i.8xlarge", "ml.c7i.8xlarge"))
    cost = instance_cost(read_environment(file))
    assert (cost.per_hour, cost.month_least) == ({"ml.c7i.8xlarge": None}, None)
    assert "ml.c7i.8xlarge has no known price" in cost.lines[0]


def test_it_is_shown_with_the_environment() -> None:
    shown = CliRunner().invoke(main, ["env", "show", "dev"])
    assert shown.exit_code == 0
    assert "cost of the instances" in shown.stdout
    assert "ml.c6i.8xlarge $1.63 an hour (us-east-1, September 2026; look yours up)" in shown.stdout
