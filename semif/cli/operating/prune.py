"""`semif prune`: what the bucket and the repository hold and nothing names any more."""

from typing import Any

import click
from rich.console import Console
from rich.filesize import decimal
from rich.markup import escape
from rich.table import Table

from semif.aws.storage_prices import PRICES_OF
from semif.builds.pruning.pruning import Item, Pruning, find_prunable, prune
from semif.cli.deployment_steps import sole_work
from semif.cli.options import environment_argument, target_options
from semif.cli.output import json_option, print_json
from semif.target.target import Target, open_target


@click.command()
@environment_argument
@click.option(
    "--keep",
    type=click.IntRange(0, 1000),
    default=3,
    show_default=True,
    help="Of what nothing names, so many of the newest models, sources and images stay.",
)
@click.option("--yes", is_flag=True, help="Delete; without it, only tell.")
@target_options
@json_option
def command(
    *,
    environment: str,
    keep: int,
    yes: bool,
    on_this_machine: bool,
    profile: str | None,
    as_json: bool,
) -> None:
    """Delete old models, sources and images of ENV.

    Looks through the bucket and the image repository of ENV. What a lock in its folder still refers to stays
    (those kept for a rollback too), and what a Model or an endpoint in the account and region uses. Of all
    else it tells what it is, its bytes and what storing it costs (images share layers: what goes frees only
    those that no other image has); with --yes it deletes that for good, in all
    versions. Locks that this checkout does not have are not known to it: pull first, and do not prune while
    builds run.

    \b
    Examples:
      semif prune dev
      semif prune dev --keep 1 --yes
    """
    with sole_work(on_this_machine=on_this_machine):
        target = open_target(environment, on_this_machine=on_this_machine, profile=profile)
        found = find_prunable(target, keep)
        if yes:
            prune(target, found)
    if as_json:
        print_json(_as_json(target, found, keep, deleted=yes))
    else:
        _show(found, deleted=yes)


def _as_json(target: Target, found: Pruning, keep: int, *, deleted: bool) -> dict[str, Any]:
    return {
        "environment": target.environment.name,
        "account": target.account,
        "region": target.aws.region,
        "bucket": found.bucket,
        "repository": found.repository,
        "keep": keep,
        "deleted": deleted,
        "items": [
            {
                "kind": item.kind,
                "sha256": item.sha256,
                "address": item.address,
                "written": item.written.isoformat(),
                "bytes": item.bytes,
                "kept_by": item.kept_by,
            }
            for item in found.items
        ],
        "s3_bytes": found.s3_bytes,
        "ecr_bytes": found.ecr_bytes,
        "freed_bytes": found.freed_bytes,
        "older_versions_bytes": found.older_bytes,
        "usd_per_month": round(found.usd_per_month, 4),
        "prices_of": PRICES_OF,
    }


def _show(found: Pruning, *, deleted: bool) -> None:
    console = Console(highlight=False, soft_wrap=True)
    for place in filter(None, (f"s3://{found.bucket}", found.repository)):
        console.print(f"in {place}")
    table = Table.grid(padding=(0, 2))
    for item in found.items:
        table.add_row("  stays" if item.kept_by else "  [bold]goes[/]", *map(escape, _row(item)))
    console.print(table)
    if found.older_bytes:
        console.print(
            f"older versions of what stays, {decimal(found.older_bytes)}, stay: look why they are there"
        )
    if not found.going:
        console.print("nothing to prune")
        return
    worth = (
        f"{decimal(found.freed_bytes)}, {decimal(found.s3_bytes)} in S3 and {decimal(found.ecr_bytes)} of "
        "layers in ECR that no other image has, about "
        f"${found.usd_per_month:,.2f} a month ({PRICES_OF})"
    )
    console.print(f"deleted {worth}" if deleted else f"would free {worth}; nothing was deleted, --yes does")


def _row(item: Item) -> tuple[str, ...]:
    return item.kind, item.sha256[:12], f"{item.written:%Y-%m-%d}", decimal(item.bytes), item.kept_by or ""
