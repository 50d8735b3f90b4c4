"""What moto imports or reads again and nothing here needs: most of the time of a start."""

import sys
from functools import cache
from types import ModuleType
from typing import Any

import botocore.loaders
import botocore.session
from moto.utilities import utils

_INSTANCE_TYPES = "ec2/resources/instance_type"
"""What the files begin with in which EC2's instance types are, and the regions that offer them."""
_API_VALIDATOR = "openapi_spec_validator"


def leave_out() -> None:
    """Have moto start without it; to be called before its services are imported.

    EC2's networks are used here and none of its machines, whose types take half a second to read. jsonschema
    compiles a grammar of addresses in all languages (`rfc3987_syntax`), where that is installed: 1.5 seconds.
    There is no API Gateway here, whose documents are validated, nor the validator: a quarter of the rest.
    """
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]  # how an import is made to fail
    _replace_api_validator()
    _read_service_models_once()
    read = utils.load_resource

    def load_resource(resource: str) -> Any:
        return {} if resource.startswith(_INSTANCE_TYPES) else read(resource)

    utils.load_resource = load_resource


def _replace_api_validator() -> None:
    """By modules of its names that hold what moto imports, and cannot be called."""
    package, errors = ModuleType(_API_VALIDATOR), ModuleType(f"{_API_VALIDATOR}.validation.exceptions")
    vars(package)["validate"] = None
    vars(errors)["OpenAPIValidationError"] = Exception
    for module in (package, errors):
        sys.modules.setdefault(module.__name__, module)


def _read_service_models_once() -> None:
    """Moto makes a session for the regions of each of its services, and botocore reads them for each."""
    botocore.session.create_loader = cache(botocore.loaders.create_loader)
