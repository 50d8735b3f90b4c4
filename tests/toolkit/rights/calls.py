"""What the toolkit calls in AWS, read out of its source: methods of boto3's clients, what they are given."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import botocore.session
from botocore import xform_name
from botocore.model import OperationModel

SEMIF = Path(__file__).parents[3] / "semif"
OF_S3 = {
    "head_object": ["s3:GetObject"],
    "head_bucket": ["s3:ListBucket"],
    "list_objects_v2": ["s3:ListBucket"],
    "list_object_versions": ["s3:ListBucketVersions"],
    "get_bucket_encryption": ["s3:GetEncryptionConfiguration"],
    "delete_object": ["s3:DeleteObject", "s3:DeleteObjectVersion"],
    "delete_objects": ["s3:DeleteObjectVersion"],
    "upload_fileobj": ["s3:PutObject"],
    "download_file": ["s3:GetObject"],
    "download_fileobj": ["s3:GetObject", "s3:GetObjectVersion"],  # it is told the version
    "copy": ["s3:GetObject", "s3:PutObject"],
}
"""The rights that S3 asks for where they are not called as the operation, and of boto3's own transfers."""
TRANSFERS = {"upload_fileobj", "download_file", "download_fileobj", "copy"}
"""Boto3's own; its operations take no positional arguments, and other things of their names do."""


@dataclass(frozen=True)
class Call:
    """One call of a method of boto3's clients."""

    method: str
    """As boto3 names the operation."""
    given: frozenset[str]
    """The names of the parameters that it certainly passes."""


@cache
def operations() -> dict[str, list[tuple[str, OperationModel]]]:
    """Operations by method of boto3, for the services whose clients semif/aws/clients.py makes.

    Each with the prefix that its service has in policies.
    """
    services = re.findall(r'session\.client\("([a-z0-9-]+)"', (SEMIF / "aws" / "clients.py").read_text())
    assert len(services) > 10
    session = botocore.session.get_session()
    found: dict[str, list[tuple[str, OperationModel]]] = {}
    for service in services:
        model = session.get_service_model(service)
        prefix = "cloudwatch" if service == "cloudwatch" else model.signing_name
        for name in model.operation_names:
            found.setdefault(xform_name(name), []).append((prefix, model.operation_model(name)))
    return found


@cache
def rights_of_operations() -> dict[str, set[str]]:
    """The rights that each method takes."""
    rights = {
        method: {
            right
            for prefix, operation in of_services
            for right in (
                OF_S3.get(method, [f"s3:{operation.name}"])
                if prefix == "s3"
                else [f"{prefix}:{operation.name}"]
            )
        }
        for method, of_services in operations().items()
    }
    return rights | {method: set(needed) for method, needed in OF_S3.items()}


def calls_in(tree: ast.AST) -> Iterator[Call]:
    """The calls of a module, by paginators and waiters too: what these are given counts."""
    known = rights_of_operations()
    of_paginators: dict[ast.expr, ast.Call] = {}
    for node in ast.walk(tree):  # from outside to inside: `.paginate()` before the paginator it is called on
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        method = node.func.attr
        if method in {"paginate", "wait"}:
            of_paginators[node.func.value] = node
        elif method in {"get_paginator", "get_waiter"}:
            argument, outer = node.args[0], of_paginators.get(node)
            assert isinstance(argument, ast.Constant), "name the operation where it is asked for"
            name = str(argument.value)
            yield Call(name, frozenset() if outer is None else _given(outer, name, tree))
        elif method in known and (bool(node.args) == (method in TRANSFERS)):
            yield Call(method, _given(node, method, tree))


def _given(call: ast.Call, method: str, tree: ast.AST) -> frozenset[str]:
    """The parameters by name; of a `**` those that every mapping of its type begins with in the module."""
    named = {keyword.arg for keyword in call.keywords if keyword.arg is not None}
    if any(keyword.arg is None for keyword in call.keywords) and method in operations():
        ((_, operation), *_) = operations()[method]
        literals = [
            {key.value for key in node.value.keys if isinstance(key, ast.Constant)}
            for node in ast.walk(tree)
            if isinstance(node, ast.AnnAssign)
            and ast.unparse(node.annotation) == f"{operation.name}RequestTypeDef"
            and isinstance(node.value, ast.Dict)
        ]
        named |= {str(key) for key in set.intersection(*literals)} if literals else set()
    return frozenset(named)


@cache
def calls() -> dict[Path, list[Call]]:
    """By the files of the toolkit that have any."""
    found = {path: list(calls_in(ast.parse(path.read_text()))) for path in sorted(SEMIF.rglob("*.py"))}
    return {path: of_file for path, of_file in found.items() if of_file}


@cache
def called() -> frozenset[str]:
    """All methods that are called."""
    return frozenset(call.method for of_file in calls().values() for call in of_file)
