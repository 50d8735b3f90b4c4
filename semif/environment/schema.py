"""The JSON Schema of environment files, made from their types: editors complete and check with it.

It says what one key can say alone. What holds across keys is for `semif env check`.
"""

import json
from typing import Any

from pydantic import BaseModel

from semif.environment.environment import Environment
from semif.environment.problems import FIXED_SETTINGS
from semif.sagemaker.instances import instance_types
from semif.sagemaker.llama_server_flags import BARE_FLAGS, VALUE_FLAGS
from semif.sagemaker.llama_server_variables import variable_of
from semif.sagemaker.placement import CUDA_AMI_VERSIONS, MAX_POOLS
from semif_adapter.contract.settings import SECRET

SCHEMA_FILE = "environment.schema.json"
"""Its name in the folder of the environment files; their first line points to it."""


def environment_schema() -> dict[str, Any]:
    """The schema, without references: every table stands where it is used."""
    schema = plain_schema(Environment)
    properties = schema["properties"]
    del properties["name"]  # the file's name
    schema["required"].remove("name")
    for key in (*FIXED_SETTINGS, *SECRET):
        del properties["adapter"]["properties"][key]
    del properties["adapter"]["default"]
    properties["tags"]["additionalProperties"] = False
    # A flag that [endpoint] unlisted_flags allows: which those are, no schema can say.
    properties["text"]["additionalProperties"] = {"type": ["string", "number", "boolean"]}
    properties["text"]["properties"] = {
        **{
            variable_of(flag): {
                "description": f"--{flag} VALUE of llama-server",
                "type": ["string", "number"],
            }
            for flag in sorted(VALUE_FLAGS)
        },
        **{
            variable_of(flag): {"const": True, "description": f"--{flag} of llama-server"}
            for flag in sorted(BARE_FLAGS)
        },
    }
    properties["model"]["oneOf"] = [
        {"required": ["preset"]},
        {"required": ["hf_repo", "hf_file", "revision"]},
    ]
    endpoint = properties["endpoint"]
    types = list(instance_types())
    endpoint["properties"]["instance_type"]["enum"] = types
    endpoint["properties"]["instance_pool"] |= {
        "items": {"enum": types},
        "maxItems": MAX_POOLS,
        "minItems": 1,
        "uniqueItems": True,
    }
    endpoint["properties"]["inference_ami_version"]["enum"] = list(CUDA_AMI_VERSIONS)
    endpoint["oneOf"] = [{"required": ["instance_type"]}, {"required": ["instance_pool"]}]
    schema["title"] = "Semif environment"
    schema["description"] = "One deployment: what is served, where, and how. See docs/environments.md."
    return {"$schema": "http://json-schema.org/draft-07/schema#", **schema}


def schema_text() -> str:
    """The schema as the file holds it."""
    return json.dumps(environment_schema(), indent=2) + "\n"


def plain_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The schema of `model` with every table where it is used, as TOML can have it."""
    generated = model.model_json_schema()
    schema: dict[str, Any] = _plain(generated, generated.pop("$defs", {}))
    return schema


def _plain(node: Any, tables: dict[str, Any]) -> Any:
    """`node` without references, titles and null, which TOML does not have."""
    if isinstance(node, list):
        return [_plain(item, tables) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        rest = {key: value for key, value in node.items() if key != "$ref"}
        return _plain({**tables[node["$ref"].rpartition("/")[2]], **rest}, tables)
    if {"type": "null"} in node.get("anyOf", ()):
        others = [item for item in node["anyOf"] if item != {"type": "null"}]
        rest = {key: value for key, value in node.items() if key not in {"anyOf", "default"}}
        return _plain({**(others[0] if len(others) == 1 else {"anyOf": others}), **rest}, tables)
    named = {"properties"} & node.keys()  # its keys are names of the file, not of JSON Schema
    return {
        key: {name: _plain(value, tables) for name, value in item.items()}
        if key in named
        else _plain(item, tables)
        for key, item in node.items()
        if key != "title" or not isinstance(item, str)
    }
