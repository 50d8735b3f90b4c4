"""`python -m bench.second_emulator`: which of our resources an emulator that is not ours makes, in Markdown.

The CDK bootstraps it and deploys the Artifacts stack of each environment as `semif deploy` does; of the
Endpoint stack what it takes is made. Everything is deleted again. Locks are the examples for synth checks.
"""

import argparse
import os
import sys
from collections import Counter

from bench.second_emulator.emulator import emulator, version
from bench.second_emulator.stacks import Outcome, create_what_is_taken
from semif.aws.clients import Aws
from semif.aws.stacks import which_exist
from semif.deployment.removal import remove_stack
from semif.deployment.stages import deploy_artifacts
from semif.deployment.target_cdk import run_for, synthesised
from semif.environment.environment import load_environment
from semif.errors import SemifError
from semif.lock.lock_file import read_lock
from semif.project.root import project_root
from semif.target.target import Target

ENVIRONMENTS = ("prod", "demo-async", "demo-batch")
"""One of each mode, and the one with everything."""


def _target(name: str) -> Target:
    path = project_root() / "tests" / "infra" / "locks" / f"{name}.json"
    lock, environment = read_lock(path), load_environment(name)
    aws = Aws.from_profile(region=lock.region)
    return Target(project_root(), environment, aws, lock.account, path, local=False, poll_seconds=0.2)


def _try(target: Target, outcomes: dict[str, Outcome]) -> None:
    """Deploy what is taken of the environment's stacks, note it in `outcomes`, and delete it."""
    artifacts, endpoint = target.environment.artifacts_stack, target.environment.endpoint_stack
    print(f"{target.environment.name} ...", file=sys.stderr)
    deploy_artifacts(target, lambda _: None)
    with synthesised(target, "all", lambda _: None) as assembly:
        whole = Counter(one["Type"] for one in assembly.template(artifacts)["Resources"].values())
        outcomes["Artifacts"].add(Outcome(whole))
        outcomes["Endpoint"].add(create_what_is_taken(target.aws, endpoint, assembly.template(endpoint)))
    for stack in (endpoint, artifacts):
        remove_stack(target, stack, lambda _: None)
    if left := which_exist(target.aws, (artifacts, endpoint)):
        raise SemifError(f"{', '.join(left)} could not be deleted")


def _rows(outcomes: dict[str, Outcome]) -> list[list[str]]:
    rows = []
    for stack, outcome in outcomes.items():
        for kind in sorted(outcome.made.keys() | outcome.refused.keys()):
            reasons = outcome.refused.get(kind, Counter())
            said = "; ".join(f"{count}: {reason}" for reason, count in reasons.items())
            rows.append([stack, f"`{kind}`", str(outcome.made[kind]), said])
    return rows


def main() -> int:
    """Print the table; the exit status."""
    argparse.ArgumentParser(prog="bench.second_emulator", description=__doc__).parse_args()
    outcomes = {"Artifacts": Outcome(), "Endpoint": Outcome()}
    try:
        with emulator() as url:
            first = read_lock(project_root() / "tests" / "infra" / "locks" / f"{ENVIRONMENTS[0]}.json")
            # The emulator takes an access key of twelve digits for the account.
            os.environ |= {
                "AWS_ENDPOINT_URL": url,
                "AWS_ACCESS_KEY_ID": first.account,
                "AWS_SECRET_ACCESS_KEY": "none",
                "AWS_CONFIG_FILE": os.devnull,
                "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
                "AWS_EC2_METADATA_DISABLED": "true",
            }
            os.environ.pop("AWS_PROFILE", None)
            targets = [_target(name) for name in ENVIRONMENTS]
            place = f"aws://{first.account}/{first.region}"
            # Away from cdk.json: bootstrapping needs no app.
            run_for(targets[0], ["bootstrap", place], lambda _: None, folder=targets[0].lock_path.parent)
            for target in targets:
                _try(target, outcomes)
    except (SemifError, OSError) as error:
        print(f"bench.second_emulator: {error}", file=sys.stderr)
        return 1
    print(f"MiniStack {version()}, environments {', '.join(ENVIRONMENTS)}:\n")
    print("| stack | type | made | refused |\n|---|---|---|---|")
    for row in _rows(outcomes):
        print(f"| {' | '.join(row)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
