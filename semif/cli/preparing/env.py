"""`semif env`: what the environment files say, and whether they can be deployed."""

from collections.abc import Sequence
from typing import Any

import click

from semif.aws.clients import Aws
from semif.cli.options import environment_argument
from semif.cli.output import InOrder, json_option, print_json
from semif.environment.environment import environment_names, load_environment
from semif.environment.explained import resolved
from semif.environment.memory_need import gib
from semif.environment.schema import schema_text
from semif.errors import MAX_LISTED, ProblemsError, SemifError
from semif.target.account import check_account


@click.group(cls=InOrder)
def command() -> None:
    """Check and show environment files.

    Nothing here needs an account, a network or a lock, `check --account` apart.
    """


@command.command()
@click.argument("environments", metavar="[ENV]...", nargs=-1)
@click.option("--account", "in_account", is_flag=True, help="Look into the AWS account as well.")
@click.option("--profile", metavar="NAME", help="AWS profile for --account; default: AWS_PROFILE.")
@json_option
def check(environments: tuple[str, ...], in_account: bool, profile: str | None, as_json: bool) -> None:
    """Find what is wrong with environment files.

    Checks each ENV, or all of environments/: every key, the preset, the pin of the base image, that the
    instance types go together, and that model and context fit their memory. Tells all problems of all files
    at once. Exit status 1 where there are any; warnings alone do not count.

    With --account it also asks, and changes nothing: do the credentials work, are they of the account that
    the file names, is the region bootstrapped for the CDK, do the quotas allow the instances, and are the
    role and the buckets of [existing] there and fit.

    \b
    Examples:
      semif env check
      semif env check prod --account
      semif env check prod --json
    """
    if profile and not in_account:
        raise click.UsageError("--profile goes with --account; the files alone need none")
    checked = [_checked(name) for name in environments or environment_names()]
    if in_account:
        checked = [entry if entry["problems"] else _with_account(entry, profile) for entry in checked]
    wrong = [entry for entry in checked if entry["problems"]]
    if as_json:
        print_json({"ok": not wrong, "environments": checked})
    else:
        for entry in checked:
            _print_checked(entry)
    if wrong:
        raise click.exceptions.Exit(1)


def _checked(name: str) -> dict[str, Any]:
    try:
        environment = load_environment(name)
        environment.check_bases()
        environment.check_head()
    except ProblemsError as error:
        return {"environment": name, "problems": list(error.problems), "warnings": []}
    except SemifError as error:
        return {"environment": name, "problems": [str(error)], "warnings": []}
    return {"environment": name, "problems": [], "warnings": list(environment.warnings)}


def _with_account(entry: dict[str, Any], profile: str | None) -> dict[str, Any]:
    environment = load_environment(entry["environment"])
    try:
        aws = Aws.from_profile(region=environment.region, profile=profile)
    except SemifError as error:
        return {**entry, "problems": [str(error)]}
    in_account = check_account(aws, environment)
    return {
        **entry,
        "account": in_account.account,
        "region": in_account.region,
        "problems": in_account.problems + in_account.update_problems,
        "warnings": entry["warnings"] + in_account.warnings,
    }


def _print_checked(entry: dict[str, Any]) -> None:
    count = len(entry["problems"])
    place = f" in account {entry['account']}, {entry['region']}" if entry.get("account") else ""
    verdict = "ok" if not count else f"{count} {'problem' if count == 1 else 'problems'}"
    click.echo(f"{entry['environment']}{place}: {verdict}")
    for problem in entry["problems"][:MAX_LISTED]:
        click.echo(f"  {problem}")
    if count > MAX_LISTED:
        click.echo(f"  and {count - MAX_LISTED} more")
    for warning in entry["warnings"]:
        click.echo(f"  warning: {warning}")


@command.command()
@environment_argument
@json_option
def show(environment: str, as_json: bool) -> None:
    """Show what ENV comes to.

    Shows every setting with where it is from, the pins, the container's variables, the instance types and an
    estimate of the memory that model and context take.

    \b
    Example:
      semif env show prod
    """
    view = resolved(load_environment(environment))
    if as_json:
        print_json(view)
    else:
        _print_view(view)


def _print_view(view: dict[str, Any]) -> None:
    click.echo(f"{view['environment']}, kind {view['kind']}, endpoint {view['endpoint_name']}")
    pins = view["pins"]
    model = pins["model"]
    source = f"{model['source']} {model.get('revision', '')}"
    _print_rows(
        "settings",
        [(entry["key"], _text(entry["value"]), entry["source"]) for entry in view["settings"]],
    )
    _print_rows(
        "pins",
        [
            ("base image", pins["base_image"]["pinned"] or pins["base_image"]["problem"]),
            ("model", f"{source.strip()}, {model['file'] if 'file' in model else _many_files(model)}"),
            *_proof_rows(model),
        ],
    )
    _print_rows("container variables", list(view["container_variables"].items()) or [("none", "")])
    _print_rows("instance types", [_instance_row(entry) for entry in view["instances"]])
    _print_rows("cost of the instances", [("", line) for line in view["cost"]["lines"]])
    if view["memory_needed"] is not None:
        _print_rows("memory needed, estimated", _memory_rows(view["memory_needed"]))
    if view["fallback"] is not None:
        _print_fallback(view["fallback"])
    for warning in view["warnings"]:
        click.echo(f"\nwarning: {warning}")


def _many_files(model: dict[str, Any]) -> str:
    return f"{model['files']} files, with those of {model['base']} {model['base_revision']}"


def _print_fallback(view: dict[str, Any]) -> None:
    """What is other on the CPU types that end a pool of GPU types."""
    types = ", ".join(view["instance_types"])
    base = view["base_image"]
    _print_rows(f"on {types}", [("base image", base["pinned"] or base["problem"])])
    _print_rows(
        f"container variables on {types}", list(view["container_variables"].items()) or [("none", "")]
    )
    if view["memory_needed"] is not None:
        _print_rows(f"memory needed on {types}, estimated", _memory_rows(view["memory_needed"]))


def _proof_rows(model: dict[str, Any]) -> list[tuple[str, str]]:
    if model["preset"] is None:
        return [("", "downloaded by the container; size and SHA-256 are not checked")]
    hashed = f"SHA-256 {model['sha256']}" if "sha256" in model else "the SHA-256 of each file in the manifest"
    return [
        ("", f"{model['bytes']:,} bytes, {hashed}"),
        ("manifest", model["manifest_sha256"]),
    ]


def _instance_row(entry: dict[str, Any]) -> tuple[str, ...]:
    gpu = f"{entry['gpus']} GPU, {gib(entry['gpu_memory_bytes'])}" if entry["gpus"] else "no GPU"
    disk = f"{entry['local_disk_gb']:,} GB of its own disks" if entry["local_disk_gb"] else "a volume"
    return (
        entry["instance_type"],
        f"{entry['architecture']} ({entry['accelerator']})",
        f"{entry['vcpus']} vCPUs, {gib(entry['memory_bytes'])}",
        gpu,
        disk,
    )


def _memory_rows(need: dict[str, Any]) -> list[tuple[str, ...]]:
    context = need["context_bytes"]
    return [
        ("weights", gib(need["weights_bytes"])),
        (
            f"context of {need['context_tokens']:,} tokens",
            gib(context) if context is not None else "not known",
        ),
        ("saved prompts", gib(need["saved_prompts_bytes"])),
        ("overhead", gib(need["overhead_bytes"])),
        ("in memory", gib(need["memory_bytes"])),
        ("in GPU memory", gib(need["gpu_memory_bytes"])),
    ]


def _print_rows(title: str, rows: Sequence[tuple[str, ...]]) -> None:
    """Rows in columns, never cut: digests are there to be copied."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    click.echo(f"\n{title}")
    for row in rows:
        click.echo(
            "  " + "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        )


def _text(value: object) -> str:
    """A value as the file has it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{key} = {item}" for key, item in value.items()) or "none"
    return "none" if value is None else str(value)


@command.command()
def schema() -> None:
    """Print the JSON Schema of environment files.

    The copy in environments/environment.schema.json makes editors complete and check the files: their first
    line names it (Even Better TOML, taplo).

    \b
    Example:
      semif env schema > environments/environment.schema.json
    """
    click.echo(schema_text(), nl=False)
