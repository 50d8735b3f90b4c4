"""`aws` for builds on this machine: the local AWS by the names and options of AWS's command line.

It knows what botocore knows, for options whose values are text or short `key=value` structures, and beside
that `get-login-password`, `s3 cp` of one file, and `s3api` for S3. Whatever else it is asked for it refuses.
"""

import base64
import json
import re
import sys
from typing import Any

import boto3
import jmespath
from botocore.exceptions import BotoCoreError, ClientError
from botocore.model import ListShape, Shape, StructureShape

_EXIT_USAGE = 252
"""As the real one, from version 2 on."""


class UsageError(Exception):
    """The command line asks for what there is not here."""


def main(arguments: list[str]) -> int:
    """Run one command; returns its exit status."""
    try:
        if len(arguments) < 2:
            raise UsageError(f"a service and an operation are needed, got {' '.join(arguments) or 'nothing'}")
        sys.stdout.write(_run(arguments[0], arguments[1], arguments[2:]))
    except (BotoCoreError, ClientError, OSError) as error:
        sys.stderr.write(f"aws of the local AWS: {error}\n")
        return 254
    except UsageError as error:
        sys.stderr.write(f"aws of the local AWS: {error}\n")
        return _EXIT_USAGE
    return 0


def _run(service: str, operation: str, rest: list[str]) -> str:
    if (service, operation) == ("s3", "cp"):
        return _copy(*rest)
    options = _options(rest)
    region = options.pop("region", None)
    if (service, operation) == ("ecr-public", "get-login-password"):
        return "public\n"  # there is no public registry here that would look at it
    service = "s3" if service == "s3api" else service  # the command line's name for S3's operations
    client: Any = boto3.Session(region_name=region).client(service)  # type: ignore[call-overload]  # any service
    if (service, operation) == ("ecr", "get-login-password"):
        token = client.get_authorization_token()["authorizationData"][0]["authorizationToken"]
        return base64.b64decode(token).decode().removeprefix("AWS:") + "\n"
    query, output = options.pop("query", "@"), options.pop("output", "json")
    method = operation.replace("-", "_")
    name = client.meta.method_to_api_mapping.get(method)
    if name is None:
        raise UsageError(f"{service} has no operation {operation}")
    shape = client.meta.service_model.operation_model(name).input_shape
    members = {_dashed(member): (member, part) for member, part in shape.members.items()} if shape else {}
    if unknown := sorted(set(options) - set(members)):
        raise UsageError(f"{service} {operation} has no option --{', --'.join(unknown)}")
    request = {members[option][0]: _value(members[option][1], text) for option, text in options.items()}
    reply = getattr(client, method)(**request)
    reply.pop("ResponseMetadata", None)
    result = jmespath.search(query, reply)
    if output == "text":
        return _text(result) + "\n"
    return json.dumps(result, indent=4, default=str) + "\n"


def _options(arguments: list[str]) -> dict[str, str]:
    names, values = arguments[::2], arguments[1::2]
    if len(names) != len(values) or not all(name.startswith("--") for name in names):
        raise UsageError(f"only options with one value each are known, got {' '.join(arguments)}")
    return dict(zip((name.removeprefix("--") for name in names), values, strict=True))


def _dashed(member: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z])", r"-\1", member).lower()


def _value(shape: Shape, text: str) -> Any:
    if isinstance(shape, ListShape):
        return [_value(shape.member, text)]
    if isinstance(shape, StructureShape):
        return dict(pair.split("=", 1) for pair in text.split(","))
    if shape.type_name != "string":
        raise UsageError(f"options of the type {shape.type_name} are not known here")
    return text


def _text(result: Any) -> str:
    if isinstance(result, list):
        return "\t".join(_text(one) for one in result)
    return result if isinstance(result, str) else str(result)


def _copy(*arguments: str) -> str:
    files = [argument for argument in arguments if argument != "--no-progress"]
    if len(files) != 2 or not files[1].startswith("s3://"):
        raise UsageError(f"s3 cp takes a file and an s3:// address here, got {' '.join(arguments)}")
    source, target = files
    bucket, _, key = target.removeprefix("s3://").partition("/")
    boto3.client("s3").upload_file(source, bucket, key)
    return f"upload: {source} to {target}\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
