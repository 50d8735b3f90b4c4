"""Policies as files: TOML, every problem of a file reported at once."""

from pathlib import Path

import tomli_w

from semif.errors import SemifError
from semif.policy.policy import Policy
from semif.project.toml_file import read_toml
from semif.project.whole_files import write_whole


def load_policy(path: Path) -> Policy:
    """The policy of a file. Raises SemifError where it cannot be read, ProblemsError with its problems."""
    return read_toml(path, Policy)


def write_policy(policy: Policy, path: Path) -> None:
    """Write `policy` so that `load_policy` gives the same again; what has its default is left out.

    Raises SemifError where functions take part, which no file holds, or where it cannot be written.
    """
    if functions := policy.functions:
        raise SemifError(f"{functions[0]!r} of policy {policy.name!r} asks a function, which no file holds")
    content = policy.model_dump(mode="json", exclude_defaults=True)
    write_whole(path, tomli_w.dumps(content).encode())
