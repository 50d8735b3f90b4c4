"""The tables of what an account has already, and of what it may cost; what is wrong with them together."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from semif.aws.arn import Arn
from semif.aws.budget_regions import budget_region_problem
from semif.aws.partitions import partition_of
from semif.environment.tables.endpoint import FileTable
from semif.environment.tables.raw import RawTables, table_in, typed_in
from semif.environment.tables.values import BucketName, RoleArn
from semif.errors import shown


class ExistingTable(FileTable):
    """`[existing]`: what is there already, in place of what the stacks would make. It is never deleted."""

    role_arn: RoleArn | None = None
    """The role that the model runs with; SageMaker may assume it. The stack gives it inline policies."""
    bucket: BucketName | None = None
    """For model archives, build sources and records of images: versioned, in the region."""
    files_bucket: BucketName | None = None
    """For requests and answers in the modes async and batch; its own rules delete them."""

    @property
    def buckets(self) -> tuple[str, ...]:
        """Those that are given, each once."""
        return tuple(dict.fromkeys(filter(None, (self.bucket, self.files_bucket))))


class BudgetTable(FileTable):
    """`[budget]`: AWS Budgets tells the topic of [alarms] what the environment costs. It stops nothing."""

    monthly_usd: Annotated[float, Field(gt=0, le=10_000_000)]
    """US dollars a month: told at 80 % spent, and when the forecast goes over it."""


def existing_problems(tables: RawTables) -> Iterator[str]:
    """What is wrong with [existing] beside the other tables, one line for each problem."""
    existing, account = table_in(tables, "existing"), typed_in(tables, "account", str)
    role = Arn.parse(typed_in(existing, "role_arn", str) or "")
    if role is not None and account and role.account != account:
        yield f"existing.role_arn: {shown(existing['role_arn'])} is not of account {account}, it must be"
    region = typed_in(tables, "region", str)
    partition = partition_of(region) if region else None
    if role is not None and partition is not None and role.partition != partition:
        yield (
            f"existing.role_arn: {shown(existing['role_arn'])} is not of the partition {partition}, as "
            f"{region} is; it must be arn:{partition}:iam::…"
        )
    if "bucket" in existing and "hf_repo" in table_in(tables, "model"):
        yield "existing.bucket does not go with model.hf_repo: nothing is built or kept; remove it"
    if "files_bucket" in existing and "expiry_days" in table_in(tables, "async"):
        yield (
            "async.expiry_days does not go with existing.files_bucket, whose own lifecycle rules delete; "
            "remove one of them"
        )


def budget_problems(tables: RawTables) -> Iterator[str]:
    """What is wrong with [budget] of an endpoint beside the other tables."""
    if "budget" not in tables:
        return
    if "alarms" not in tables:
        yield "budget: it tells the topic of [alarms], and there is no [alarms]; add the table"
    topic = Arn.parse(typed_in(table_in(tables, "alarms"), "topic_arn", str) or "")
    account, region = typed_in(tables, "account", str), typed_in(tables, "region", str)
    if topic is not None and account and topic.account != account:
        # "Cross-account Amazon SNS isn't supported": AWS's Cost Management guide, "Creating an Amazon SNS
        # topic for budget notifications", read 2026-11-30.
        yield f"budget: the topic of [alarms] is of account {topic.account}, a budget tells its own alone"
    if region and (problem := budget_region_problem(region)):
        yield problem
