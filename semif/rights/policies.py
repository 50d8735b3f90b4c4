"""IAM policies made of the table of rights."""

from typing import Any

from semif.rights.place import Place
from semif.rights.right import Task
from semif.rights.table import RIGHTS

Document = dict[str, Any]
"""A policy as IAM's JSON has it."""

VERSION = "2012-10-17"
"""Of the policy language, the newest."""


def policy(place: Place, task: Task) -> Document:
    """What `task` takes in the environment of `place`, and nothing else. Raises SemifError for no region."""
    environment = place.environment
    statements = []
    for right in RIGHTS:
        if task not in right.tasks or not right.applies(environment):
            continue
        statement: Document = {
            "Sid": _sid(right.purpose),
            "Effect": "Allow",
            "Action": sorted(right.actions),
            "Resource": sorted(right.resources(place)),
        }
        if right.tagged:
            tag = {"aws:ResourceTag/semif:environment": environment.name}
            statement["Condition"] = {"StringEquals": tag}
        statements.append(statement)
    return {"Version": VERSION, "Statement": statements}


def _sid(purpose: str) -> str:
    """The purpose as one word of letters and digits, which is what a statement's id may have."""
    words = "".join(letter if letter.isalnum() else " " for letter in purpose).split()
    return "".join(word[:1].upper() + word[1:] for word in words)
