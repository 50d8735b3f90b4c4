"""`semif iam`: least-privilege policies for those who deploy, compare and ask."""

import os
import re

import click
from pydantic import TypeAdapter, ValidationError

from semif.cli.options import environment_argument
from semif.cli.output import print_json
from semif.environment.environment import load_environment
from semif.environment.tables.values import AccountId, Region
from semif.errors import SemifError, problems_of, shown
from semif.rights.github import ci_policies, ci_template
from semif.rights.place import Place
from semif.rights.policies import policy
from semif.rights.right import TASKS

_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}")
_GITHUB_ENVIRONMENT = re.compile(r"[A-Za-z0-9._-]{1,255}")


@click.command()
@environment_argument
@click.argument("task", type=click.Choice((*TASKS, "ci")))
@click.option("--account", metavar="ID", help="Account; default: that of ENV's file.")
@click.option("--region", metavar="REGION", help="Region; default: that of ENV's file, or AWS_REGION.")
@click.option("--repository", metavar="OWNER/NAME", help="GitHub's repository, for ci.")
@click.option("--github-environment", metavar="NAME", help="GitHub's environment that deploys; default: ENV.")
@click.option("--stack", is_flag=True, help="For ci: a CloudFormation template with both roles.")
def command(
    *,
    environment: str,
    task: str,
    account: str | None,
    region: str | None,
    repository: str | None,
    github_environment: str | None,
    stack: bool,
) -> None:
    """Print least-privilege policies as JSON.

    deploy is for who builds, deploys, promotes, operates and destroys ENV; diff for who compares and checks
    it; call for who asks it; label for who reads what was captured of its callers; prune for who deletes
    what nothing names; verify for what `semif verify` takes besides deploy. ci prints trust and policy of
    two roles for GitHub's workflows, by OpenID Connect. Nothing is looked up or changed.

    \b
    Examples:
      semif iam prod call --account 111122223333
      semif iam prod ci --repository my/app --account 111122223333 --stack > roles.json
    """
    place = _place(environment, account, region)
    if task != "ci":
        if stack or repository or github_environment:
            raise SemifError("--stack, --repository and --github-environment are of ci; leave them out")
        document = policy(place, TASKS[TASKS.index(task)])
        if not document["Statement"]:
            raise SemifError(f"there is nothing to {task} of {environment}, and no right is needed for it")
        if task == "label" and place.environment.data_capture is None:
            raise SemifError(
                f"{environment} keeps nothing that could be labelled; add [data_capture] with "
                f"sampling_percent to environments/{environment}.toml"
            )
        print_json(document)
        return
    name = github_environment or environment
    if not repository or not _REPOSITORY.fullmatch(repository):
        raise SemifError(f"--repository is {shown(repository)}, allowed is OWNER/NAME of a GitHub repository")
    if not _GITHUB_ENVIRONMENT.fullmatch(name):
        raise SemifError(f"--github-environment is {shown(name)}, allowed are letters, digits, dots, _ and -")
    print_json((ci_template if stack else ci_policies)(place, repository, name))


def _place(name: str, account: str | None, region: str | None) -> Place:
    environment = load_environment(name)
    chosen = account or environment.account
    where = region or environment.region or os.environ.get("AWS_REGION")
    for option, value, of_file, kind in (
        ("account", chosen, environment.account, AccountId),
        ("region", where, environment.region, Region),
    ):
        if value is None:
            raise SemifError(f"{name} names no {option}; give --{option}")
        if of_file is not None and value != of_file:
            raise SemifError(f"--{option} is {shown(value)}, {name} says {of_file!r}; leave it out")
        try:
            TypeAdapter(kind).validate_python(value)
        except ValidationError as error:
            raise SemifError(f"--{option}: {problems_of(error)[0]}") from None
    return Place(environment, str(chosen), str(where))
