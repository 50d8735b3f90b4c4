"""The JSON Schema of environment files: fresh, true for the shipped files, and strict."""

import tomllib
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

from semif.environment.environment import Environment, environments_folder
from semif.environment.problems import FIXED_SETTINGS
from semif.environment.schema import SCHEMA_FILE, environment_schema, schema_text
from semif_adapter.contract.settings import SECRET, Settings
from tests.infra.account_cases import ACCOUNT_CASES
from tests.infra.matrix import cases, environment_file

MINIMAL: dict[str, Any] = {
    "kind": "decision",
    "removal": "destroy",
    "model": {"preset": "embedded"},
    "endpoint": {"instance_type": "ml.c6i.large"},
}


@pytest.fixture(scope="module")
def jsonschema() -> ModuleType:
    """Imported here alone: it takes more than a CPU second, which not every worker shall pay."""
    return import_module("jsonschema")


@pytest.fixture(scope="module")
def validator(jsonschema: ModuleType) -> Any:
    return jsonschema.Draft7Validator(environment_schema())


def test_the_committed_schema_is_fresh_and_a_schema(jsonschema: ModuleType) -> None:
    committed = (environments_folder() / SCHEMA_FILE).read_text()
    assert committed == schema_text(), "run `semif env schema > environments/environment.schema.json`"
    jsonschema.Draft7Validator.check_schema(environment_schema())


def test_every_shipped_file_names_the_schema_and_keeps_to_it(validator: Any) -> None:
    files = sorted(environments_folder().glob("*.toml"))
    assert files
    for path in files:
        lines = path.read_text()
        assert lines.startswith(f"#:schema ./{SCHEMA_FILE}\n"), path
        validator.validate(tomllib.loads(lines))


@pytest.mark.parametrize("name", cases())
def test_every_case_of_the_matrix_keeps_to_it(validator: Any, name: str) -> None:
    validator.validate(tomllib.loads(environment_file(cases()[name])))


@pytest.mark.parametrize("name", ACCOUNT_CASES)
def test_what_an_account_has_already_keeps_to_it(validator: Any, name: str) -> None:
    validator.validate(tomllib.loads(ACCOUNT_CASES[name]))


def test_every_key_is_described_for_the_editor() -> None:
    def undescribed(schema: dict[str, Any], path: str) -> list[str]:
        found = []
        for key, value in schema.get("properties", {}).items():
            if "description" not in value:
                found.append(f"{path}{key}")
            found += undescribed(value, f"{path}{key}.")
        return found

    assert not undescribed(environment_schema(), "")
    adapter = environment_schema()["properties"]["adapter"]["properties"]
    assert set(adapter) == set(Settings.model_fields) - {*FIXED_SETTINGS, *SECRET}
    keys = {field.alias or name for name, field in Environment.model_fields.items()}
    assert set(environment_schema()["properties"]) == keys - {"name"}


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "poem"},
        {"name": "dev"},
        {"colour": "red"},
        {"account": "1111-2222"},
        {"model": {}},
        {"endpoint": {}},
        {"endpoint": {"instance_type": "ml.c6i.large", "instance_pool": ["ml.c6i.large"]}},
        {"endpoint": {"instance_type": "ml.c6i.huge"}},
        {"endpoint": {"instance_pool": []}},
        {"endpoint": {"instance_pool": ["ml.c6i.large", "ml.c6i.large"]}},
        {"endpoint": {"instance_type": "ml.c6i.large", "startup_timeout_seconds": 59}},
        {"endpoint": {"instance_type": "ml.c6i.large", "volume_size_gb": 513}},
        {"network": {"vpc_id": "vpc-0123456789abcdef0", "subnet_ids": ["subnet-0123456789abcdef0"]}},
        {"encryption": {"kms_key_arn": "arn:aws:kms:eu-central-1:111122223333:alias/mine"}},
        {"tags": {"aws:x": "y"}},
        {"existing": {"bucket": "Mine"}},
        {"budget": {}},
        {"adapter": {"port": 80}},
        {"adapter": {"streams": 1}},
        {"text": {"SM_LLAMA_CPP_X": [1]}},
    ],
    ids=str,
)
def test_what_the_schema_refuses(jsonschema: ModuleType, validator: Any, change: dict[str, Any]) -> None:
    validator.validate(MINIMAL)
    with pytest.raises(jsonschema.ValidationError):
        validator.validate(MINIMAL | change)
